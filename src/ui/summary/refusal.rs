//! Why a job cannot run, and the ways out.

use leptos::prelude::*;

use crate::browser;
use crate::components::form::{FixButton, control_id};
use crate::components::lay_out::LayOutButton;
use crate::state::{DialogKind, OpenDialog, State};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::{Fix, Problem};

/// The most problems whose message is shown; the others stand at their fields.
const MOST_PROBLEMS: usize = 2;
/// The most changes that are offered.
const MOST_FIXES: usize = 6;

/// The reasons why the job cannot run, with changes that would let it; hidden for a job that can.
#[component]
pub(super) fn Refusal() -> impl IntoView {
    let state = expect_context::<State>();
    // An embed has no dialogs. Its reader may not change the job: the link below leads to the page, which offers all
    // this.
    let dialogs = use_context::<OpenDialog>();
    let reasons = Memo::new(move |_| reasons(&state.checked.read().errors().collect::<Vec<_>>()));
    let fixes = Memo::new(move |_| {
        let checked = state.checked.read();
        offered(&checked.errors().collect::<Vec<_>>())
    });
    let buttons = move |dialogs| {
        let fixes = move || {
            let fixes = fixes.get().into_iter();
            let buttons = fixes.map(|(module, fix)| {
                let on_fix = Callback::new(move |fix: Fix| {
                    state.edit_module(module);
                    state.set(fix.field, fix.value);
                    enter(state, fix.field);
                });
                view! { <FixButton fix on_fix /> }
            });
            buttons.collect_view()
        };
        view! {
            <div class="ways-out" role="group" aria-label="Ways out">
                <LayOutButton />
                {fixes}
                <SearchButton dialogs />
                <button type="button" class="link" on:click=move |_| go_to_first_error(state)>
                    "Show the first problem"
                </button>
            </div>
        }
    };
    view! {
        <div class="trouble" hidden=move || !state.stale.get()>
            <div data-testid="stale">
                <p>{move || count(state)}</p>
                {move || {
                    let reasons = reasons.get().into_iter();
                    reasons.map(|reason| view! { <p>{reason}</p> }).collect_view()
                }}
            </div>
            {dialogs.map(buttons)}
        </div>
    }
}

/// Opens the search for layouts, where it can help: for a job of one model on a known number of GPUs.
#[component]
fn SearchButton(dialogs: OpenDialog) -> impl IntoView {
    let state = expect_context::<State>();
    let gpus = Memo::new(move |_| {
        let setup = state.setup.read();
        let gpus = setup.job.number(0, FieldId::world_size);
        gpus.filter(|_| setup.job.modules.is_empty())
    });
    move || {
        gpus.get().map(|_| {
            let open = move |_| dialogs.open(DialogKind::Search);
            view! {
                <button type="button" class="fix" data-testid="find-layouts" on:click=open>
                    "Browse layouts"
                </button>
            }
        })
    }
}

/// How many problems there are, and what the numbers are then.
fn count(state: State) -> String {
    let numbers = if state.outcome.read().is_some() {
        "The numbers are those of the last settings that can run."
    } else {
        "There is no result."
    };
    match state.checked.read().errors().count() {
        1 => format!("1 problem. {numbers}"),
        count => format!("{count} problems. {numbers}"),
    }
}

/// The messages of the first problems, each once.
fn reasons(errors: &[&Problem]) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for error in errors {
        if messages.len() < MOST_PROBLEMS && !messages.contains(&error.message) {
            messages.push(error.message.clone());
        }
    }
    messages
}

/// Changes that would remove problems, each once and with its module, those of the first problem first.
fn offered(errors: &[&Problem]) -> Vec<(usize, Fix)> {
    let mut offered: Vec<(usize, Fix)> = Vec::new();
    for error in errors {
        for fix in &error.fixes {
            if offered.len() < MOST_FIXES
                && !offered
                    .iter()
                    .any(|(module, known)| *module == error.module && known == fix)
            {
                offered.push((error.module, fix.clone()));
            }
        }
    }
    offered
}

/// Opens and enters the first field that stands in the way.
fn go_to_first_error(state: State) {
    let checked = state.checked.get_untracked();
    let mut errors = checked.errors();
    let first = errors.find_map(|problem| Some((problem.module, problem.fields.first().copied()?)));
    if let Some((module, id)) = first {
        state.edit_module(module);
        enter(state, id);
    }
}

/// Opens the section of a field and enters its control.
fn enter(state: State, id: FieldId) {
    state.reveal(id);
    browser::focus(control_id(id.field()));
}
