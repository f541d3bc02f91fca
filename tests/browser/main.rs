//! Tests of the built page, `dist/`, in a real browser: what a visitor sees, types and is told.
//!
//! `cargo xtask test` builds the page first. Alone, after a build:
//! `cargo test --no-default-features --features browser --test browser`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a test that meets a surprise should stop there and say so"
)]

mod page;
mod peaks;

mod server;
mod site;
mod webdriver;

mod accessibility;
mod dialogs;
mod docs;
mod embed;
mod evidence;
mod files;
mod firefox;
mod first_view;
mod fit;
mod form;
mod groups;
mod heap;
mod link;
mod loading;
mod methods;
mod modules;
mod pattern;
mod readout;
mod recipes;
mod search;
mod surroundings;
mod verdict;
mod wording;
