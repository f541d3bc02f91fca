//! What the reader does to the form.
//!
//! A place is a field's key for its control, and `key/part` for what stands around it; parts of sections are under
//! the section's number.

use super::Form;
use super::field::control_id;
use super::section::fields;
use crate::config::field::{Group, Kind, Level};
use crate::config::fields::FieldId;
use crate::config::step::{Step, step};
use crate::ui::browser;
use crate::ui::dialogs::DialogKind;
use crate::ui::shown::Gesture;
use crate::ui::values::toggled;
use crate::value::Value;
use leptos::prelude::*;

impl Form {
    /// Obeys; true when the browser must not act on its own.
    pub(super) fn act(&self, gesture: Gesture<'_>) -> bool {
        match gesture {
            Gesture::Input(place, text) => {
                if let Some(id) = field(place).filter(|id| is_typed(*id)) {
                    self.state.type_into(id, text);
                }
            }
            Gesture::Change(place, text) => self.change(place, text),
            Gesture::Blur(place) => {
                if let Some(id) = field(place).filter(|id| is_typed(*id)) {
                    self.state.leave(id);
                }
            }
            Gesture::Press(place, "Escape") => return self.close_tip(place),
            Gesture::Press(place, key) => {
                return field(place).is_some_and(|id| self.press(id, key));
            }
            Gesture::Choose(place) => {
                let (key, part) = place.split_once('/').unwrap_or((place, ""));
                match FieldId::by_key(key) {
                    Some(id) => self.choose(id, part),
                    None => self.choose_section(key, part),
                }
            }
            _ => {}
        }
        false
    }

    fn change(&self, place: &str, text: &str) {
        let (key, part) = place.split_once('/').unwrap_or((place, ""));
        let Some(id) = FieldId::by_key(key) else {
            return;
        };
        let value = match id.field().kind {
            _ if is_typed(id) => return,
            Kind::Flag => Value::Bool(text == "true"),
            Kind::Set(_) => {
                let Some(index) = number(part, 1) else {
                    return;
                };
                let now = untrack(|| self.state.value(id));
                toggled(id.field(), now.as_ref(), index)
            }
            _ if text.is_empty() => Value::Null,
            _ => Value::Text(text.to_owned()),
        };
        self.state.set(id, value);
    }

    /// A key in a field that is typed into.
    fn press(&self, id: FieldId, key: &str) -> bool {
        if !is_typed(id) {
            return false;
        }
        let field = id.field();
        let whole = matches!(field.kind, Kind::Int { .. });
        // In other fields, Home and End are better used to move within the text.
        let ends = whole && field.presentation().group == Group::Parallelism;
        let to = match key {
            "Enter" => {
                self.state.leave(id);
                return false;
            }
            "Shift+ArrowUp" if whole => Step::Double,
            "Shift+ArrowDown" if whole => Step::Halve,
            "ArrowUp" if whole => Step::Up,
            "ArrowDown" if whole => Step::Down,
            "Home" if ends => Step::First,
            "End" if ends => Step::Last,
            _ => return false,
        };
        self.step(id, to);
        true
    }

    fn step(&self, id: FieldId, to: Step) {
        let sheet = untrack(|| self.sheet());
        let there = match (sheet.value(id), sheet.resolved(id)) {
            // From an empty field, the way starts at what it stands for.
            (None | Some(Value::Null), Some(derived)) => {
                let mut job = sheet.setup.job.clone();
                job.put(sheet.module, id, Value::Int(derived.into()));
                step(&job, sheet.module, id, to)
            }
            _ => step(&sheet.setup.job, sheet.module, id, to),
        };
        drop(sheet);
        if let Some(there) = there {
            return self.state.nudge(id, Value::Int(there.into()));
        }
        let up = matches!(to, Step::Up | Step::Double | Step::Last);
        let more = if up { "larger" } else { "smaller" };
        let label = id.presentation().label;
        let said = format!("Megatron takes no {more} value of {label} beside the other settings.");
        self.state.notices.say(said);
    }

    /// Closes the help of the field of a place; false where none is open.
    fn close_tip(&self, place: &str) -> bool {
        let (key, part) = place.split_once('/').unwrap_or((place, "tip"));
        let Some(id) = FieldId::by_key(key).filter(|id| self.tips.read_untracked().contains(id))
        else {
            return false;
        };
        self.tips.update(|tips| tips.retain(|other| *other != id));
        if part != "tip" {
            // What has the focus goes with the help.
            browser::focus(control_id(id.field()));
        }
        true
    }

    /// A button of a field.
    fn choose(&self, id: FieldId, part: &str) {
        match part {
            "up" => self.step(id, Step::Up),
            "down" => self.step(id, Step::Down),
            "tip" => self.tips.update(|tips| {
                let open = tips.len();
                tips.retain(|other| *other != id);
                if tips.len() == open {
                    tips.push(id);
                }
            }),
            "reset" => {
                self.state.reset([id]);
                browser::focus(control_id(id.field()));
            }
            part => match part.strip_prefix("put.") {
                Some(value) => self.state.set(id, Value::Text(value.to_owned())),
                None => self.fix(id, part),
            },
        }
    }

    fn fix(&self, id: FieldId, part: &str) {
        let sheet = untrack(|| self.sheet());
        let problem = number(part, 1).and_then(|i| sheet.problems(id).nth(i));
        let fix = problem
            .zip(number(part, 2))
            .and_then(|(problem, i)| problem.fixes.get(i).cloned());
        drop(sheet);
        if let Some(fix) = fix {
            self.state.set(fix.field, fix.value);
            // The button goes with the problem; the focus must not be lost with it.
            browser::focus(control_id(id.field()));
        }
    }

    /// A button of a section.
    fn choose_section(&self, key: &str, part: &str) {
        if (key, part) == ("search", "layouts") {
            return self.open_dialog.open(DialogKind::Search);
        }
        let group = key.parse().ok().and_then(|i: usize| Group::ALL.get(i));
        let Some(group) = group.copied() else {
            return;
        };
        let disclosure = self.state.disclosure;
        let level = match part {
            "" => return,
            "toggle" => return disclosure.update(|d| d.toggle(group)),
            "reset" => {
                browser::focus(format!("line-{key}"));
                return self.state.reset(fields(group));
            }
            "more" => Level::More,
            "all" => Level::All,
            _ => Level::Essential,
        };
        disclosure.update(|d| d.set_level(group, level));
    }
}

/// The field whose control a place is.
fn field(place: &str) -> Option<FieldId> {
    FieldId::by_key(place)
}

/// Whether the field's control is one to type into.
fn is_typed(id: FieldId) -> bool {
    let chosen = matches!(id.field().kind, Kind::Flag | Kind::Choice(_) | Kind::Set(_));
    !chosen && id != FieldId::gpu
}

/// The number at a position of `fix.0.1`.
fn number(part: &str, at: usize) -> Option<usize> {
    part.split('.').nth(at)?.parse().ok()
}
