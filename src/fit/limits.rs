//! The largest sequence length and micro batch, and the fewest GPUs, with which a job fits while all else stays as it
//! is.

use super::error::{FitError, with_gpu};
use super::measure::standing;
use crate::config::fields::FieldId as F;
use crate::config::job::Config;
use crate::config::problem::Change;
use crate::config::raw::RawJob;
use crate::config::{check, validate};
use crate::parallel::mimo::{Field, LANGUAGE_MODULE};
use crate::value::Value;

/// The largest or smallest value of a setting with which a job fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The value.
    pub value: u64,
    /// The index of the module that has the setting.
    pub module: usize,
    /// The settings of that module with which the job has the value; null stands for a default.
    settings: Vec<(F, Value)>,
    /// How the ranks of several modules change with the value.
    ranks: Vec<Change>,
}

impl Limit {
    /// Gives a job the value.
    pub fn apply(&self, job: &mut RawJob) {
        for (field, value) in &self.settings {
            job.put(self.module, *field, value.clone());
        }
        job.change_ranks(&self.ranks);
    }

    fn of_settings(value: u64, module: usize, settings: Vec<(F, Value)>) -> Self {
        Self {
            value,
            module,
            settings,
            ranks: Vec::new(),
        }
    }
}

/// How far a job can go on its GPU, each while all else stays as it is; `None` where no value fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The longest sequence of the language model, in tokens. See [`longest_sequence`].
    pub longest_sequence: Option<Limit>,
    /// The largest micro batch of the language model, in samples. See [`largest_micro_batch`].
    pub largest_micro_batch: Option<Limit>,
    /// The fewest GPUs. See [`fewest_gpus`].
    pub fewest_gpus: Option<Limit>,
}

/// The limits of a job.
///
/// # Errors
/// Where Megatron refuses the job, or no GPU is chosen.
pub fn limits(job: &RawJob) -> Result<Limits, FitError> {
    with_gpu(check(job))?;
    Ok(Limits {
        longest_sequence: longest_sequence(job),
        largest_micro_batch: largest_micro_batch(job),
        fewest_gpus: fewest_gpus(job),
    })
}

/// The step of sequence lengths, in tokens, where parallel sizes do not ask for a larger one.
const SEQUENCE_STEP: u64 = 128;
/// The longest sequence that is tried, in tokens.
const LONGEST: u64 = 1 << 27;
/// Steps above the first length that does not fit which are tried too: an allocator's rounding can make a longer
/// sequence need less.
const BEYOND: u64 = 8;
/// The most values of DP, or of a micro batch, that are tried one after the other.
const MOST_TRIED: u64 = 4096;

/// The longest sequence with which a job fits its GPU even with the largest overheads, in steps of 128 tokens, or of
/// what CP and TP divide; `None` where even the shortest does not fit, or no GPU is chosen. It sets the sequence length
/// of the language model, and its largest position and its longest sample where those are less.
#[must_use]
pub fn longest_sequence(job: &RawJob) -> Option<Limit> {
    let (module, config) = language(job)?;
    let m = config.modules().get(module)?;
    let parts = m.tp.saturating_mul(m.cp).saturating_mul(2);
    let step = least_common_multiple(SEQUENCE_STEP, parts)?;
    let with_length = |length| Limit::of_settings(length, module, sequence_settings(job, module, length));
    let fits = |steps: u64| {
        let length = steps.saturating_mul(step);
        length <= LONGEST && fits_with(job, &with_length(length))
    };
    // The last length that fits of a doubling series, the largest below the next one by bisection, and then those
    // beyond.
    let mut known = 0_u64;
    let mut tried = 1_u64;
    while tried.saturating_mul(step) <= LONGEST {
        if fits(tried) {
            known = tried;
        } else if known > 0 {
            break;
        }
        tried = tried.saturating_mul(2);
    }
    let mut over = known.saturating_mul(2);
    loop {
        while over.saturating_sub(known) > 1 {
            let middle = known + (over - known) / 2;
            if fits(middle) {
                known = middle;
            } else {
                over = middle;
            }
        }
        match (over..=over + BEYOND).rev().find(|steps| fits(*steps)) {
            Some(further) if known > 0 => (known, over) = (further, further + 1),
            _ => break,
        }
    }
    (known > 0).then(|| with_length(known.saturating_mul(step)))
}

/// Whether the longest sequence of a job is its longest sample: samples are packed up to a budget of tokens, and one that
/// is longer than the budget is a micro batch of its own.
#[must_use]
pub fn longest_sequence_is_of_samples(job: &RawJob) -> bool {
    let mut modules = 0..job.module_count();
    modules.any(|module| job.number(module, F::max_seqlen_per_dp_cp_rank).is_some())
}

