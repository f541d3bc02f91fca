//! Measured runs, and what the estimate says about each of them.
//!
//! The runs are data, in `src/evidence/runs`: numbers that somebody measured and published, with the
//! complete job where it is known and the reason where the job is outside of what is modeled. They are
//! not compiled in: the page that shows them, `evidence.html`, is made when the calculator is built.

mod compare;
mod markdown;
mod run;
mod summary;

pub use compare::{Comparison, Error, Frameworks, compare};
pub use markdown::{short_table, table};
pub use run::{Confidence, Measured, ReadError, Run, Stage, Subject, read};
pub use summary::{Summary, summaries};
