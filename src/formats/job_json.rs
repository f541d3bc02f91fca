//! The job document, this calculator's own JSON: a job with its preset, and optionally its result in bytes.
//!
//! ```json
//! {
//!   "schema": "megatron-memory/1",
//!   "preset": "deepseek-v3@1",
//!   "settings": { "tensor_model_parallel_size": 4 },
//!   "not_modelled": [ { "key": "perform_rl_step", "reason": "…" } ],
//!   "modules": [ { "name": "language", "rank_offset": 0, "num_layers": 61 } ],
//!   "compare": { "preset": "deepseek-v3@1", "settings": {} },
//!   "also_compare": [ { "preset": "llama3-8b@1", "settings": {} } ],
//!   "view": { "tab": "table", "stage": { "module": 0, "pp_rank": 3 } },
//!   "made_by": "Megatron Memory 0.1.0, …",
//!   "result": { "worst": { "module": 0, "pp_rank": 0, "bytes": 1 }, "modules": [] }
//! }
//! ```
//!
//! `compare` is the first pinned job, and `also_compare` holds the others.
//! Settings are those that differ from the preset, under Megatron's names and in the order of their declaration.
//! The reader also takes the flat form without `schema`, in which the settings stand at the top.

mod read;

pub use read::{Document, JobJsonError, read, recognizes};

use crate::config::canonical::{canonical_offset, differences};
use crate::config::not_modelled::NotModelled;
use crate::config::raw::{RawJob, RawModule};
use crate::formats::state::{Setup, ShareState, View};
use crate::value::Value;

/// The value of `schema`. The number grows with every change that old readers would misread.
pub const SCHEMA: &str = "megatron-memory/1";

/// The document of a state in canonical form.
#[must_use]
pub fn document(state: &ShareState) -> Value {
    let state = state.normalize();
    let mut entries = vec![entry("schema", text(SCHEMA))];
    entries.extend(setup(&state.setup));
    let mut pinned = state.pinned.iter().map(|pinned| Value::Map(setup(pinned).collect()));
    entries.extend(pinned.next().map(|first| entry("compare", first)));
    let others: Vec<Value> = pinned.collect();
    entries.extend((!others.is_empty()).then(|| entry("also_compare", Value::List(others))));
    entries.extend(view(&state.view).map(|view| entry("view", view)));
    Value::Map(entries)
}

/// A document as a file: one setting a line, ending with a newline.
#[must_use]
pub fn file(document: &Value) -> String {
    let mut file = String::new();
    pretty(&mut file, document, 0);
    file.push('\n');
    file
}

fn setup(setup: &Setup) -> impl Iterator<Item = (String, Value)> + use<> {
    let preset = setup.preset.as_ref();
    let preset = preset.map(|preset| entry("preset", text(&preset.to_string())));
    let settings = settings(&setup.job, setup);
    let modules: Vec<Value> = setup.job.modules.iter().map(module).collect();
    let modules = (!modules.is_empty()).then(|| entry("modules", Value::List(modules)));
    let marks = setup.job.not_modelled.iter().map(NotModelled::to_value);
    let marks: Vec<Value> = marks.collect();
    let marks = (!marks.is_empty()).then(|| entry("not_modelled", Value::List(marks)));
    preset
        .into_iter()
        .chain([entry("settings", settings)])
        .chain(marks)
        .chain(modules)
}

fn settings(job: &RawJob, setup: &Setup) -> Value {
    let base = setup.base();
    let own = differences(&job.shared, &base.shared).map(|(id, meaning)| entry(id.field().name, meaning.to_value(id)));
    Value::Map(own.chain(job.unknown.iter().cloned()).collect())
}

fn module(module: &RawModule) -> Value {
    let offset = canonical_offset(module).map(|offset| entry("rank_offset", offset));
    let settings = module.settings.iter();
    let settings = settings.map(|(id, value)| entry(id.field().name, value.clone()));
    let name = entry("name", text(&module.name));
    Value::Map([name].into_iter().chain(offset).chain(settings).collect())
}

fn view(view: &View) -> Option<Value> {
    let tab = view.tab.as_ref().map(|tab| entry("tab", text(tab)));
    let stage = view.stage.map(|stage| {
        let place = [("module", stage.module), ("pp_rank", stage.pp_rank)];
        let place = place.map(|(key, index)| entry(key, Value::Int(index.into())));
        entry("stage", Value::Map(place.into()))
    });
    let entries: Vec<_> = tab.into_iter().chain(stage).collect();
    (!entries.is_empty()).then_some(Value::Map(entries))
}

fn entry(key: &str, value: Value) -> (String, Value) {
    (key.to_owned(), value)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// JSON with one entry a line; maps without maps or lists in them stay on one line below the top.
fn pretty(out: &mut String, value: &Value, depth: usize) {
    let (open, close) = match value {
        Value::Map(_) => ('{', '}'),
        _ => ('[', ']'),
    };
    let items: Vec<(Option<&str>, &Value)> = match value {
        Value::Map(entries) => entries.iter().map(|(k, v)| (Some(k.as_str()), v)).collect(),
        Value::List(items) if items.iter().any(nests) => items.iter().map(|v| (None, v)).collect(),
        other => {
            out.push_str(&other.to_string());
            return;
        }
    };
    out.push(open);
    for (i, (key, item)) in items.iter().enumerate() {
        out.push_str(if i > 0 { ",\n" } else { "\n" });
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            out.push_str(&Value::Text((*key).to_owned()).to_string());
            out.push_str(": ");
        }
        pretty(out, item, depth + 1);
    }
    if !items.is_empty() {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}

fn nests(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::List(_))
}
