//! A problem in words, with buttons for what would fix it.

use super::ids::control_id;
use crate::browser;
use crate::state::State;
use crate::values::shown;
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::{Fix, Problem, Severity};
use megatron_memory::value::Value;

/// The most fixes that are offered for one problem.
const MOST_FIXES: usize = 4;

/// A problem. `children` stand behind its fixes.
#[component]
pub fn ProblemNote(
    problem: Problem,
    on_fix: Callback<Fix>,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    let class = class(problem.severity);
    let fixes = offered(&problem.fixes).into_iter();
    let fixes = fixes.map(|fix| view! { <FixButton fix on_fix /> });
    view! {
        <div class=class>
            <p>{problem.message}</p>
            {fixes.collect_view()}
            {children.map(|children| children())}
        </div>
    }
}

/// A problem beside a field where it is not told in full: its beginning, the changes of this field that would fix it,
/// and the way to the field that has the rest.
#[component]
pub fn ProblemHint(
    problem: Problem,
    /// The field beside which this stands.
    id: FieldId,
    /// The field beside which the problem is told in full.
    told_at: FieldId,
    on_fix: Callback<Fix>,
) -> impl IntoView {
    let state = expect_context::<State>();
    let class = format!("{} problem-hint", class(problem.severity));
    let fixes = offered(&problem.fixes).into_iter();
    let fixes = fixes.filter(|fix| fix.field == id);
    let fixes = fixes.map(|fix| view! { <FixButton fix on_fix /> });
    let go = move |_| {
        state.reveal(told_at);
        browser::focus(control_id(told_at.field()));
    };
    let beginning = beginning(&problem.message).to_owned();
    let label = told_at.field().label;
    view! {
        <div class=class>
            <p title=problem.message>
                {beginning} ". "
                <button type="button" class="link" on:click=go>{format!("More at {label}")}</button>
            </p>
            {fixes.collect_view()}
        </div>
    }
}

/// The first clause of a message.
fn beginning(message: &str) -> &str {
    let ends = [", ", "; ", ": ", ". "];
    let end = ends.iter().filter_map(|end| message.find(end)).min();
    let beginning = end.and_then(|end| message.get(..end));
    beginning.unwrap_or(message).trim_end_matches('.')
}

/// The style class of a problem.
const fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "problem problem-error",
        Severity::Warning => "problem problem-warning",
    }
}

/// A button for a change that would fix a problem.
#[component]
pub fn FixButton(
    fix: Fix,
    on_fix: Callback<Fix>,
    /// Whether it stands out among the buttons beside it.
    #[prop(default = false)]
    primary: bool,
) -> impl IntoView {
    let label = label(&fix);
    view! {
        <button type="button" class="fix" class:primary=primary on:click=move |_| on_fix.run(fix.clone())>
            {label}
        </button>
    }
}

/// The best fixes, in the order of the sentence: the fields as they come, and the numbers of each rising.
fn offered(fixes: &[Fix]) -> Vec<Fix> {
    let mut offered: Vec<Fix> = fixes.iter().take(MOST_FIXES).cloned().collect();
    offered.sort_by_key(|fix| {
        let field = fixes.iter().position(|first| first.field == fix.field);
        let number = match fix.value {
            Value::Int(number) => number,
            _ => 0,
        };
        (field, number)
    });
    offered
}

fn label(fix: &Fix) -> String {
    let field = fix.field.field();
    let presentation = field;
    // Symbols such as TP are words of their own; those of formulas, such as s, are not.
    let name = if presentation
        .symbol
        .starts_with(|letter: char| letter.is_ascii_uppercase())
    {
        presentation.symbol
    } else {
        presentation.label
    };
    match &fix.value {
        Value::Null => format!("Reset {name} to automatic"),
        Value::Bool(true) => format!("Turn on {name}"),
        Value::Bool(false) => format!("Turn off {name}"),
        value => format!("{name} = {}", shown(field, Some(value))),
    }
}
