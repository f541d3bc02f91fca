//! The control of a field, by its kind.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use super::derived::resolved;
use super::field::control_id;
use crate::config::field::{Default, Field, Group, Kind};
use crate::config::fields::FieldId;
use crate::config::gpus::GPUS;
use crate::ui::parts::{aria, click, input, memo, option, text, yes};
use crate::ui::state::State;
use crate::ui::step::{Step, step};
use crate::ui::values::{has, shown, toggled};
use crate::value::Value;

/// The control of a field.
pub(super) fn control(state: &'static State, id: FieldId, invalid: Memo<bool>) -> AnyView {
    let field = id.field();
    match field.kind {
        _ if id == FieldId::gpu => gpu(state, id),
        Kind::Flag => switch(state, id, invalid),
        Kind::Choice(names) => select(state, id, names, invalid),
        Kind::Set(names) => checkboxes(state, id, names),
        Kind::Int { .. } => {
            let stepper = matches!(field.group, Group::Parallelism | Group::Batch);
            view! {
                <span class="stepper" class:plain=yes(move || !stepper)>
                    {stepper.then(|| step_button(state, id, Step::Down))}
                    {text_box(state, id, invalid)}
                    {stepper.then(|| step_button(state, id, Step::Up))}
                </span>
            }
            .into_any()
        }
        Kind::Decimal { .. } | Kind::LayerPattern | Kind::Text { .. } => {
            text_box(state, id, invalid)
        }
    }
}

fn describedby(field: &Field) -> String {
    format!("{}-problems", control_id(field))
}

/// What was typed stays as it was typed until the field is left and what it holds is valid.
fn text_box(state: &'static State, id: FieldId, invalid: Memo<bool>) -> AnyView {
    let field = id.field();
    let typed = memo(move || shown(field, state.value(id).as_ref()));
    let placeholder = memo(move || placeholder(state, id));
    let keypad = match field.kind {
        Kind::Int { .. } => "numeric",
        Kind::Decimal { .. } => "decimal",
        _ => "text",
    };
    let number = matches!(field.kind, Kind::Int { .. } | Kind::Decimal { .. });
    view! {
        <input
            id=control_id(field)
            class:number=yes(move || number)
            type="text"
            inputmode=keypad
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            aria-describedby=describedby(field)
            aria-invalid=aria(move || invalid.get())
            placeholder=text(move || placeholder.get())
            prop:value=text(move || typed.get())
            on:input=input(move |event| state.type_into(id, event_target_value(&event)))
            on:blur=move |_| state.leave(id)
            on:keydown=move |event| keys(state, id, &event)
        />
    }
    .into_any()
}

fn placeholder(state: &'static State, id: FieldId) -> String {
    let Default::Derived(rule) = id.field().default else {
        return String::new();
    };
    let outcome = state.outcome.read();
    let module = outcome.as_ref().and_then(|o| o.module(state.module.get()));
    match module.and_then(|module| resolved(id, module)) {
        Some(number) => number.to_string(),
        None if rule.len() < 14 => rule.to_owned(),
        None => String::from("none"),
    }
}

fn keys(state: &'static State, id: FieldId, event: &KeyboardEvent) {
    if event.alt_key() || event.ctrl_key() || event.meta_key() {
        return;
    }
    let whole = matches!(id.field().kind, Kind::Int { .. });
    // In other fields, Home and End are better used to move within the text.
    let ends = id.field().group == Group::Parallelism && !event.shift_key();
    let to = match event.key().as_str() {
        "Enter" => return state.leave(id),
        "ArrowUp" if whole && event.shift_key() => Step::Double,
        "ArrowDown" if whole && event.shift_key() => Step::Halve,
        "ArrowUp" if whole => Step::Up,
        "ArrowDown" if whole => Step::Down,
        "Home" if whole && ends => Step::First,
        "End" if whole && ends => Step::Last,
        _ => return,
    };
    event.prevent_default();
    take(state, id, to);
}

