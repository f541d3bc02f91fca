//! The answer to "what should I change": one button for the question that was asked, and the others behind another.
//!
//! The question follows from the field that was edited last. Who has set a number of GPUs asks for a layout on them, who
//! has set a sequence asks for the longest that fits, and who has set a size that Megatron refuses asks for the nearest
//! that it takes. To any other job that does not fit, the cheapest change with which it does is the answer.

use leptos::prelude::*;

use crate::browser;
use crate::components::form::{FixButton, control_id};
use crate::components::lay_out::LayOutButton;
use crate::lazy_parts::LazyPart;
use crate::parts::passing_memo;
use crate::results::{apply, call_to_use};
use crate::state::{DialogKind, FoundChanges, LargestSize, LimitSize, OpenDialog, State};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::Fix;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::offers::OfferRow;
use megatron_memory::verdict::Verdict;

/// The id of the heading of the panel with changes.
const CHANGES: &str = "fit-title";
/// The most changes that are offered for problems.
const MOST_FIXES: usize = 6;

/// Something that can be done about the job.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    /// Gives the job the best layout for its GPUs.
    PickLayout,
    /// Makes a change that removes a problem, in the module with this index.
    Fix(usize, Fix),
    /// Makes the cheapest change with which the job fits.
    BestChange,
    /// Sets the field that was asked about to the largest value that fits.
    Largest(LimitSize),
    /// Shows the changes with which the job fits, or those that its free memory allows.
    ShowChanges(&'static str),
    /// Goes to the field of the first problem.
    ShowProblem,
}

/// The buttons.
#[component]
pub(crate) fn Answers() -> impl IntoView {
    let state = expect_context::<State>();
    let dialogs = expect_context::<OpenDialog>();
    let found = RwSignal::new(FoundChanges::default());
    provide_context(found);
    let lacks_memory = Memo::new(move |_| lacks_memory(state));
    let is_promising = Memo::new(move |_| found.read().is_promising());
    let answers = Memo::new(move |_| answers(state, is_promising.get()));
    let primary = Memo::new(move |_| answers.read().first().cloned());
    let others = Memo::new(move |_| answers.read().iter().skip(1).cloned().collect::<Vec<_>>());
    let has_no_others = move || others.read().is_empty();
    let is_open = RwSignal::new(false);
    browser::on_click_elsewhere_or_escape(move || {
        if is_open.get_untracked() {
            is_open.set(false);
        }
    });
    view! {
        <div class="ways-out" role="group" aria-label="What to change">
            {move || primary.get().map(|answer| view! { <AnswerButton answer primary=true /> })}
            <Show when=move || has_layouts(state)>
                <button
                    type="button"
                    class="fix"
                    data-testid="find-layouts"
                    on:click=move |_| dialogs.open(DialogKind::Search)
                >
                    "Browse layouts"
                </button>
            </Show>
            <button
                type="button"
                class="link"
                data-testid="more-ways"
                hidden=has_no_others
                aria-expanded=move || is_open.get().to_string()
                on:click=move |event| {
                    event.prevent_default();
                    is_open.update(|open| *open = !*open);
                }
            >
                "More ways"
            </button>
            <div class="more-ways" hidden=move || has_no_others() || !is_open.get()>
                {move || {
                    let others = others.get().into_iter();
                    others.map(|answer| view! { <AnswerButton answer /> }).collect_view()
                }}
            </div>
            <Show when=move || lacks_memory.get()>{LazyPart::ChangeSearch(found).view()}</Show>
        </div>
    }
}

/// The button of an answer.
#[component]
fn AnswerButton(
    answer: Answer,
    /// Whether it is the one for the question that was asked.
    #[prop(default = false)]
    primary: bool,
) -> impl IntoView {
    let state = expect_context::<State>();
    let button = move |label: &'static str, act: fn(State)| {
        view! {
            <button type="button" class="fix" class:primary=primary on:click=move |_| act(state)>
                {label}
            </button>
        }
    };
    match answer {
        Answer::PickLayout => view! { <LayOutButton primary /> }.into_any(),
        Answer::Fix(module, fix) => {
            let on_fix = Callback::new(move |fix: Fix| {
                state.edit_module(module);
                state.set(fix.field, fix.value);
                enter(state, fix.field);
            });
            view! { <FixButton fix on_fix primary /> }.into_any()
        }
        Answer::BestChange => view! { <BestChangeButton primary /> }.into_any(),
        Answer::Largest(size) => view! { <LargestSizeButton size primary /> }.into_any(),
        Answer::ShowChanges(label) => button(label, |state| state.view.go_to(CHANGES)).into_any(),
        Answer::ShowProblem => button("Show the first problem", go_to_first_error).into_any(),
    }
}

