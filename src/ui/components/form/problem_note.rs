//! A problem in words, with buttons for what would fix it.

use crate::config::problem::{Fix, Problem, Severity};
use crate::ui::values::shown;
use crate::value::Value;
use leptos::prelude::*;

/// The most fixes that are offered for one problem.
const MOST_FIXES: usize = 4;

/// A problem. `children` stand behind its fixes.
#[component]
pub fn ProblemNote(
    problem: Problem,
    on_fix: Callback<Fix>,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    let class = match problem.severity {
        Severity::Error => "problem problem-error",
        Severity::Warning => "problem problem-warning",
    };
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

/// A button for a change that would fix a problem.
#[component]
pub fn FixButton(fix: Fix, on_fix: Callback<Fix>) -> impl IntoView {
    let label = label(&fix);
    view! {
        <button type="button" class="fix" on:click=move |_| on_fix.run(fix.clone())>
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
    let name = if presentation.symbol.is_empty() {
        presentation.label
    } else {
        presentation.symbol
    };
    match &fix.value {
        Value::Null => format!("Reset {name} to automatic"),
        Value::Bool(true) => format!("Turn on {name}"),
        Value::Bool(false) => format!("Turn off {name}"),
        value => format!("{name} = {}", shown(field, Some(value))),
    }
}
