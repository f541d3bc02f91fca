//! The times of many layouts of one model, for a search: what layouts have in common is worked out once.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::coefficients::Coefficients;
use super::hardware::Hardware;
use super::layers::{LayerTimes, Software};
use super::pipeline::Replay;
use super::step::Nominal;
use super::timed;
use crate::config::job::{Config, Module};
use crate::memory::bucket::Bucket;
use crate::units::Bytes;

/// The times of so many combinations of sizes are kept at once.
const MOST: usize = 4_096;

/// The sizes and settings of a layout that the times of its layers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    tp: u64,
    cp: u64,
    ep: u64,
    etp: u64,
    sequence_parallel: bool,
    micro_batch_size: u64,
    seq_length: u64,
    recompute_granularity: Option<u8>,
    recompute_method: Option<u8>,
    recompute_num_layers: Option<u64>,
    recompute_modules: u32,
}

impl Key {
    fn of(m: &Module) -> Self {
        let a = &m.args;
        Self {
            tp: m.tp,
            cp: m.cp,
            ep: m.ep,
            etp: m.etp,
            sequence_parallel: m.sequence_parallel,
            micro_batch_size: a.micro_batch_size,
            seq_length: a.seq_length,
            recompute_granularity: a.recompute_granularity.map(|of| of as u8),
            recompute_method: a.recompute_method.map(|of| of as u8),
            recompute_num_layers: a.recompute_num_layers,
            recompute_modules: a.recompute_modules.bits(),
        }
    }
}

/// The times of the layers of layouts. All layouts must be of jobs that differ only in parallel sizes, the number of
/// GPUs, micro batches, and in what is recomputed.
#[derive(Debug, Default)]
pub struct TimeTables {
    known: BTreeMap<Key, Rc<LayerTimes>>,
}

impl TimeTables {
    /// Nanoseconds of a step of a layout whose fullest stage has this memory by bucket, with the closed form of its
    /// pipeline; `None` where the prediction does not follow the job.
    pub fn step_nanoseconds(&mut self, config: &Config, fullest: &[Bytes; Bucket::COUNT]) -> Option<u64> {
        let (m, on) = timed(config).ok()?;
        let layers = self.layers(m, &on);
        let nominal = Nominal::of(m, &layers, fullest, &on);
        Some(nanoseconds(nominal.seconds(
            m,
            &Coefficients::of(m),
            Replay::ClosedForm,
        )))
    }

    fn layers(&mut self, m: &Module, on: &Hardware) -> Rc<LayerTimes> {
        let times = || Rc::new(LayerTimes::new(m, on, Software::default()));
        // Which layers have adapters depends on the stages.
        if m.adapters().is_some() {
            return times();
        }
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.entry(Key::of(m)).or_insert_with(times).clone()
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a step takes less than 2^63 ns"
)]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
