//! What a link or an exported file stores: a job with the preset that it started from, the pinned jobs that it is
//! compared with, and the chosen tab and pipeline stage.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::preset_files::settings;
use crate::config::canonical::normalize_job;
use crate::config::raw::RawJob;
use crate::presets::jobs::JobPreset;
use crate::presets::{self, Preset};
use crate::value::Value;

/// The preset that a first visit shows: a mixture of experts on a cluster of a realistic size.
const FIRST: &str = "deepseek-v3";

/// The most pinned jobs of a page and of a link.
pub const MAX_PINNED: usize = 8;

/// A preset as links name it: `deepseek-v3@1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetRef {
    /// The preset's id.
    pub id: String,
    /// Its version.
    pub version: u32,
}

/// A job, and the preset that it started from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The preset; links and files then say only what differs from it.
    pub preset: Option<PresetRef>,
    /// The whole job, with the preset's values.
    pub job: RawJob,
}

/// The state of the page that a link restores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareState {
    /// The job on the page.
    pub setup: Setup,
    /// The pinned jobs that it is compared with, the one that was pinned last first. At most [`MAX_PINNED`].
    pub pinned: Vec<Setup>,
    /// The chosen tab and pipeline stage.
    pub view: View,
}

/// A pipeline stage of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Index of the module.
    pub module: u16,
    /// Pipeline rank within the module.
    pub pp_rank: u16,
}

/// The part of the results that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The chosen tab, by the page's own name for it.
    pub tab: Option<String>,
    /// The chosen pipeline stage.
    pub stage: Option<Place>,
}

impl PresetRef {
    /// Reads a reference such as `deepseek-v3@1`. The second value is whether that version exists: an unknown version
    /// becomes the newest one, and so does a missing version. `None` where no preset has the id.
    #[must_use]
    pub fn read(name: &str) -> Option<(Self, bool)> {
        let (id, version) = name.split_once('@').unwrap_or((name, ""));
        let newest = settings::newest(id)?;
        let known = version.parse().ok().filter(|n| (1..=newest).contains(n));
        let reference = Self {
            id: id.to_owned(),
            version: known.unwrap_or(newest),
        };
        Some((reference, version.is_empty() || known.is_some()))
    }

    /// The preset's name for people, where the preset exists.
    #[must_use]
    pub fn label(&self) -> Option<&'static str> {
        let model = presets::by_id(&self.id).map(|model| model.name);
        model.or_else(|| presets::jobs::by_id(&self.id).map(|job| job.name))
    }

    /// The preset's job in canonical form, where the preset exists.
    fn job(&self) -> Option<RawJob> {
        let job = settings::job(&self.id, self.version)?;
        Some(normalize_job(&job, &job))
    }
}

impl From<&Preset> for PresetRef {
    fn from(preset: &Preset) -> Self {
        Self {
            id: preset.id.to_owned(),
            version: preset.version,
        }
    }
}

impl From<&JobPreset> for PresetRef {
    fn from(preset: &JobPreset) -> Self {
        Self {
            id: preset.id.to_owned(),
            version: preset.version,
        }
    }
}

impl fmt::Display for PresetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.id, self.version)
    }
}

impl View {
    /// Whether a text can be the name of a tab.
    #[must_use]
    pub fn is_tab(name: &str) -> bool {
        (1..=40).contains(&name.len())
    }
}

impl Setup {
    /// A preset without changes.
    #[must_use]
    pub fn of_preset(preset: &Preset) -> Self {
        let reference = Self {
            preset: Some(preset.into()),
            job: RawJob::default(),
        };
        reference.start()
    }

    /// The setup that a first visit shows.
    #[must_use]
    pub fn first() -> Self {
        let reference = Self {
            preset: PresetRef::read(FIRST).map(|(preset, _)| preset),
            job: RawJob::default(),
        };
        reference.start()
    }

    /// The job that this one started from: the preset's, or a job of defaults.
    #[must_use]
    pub fn base(&self) -> RawJob {
        self.preset.as_ref().and_then(PresetRef::job).unwrap_or_default()
    }

    /// The same preset without changes.
    #[must_use]
    pub fn start(&self) -> Self {
        Self {
            preset: self.preset.clone(),
            job: self.base(),
        }
    }

    /// The same setup in canonical form: every value in its one spelling; no values that equal those of the preset or
    /// the default; no values that their field cannot take. Unknown keys are kept, as text.
    #[must_use]
    pub fn normalize(&self) -> Self {
        let preset = self.preset.clone();
        let base = preset.as_ref().and_then(PresetRef::job);
        // A plain job has nothing in common with a preset of several modules.
        let base = base.filter(|base| base.modules.is_empty() || !self.job.modules.is_empty());
        let preset = preset.filter(|_| base.is_some());
        let mut job = normalize_job(&self.job, &base.unwrap_or_default());
        for (_, value) in &mut job.unknown {
            *value = match core::mem::take(value) {
                Value::Null => Value::Null,
                Value::Text(text) if text.is_empty() => Value::Null,
                Value::Text(text) => Value::Text(text),
                other => Value::Text(other.to_string()),
            };
        }
        Self { preset, job }
    }
}

impl ShareState {
    /// The same state in canonical form, see [`Setup::normalize`].
    #[must_use]
    pub fn normalize(&self) -> Self {
        Self {
            setup: self.setup.normalize(),
            pinned: self.pinned.iter().take(MAX_PINNED).map(Setup::normalize).collect(),
            view: View {
                tab: self.view.tab.clone().filter(|tab| View::is_tab(tab)),
                stage: self.view.stage,
            },
        }
    }
}
