//! The list of modules above the form: which one the form edits, and everything that is done to the list itself.
//!
//! A job of one model shows nothing but a quiet way to add a second one.

use super::browser;
use super::draw::{aria, button, option};
use super::form::fixable;
use super::shown::{Gesture, Piece, shown};
use super::state::State;
use crate::config::edit::module_name;
use crate::config::fields::FieldId;
use crate::config::problem::Problem;
use crate::config::raw::{RawJob, Settings};
use crate::config::step::now;
use crate::presets::encoders::{self, ENCODERS};
use crate::report::amount::Scale;
use crate::report::markup::{Markup, tag};
use crate::report::modules::{ModuleRow, rows};
use leptos::prelude::*;

/// Problems of a module that its row shows.
const MOST_PROBLEMS: usize = 4;

/// The list, and the way to add to it.
pub(super) fn modules(state: State) -> Piece {
    let list = List {
        state,
        refused: RwSignal::new(None),
    };
    shown(
        "modules",
        move || list.draw(),
        move |gesture| list.act(gesture),
    )
}

/// The list's own state, beside the page's.
#[derive(Clone, Copy)]
struct List {
    state: State,
    /// Component specs as they were typed, and what is wrong with them.
    refused: RwSignal<Option<(String, String)>>,
}

fn tool(place: String, label: &'static str, text: &'static str) -> Markup {
    button(place, "tool", text)
        .with("aria-label", label)
        .with("title", label)
}

impl List {
    fn draw(&self) -> Vec<Markup> {
        let state = self.state;
        let setup = state.setup.get();
        let job = &setup.job;
        if job.modules.is_empty() {
            return vec![adder(job)];
        }
        let chosen = state.module.get();
        let checked = state.checked.get();
        let outcome = state.outcome.get();
        let valid = outcome.as_ref().filter(|_| checked.config.is_some());
        let rows = rows(job, valid.map(|o| (&o.config, &o.estimate)));
        let scale = Scale::coarse(state.unit.get());
        let last = rows.len().saturating_sub(1);
        let items = rows.iter().enumerate().map(|(i, row)| {
            let problems = checked.problems.iter().enumerate();
            let own = problems.filter(|(_, p)| p.module == i).take(MOST_PROBLEMS);
            item(i, row, scale, (i == chosen, last)).children(own.map(trouble))
        });
        let head = tag("div")
            .class("modules-head")
            .child(tag("h2").text("Modules"))
            .child(button("layout", "", "Lay out").with(
                "title",
                "Place the modules one after another, and make the world as large as they are",
            ));
        vec![
            head,
            tag("ol").class("module-list").children(items),
            adder(job),
            self.specs(job),
        ]
    }

    /// The job's component specs as text to copy and to change.
    fn specs(&self, job: &RawJob) -> Markup {
        let refused = self.refused.get();
        let (text, wrong) = refused.unwrap_or_else(|| (job.component_specs(), String::new()));
        let area = tag("textarea")
            .with("id", "component-specs")
            .with("data-at", "specs")
            .with("rows", "3")
            .with("spellcheck", "false")
            .with("aria-label", "Component specs, one a line")
            .with("aria-invalid", aria(!wrong.is_empty()))
            .with("aria-describedby", "component-specs-wrong")
            .with("value", text);
        tag("details")
            .child(tag("summary").text("As component specs"))
            .child(area)
            .child(
                tag("p")
                    .class("problem")
                    .with("id", "component-specs-wrong")
                    .with("role", "status")
                    .text(wrong),
            )
    }

    fn act(&self, gesture: Gesture<'_>) -> bool {
        match gesture {
            Gesture::Choose(place) => self.choose(place),
            Gesture::Change("add", value) => self.add(value),
            Gesture::Change("specs", text) => self.read_specs(text),
            Gesture::Change(place, value) => {
                if let Some(("name", index)) = numbered(place) {
                    self.edit(|job| job.rename_module(index, value));
                }
            }
            _ => {}
        }
        false
    }

    fn choose(&self, place: &str) {
        let state = self.state;
        if place == "layout" {
            return self.edit(RawJob::lay_out);
        }
        let Some((what, index)) = numbered(place) else {
            return;
        };
        match what {
            "edit" => state.edit_module(index),
            "up" | "down" => {
                let edited = state.module.get_untracked();
                let to = if what == "up" {
                    index.saturating_sub(1)
                } else {
                    index + 1
                };
                self.edit(|job| job.exchange_modules(index, to));
                // The form stays with the module that it edits.
                if edited == index {
                    state.edit_module(to);
                } else if edited == to {
                    state.edit_module(index);
                }
                browser::focus(format!("module-{to}"));
            }
            "copy" => {
                let mut job = state.setup.get_untracked().job;
                let to = job.duplicate_module(index);
                state.edit(job);
                state.edit_module(to);
            }
            "remove" => {
                let job = state.setup.get_untracked().job;
                let name = job.modules.get(index).map_or("", |m| m.name.as_str());
                let said = format!("{name} is removed.");
                let edited = state.module.get_untracked();
                self.edit(|job| job.remove_module(index));
                if edited > index {
                    state.edit_module(edited - 1);
                }
                state.notices.offer_undo(said);
            }
            "repair" => {
                let checked = state.checked.read_untracked().clone();
                let repair = checked.problems.get(index).and_then(|p| p.repair.clone());
                if let Some(repair) = repair {
                    self.edit(|job| job.repair(&repair));
                }
            }
            // A problem and one of its fixes: `fix.2.0` is numbered 2 there and 0 behind.
            "fix" => {
                let checked = state.checked.read_untracked().clone();
                let fix = checked.problems.get(index).and_then(|problem| {
                    let which = place.rsplit('.').next()?.parse().ok();
                    problem
                        .fixes
                        .get(which.unwrap_or(0usize))
                        .cloned()
                        .map(|fix| (problem.module, fix))
                });
                if let Some((module, fix)) = fix {
                    self.edit(|job| job.put(module, fix.field, fix.value.clone()));
                }
            }
            _ => {}
        }
    }

