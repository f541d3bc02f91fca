//! The form: a section for every group of fields, drawn from the fields' declarations.

mod control;
mod derived;
mod essence;
mod field;
mod hands;
pub(super) mod relevance;
pub(super) mod search;
mod section;
mod sweep;

use std::sync::Arc;

pub(crate) use field::{control_id, fixable};

use crate::config::Checked;
use crate::config::field::{Group, Scope};
use crate::config::fields::FieldId;
use crate::config::problem::{Problem, Severity};
use crate::config::raw::RawJob;
use crate::formats::state::Setup;
use crate::report::markup::tag;
use crate::ui::dialogs::OpenDialog;
use crate::ui::shown::{Piece, frame, shown};
use crate::ui::state::{Outcome, State};
use crate::ui::values::same;
use crate::value::Value;
use derived::resolved;
use leptos::prelude::*;
use relevance::Relevance;

/// The form's own state, beside the page's.
#[derive(Clone, Copy)]
struct Form {
    state: State,
    /// Fields whose help is open.
    tips: RwSignal<Vec<FieldId>>,
    open_dialog: OpenDialog,
}

/// All sections, under the search box.
pub(super) fn form(state: State) -> Piece {
    let region = tag("div")
        .class("form")
        .with("id", "settings")
        .with("tabindex", "-1")
        .with("role", "region")
        .with("aria-label", "Settings");
    frame(
        region,
        vec![
            search::search(state),
            super::modules::modules(state),
            sections(state),
        ],
    )
}

/// All sections.
pub(super) fn sections(state: State) -> Piece {
    let form = Form::new(state);
    let draw = move || {
        let sheet = form.sheet();
        Group::ALL
            .iter()
            .map(|group| section::section(&sheet, *group))
            .collect()
    };
    shown("sections", draw, move |gesture| form.act(gesture))
}

/// What other values of some fields would come to; a click applies one.
pub(super) fn sweeps(state: State, fields: Vec<FieldId>) -> Piece {
    let form = Form::new(state);
    let draw = move || {
        let sheet = form.sheet();
        let each = |id: &FieldId| {
            let sweep = sweep::sweep(&sheet, *id)?;
            let label = id.presentation().label;
            Some(tag("section").child(tag("h2").text(label)).child(sweep))
        };
        fields.iter().filter_map(each).collect()
    };
    shown("form embed-sweeps", draw, move |gesture| form.act(gesture))
}

/// Some fields without their sections.
pub(super) fn rows(state: State, fields: Vec<FieldId>) -> Piece {
    let form = Form::new(state);
    let draw = move || {
        let sheet = form.sheet();
        fields.iter().map(|id| field::row(&sheet, *id)).collect()
    };
    shown("form embed-inputs", draw, move |gesture| form.act(gesture))
}

impl Form {
    fn new(state: State) -> Self {
        Self {
            state,
            tips: RwSignal::new(Vec::new()),
            open_dialog: expect_context(),
        }
    }

    /// All that a drawing is about; what draws with it is drawn anew when any of it changes.
    fn sheet(&self) -> Sheet {
        let state = self.state;
        let module = state.module.get();
        Sheet {
            state,
            module,
            relevance: Relevance::of(&state.setup.read().job, module),
            // First what works things out: nothing may be held then.
            outcome: state.outcome.get(),
            checked: state.checked.get(),
            base: state.baseline.get(),
            setup: state.setup.get(),
            tips: self.tips.get(),
        }
    }
}

/// One moment of the form.
struct Sheet {
    state: State,
    module: usize,
    outcome: Option<Arc<Outcome>>,
    checked: Arc<Checked>,
    base: Arc<RawJob>,
    setup: Setup,
    tips: Vec<FieldId>,
    relevance: Relevance,
}

impl Sheet {
    fn value(&self, id: FieldId) -> Option<&Value> {
        self.setup.job.get(self.module, id)
    }

    fn changed(&self, id: FieldId) -> bool {
        let base = self.base.get(self.module, id);
        !same(id.field(), self.value(id), base)
    }

    /// The problems that involve a field of this module.
    fn problems(&self, id: FieldId) -> impl Iterator<Item = &Problem> {
        let involved = move |p: &&Problem| self.is_about(p, id) && p.fields.contains(&id);
        self.checked.problems.iter().filter(involved)
    }

    /// Whether a problem with a field is one of this module, or of all.
    fn is_about(&self, problem: &Problem, id: FieldId) -> bool {
        problem.module == self.module || id.field().scope == Scope::Job
    }

    /// Whether a problem involves a field of a group.
    fn concerns(&self, problem: &Problem, group: Group) -> bool {
        let mut fields = problem.fields.iter();
        fields.any(|id| id.presentation().group == group && self.is_about(problem, *id))
    }

    fn invalid(&self, id: FieldId) -> bool {
        self.problems(id).any(|p| p.severity == Severity::Error)
    }

    /// The number that a left-out field stands for.
    fn resolved(&self, id: FieldId) -> Option<u64> {
        resolved(id, self.outcome.as_ref()?.module(self.module)?)
    }
}
