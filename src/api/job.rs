//! Jobs as arguments and results of functions.

use core::fmt;

use js_sys::{Array, BigInt, Object, Reflect};
use wasm_bindgen::prelude::*;

use super::arguments;
use super::error::{import, link, type_error};
use super::plain_data::PlainData;
use megatron_memory::config::canonical::{is_default, normalize_job};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::not_modelled::NotModelled;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::formats::state::{PresetRef, Setup, ShareState};
use megatron_memory::formats::{job_json, json, share_url};
use megatron_memory::value::Value;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = "
/** A job: values under Megatron-LM's argument names in snake case, and `modules` where it has several. Keys that change memory
 * and are not modelled, such as `perform_rl_step`, become entries of `not_modelled`. Other unknown keys are warnings. */
export interface Job {
  not_modelled?: (string | { key: string; reason?: string })[];
  num_layers?: number | string;
  hidden_size?: number | string;
  [argument: string]: unknown;
}
";

/// The levels of a job that hold fields: the job, its list of modules, and each module.
const FIELD_DEPTH: u32 = 3;

/// A job as a caller gives it: an object with settings under Megatron's names or this calculator's JSON document, the
/// text of either, or a link.
#[derive(Debug)]
pub(super) struct Given {
    /// The job, with what else its link or document holds.
    pub(super) state: ShareState,
    /// What of its link could not be used, a sentence each.
    pub(super) notices: Vec<String>,
}

impl Given {
    /// Reads a job. `preset` is the preset that plain settings start from, such as `deepseek-v3@1`.
    ///
    /// # Errors
    /// Throws a `TypeError` for what is no job, a `LinkError` for a link that cannot be read, and an `ImportError` for
    /// JSON that cannot.
    pub(super) fn read(job: &JsValue, preset: Option<&str>) -> Result<Self, JsValue> {
        if let Some(kind) = other_kind(job) {
            let message = format!("the job must be an object, JSON text or a link, not {kind}");
            return Err(type_error(&message));
        }
        let plain = |job: &Value| {
            Ok::<_, JsValue>(ShareState {
                setup: setup(job, preset)?,
                ..ShareState::default()
            })
        };
        let unreadable = |error: &dyn fmt::Display| import(&error.to_string());
        let state = match read(job)? {
            Value::Text(text) if text.trim_start().starts_with('{') => match json::parse(&text) {
                Ok(root) if root.get("schema").is_some() => {
                    job_json::read(&root).map_err(|error| unreadable(&error))?.state
                }
                Ok(_) => plain(&serde_json::from_str(&text).map_err(|error| unreadable(&error))?)?,
                Err(error) => return Err(unreadable(&error)),
            },
            Value::Text(link) => return Self::of_link(&link),
            job if job.get("schema").is_some() => {
                let root = json::parse(&job.to_string()).map_err(|error| unreadable(&error))?;
                job_json::read(&root).map_err(|error| unreadable(&error))?.state
            }
            job => plain(&job)?,
        };
        Ok(Self {
            state,
            notices: Vec::new(),
        })
    }

    /// Reads a link: what of it can be read, with notices about the rest.
    ///
    /// # Errors
    /// Throws a `LinkError` for a text that is no link, and for a link of which nothing can be read.
    pub(super) fn of_link(text: &str) -> Result<Self, JsValue> {
        let (state, notices) = share_url::decode(text);
        if state == ShareState::default() {
            match notices.first() {
                Some(notice) => return Err(link(&notice.to_string())),
                None if share_url::recognizes(text) => {}
                None => return Err(link(&share_url::Notice::NotALink.to_string())),
            }
        }
        Ok(Self {
            state,
            notices: notices.iter().map(ToString::to_string).collect(),
        })
    }

    /// The job alone.
    pub(super) fn into_job(self) -> RawJob {
        self.state.setup.job
    }
}