    fn edit(&self, change: impl FnOnce(&mut RawJob)) {
        let mut job = self.state.setup.get_untracked().job;
        change(&mut job);
        self.refused.set(None);
        self.state.edit(job);
    }

    fn add(&self, value: &str) {
        let mut job = self.state.setup.get_untracked().job;
        let gpus = |job: &RawJob| now(job, 0, FieldId::world_size).unwrap_or(0);
        let before = gpus(&job);
        let at = match numbered(value) {
            Some(("like", index)) => job.duplicate_module(index),
            _ => match encoder(value) {
                Some(settings) => job.add_module(module_name(&settings), settings),
                None => return,
            },
        };
        let name = job.modules.get(at).map_or("", |m| m.name.as_str());
        let said = match gpus(&job) {
            now if now == before => format!("{name} is added."),
            now => format!("{name} is added with GPUs of its own: {now} in place of {before}."),
        };
        self.refused.set(None);
        self.state.edit(job);
        self.state.edit_module(at);
        self.state.notices.offer_undo(said);
        browser::focus(format!("module-{at}"));
    }

    fn read_specs(&self, text: &str) {
        let mut job = self.state.setup.get_untracked().job;
        let unknown = ENCODERS
            .first()
            .and_then(|e| encoder(e.id))
            .unwrap_or_default();
        match job.set_component_specs(text, &unknown) {
            Ok(()) => {
                self.refused.set(None);
                self.state.edit(job);
            }
            Err(refusal) => self.refused.set(Some((text.to_owned(), refusal.message))),
        }
    }
}

/// The settings of an encoder that feeds the language model.
fn encoder(id: &str) -> Option<Settings> {
    use crate::value::Value;
    let mut settings = encoders::by_id(id)?.settings();
    if settings.get(FieldId::projector).is_none() {
        settings.set(FieldId::projector, Value::Text(String::from("mlp")));
    }
    Some(settings)
}

/// `edit.2` as `edit` and 2; of `fix.2.1` the first number counts.
fn numbered(place: &str) -> Option<(&str, usize)> {
    let (what, number) = place.split_once('.')?;
    let number = number.split('.').next()?;
    Some((what, number.parse().ok()?))
}

/// The control that adds a module.
fn adder(job: &RawJob) -> Markup {
    let presets = ENCODERS.iter().map(|e| option(e.id, e.name));
    let copies = job.modules.iter().enumerate().map(|(i, module)| {
        let label = format!("A copy of {}", module.name);
        option(format!("like.{i}"), label)
    });
    let group = |label: &'static str| tag("optgroup").with("label", label);
    let mut groups = vec![group("Encoders").children(presets)];
    if !job.modules.is_empty() {
        groups.push(group("Copies").children(copies));
    }
    tag("select")
        .class("module-add")
        .with("id", "add-module")
        .with("data-at", "add")
        .with("aria-label", "Add a module")
        .with("value", "")
        .child(option("", "Add module…"))
        .children(groups)
}

fn item(i: usize, row: &ModuleRow, scale: Scale, (edited, last): (bool, usize)) -> Markup {
    let sign = if edited { "●" } else { "○" };
    let edit = button(format!("edit.{i}"), "module-edit", sign)
        .with("id", format!("module-{i}"))
        .with("aria-pressed", aria(edited))
        .with("aria-label", format!("Edit {}", row.name))
        .with("title", "Edit this module in the form below");
    let name = tag("input")
        .class("module-name")
        .with("data-at", format!("name.{i}"))
        .with("aria-label", format!("Name of module {}", i + 1))
        .with("autocomplete", "off")
        .with("value", row.name.clone());
    let memory = match &row.memory {
        Some((most, verdict)) => tag("span")
            .class(format!("module-memory verdict-{}", verdict.id()))
            .with("title", verdict.words())
            .text(format!("{} {}", verdict.sign(), scale.amount(*most))),
        None => tag("span").class("module-memory").text("–"),
    };
    let facts = tag("p")
        .class("module-facts")
        .child(tag("span").text(row.sizes.clone()))
        .child(tag("span").text(row.ranks.clone()));
    let mut tools = Vec::new();
    if i > 0 {
        tools.push(tool(format!("up.{i}"), "Move up", "↑"));
    }
    if i < last {
        tools.push(tool(format!("down.{i}"), "Move down", "↓"));
    }
    tools.push(tool(format!("copy.{i}"), "Copy this module", "Copy"));
    if last > 0 {
        tools.push(tool(format!("remove.{i}"), "Remove", "✕"));
    }
    let line = tag("div")
        .class("module-line")
        .child(edit)
        .child(name)
        .child(memory)
        .child(tag("span").class("module-tools").children(tools));
    tag("li")
        .class(if edited { "module edited" } else { "module" })
        .child(line)
        .child(facts)
}

/// A problem with what would mend it; `at` is its place among all problems.
fn trouble((at, problem): (usize, &Problem)) -> Markup {
    let repair = problem
        .repair
        .iter()
        .map(|repair| button(format!("repair.{at}"), "fix", repair.label.clone()));
    fixable(&format!("fix.{at}"), problem).children(repair)
}
