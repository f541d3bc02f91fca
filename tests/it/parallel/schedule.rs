//! Tests of `parallel::schedule`.
