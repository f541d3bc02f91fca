//! The control of a field, by its kind.

use super::Sheet;
use super::field::{control_id, place};
use crate::config::field::{Default, Field, Group, Kind};
use crate::config::fields::FieldId;
use crate::config::gpus::GPUS;
use crate::report::markup::{Markup, tag};
use crate::ui::draw::{aria, button, option};
use crate::ui::values::{has, shown};

/// The control of a field.
pub(super) fn control(sheet: &Sheet, id: FieldId, invalid: bool) -> Markup {
    let field = id.field();
    match field.kind {
        _ if id == FieldId::gpu => select(sheet, id, invalid),
        Kind::Flag => switch(sheet, id, invalid),
        Kind::Choice(_) => select(sheet, id, invalid),
        Kind::Set(names) => checkboxes(sheet, id, names),
        Kind::Int { .. } if steps(field) => tag("span")
            .class("stepper")
            .child(step_button(field, "down", "−", "Decrease"))
            .child(text_box(sheet, id, invalid))
            .child(step_button(field, "up", "+", "Increase")),
        _ => text_box(sheet, id, invalid),
    }
}

/// Whether a number has buttons to step it.
pub(super) fn steps(field: &Field) -> bool {
    matches!(
        field.presentation().group,
        Group::Parallelism | Group::Batch
    )
}

/// What all single controls have in common.
fn named(control: Markup, field: &Field, invalid: bool) -> Markup {
    control
        .with("id", control_id(field))
        .with("data-at", field.key)
        .with(
            "aria-describedby",
            format!("{}-problems", control_id(field)),
        )
        .with("aria-invalid", aria(invalid))
}

/// What was typed stays as it was typed until the field is left and what it holds is valid.
fn text_box(sheet: &Sheet, id: FieldId, invalid: bool) -> Markup {
    let field = id.field();
    let (keypad, class) = match field.kind {
        Kind::Int { .. } => ("numeric", "number"),
        Kind::Decimal { .. } => ("decimal", "number"),
        _ => ("text", ""),
    };
    named(tag("input"), field, invalid)
        .class(class)
        .with("type", "text")
        .with("inputmode", keypad)
        .with("autocomplete", "off")
        .with("autocapitalize", "off")
        .with("spellcheck", "false")
        .with("placeholder", placeholder(sheet, id))
        .with("value", shown(field, sheet.value(id)))
}

fn placeholder(sheet: &Sheet, id: FieldId) -> String {
    let Default::Derived(rule) = id.field().default else {
        return String::new();
    };
    match sheet.resolved(id) {
        Some(number) => number.to_string(),
        None if rule.len() < 14 => rule.to_owned(),
        None => String::from("none"),
    }
}

/// For the pointer; the keyboard has the arrow keys in the field.
fn step_button(field: &Field, part: &str, sign: &'static str, verb: &str) -> Markup {
    button(place(field, part), "step", sign)
        .with("tabindex", "-1")
        .with(
            "aria-label",
            format!("{verb} {}", field.presentation().label),
        )
}

fn switch(sheet: &Sheet, id: FieldId, invalid: bool) -> Markup {
    let field = id.field();
    named(tag("input"), field, invalid)
        .class("switch")
        .with("type", "checkbox")
        .with("role", "switch")
        .mark("checked", has(field, sheet.value(id), 0))
}

fn select(sheet: &Sheet, id: FieldId, invalid: bool) -> Markup {
    let field = id.field();
    let value = sheet.value(id);
    let list = named(tag("select"), field, invalid);
    if id == FieldId::gpu {
        let gpus = GPUS.iter().map(|gpu| option(gpu.id, gpu.name));
        let list = list.child(option("", "none")).children(gpus);
        return list.with("value", shown(field, value));
    }
    let Kind::Choice(names) = field.kind else {
        return list;
    };
    let chosen = (0..names.len()).find(|index| has(field, value, *index));
    let chosen = chosen.and_then(|index| names.get(index).copied());
    let list = match field.default {
        Default::Derived(rule) => list.child(option("", rule)),
        _ => list,
    };
    list.children(names.iter().map(|name| option(*name, *name)))
        .with("value", chosen.unwrap_or_default())
}

fn checkboxes(sheet: &Sheet, id: FieldId, names: &'static [&'static str]) -> Markup {
    let field = id.field();
    let key = control_id(field);
    let boxes = names.iter().enumerate().map(|(index, name)| {
        // The first box answers to the field's own id, so that search and fixes can find it.
        let own = if index == 0 {
            key.clone()
        } else {
            format!("{key}-{index}")
        };
        let input = tag("input")
            .with("id", own)
            .with("data-at", place(field, &format!("box.{index}")))
            .with("type", "checkbox")
            .mark("checked", has(field, sheet.value(id), index));
        tag("label")
            .class("box")
            .child(input)
            .child(tag("span").text(*name))
    });
    tag("div")
        .class("boxes")
        .with("role", "group")
        .with("aria-labelledby", format!("{key}-label"))
        .with("aria-describedby", format!("{key}-problems"))
        .children(boxes)
}
