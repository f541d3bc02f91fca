//! The fewest GPUs with which a model can be trained in one way, over all layouts and ways of recomputing.

use crate::config::check;
use crate::config::fields::FieldId as F;
use crate::config::raw::RawJob;
use crate::memory::methods::TrainingMethod;
use crate::search::{Axis, Candidate, Keep, Options, Pick, Searcher, Slice, Space, Split};
use crate::verdict::Verdict;

/// The most GPUs that are tried. All numbers that are tried are powers of two.
pub const MOST_GPUS: u64 = 4096;

/// The fewest GPUs with which a model can be trained in one way.
#[derive(Clone, Debug, PartialEq)]
pub enum Fewest {
    /// The job with the fewest GPUs, in the layout that comes first there.
    Job(Box<RawJob>, u64),
    /// Megatron refuses the model in this way of training, or its memory is not modelled there, with this reason.
    Refused(String),
    /// The job fits with none of the layouts up to [`MOST_GPUS`].
    None,
}

/// Searches the fewest GPUs, a power of two, with which a job of one module fits even with the largest overheads when
/// it is trained in one way. Parallel sizes and what is recomputed vary; sequence length, batch sizes, precision and
/// optimizer are those of the job. Layers are split evenly over stages, with fewer in the last one where there is a
/// rest, and TP stays within a node.
#[must_use]
pub fn fewest_in_any_layout(job: &RawJob, method: TrainingMethod) -> Fewest {
    let checked = check(job);
    let Some(m) = checked.config.as_ref().and_then(|config| config.modules().first()) else {
        let problems = checked.errors().map(|problem| problem.message.as_str());
        return Fewest::Refused(problems.collect::<Vec<_>>().join("; "));
    };
    let mut job = job.clone();
    for (field, value) in method.settings(m) {
        job.put(0, field, value);
    }
    match Space::new(&job, &options(&job, method)) {
        // Numbers of another job say nothing of whether this one fits.
        Ok(space) if !space.not_modelled().is_empty() => {
            let marks = space.not_modelled().iter();
            Fewest::Refused(marks.map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
        Ok(space) => fewest_of(&space, &job),
        Err(refused) => Fewest::Refused(refused.to_string()),
    }
}

/// The options of the search: the usual axes vary, and with them the number of GPUs and what is recomputed. Megatron
/// FSDP has no pipeline stages.
fn options(job: &RawJob, method: TrainingMethod) -> Options {
    let mut options = Options::usual(job);
    options.vary.extend([Axis::Gpus, Axis::Recompute]);
    options.at_most.push((Axis::Gpus, MOST_GPUS));
    if method == TrainingMethod::Fsdp {
        options.at_most.push((Axis::Pipeline, 1));
        options.at_most.push((Axis::Virtual, 1));
    }
    options.split = Split::RestInLastStage;
    options
}

/// Goes through the numbers of GPUs, which are the highest digit of a combination's index, in ascending order.
fn fewest_of(space: &Space, job: &RawJob) -> Fewest {
    let numbers = space.dimensions().first().map(|d| d.values.clone());
    let numbers = numbers.unwrap_or_default();
    let count = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
    let below = space.total() / count.max(1);
    let mut tried = Slice::default();
    let mut searcher = Searcher::default();
    for (digit, number) in (0..).zip(numbers) {
        let Pick::Size(gpus) = number else { continue };
        if !gpus.is_power_of_two() || gpus > MOST_GPUS {
            continue;
        }
        let range = digit * below..(digit + 1) * below;
        let slice = searcher.search(space, range, u32::MAX, Keep::Fitting);
        let fits = |c: &&Candidate| c.verdict() == Verdict::Fits;
        let mut fitting = slice.candidates.iter().filter(fits);
        let first = fitting
            .next()
            .map(|first| fitting.fold(first, |best, next| if next.is_before(best) { next } else { best }));
        if let Some(best) = first {
            let mut job = job.clone();
            for (field, value) in space.settings(best.index) {
                job.put(0, field, value);
            }
            job.shared.unset(F::data_parallel_size);
            return Fewest::Job(Box::new(job), gpus);
        }
        tried.join(slice);
    }
    if tried.legal > 0 || tried.cannot_fit > 0 {
        return Fewest::None;
    }
    Fewest::Refused(refusal(space, &tried))
}

/// Why all layouts are refused: what Megatron says to the smallest one, or the rule that refuses most.
fn refusal(space: &Space, tried: &Slice) -> String {
    let checked = check(&space.job(0));
    let problems: Vec<&str> = checked.errors().map(|p| p.message.as_str()).collect();
    if !problems.is_empty() {
        return problems.join("; ");
    }
    let rule = tried.refused.iter().max_by_key(|(_, count)| *count);
    rule.map(|(rule, _)| rule.clone()).unwrap_or_default()
}
