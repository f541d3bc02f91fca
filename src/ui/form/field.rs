//! One field with everything around its control: label, Megatron's flag, help, reset, problems.

use super::Sheet;
use super::control::control;
use super::sweep::sweep;
use crate::config::field::{Field, Kind};
use crate::config::fields::FieldId;
use crate::config::problem::{Fix, Problem, Severity};
use crate::report::markup::{Markup, tag};
use crate::ui::draw::{aria, button};
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
    if field.presentation().megatron {
        format!("--{}", name.replace('_', "-"))
    } else {
        String::new()
    }
}

/// The place of a part of a field: `tp/reset`.
pub(super) fn place(field: &Field, part: &str) -> String {
    format!("{}/{part}", field.key)
}

/// A row of the form.
pub(super) fn row(sheet: &Sheet, id: FieldId) -> Markup {
    let field = id.field();
    let key = control_id(field);
    let (changed, invalid) = (sheet.changed(id), sheet.invalid(id));
    let wide = matches!(field.kind, Kind::Set(_) | Kind::LayerPattern) || field.key == "layout";
    let mut class = String::from("field");
    for (on, name) in [
        (wide, " field-wide"),
        (changed, " field-changed"),
        (invalid, " field-invalid"),
    ] {
        if on {
            class.push_str(name);
        }
    }
    let unit = if field.presentation().unit == field.presentation().label {
        ""
    } else {
        field.presentation().unit
    };
    let control = tag("div")
        .class("field-control")
        .child(control(sheet, id, invalid))
        .child(tag("span").class("unit").text(unit));
    let problems = tag("div")
        .class("field-problems")
        .with("id", format!("{key}-problems"));
    let rows = sheet.problems(id).enumerate();
    let problems =
        problems.children(rows.map(|(i, each)| fixable(&place(field, &format!("fix.{i}")), each)));
    tag("div")
        .class(class)
        .with("id", format!("row-{}", field.key))
        .child(name(sheet, id, &key, changed))
        .child(control)
        .child(help(sheet, id, &key))
        .child(problems)
}

/// The label and what stands beside it.
fn name(sheet: &Sheet, id: FieldId, key: &str, changed: bool) -> Markup {
    let field = id.field();
    let label = tag("label").with("id", format!("{key}-label"));
    // A group of checkboxes has no single control that a label could point at.
    let label = match field.kind {
        Kind::Set(_) => label,
        _ => label.with("for", key.to_owned()),
    };
    let base = shown(field, sheet.base.get(sheet.module, id));
    let base = if base.is_empty() { "nothing" } else { &base };
    let tip = || {
        button(place(field, "tip"), "tip", "?")
            .with(
                "aria-label",
                format!("About {}", field.presentation().label),
            )
            .with("aria-expanded", aria(sheet.tips.contains(&id)))
            .with("aria-controls", format!("{key}-help"))
    };
    let reset = if changed { "reset" } else { "reset gone" };
    let reset = button(place(field, "reset"), reset, "↺")
        .with(
            "aria-label",
            format!("Reset {}", field.presentation().label),
        )
        .with("title", format!("Reset to {base}"));
    tag("div")
        .class("field-name")
        .child(label.text(field.presentation().label))
        .child(tip())
        .child(reset)
        .child(tag("code").class("flag").text(flag(field)))
}

fn help(sheet: &Sheet, id: FieldId, key: &str) -> Markup {
    let field = id.field();
    let open = sheet.tips.contains(&id);
    let help = tag("div")
        .class("field-help")
        .with("id", format!("{key}-help"))
        .with("data-at", place(field, "help"))
        .mark("hidden", !open);
    if !open {
        return help;
    }
    let mut rule = match default(field) {
        Value::Null => format!("Left out: {}.", field.default),
        _ => format!("Default: {}.", field.default),
    };
    if let Some(base) = sheet.base.get(sheet.module, id) {
        rule.push_str(" This preset: ");
        rule.push_str(&shown(field, Some(base)));
        rule.push('.');
    }
    let mut names = field.presentation().aliases.join(", ");
    if !names.is_empty() {
        names.insert_str(0, "Also known as ");
    }
    // A page beside the calculator, which has all terms together.
    let term = tag("a")
        .with("target", "_blank")
        .with("href", format!("./formulas.html#{}", field.key));
    help.child(tag("p").text(field.presentation().help))
        .child(tag("p").child(term.text("Glossary")))
        .child(tag("p").class("faint").text(rule))
        .child(tag("p").class("faint").text(names))
        .children(sweep(sheet, id))
}

/// The most ways out that are offered for one problem.
const FIXES: usize = 4;

/// A problem with ways out of it, which are numbered behind `place`.
pub(crate) fn fixable(place: &str, problem: &Problem) -> Markup {
    let class = match problem.severity {
        Severity::Error => "problem problem-error",
        Severity::Warning => "problem problem-warning",
    };
    let mut fixes: Vec<(usize, &Fix)> = problem.fixes.iter().enumerate().take(FIXES).collect();
    // The fields as they come, and the numbers of each as in the sentence: rising.
    fixes.sort_by_key(|(_, fix)| {
        let first = problem.fixes.iter().position(|f| f.field == fix.field);
        let number = match fix.value {
            Value::Int(number) => number,
            _ => 0,
        };
        (first, number)
    });
    let fixes = fixes
        .into_iter()
        .map(|(j, fix)| button(format!("{place}.{j}"), "fix", fix_label(fix)));
    tag("div")
        .class(class)
        .child(tag("p").text(problem.message.clone()))
        .children(fixes)
}

fn fix_label(fix: &Fix) -> String {
    let field = fix.field.field();
    let name = if field.presentation().symbol.is_empty() {
        field.presentation().label
    } else {
        field.presentation().symbol
    };
    match &fix.value {
        Value::Null => format!("Leave out {name}"),
        Value::Bool(true) => format!("Turn on {name}"),
        Value::Bool(false) => format!("Turn off {name}"),
        value => format!("{name} = {}", shown(field, Some(value))),
    }
}
