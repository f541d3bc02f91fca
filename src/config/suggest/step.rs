//! Stepping a number through its legal values while all other fields stay as they are.

use crate::config::check::validate;
use crate::config::field::{Default, Kind};
use crate::config::fields::FieldId;
use crate::config::parse::{Parsed, parse};
use crate::config::raw::RawJob;
use crate::value::Value;

/// Where to go from the current value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next legal value.
    Up,
    /// The legal value before.
    Down,
    /// At least twice as much.
    Double,
    /// At most half as much.
    Halve,
    /// The smallest legal value.
    First,
    /// The largest legal value.
    Last,
}

/// Values that are tried one by one before the search gives up.
const TRIES: u64 = 160;

/// The value to step to; nothing where the last legal one is reached, or the field does not take whole numbers.
///
/// A value is legal when no error names the field. Where none is in reach in either direction, the search being
/// bounded, the plain neighbour is taken and its problem shown: the way to a legal job may lead through it.
#[must_use]
pub fn step(job: &RawJob, module: usize, id: FieldId, to: Step) -> Option<u64> {
    let Kind::Int { min, max } = id.field().kind else {
        return None;
    };
    let now = now(job, module, id)?;
    let unit = unit(id, now);
    let mut trial = job.clone();
    let mut legal = |candidate: u64| {
        trial.put(module, id, Value::Int(candidate.into()));
        let problems = validate(&trial).problems;
        !problems.iter().any(|p| p.is_error() && p.fields.contains(&id))
    };
    let (up, start) = match to {
        Step::Up => (true, now.checked_add(unit)? / unit * unit),
        Step::Down => (false, now.checked_sub(1)? / unit * unit),
        Step::Double => (true, now.checked_mul(2)?),
        Step::Halve => (false, now / 2),
        Step::First => (true, min),
        Step::Last => return last(min, max, legal),
    };
    if !(min..=max).contains(&start) {
        return None;
    }
    let mut reach = |up: bool| {
        let near = (0..TRIES).filter_map(|i| {
            let away = unit.saturating_mul(i);
            if up {
                start.checked_add(away)
            } else {
                start.checked_sub(away)
            }
        });
        // Beyond the nearest values, the usual ones: powers of two and three times those.
        let far = powers().filter(|value| if up { *value > start } else { *value < start });
        let mut far: Vec<u64> = far.collect();
        if !up {
            far.reverse();
        }
        let mut all = near.chain(far).filter(|value| (min..=max).contains(value));
        all.find(|value| legal(*value))
    };
    match reach(up) {
        None if reach(!up).is_none() => Some(start),
        there => there,
    }
}

/// The distance between the values that steps lead through: an eighth of the power of two below a sequence length, and
/// 1 for all other fields.
fn unit(id: FieldId, now: u64) -> u64 {
    if id != FieldId::seq_length {
        return 1;
    }
    let power = now.max(1).ilog2();
    1 << power.saturating_sub(3)
}

/// The number that a field holds, or its default; nothing where it holds none.
#[must_use]
pub fn now(job: &RawJob, module: usize, id: FieldId) -> Option<u64> {
    let Kind::Int { min, .. } = id.field().kind else {
        return None;
    };
    let value = job.get(module, id).map(|value| parse(id.field(), value));
    match value {
        Some(Ok(Some(Parsed::Int(now)))) => Some(now),
        Some(Err(_)) => None,
        _ => Some(default(id).unwrap_or(min)),
    }
}

fn last(min: u64, max: u64, mut legal: impl FnMut(u64) -> bool) -> Option<u64> {
    let mut usual: Vec<u64> = powers().filter(|v| (min..=max).contains(v)).collect();
    usual.reverse();
    usual.into_iter().find(|value| legal(*value))
}

/// 1, 2, 3, 4, 6, 8, 12, ... up to two million.
pub fn powers() -> impl Iterator<Item = u64> {
    (0..21).flat_map(|exponent| {
        let power = 1_u64 << exponent;
        [Some(power), (exponent > 0).then_some(power / 2 * 3)]
            .into_iter()
            .flatten()
    })
}

fn default(id: FieldId) -> Option<u64> {
    match id.field().default {
        Default::Int(i) => Some(i),
        _ => None,
    }
}
