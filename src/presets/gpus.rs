//! GPUs with the bytes that a process can really use.