fn take(state: &'static State, id: FieldId, to: Step) {
    let module = state.module.get_untracked();
    let there = state.setup.with_untracked(|s| {
        // From an empty field, the way starts at what it stands for.
        let job = &s.job;
        let outcome = state.outcome.read_untracked();
        let derived = outcome
            .as_ref()
            .and_then(|o| resolved(id, o.module(module)?));
        match (job.get(module, id), derived) {
            (None | Some(Value::Null), Some(derived)) => {
                let mut job = job.clone();
                job.put(module, id, Value::Int(derived.into()));
                step(&job, module, id, to)
            }
            _ => step(job, module, id, to),
        }
    });
    if let Some(there) = there {
        state.nudge(id, Value::Int(there.into()));
    }
}

/// For the pointer; the keyboard has the arrow keys in the field.
fn step_button(state: &'static State, id: FieldId, to: Step) -> AnyView {
    let (sign, verb) = if to == Step::Up {
        ("+", "Increase")
    } else {
        ("−", "Decrease")
    };
    view! {
        <button
            type="button"
            class="step"
            tabindex="-1"
            aria-label=format!("{verb} {}", id.field().label)
            on:click=click(move || take(state, id, to))
        >
            {sign}
        </button>
    }
    .into_any()
}

fn switch(state: &'static State, id: FieldId, invalid: Memo<bool>) -> AnyView {
    let field = id.field();
    let on = memo(move || has(field, state.value(id).as_ref(), 0));
    view! {
        <input
            id=control_id(field)
            class="switch"
            type="checkbox"
            role="switch"
            aria-describedby=describedby(field)
            aria-invalid=aria(move || invalid.get())
            prop:checked=yes(move || on.get())
            on:change=input(move |event| {
                state.set(id, Value::Bool(event_target_checked(&event)));
            })
        />
    }
    .into_any()
}

fn select(
    state: &'static State,
    id: FieldId,
    names: &'static [&'static str],
    invalid: Memo<bool>,
) -> AnyView {
    let field = id.field();
    let none = match field.default {
        Default::Derived(rule) => Some(rule),
        _ => None,
    };
    let chosen = memo(move || {
        let value = state.value(id);
        (0..names.len()).find(|index| has(field, value.as_ref(), *index))
    });
    let choose = move |event| {
        let name = event_target_value(&event);
        state.set(
            id,
            if name.is_empty() {
                Value::Null
            } else {
                Value::Text(name)
            },
        );
    };
    let options = names
        .iter()
        .enumerate()
        .map(|(index, name)| option(name, name, yes(move || chosen.get() == Some(index))));
    view! {
        <select
            id=control_id(field)
            aria-describedby=describedby(field)
            aria-invalid=aria(move || invalid.get())
            on:change=input(choose)
        >
            {none.map(|rule| option("", rule, yes(move || chosen.get().is_none())))}
            {options.collect_view()}
        </select>
    }
    .into_any()
}

fn gpu(state: &'static State, id: FieldId) -> AnyView {
    let field = id.field();
    let chosen = memo(move || shown(field, state.value(id).as_ref()));
    let choose = move |event| {
        let name = event_target_value(&event);
        state.set(
            id,
            if name.is_empty() {
                Value::Null
            } else {
                Value::Text(name)
            },
        );
    };
    let options = GPUS
        .iter()
        .map(|gpu| option(gpu.id, gpu.name, yes(move || *chosen.read() == gpu.id)));
    view! {
        <select id=control_id(field) aria-describedby=describedby(field) on:change=input(choose)>
            {option("", "none", yes(move || chosen.read().is_empty()))}
            {options.collect_view()}
        </select>
    }
    .into_any()
}

fn checkboxes(state: &'static State, id: FieldId, names: &'static [&'static str]) -> AnyView {
    let field = id.field();
    let boxes = names.iter().enumerate().map(|(index, name)| {
        let on = memo(move || has(field, state.value(id).as_ref(), index));
        let toggle = move |_| {
            let value = state.value(id);
            state.set(id, toggled(field, value.as_ref(), index));
        };
        // The first box answers to the field's own id, so that search and fixes can find it.
        let key = if index == 0 {
            control_id(field)
        } else {
            format!("{}-{index}", control_id(field))
        };
        view! {
            <label class="box">
                <input id=key type="checkbox" prop:checked=yes(move || on.get()) on:change=input(toggle) />
                {*name}
            </label>
        }
    });
    view! {
        <div
            class="boxes"
            role="group"
            aria-labelledby=format!("{}-label", control_id(field))
            aria-describedby=describedby(field)
        >
            {boxes.collect_view()}
        </div>
    }
    .into_any()
}
