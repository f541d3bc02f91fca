//! Offers of changes with which a job fits, as rows of text.

use core::cmp::Ordering;

use super::amount::{Scale, grouped};
use crate::fit::{JobCosts, Offer};
use crate::search::{percent, seconds};
use crate::units::Bytes;

/// One change, or a pair of changes, with which a job fits.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferRow {
    /// The changes with their settings.
    pub change: Offer,
    /// The changes in words.
    pub name: String,
    /// What they change at the peak of the fullest GPU, such as `−29.40 GiB`; `no change` only where it is the same to
    /// the byte.
    pub saves: String,
    /// The peak with them.
    pub peak: String,
    /// What they cost as a whole, such as `halves the data-parallel size; recomputes 31.0 % of the forward work`.
    pub cost: String,
}

impl OfferRow {
    /// The row of an offer.
    #[must_use]
    pub fn new(change: Offer, scale: Scale) -> Self {
        let saves = scale.amount(Bytes(change.saves.unsigned_abs()));
        let saves = match change.saves.cmp(&0) {
            Ordering::Less => format!("+{saves}"),
            Ordering::Equal => String::from("no change"),
            Ordering::Greater => format!("−{saves}"),
        };
        let mut name = change.label();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Self {
            name,
            saves,
            peak: scale.amount(change.measured.total),
            cost: cost(&change.now, &change.then),
            change,
        }
    }
}

/// What a job pays more with changes, in words; where it pays nothing more, what it pays less.
#[must_use]
pub fn cost(now: &JobCosts, then: &JobCosts) -> String {
    let costs = differences(now, then, Ordering::Greater);
    if !costs.is_empty() {
        return costs.join("; ");
    }
    let gains = differences(now, then, Ordering::Less);
    if gains.is_empty() {
        String::from("costs nothing")
    } else {
        gains.join("; ")
    }
}

/// What is worse, `Greater`, or better, `Less`, with changes.
fn differences(now: &JobCosts, then: &JobCosts, which: Ordering) -> Vec<String> {
    let mut words = Vec::new();
    let mut say = |worse: Ordering, text: String| {
        if worse == which {
            words.push(text);
        }
    };
    if let Some((worse, text)) = longer_step(now, then) {
        say(worse, text);
    }
    say(
        then.gpus.cmp(&now.gpus),
        format!("{} GPUs, {} now", grouped(then.gpus), grouped(now.gpus)),
    );
    say(
        now.seq_length.cmp(&then.seq_length),
        format!(
            "samples of at most {} tokens, {} now: longer ones are cut",
            grouped(then.seq_length),
            grouped(now.seq_length)
        ),
    );
    say(
        tenths(then.step.recomputed_ppm).cmp(&tenths(now.step.recomputed_ppm)),
        recomputed(now.step.recomputed_ppm, then.step.recomputed_ppm),
    );
    let (dp, dp_now) = (then.data_parallel_size, now.data_parallel_size);
    // More GPUs are a cost of their own, and more data-parallel ranks the reason for them.
    if then.gpus == now.gpus {
        say(dp_now.cmp(&dp), data_parallel(dp_now, dp));
        say(
            then.replica_gpus.cmp(&now.replica_gpus),
            format!(
                "{} GPUs per replica, {} now",
                grouped(then.replica_gpus),
                grouped(now.replica_gpus)
            ),
        );
    }
    if dp == dp_now {
        say(
            then.micro_batches.cmp(&now.micro_batches),
            format!(
                "{} micro batches in a step, {} now",
                grouped(then.micro_batches),
                grouped(now.micro_batches)
            ),
        );
    }
    say(
        tenths(then.step.bubble_ppm).cmp(&tenths(now.step.bubble_ppm)),
        format!(
            "pipeline bubble {}, {} now",
            percent(then.step.bubble_ppm),
            percent(now.step.bubble_ppm)
        ),
    );
    // What every layout exchanges a little more or less is below a percent of the work.
    say(
        whole(then.step.exchange_ppm).cmp(&whole(now.step.exchange_ppm)),
        format!(
            "exchanged data {} of the work, {} now",
            percent(then.step.exchange_ppm),
            percent(now.step.exchange_ppm)
        ),
    );
    if then.splits_short_sequences {
        say(
            true.cmp(&now.splits_short_sequences),
            "context-parallel ranks have under 4,096 tokens, too few to hide their exchange".to_owned(),
        );
    }
    say(
        then.offloaded_modules.cmp(&now.offloaded_modules),
        match then.offloaded_modules {
            0 => "no activations copied to the host".to_owned(),
            1 => "activations of one kind of module copied to the host and back".to_owned(),
            count => format!("activations of {count} kinds of modules copied to the host and back"),
        },
    );
    say(
        then.gathers.cmp(&now.gathers),
        "parameters gathered and gradients reduced for every micro batch".to_owned(),
    );
    say(
        now.state_bytes.cmp(&then.state_bytes),
        format!(
            "{} bytes of gradient and moments per parameter, {} now",
            then.state_bytes, now.state_bytes
        ),
    );
    say(
        then.on_host.cmp(&now.on_host),
        match then.on_host {
            0 => "all of the optimizer step runs on the GPU".to_owned(),
            on_host => format!("{on_host} % of the optimizer step runs on the CPU"),
        },
    );
    words
}

/// How a step gets longer, `Greater`, or shorter, `Less`; `None` where no time is predicted for both.
fn longer_step(now: &JobCosts, then: &JobCosts) -> Option<(Ordering, String)> {
    let (before, after) = now.step_nanoseconds.zip(then.step_nanoseconds)?;
    // Less than a percent is below what a prediction tells apart.
    let worse = match u128::from(after) * 100 / u128::from(before.max(1)) {
        ..=98 => Ordering::Less,
        99..=100 => Ordering::Equal,
        101.. => Ordering::Greater,
    };
    Some((worse, format!("a step of {}, {} now", seconds(after), seconds(before))))
}

fn recomputed(now: u64, then: u64) -> String {
    match (tenths(now), tenths(then)) {
        (_, 0) => "recomputes nothing".to_owned(),
        (0, _) => format!("recomputes {} of the forward work", percent(then)),
        _ => format!("recomputes {} of the forward work, {} now", percent(then), percent(now)),
    }
}

fn data_parallel(now: u64, then: u64) -> String {
    match (now.checked_div(then), then.checked_div(now)) {
        (Some(2), _) if now == 2 * then => "halves the data-parallel size".to_owned(),
        (_, Some(2)) if then == 2 * now => "doubles the data-parallel size".to_owned(),
        _ => format!("data-parallel size {}, {} now", grouped(then), grouped(now)),
    }
}

/// Millionths as tenths of a percent, which is how finely shares are written.
const fn tenths(ppm: u64) -> u64 {
    (ppm + 500) / 1_000
}

/// Millionths in whole percents.
const fn whole(ppm: u64) -> u64 {
    (ppm + 5_000) / 10_000
}
