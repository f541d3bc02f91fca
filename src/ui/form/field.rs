//! One field with everything around its control: label, Megatron's flag, help, reset, problems.

use leptos::prelude::*;

use super::control::control;
use crate::config::field::{Field, Kind};
use crate::config::fields::FieldId;
use crate::config::problem::{Fix, Problem, Severity};
use crate::ui::browser;
use crate::ui::parts::{aria, block, block_if, button, click, memo, text, yes};
use crate::ui::state::State;
use crate::ui::values::{default, shown};
use crate::value::Value;

/// The id of a field's control.
pub(crate) fn control_id(field: &Field) -> String {
    format!("field-{}", field.key)
}

/// The field's Megatron-LM flag; empty for the calculator's own fields.
pub(crate) fn flag(field: &Field) -> String {
    let name = match field.name {
        "add_bias_linear" => "disable_bias_linear",
        "apply_rope_fusion" => "no_rope_fusion",
        "bias_gelu_fusion" => "no_bias_gelu_fusion",
        "bias_swiglu_fusion" => "no_bias_swiglu_fusion",
        "bias_dropout_fusion" => "no_bias_dropout_fusion",
        "masked_softmax_fusion" => "no_masked_softmax_fusion",
        "gradient_accumulation_fusion" => "no_gradient_accumulation_fusion",
        name => name,
    };
    if field.megatron {
        format!("--{}", name.replace('_', "-"))
    } else {
        String::new()
    }
}

/// A row of the form.
pub(super) fn field_row(state: &'static State, id: FieldId) -> AnyView {
    let field = id.field();
    let key = control_id(field);
    let (label_id, help_id, problems_id) = (
        format!("{key}-label"),
        format!("{key}-help"),
        format!("{key}-problems"),
    );
    let open = RwSignal::new(false);
    let changed = memo(move || state.changed(id));
    let problems = memo(move || state.problems(id));
    let invalid = memo(move || {
        problems
            .read()
            .iter()
            .any(|p| p.severity == Severity::Error)
    });
    // A group of checkboxes has no single control that a label could point at.
    let group = matches!(field.kind, Kind::Set(_));
    let back = {
        let key = key.clone();
        move || {
            state.reset([id]);
            browser::focus(key.clone());
        }
    };
    view! {
        <div
            class="field"
            class:field-wide=matches!(field.kind, Kind::Set(_) | Kind::LayerPattern) || field.key == "layout"
            class:field-changed=yes(move || changed.get())
            class:field-invalid=yes(move || invalid.get())
        >
            <div class="field-name">
                <label id=label_id for=(!group).then(|| key.clone())>{field.label}</label>
                <button
                    type="button"
                    class="tip"
                    aria-label=format!("About {}", field.label)
                    aria-expanded=aria(move || open.get())
                    aria-controls=help_id.clone()
                    on:click=click(move || open.update(|open| *open = !*open))
                >
                    "?"
                </button>
                <button
                    type="button"
                    class="reset"
                    class:gone=yes(move || !changed.get())
                    aria-label=format!("Reset {}", field.label)
                    title=text(move || format!("Reset to {}", base_text(state, id)))
                    on:click=click(back)
                >
                    "↺"
                </button>
                <code class="flag">{flag(field)}</code>
            </div>
            <div class="field-control">
                {control(state, id, invalid)}
                <span class="unit">{if field.unit == field.label { "" } else { field.unit }}</span>
            </div>
            <div class="field-help" id=help_id hidden=yes(move || !open.get())>
                {block_if(move || open.get(), move || help(state, id))}
            </div>
            <div class="field-problems" id=problems_id>
                {block(move || {
                    let rows = problems.get().into_iter().map(|p| problem(state, id, p));
                    rows.collect_view().into_any()
                })}
            </div>
        </div>
    }
    .into_any()
}

fn base_text(state: &'static State, id: FieldId) -> String {
    let text = shown(id.field(), state.base(id).as_ref());
    if text.is_empty() {
        String::from("nothing")
    } else {
        text
    }
}

fn help(state: &'static State, id: FieldId) -> AnyView {
    let field = id.field();
    let missing = match default(field) {
        Value::Null => format!("Left out: {}.", field.default),
        _ => format!("Default: {}.", field.default),
    };
    let preset = state
        .base(id)
        .map(|base| format!(" This preset: {}.", shown(field, Some(&base))));
    let mut names = field.aliases.join(", ");
    if !names.is_empty() {
        names.insert_str(0, "Also known as ");
    }
    view! {
        <p>{field.help}</p>
        <p class="faint">{missing}{preset}</p>
        <p class="faint">{names}</p>
    }
    .into_any()
}

fn problem(state: &'static State, id: FieldId, problem: Problem) -> AnyView {
    let fixes = problem.fixes.into_iter().take(4).map(|fix| {
        let label = fix_label(&fix);
        let apply = move || {
            state.set(fix.field, fix.value.clone());
            // The button goes with the problem; the focus must not be lost with it.
            browser::focus(control_id(id.field()));
        };
        button("fix", label, yes(|| false), apply)
    });
    let class = match problem.severity {
        Severity::Error => "problem problem-error",
        Severity::Warning => "problem problem-warning",
    };
    view! {
        <div class=class>
            <p>{problem.message}</p>
            {fixes.collect_view()}
        </div>
    }
    .into_any()
}

fn fix_label(fix: &Fix) -> String {
    let field = fix.field.field();
    let name = if field.symbol.is_empty() {
        field.label
    } else {
        field.symbol
    };
    match &fix.value {
        Value::Null => format!("Leave out {name}"),
        Value::Bool(true) => format!("Turn on {name}"),
        Value::Bool(false) => format!("Turn off {name}"),
        value => format!("{name} = {}", shown(field, Some(value))),
    }
}