/// What a value is, in words, where it is neither a text nor an object of plain data; `None` where it is one.
fn other_kind(value: &JsValue) -> Option<String> {
    if value.is_null() {
        return Some("null".to_owned());
    }
    if Array::is_array(value) {
        return Some("an array".to_owned());
    }
    if value.is_function() {
        return Some("a function".to_owned());
    }
    if !value.is_object() {
        let kind = value.js_typeof().as_string().unwrap_or_default();
        return match kind.as_str() {
            "string" => None,
            "undefined" => Some(kind),
            _ => Some(format!("a {kind}")),
        };
    }
    // The class of an object is the constructor of its prototype; a key `constructor` of its own says nothing.
    let prototype: JsValue = Object::get_prototype_of(value).into();
    let constructor = Reflect::get(&prototype, &"constructor".into()).ok()?;
    let class = Reflect::get(&constructor, &"name".into()).ok()?.as_string()?;
    (!matches!(class.as_str(), "Object" | "Map")).then(|| format!("a {class}"))
}

/// Reads plain data.
///
/// # Errors
/// Throws a `TypeError` for what is not plain data, is nested too deep or is too long.
fn read(job: &JsValue) -> Result<Value, JsValue> {
    arguments::read(job.clone()).or_else(|error| match big_integers_as_text(job, FIELD_DEPTH) {
        Some(job) => arguments::read(job),
        None => Err(error),
    })
}

/// A copy of a job in which every `BigInt` is a string; `None` for a job without one. The deserializer fails on
/// integers beyond 64 bits, while a string reaches the field's own check, which reports it with the field's name.
fn big_integers_as_text(value: &JsValue, depth: u32) -> Option<JsValue> {
    if let Some(number) = value.dyn_ref::<BigInt>() {
        return number.to_string(10).ok().map(Into::into);
    }
    let depth = depth.checked_sub(1)?;
    let mut replaced = false;
    let mut replace = |value: JsValue| match big_integers_as_text(&value, depth) {
        Some(text) => {
            replaced = true;
            text
        }
        None => value,
    };
    let copy: JsValue = if let Some(list) = value.dyn_ref::<Array>() {
        list.iter().map(replace).collect::<Array>().into()
    } else {
        let entries = Object::entries(value.dyn_ref()?);
        for entry in entries.iter() {
            let entry: Array = entry.into();
            entry.set(1, replace(entry.get(1)));
        }
        Object::from_entries(&entries).ok()?.into()
    };
    replaced.then_some(copy)
}

/// The setup of a job that starts from the preset of this name.
pub(super) fn setup(job: &Value, preset: Option<&str>) -> Result<Setup, JsValue> {
    let known = |name| {
        let found = PresetRef::read(name).filter(|(_, exact)| *exact);
        let found = found.map(|(preset, _)| preset);
        found.ok_or_else(|| link(&format!("there is no preset {name}")))
    };
    Ok(Setup {
        preset: preset.map(known).transpose()?,
        job: RawJob::from_value(job),
    })
}

/// A job as settings under Megatron's names, in canonical form: without the values that equal their defaults.
pub(super) fn canonical(job: &RawJob) -> PlainData {
    let job = normalize_job(job, &RawJob::default());
    let mut entries = named(&job.shared, |id, value| !is_default(id, value));
    entries.extend(job.unknown.iter().cloned());
    if !job.not_modelled.is_empty() {
        let marks = job.not_modelled.iter().map(NotModelled::to_value);
        entries.push(("not_modelled".to_owned(), Value::List(marks.collect())));
    }
    let modules = job.modules.iter().map(|module| {
        let mut entries = vec![("name".to_owned(), Value::Text(module.name.clone()))];
        let rank_offset = module.rank_offset.iter();
        entries.extend(rank_offset.map(|offset| ("rank_offset".to_owned(), offset.clone())));
        // A module keeps a value that equals the default, since it may override a shared value that does not.
        entries.extend(named(&module.settings, |_, _| true));
        Value::Map(entries)
    });
    let modules: Vec<Value> = modules.collect();
    if !modules.is_empty() {
        entries.push(("modules".to_owned(), Value::List(modules)));
    }
    PlainData(Value::Map(entries))
}

/// The settings for which `keep` holds, as pairs of field name and value.
fn named(settings: &Settings, keep: impl Fn(FieldId, &Value) -> bool) -> Vec<(String, Value)> {
    let kept = settings.iter().filter(|(id, value)| keep(*id, value));
    kept.map(|(id, value)| (id.field().name.to_owned(), value.clone()))
        .collect()
}

/// The name of a setup's preset, such as `deepseek-v3@1`.
pub(super) fn preset(setup: &Setup) -> Option<String> {
    setup.preset.as_ref().map(ToString::to_string)
}
