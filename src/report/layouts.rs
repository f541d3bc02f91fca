//! What a search of layouts is of, and what it found, in words: the same on the page, in the command line and in JSON.

use serde::Serialize;

use super::amount::{Scale, grouped};
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::config::{check, gpus};
use crate::search::{Axis, Candidate, Dimension, Pick, ROOM_FOR_SPEED, Room, Slice, Space};
use crate::value::Value;
use crate::verdict::{Headroom, Standing, Verdict};

/// What a search is of: the job as it is, its GPU, what varies and how far, and what does not. Amounts are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchHead {
    /// The verdict on the job as it is; `None` where no GPU is chosen.
    pub verdict: Option<&'static str>,
    /// What a check says of the job as it is, in a sentence.
    pub job: String,
    /// The name of the GPU; `None` where none of a known name is chosen.
    pub gpu: Option<String>,
    /// The most memory that the device may show; `None` where no GPU is chosen.
    pub limit_bytes: Option<u64>,
    /// What varies.
    pub varied: Vec<Varied>,
    /// What could vary and does not.
    pub left_alone: Vec<LeftAlone>,
    /// What changes the job's memory and is not modelled: with an entry, all layouts are estimated without it.
    pub not_modelled: Vec<String>,
}

/// An argument that a search varies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Varied {
    /// The argument's name.
    pub name: &'static str,
    /// Its symbol, such as `TP`.
    pub symbol: &'static str,
    /// The values that are tried: those within the bound.
    pub values: Vec<String>,
    /// The largest size that was allowed; `None` without a bound.
    pub at_most: Option<u64>,
}

/// An argument that a search leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftAlone {
    /// The argument's name.
    pub name: &'static str,
    /// Its symbol, such as `CP`.
    pub symbol: &'static str,
    /// The value that all layouts have.
    pub value: String,
}

impl SearchHead {
    /// The head of a search in a space.
    #[must_use]
    pub fn new(space: &Space, scale: Scale) -> Self {
        let (verdict, job) = own_standing(space.given(), scale);
        let gpu = match space.given().shared.get(FieldId::gpu) {
            Some(Value::Text(id)) => gpus::by_name(id).map(|gpu| gpu.name.to_owned()),
            _ => None,
        };
        let left_alone = space.left_alone().into_iter();
        let marks = space.not_modelled().iter();
        Self {
            verdict: verdict.id(),
            job,
            gpu,
            limit_bytes: space.gpu_memory().map(|gpu| gpu.0),
            varied: space.dimensions().iter().map(Varied::new).collect(),
            left_alone: left_alone.map(LeftAlone::new).collect(),
            not_modelled: marks.map(ToString::to_string).collect(),
        }
    }

    /// The head as lines of text.
    #[must_use]
    pub fn lines(&self, space: &Space, scale: Scale) -> Vec<String> {
        let gpu = match (space.gpu_memory(), &self.gpu) {
            (Some(limit), Some(name)) => format!("GPU: {name}, {}", scale.amount(limit)),
            (Some(limit), None) => format!("GPU: {}", scale.amount(limit)),
            (None, _) => "No GPU is chosen, so no layout is said to fit".to_owned(),
        };
        let varied: Vec<String> = self.varied.iter().map(Varied::words).collect();
        let varied = if varied.is_empty() {
            "Varied: nothing".to_owned()
        } else {
            format!("Varied: {}", varied.join(", "))
        };
        let alone = self.left_alone.iter();
        let alone: Vec<String> = alone.map(LeftAlone::words).collect();
        let alone = format!(
            "As in the job: {}, global batch {}, and all else",
            alone.join(", "),
            grouped(space.global_batch_size())
        );
        let marks = self.not_modelled.iter();
        let marks = marks.map(|mark| format!("Estimates of other jobs: {mark}"));
        let job = format!("The job as it is: {}", self.job);
        [job, gpu, varied, alone].into_iter().chain(marks).collect()
    }
}

impl Varied {
    fn new(dimension: &Dimension) -> Self {
        let within = dimension.values.iter().take(dimension.within());
        Self {
            name: dimension.axis.field().field().name,
            symbol: dimension.axis.symbol(),
            values: within.map(|value| value.label()).collect(),
            at_most: dimension.bound(),
        }
    }

