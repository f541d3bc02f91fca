//! Tests of `formats`.
