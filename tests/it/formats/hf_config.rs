//! Tests of `formats::hf_config`.
