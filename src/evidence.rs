//! Measured runs beside the estimates of their jobs.
//!
//! The runs are data, in `src/evidence/runs`: published measurements, each with the run's complete job, or
//! with the reason why there is no prediction. They are not compiled in: building the site writes them to
//! the page `evidence.html`.

mod checkpoints;
mod compare;
mod log;
mod markdown;
mod performance;
mod recipes;
mod record;
mod repeats;
mod reserved;
mod review;
mod run;
mod step_times;
mod submission;
mod summary;

pub use checkpoints::{CHECKPOINTS, Checkpoint};
pub use compare::{Comparison, Error, Frameworks, Unadjusted, compare};
pub use log::{LogComparison, Reason, StageComparison, compare_log, moment, submissions};
pub use markdown::{short_table, table};
pub use performance::{PerformanceRow, read_performance};
pub use recipes::{Recipe, read_recipes};
pub use record::{FieldError, ReadError, read, write};
pub use repeats::{Repeat, Spread, read_repeats, spread};
pub use reserved::{ReservedComparison, reserved_table};
pub use review::{Review, review};
pub use run::{Confidence, Measured, MeasuredStage, Predicted, Run, Software};
pub use step_times::{
    FittedProducts, MeasuredOperations, MeasuredProducts, OperationKind, OverNominal, ProductFit, TimeAccuracy,
    TimeComparison, TimedRun, accuracies, pairs, read_step_times, times_table,
};
pub use submission::{SUBMITTED, mistakes, predicted, submission};
pub use summary::{Summary, summaries};