/// Makes the cheapest change with which the job fits, once it is known; until then it leads to all of them.
#[component]
fn BestChangeButton(primary: bool) -> impl IntoView {
    let state = expect_context::<State>();
    let found = expect_context::<RwSignal<FoundChanges>>();
    // The button comes and goes with edits.
    let row = passing_memo(move || {
        let scale = Scale::fine(state.preferences.unit.get());
        let (found, setup) = (found.read(), state.setup.read());
        found.best(&setup.job).map(|offer| OfferRow::new(offer.clone(), scale))
    });
    let label = move || match row.read().as_ref() {
        Some(row) => call_to_use(&row.change),
        None => String::from("Make it fit"),
    };
    let title = move || {
        row.read()
            .as_ref()
            .map(|row| format!("{}: {}. {}.", row.name, row.saves, row.cost))
    };
    let use_it = move |_| match row.get_untracked() {
        Some(row) => apply(state, &row, "results"),
        None => state.view.go_to(CHANGES),
    };
    view! {
        <button
            type="button"
            class="fix"
            class:primary=primary
            data-testid="best-change"
            title=title
            on:click=use_it
        >
            {label}
        </button>
    }
}

/// Sets a field to the largest value with which the job fits, once that is known.
#[component]
fn LargestSizeButton(size: LimitSize, primary: bool) -> impl IntoView {
    let state = expect_context::<State>();
    let known = RwSignal::new(LargestSize::default());
    let label = move || {
        let name = size.label(&state.setup.read().job);
        format!("{name} that fits: {}", known.read().words(size))
    };
    let apply = move |_| {
        if let LargestSize::Fits(limit) = known.get_untracked() {
            let mut setup = state.setup.get_untracked();
            limit.apply(&mut setup.job);
            let said = format!("{}: {}.", size.label(&setup.job), size.words(limit.value));
            state.jump(setup);
            state.toasts.offer_undo(said);
            browser::focus("results");
        }
    };
    view! {
        <button type="button" class="fix" class:primary=primary data-testid="largest-that-fits" on:click=apply>
            {label}
        </button>
        {LazyPart::LargestSizeSearch(size, known).view()}
    }
}

/// Whether the job can run and does not fit safely: only then a change is offered.
fn lacks_memory(state: State) -> bool {
    let verdict = state.standing.get().map(|standing| standing.verdict);
    !state.stale.get() && matches!(verdict, Some(Verdict::Tight | Verdict::DoesNotFit))
}

/// Whether layouts can be searched: for a job of one model on a known number of GPUs.
fn has_layouts(state: State) -> bool {
    let setup = state.setup.read();
    setup.job.modules.is_empty() && setup.job.number(0, FieldId::world_size).is_some()
}

/// What can be done, the answer to the question that was asked first. `is_promising` says that a change may be enough.
fn answers(state: State, is_promising: bool) -> Vec<Answer> {
    let asked = state.form.edited.get();
    let layout = has_layouts(state).then_some(Answer::PickLayout);
    if state.link.broken.read().is_some() {
        return Vec::new();
    }
    if state.stale.get() {
        let checked = state.checked.read();
        let fixes = checked.errors().flat_map(|error| {
            let fixes = error.fixes.iter();
            fixes.map(|fix| Answer::Fix(error.module, fix.clone()))
        });
        let mut offered: Vec<Answer> = Vec::new();
        for fix in fixes {
            if offered.len() < MOST_FIXES && !offered.contains(&fix) {
                offered.push(fix);
            }
        }
        // A change of the number of GPUs would deny the question of who has just set it.
        let is_about_gpus = matches!(asked, None | Some(FieldId::world_size | FieldId::gpu));
        let at = if is_about_gpus { 0 } else { offered.len().min(1) };
        offered.splice(at..at, layout);
        offered.push(Answer::ShowProblem);
        return offered;
    }
    let Some(standing) = state.standing.get() else {
        return Vec::new();
    };
    match standing.verdict {
        Verdict::Fits => vec![Answer::ShowChanges("Use the free memory")],
        Verdict::Tight | Verdict::DoesNotFit => {
            let largest = asked.and_then(LimitSize::of_field).map(Answer::Largest);
            let best = is_promising.then_some(Answer::BestChange);
            // Who has set the GPUs asks for a layout on them; who has not, has one that should stay.
            let is_about_gpus = matches!(asked, Some(FieldId::world_size | FieldId::gpu));
            let [first, second] = if is_about_gpus { [layout, best] } else { [best, layout] };
            let all = Answer::ShowChanges("Compare the changes");
            largest.into_iter().chain(first).chain(second).chain([all]).collect()
        }
        Verdict::Refused(_) => layout.into_iter().collect(),
        Verdict::Unknown | Verdict::NotThisJob => Vec::new(),
    }
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