    /// How far the values go, such as `TP 1 to 8 (at most 8)`.
    fn words(&self) -> String {
        let sizes = Axis::by_name(self.name).is_some_and(Axis::has_sizes);
        let range = match self.values.as_slice() {
            [] => "nothing within its bound".to_owned(),
            [one] => one.clone(),
            [first, .., last] if sizes => format!("{first} to {last}"),
            several => format!("({})", several.join("; ")),
        };
        let end = match (self.at_most, self.symbol == Axis::Gpus.symbol()) {
            (Some(bound), _) => format!(" (at most {})", grouped(bound)),
            (None, true) => String::from(" (the job's own number; a larger bound goes further)"),
            (None, false) => String::new(),
        };
        format!("{} {range}{end}", self.symbol)
    }
}

impl LeftAlone {
    fn new((axis, value): (Axis, String)) -> Self {
        Self {
            name: axis.field().field().name,
            symbol: axis.symbol(),
            value,
        }
    }

    /// The argument with its value, or by itself where no value tells more, as of a way of recomputing.
    fn words(&self) -> String {
        if self.value == AS_IN_JOB {
            self.symbol.to_owned()
        } else {
            format!("{} {}", self.symbol, self.value)
        }
    }
}

/// The value of an argument that no number or name says.
const AS_IN_JOB: &str = "as in the job";

/// The verdict on a job as it is, and what a check says of it.
fn own_standing(job: &RawJob, scale: Scale) -> (Verdict, String) {
    let checked = check(job);
    let (verdict, standing) = Standing::of_checked(&checked);
    if let (Some(config), Some(standing)) = (&checked.config, standing) {
        return (verdict, standing.sentence(config, scale));
    }
    let refused: Vec<String> = checked.refusals().map(ToString::to_string).collect();
    (verdict, format!("{}: {}", verdict.words(), refused.join("; ")))
}

/// How many layouts a search found of each verdict. Of those that are skipped because they cannot fit, it is not known how
/// many Megatron runs.
#[must_use]
pub fn counts(space: &Space, found: &Slice) -> String {
    let at_least = if found.cannot_fit > 0 { "at least " } else { "" };
    let legal = format!("{at_least}{} that Megatron runs", grouped(found.legal));
    if space.gpu_memory().is_none() {
        return format!("{legal}; no GPU is chosen that they may fit");
    }
    let others = if space.not_modelled().is_empty() {
        ""
    } else {
        " without what is not modelled"
    };
    format!(
        "{legal}: {} fit{others}, {} are tight, {} are too large",
        grouped(found.fitting()),
        grouped(found.tight),
        grouped(found.too_large)
    )
}

/// Layouts that are tight by the factors. Of those that the command line lists, and of a job, a replay settles it.
const TIGHT: &str = "Tight by the factors of reserved memory";

/// The line between the layouts of a group and those before it, which leave more memory free.
#[must_use]
pub fn group_words(room: Room, scale: Scale) -> String {
    match room {
        Room::Enough => Verdict::Fits.words().to_owned(),
        Room::Little => format!("Less than {} free: slower than predicted", scale.amount(ROOM_FOR_SPEED)),
        Room::Tight => TIGHT.to_owned(),
        Room::Missing => Verdict::DoesNotFit.words().to_owned(),
    }
}

/// The layout that is nearest to fitting where nothing fits, and by how much it is too large.
#[must_use]
pub fn closest(space: &Space, closest: &Candidate, scale: Scale) -> String {
    let sizes = space.dimensions().iter().zip(space.picks(closest.index));
    let sizes: Vec<String> = sizes
        .map(|(d, pick): (&Dimension, Pick)| format!("{} {}", d.axis.symbol(), pick.label()))
        .collect();
    let room = closest.gpu.map(|gpu| Headroom::of((closest.least, closest.most), gpu));
    let missing = room.map_or_else(String::new, |room| format!(", {}", room.words(scale)));
    format!(
        "Nothing fits. Nearest is {} with {} allocated on stage {}{missing}.",
        sizes.join(", "),
        scale.amount(closest.peak),
        closest.worst.pp_rank,
    )
}
