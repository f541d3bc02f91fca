//! Tests of `framework_reports`.
