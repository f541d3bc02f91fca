//! Every reader of text from outside, fed with mutations of a kept corpus.
//!
//! A few thousand executions a reader belong to the tests. `cargo xtask fuzz --millions 10` runs the same code for
//! longer, optimized, and writes what behaved in a new way to `target/fuzz/new/`, from where it can be moved to
//! `tests/corpus/`. Everything is reproducible: the same corpus, `FUZZ_SEED` and number of executions give the same
//! inputs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    reason = "a test that meets a surprise should stop there and say so"
)]

mod campaign;
mod corpus;
mod garbage;
mod mutate;
mod process;
mod random;
mod readers;

/// One test a reader, so that they run side by side and fail by name.
macro_rules! fuzz {
    ($($reader:ident),+ $(,)?) => {
        $(
            #[test]
            fn $reader() {
                campaign::run(stringify!($reader), readers::$reader);
            }
        )+

        /// The readers by name.
        const READERS: &[(&str, readers::Reader)] = &[$((stringify!($reader), readers::$reader)),+];
    };
}

fuzz!(
    fields, hf, import, job, json, layout, links, overrides, own, pattern, shell, yaml
);
