//! The tabs of the results, and which panels each has.

/// A tab of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultsTab {
    /// What fills the memory: stages, buckets, the timeline, the table, ranks; and what a step takes.
    #[default]
    Memory,
    /// What can be changed: fit, recompute, plots, ways of training, other GPUs.
    Change,
    /// The job beside others: pinned jobs, plans, a measured run.
    Compare,
    /// How the estimate can be checked: the frameworks' own reports, evidence, a script for one GPU.
    Check,
}

impl ResultsTab {
    /// All tabs in their order on the page.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Change, Self::Compare, Self::Check];

    /// The tab's name on the page.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Memory => "Memory",
            Self::Change => "Change",
            Self::Compare => "Compare",
            Self::Check => "Check",
        }
    }

    /// The tab's name in links.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Change => "change",
            Self::Compare => "compare",
            Self::Check => "check",
        }
    }

    /// The ids of the headings of its panels, in their order on the page.
    const fn headings(self) -> &'static [&'static str] {
        match self {
            Self::Memory => &[
                "stages-title",
                "detail-title",
                "numbers-title",
                "ranks-title",
                "step-time-title",
            ],
            Self::Change => &[
                "fit-title",
                "savings-title",
                "plot-title",
                "methods-title",
                "gpus-title",
            ],
            Self::Compare => &["compare-title", "plans-title", "measured-title"],
            Self::Check => &["frameworks-title", "evidence-title", "one-gpu-title"],
        }
    }

    /// The tab that a link names.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.id() == id)
    }

    /// The tab that has the panel with this heading.
    #[must_use]
    pub fn of_heading(heading: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.headings().contains(&heading))
    }

    /// The heading that a fragment such as `#ranks-title` stands for; `None` for a fragment that holds a job.
    #[must_use]
    pub fn heading_of(fragment: &str) -> Option<&'static str> {
        let id = fragment.strip_prefix('#')?;
        let mut headings = Self::ALL.into_iter().flat_map(Self::headings);
        headings.find(|heading| **heading == id).copied()
    }
}
