//! Tests of `parallel`.
