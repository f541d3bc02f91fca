//! Tests of `parallel`.

mod groups;
mod layout;
mod mimo;
mod schedule;
mod stages;