/// The settings of a sequence length. Where the longest sample is given too, it has that length.
pub(super) fn sequence_settings(job: &RawJob, module: usize, length: u64) -> Vec<(F, Value)> {
    let mut settings = vec![(F::seq_length, Value::Int(length.into()))];
    let is_less = |field| job.number(module, field).is_some_and(|longest| longest < length);
    let fields = [F::max_position_embeddings, F::longest_sample_length];
    settings.extend(
        fields
            .into_iter()
            .filter(|field| is_less(*field))
            .map(|field| (field, Value::Int(length.into()))),
    );
    settings
}

/// The largest micro batch with which a job fits its GPU even with the largest overheads, with the same global batch;
/// `None` where none does, or no GPU is chosen.
#[must_use]
pub fn largest_micro_batch(job: &RawJob) -> Option<Limit> {
    let (module, config) = language(job)?;
    let m = config.modules().get(module)?;
    let samples = m.derived().global_batch_size / m.dp.max(1);
    let sizes = divisors(samples);
    let limits = sizes.into_iter().rev().map(|value| {
        let settings = vec![(F::micro_batch_size, Value::Int(value.into()))];
        Limit::of_settings(value, module, settings)
    });
    first_fitting(job, limits)
}

/// The fewest GPUs with which a job fits even with the largest overheads, with the same layout of a replica and the
/// same global batch; `None` where none do, or no GPU is chosen. With several modules, the replicas of all stay in
/// proportion.
#[must_use]
pub fn fewest_gpus(job: &RawJob) -> Option<Limit> {
    let (module, config) = language(job)?;
    let m = config.modules().get(module)?;
    let batch = m.derived().global_batch_size;
    let sizes = divisors(batch / m.args().micro_batch_size.max(1)).into_iter();
    let limits = sizes.filter_map(|dp| with_replicas(job, &config, module, dp));
    first_fitting(job, limits)
}

/// The GPUs of a job whose language model has so many replicas, with as many more or fewer of every other module;
/// `None` where a module would not have a whole number of them.
fn with_replicas(job: &RawJob, config: &Config, module: usize, dp: u64) -> Option<Limit> {
    let language = config.modules().get(module)?;
    let scaled = |size: u64| {
        let of_all = size.checked_mul(dp)?;
        let is_whole = of_all.is_multiple_of(language.dp);
        is_whole.then(|| of_all / language.dp)
    };
    let value = scaled(config.world_size())?;
    let batch = language.derived().global_batch_size;
    let batch = (F::global_batch_size, Value::Int(batch.into()));
    if job.modules.is_empty() {
        let world = (F::world_size, Value::Int(value.into()));
        let settings = vec![world, batch, (F::data_parallel_size, Value::Null)];
        return Some(Limit::of_settings(value, module, settings));
    }
    let mut ranks = vec![Change::WorldSize(value.into())];
    for (index, m) in config.modules().iter().enumerate() {
        let sizes = [(Field::DataParallelSize, m.dp), (Field::RankOffset, m.rank_offset())];
        for (field, size) in sizes {
            ranks.push(Change::Set {
                module: index,
                field,
                value: scaled(size)?.into(),
            });
        }
    }
    Some(Limit {
        value,
        module,
        settings: vec![batch],
        ranks,
    })
}

fn first_fitting(job: &RawJob, mut limits: impl Iterator<Item = Limit>) -> Option<Limit> {
    limits.find(|limit| fits_with(job, limit))
}

fn language(job: &RawJob) -> Option<(usize, Config)> {
    let config = validate(job).config?;
    config.gpu_memory()?;
    let mut modules = config.modules().iter();
    let module = modules.position(|m| m.name() == LANGUAGE_MODULE);
    Some((module.unwrap_or(0), config))
}

fn fits_with(job: &RawJob, limit: &Limit) -> bool {
    let mut other = job.clone();
    limit.apply(&mut other);
    standing(&other).is_some_and(|measured| measured.has_room())
}

/// The divisors of a number up to [`MOST_TRIED`] and their counterparts, ascending.
pub(super) fn divisors(number: u64) -> Vec<u64> {
    let small: Vec<u64> = (1..=MOST_TRIED)
        .take_while(|d| d.saturating_mul(*d) <= number)
        .filter(|d| number.is_multiple_of(*d))
        .collect();
    let large: Vec<u64> = small.iter().rev().map(|d| number / d).collect();
    let mut all = small;
    all.extend(large);
    all.dedup();
    all
}

fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a.checked_div(x)?.checked_mul(b)
}
