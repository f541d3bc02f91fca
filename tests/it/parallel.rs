//! Tests of `parallel`.

mod layout;
mod schedule;
mod stages;
