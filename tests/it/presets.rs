//! Tests of `presets`.
