//! JSON text to plain data, with the line of every key.
