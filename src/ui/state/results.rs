//! The state that the panels of the results share.

use std::sync::Arc;

use leptos::prelude::*;

use super::{Highlight, Outcome, State};
use crate::browser;
use megatron_memory::config::job::Config;
use megatron_memory::memory::line::Line;
use megatron_memory::memory::{Estimate, StageRef};
use megatron_memory::report::charts::{self, Subject};
use megatron_memory::report::grouping::{BucketGroup, Grouping};
use megatron_memory::report::scene::Px;
use megatron_memory::report::target::Target;
use megatron_memory::time::{NoTime, StepTime};

/// The height of a chart's row on a touch screen.
const TOUCH_ROW: Px = Px::of(44);

/// Works out the lines of a stage.
type LinesOf = fn(&Config, &Estimate, StageRef) -> Vec<Line>;

/// The chosen stage with its lines, and the number that is explained. Provided as context, together with [`Highlight`].
#[derive(Clone, Copy)]
pub struct ResultsState {
    /// The page's own state.
    pub page: State,
    /// The stage that the panels show; none before the first valid job.
    pub stage: Memo<Option<StageRef>>,
    /// The lines of that stage: a tree of named amounts of memory. None as long as no panel shows them.
    pub lines: Memo<Arc<Vec<Line>>>,
    /// What works them out, once a panel shows them.
    lines_of: RwSignal<Option<LinesOf>>,
    /// The time of a step, or why none is predicted; none before the first valid job.
    pub time: RwSignal<Option<Result<StepTime, NoTime>>>,
    /// The path of the line that is explained; empty for the whole stage.
    pub explained: RwSignal<String>,
    /// How finely charts tell buckets apart.
    pub grouping: RwSignal<Grouping>,
    /// The height of a row in charts that consist of rows.
    row_height: Px,
}

impl ResultsState {
    /// Creates the state of the results and their highlight, and provides both as context.
    pub fn provide(grouping: Grouping) {
        let page = expect_context::<State>();
        let stage = Memo::new(move |_| page.shown_stage());
        let lines_of = RwSignal::new(None::<LinesOf>);
        let lines = Memo::new(move |_| {
            let lines = lines_of.get().and_then(|lines_of| {
                let outcome = page.outcome.read();
                let Outcome { config, estimate } = outcome.as_ref()?.as_ref();
                Some(lines_of(config, estimate, stage.get()?))
            });
            Arc::new(lines.unwrap_or_default())
        });
        provide_context(Highlight::new());
        provide_context(Self {
            page,
            stage,
            lines,
            lines_of,
            time: RwSignal::new(None),
            explained: RwSignal::new(String::new()),
            grouping: RwSignal::new(grouping),
            row_height: if browser::is_coarse() { TOUCH_ROW } else { charts::ROW },
        });
    }

    /// Has the lines of the shown stage worked out, for a panel that shows them: the first view, and embeds, do without.
    pub fn show_lines(self, lines_of: LinesOf) {
        if self.lines_of.read_untracked().is_none() {
            self.lines_of.set(Some(lines_of));
        }
    }

    /// Computes something from the outcome and the shown stage, for a picture of some width; nothing before the first
    /// valid job. The subject has no lines, so that the caller does not depend on them.
    pub fn with_subject<T>(self, width: Px, compute: impl FnOnce(&Subject<'_>) -> T) -> Option<T> {
        let outcome = self.page.outcome.read();
        let outcome: &Outcome = outcome.as_ref()?;
        Some(compute(&Subject {
            config: &outcome.config,
            estimate: &outcome.estimate,
            standing: self.page.standing.get()?,
            stage: self.stage.get()?,
            lines: &[],
            unit: self.page.preferences.unit.get(),
            grouping: self.grouping.get(),
            width,
            row: self.row_height,
        }))
    }

    /// The same with the lines of the shown stage.
    pub fn with_subject_and_lines<T>(self, width: Px, compute: impl FnOnce(&Subject<'_>) -> T) -> Option<T> {
        self.with_subject(width, |subject| {
            let lines = &self.lines.read();
            compute(&Subject { lines, ..*subject })
        })
    }

    /// Shows a target's stage in all panels, and explains its line where it has one.
    pub fn choose(self, target: &Target) {
        if target.stage.is_some() && target.stage != self.stage.get_untracked() {
            self.page.view.stage.set(target.stage);
        }
        if !target.path.is_empty() {
            self.explained.set(target.path.clone());
        }
    }

    /// Splits a group into its buckets in all charts, or puts them together again.
    pub fn toggle(self, group: BucketGroup) {
        self.grouping.update(|grouping| *grouping = grouping.toggled(group));
    }
}
