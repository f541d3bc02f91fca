//! The fewest GPUs for every model preset on every type of GPU, as `report/fewest_gpus.txt` stores them, since the
//! search takes a while: `cargo xtask fewest-gpus` makes the lines.
//!
//! A line has five parts with blanks between them: the preset with its version, the way of training, the number of GPUs
//! (or `none`, or `refused`), the types of GPUs that it is true of, and the link of the job without its GPU (or why it
//! is refused):
//!
//! `llama3-8b@2 full 4 h100-80gb,h800 #v1;m=llama3-8b@2;gpus=4;tp=2`

use core::fmt;
use core::str::FromStr;

use crate::config::check;
use crate::config::fields::FieldId as F;
use crate::config::gpus::{GPUS, Gpu};
use crate::fit::{Fewest, fewest_in_any_layout, move_to};
use crate::formats::share_url;
use crate::formats::state::{PresetRef, Setup, ShareState};
use crate::memory::estimate;
use crate::memory::methods::TrainingMethod;
use crate::presets::Preset;
use crate::verdict::{Standing, Verdict};

/// The path of the file with the lines, from the top of the repository.
pub const PATH: &str = "src/report/fewest_gpus.txt";

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The preset with its version, such as `llama3-8b@2`.
    pub preset: String,
    /// The way of training.
    pub method: TrainingMethod,
    /// The ids of the types of GPUs.
    pub gpus: Vec<String>,
    /// How many of them the job needs.
    pub count: Count,
}

/// The fewest GPUs of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many, with the link of the job, which names no GPU.
    Gpus(u64, String),
    /// More than [`MOST_GPUS`](crate::fit::MOST_GPUS).
    None,
    /// Megatron refuses the job, or its memory is not modelled, with this reason.
    Refused(String),
}

impl Line {
    /// Adds the fewest GPUs of every type that these lines do not have for a preset that is trained in one way. GPUs with
    /// equal jobs share a line.
    pub fn complete(lines: &mut Vec<Self>, preset: &Preset, method: TrainingMethod) {
        let reference = PresetRef {
            id: preset.id.to_owned(),
            version: preset.version,
        };
        let name = format!("{}@{}", preset.id, preset.version);
        let is_of = |line: &Self| line.preset == name && line.method == method;
        for gpu in GPUS {
            let has = |line: &Self| line.gpus.iter().any(|id| id == gpu.id);
            if lines.iter().any(|line| is_of(line) && has(line)) {
                continue;
            }
            let count = count(&reference, preset, method, gpu);
            let place = lines.iter().rposition(is_of).map_or(lines.len(), |last| last + 1);
            match lines.iter_mut().find(|line| is_of(line) && line.count == count) {
                Some(line) => line.gpus.push(gpu.id.to_owned()),
                None => lines.insert(
                    place,
                    Self {
                        preset: name.clone(),
                        method,
                        gpus: vec![gpu.id.to_owned()],
                        count,
                    },
                ),
            }
        }
    }

    /// Takes out the types of GPUs on which the stored job no longer fits, so that [`Self::complete`] searches them anew.
    pub fn retain_gpus_that_fit(&mut self) {
        let mut gpus = core::mem::take(&mut self.gpus);
        gpus.retain(|gpu| {
            let Some(link) = self.link(gpu) else { return true };
            let job = share_url::decode(&link).0.setup.job;
            check(&job)
                .config
                .is_some_and(|config| Standing::by_factors(&config, &estimate(&config)).verdict == Verdict::Fits)
        });
        self.gpus = gpus;
    }

    /// The link of the job on a type of GPU; `None` where there is no job.
    #[must_use]
    pub fn link(&self, gpu: &str) -> Option<String> {
        match &self.count {
            Count::Gpus(_, link) => Some(format!("{link};{}={gpu}", F::gpu.field().key)),
            Count::None | Count::Refused(_) => None,
        }
    }
}

fn count(reference: &PresetRef, preset: &Preset, method: TrainingMethod, gpu: &Gpu) -> Count {
    let mut setup = Setup {
        preset: Some(reference.clone()),
        ..Setup::default()
    };
    setup.job.shared = preset.settings();
    let own = setup.job.clone();
    move_to(&mut setup.job, gpu);
    match fewest_in_any_layout(&setup.job, method) {
        Fewest::Job(mut job, gpus) => {
            for field in [F::gpu, F::gpu_memory_mib] {
                match own.get(0, field) {
                    Some(value) => job.put(0, field, value.clone()),
                    None => job.shared.unset(field),
                }
            }
            setup.job = *job;
            let state = ShareState {
                setup,
                ..ShareState::default()
            };
            Count::Gpus(gpus, share_url::encode(&state))
        }
        Fewest::None => Count::None,
        Fewest::Refused(reason) => Count::Refused(reason),
    }
}

/// The lines of a file; a line that cannot be read is left out.
#[must_use]
pub fn read(text: &str) -> Vec<Line> {
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (preset, method, gpus) = (&self.preset, self.method.id(), self.gpus.join(","));
        match &self.count {
            Count::Gpus(count, link) => write!(f, "{preset} {method} {count} {gpus} {link}"),
            Count::None => write!(f, "{preset} {method} none {gpus} -"),
            Count::Refused(reason) => write!(f, "{preset} {method} refused {gpus} {reason}"),
        }
    }
}

impl FromStr for Line {
    /// A line that cannot be read says no more than that.
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = line.splitn(5, ' ').collect();
        let [preset, method, count, gpus, rest] = parts[..] else {
            return Err(());
        };
        let mut methods = TrainingMethod::EACH.into_iter();
        Ok(Self {
            preset: preset.to_owned(),
            method: methods.find(|known| known.id() == method).ok_or(())?,
            gpus: gpus.split(',').map(str::to_owned).collect(),
            count: match count {
                "none" => Count::None,
                "refused" => Count::Refused(rest.to_owned()),
                count => Count::Gpus(count.parse().map_err(|_| ())?, rest.to_owned()),
            },
        })
    }
}
