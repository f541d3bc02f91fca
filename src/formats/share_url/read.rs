//! Reads the tokens of a link into a state.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::keys::{self, Key};
use super::notice::clip;
use super::{MAX_TOKEN, MAX_TOKENS, Notice, marks, notation, text};
use crate::config::canonical::normalize_job;
use crate::config::not_modelled::Feature;
use crate::config::raw::{RawJob, RawModule};
use crate::formats::state::{MAX_PINNED, Place, PresetRef, Setup, ShareState};
use crate::value::Value;

/// Reads the tokens after the version. A link with too many tokens, or with a preset that does not exist, gives an
/// empty state.
pub(super) fn state(tokens: &str) -> (ShareState, Vec<Notice>) {
    let mut reader = Reader::default();
    let tokens: Vec<&str> = tokens.split(';').filter(|t| !t.is_empty()).collect();
    if tokens.len() > MAX_TOKENS {
        let ignored = tokens.len() - MAX_TOKENS;
        return (ShareState::default(), vec![Notice::TooManyTokens { ignored }]);
    }
    let kept: Vec<Cow<'_, str>> = tokens.into_iter().filter_map(|token| reader.shortened(token)).collect();
    let kept: Vec<&str> = kept.iter().map(AsRef::as_ref).collect();
    let mut sections = kept.split(|token| *token == keys::COMPARE);
    let Some(setup) = reader.section(sections.next().unwrap_or_default(), None) else {
        return (ShareState::default(), reader.notices);
    };
    reader.state.setup = setup;
    let first = reader.state.setup.clone();
    for pinned in sections.by_ref().take(MAX_PINNED) {
        let pinned = reader.section(pinned, Some(&first));
        reader.state.pinned.extend(pinned);
    }
    let ignored = sections.count();
    if ignored > 0 {
        reader.notices.push(Notice::TooManyPinned { ignored });
    }
    (reader.state, reader.notices)
}

#[derive(Default)]
struct Reader {
    state: ShareState,
    notices: Vec<Notice>,
}

/// The two sides of a token, key and value, still percent-encoded.
type Pair<'t> = (&'t str, Option<&'t str>);

impl Reader {
    /// A token that is not too long. A value that is too long becomes one that its field cannot take; without it the
    /// job would be another one.
    fn shortened<'t>(&mut self, token: &'t str) -> Option<Cow<'t, str>> {
        if token.len() <= MAX_TOKEN {
            return Some(token.into());
        }
        let start = clip(token);
        self.notices.push(Notice::TokenTooLong { start });
        let (key, value) = token.split_once('=')?;
        let name = key.rsplit('.').next().unwrap_or_default();
        let is_field = matches!(keys::resolve(name, &[]), Key::Field(..));
        is_field.then(|| format!("{key}=%3F{}", clip(value)).into())
    }

    /// Reads one job; `None` where its preset does not exist. `over` is what a pinned job without a preset of its own
    /// starts from.
    fn section(&mut self, tokens: &[&str], over: Option<&Setup>) -> Option<Setup> {
        let pairs: Vec<Pair<'_>> = tokens
            .iter()
            .map(|token| match token.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (*token, None),
            })
            .collect();
        let last = |wanted: Key| {
            let mut named = pairs.iter().rev();
            named.find(|(key, _)| keys::resolve(key, &[]) == wanted)
        };
        let preset = last(Key::Preset).and_then(|(_, value)| *value);
        let mut setup = match (preset, over) {
            (None, Some(first)) => first.clone(),
            (preset, _) => {
                let preset = match preset.map(text::decode) {
                    Some(name) if name != notation::NULL => Some(self.preset(&name)?),
                    _ => None,
                };
                let reference = Setup {
                    preset,
                    ..Setup::default()
                };
                reference.start()
            }
        };
        let base = setup.base();
        setup.job.unknown.clear();
        if let Some((_, Some(list))) = last(Key::Modules) {
            setup.job.modules = self.modules(list, &base);
        }
        if let Some((_, Some(list))) = last(Key::NotModelled) {
            setup.job.not_modelled = marks::read(list);
        }
        let keys: Vec<String> = pairs.iter().map(|pair| text::decode(pair.0)).collect();
        let mut seen = BTreeSet::new();
        for (pair, key) in pairs.iter().zip(&keys) {
            if !seen.insert(key.as_str()) {
                let key = clip(key);
                self.notices.push(Notice::Repeated { key });
            }
            self.token(&mut setup.job, *pair, key.clone());
        }
        setup.job = normalize_job(&setup.job, &base);
        Some(setup)
    }

    fn preset(&mut self, name: &str) -> Option<PresetRef> {
        let Some((used, exact)) = PresetRef::read(name) else {
            self.notices.push(Notice::unknown_preset(name));
            return None;
        };
        if !exact {
            self.notices.push(Notice::PresetVersion {
                name: clip(name),
                used: used.to_string(),
            });
        }
        Some(used)
    }

    /// The modules of a list. Those that the preset has too start from its values.
    fn modules(&mut self, list: &str, base: &RawJob) -> Vec<RawModule> {
        let mut modules = Vec::new();
        for item in list.split(',') {
            let (name, offset) = match item.split_once(':') {
                Some((name, offset)) => (name, Some(offset)),
                None => (item, None),
            };
            let offset = offset.map(|offset| {
                if let Ok(number) = offset.parse::<u32>() {
                    return Value::Int(number.into());
                }
                self.bad(keys::MODULES, item, "wants first ranks as whole numbers");
                let text = text::decode(offset);
                Value::Text(text.strip_prefix('?').unwrap_or(&text).to_owned())
            });
            let name = match name {
                "@0" => String::new(),
                name => text::decode(name),
            };
            modules.push(RawModule {
                settings: base.settings_of(&name),
                name,
                rank_offset: offset,
            });
        }
        modules
    }

    fn token(&mut self, job: &mut RawJob, (raw, value): Pair<'_>, key: String) {
        match (keys::resolve(raw, &job.modules), value) {
            (Key::Field(module, id), Some(value)) => {
                let once = text::decode(value);
                let read = notation::read(id, &once);
                // A mail program may have escaped only the escapes.
                let again = match &read {
                    Err(_) if once.contains('%') => notation::read(id, &text::decode(&once)).ok(),
                    _ => None,
                };
                let value = match again.map_or(read, Ok) {
                    Ok(value) => value,
                    // Without the value the job would be another one.
                    Err(bad) => {
                        self.bad(&key, &once, &bad.reason);
                        Value::Text(bad.value)
                    }
                };
                match module {
                    None => job.shared.set(id, value),
                    Some(index) => {
                        if let Some(module) = job.modules.get_mut(index) {
                            module.settings.set(id, value);
                        }
                    }
                }
            }
            (Key::Tab, Some(tab)) => {
                self.state.view.tab = Some(text::decode(tab)).filter(|tab| !tab.is_empty());
            }
            (Key::Stage, Some(place)) => match stage(place) {
                Some(stage) => self.state.view.stage = Some(stage),
                None => self.bad(&key, place, "is not a pipeline rank"),
            },
            (Key::Preset | Key::Modules | Key::NotModelled, Some(_)) => {}
            (Key::Unknown, _) if key.is_empty() => self.bad("", raw, "has no name"),
            (Key::Unknown, value) if Feature::of_key(&key).is_some() => {
                let value = value.map(|value| Value::Text(text::decode(value)));
                job.add_other(key, value.unwrap_or(Value::Bool(true)));
            }
            (Key::Unknown, value) => {
                let value = value.map(text::decode).filter(|value| !value.is_empty());
                let notice = Notice::UnknownKey { key: clip(&key) };
                job.unknown.push((key, value.map_or(Value::Null, Value::Text)));
                self.notices.push(notice);
            }
            _ => self.bad(&key, "", "needs a value"),
        }
    }

    fn bad(&mut self, key: &str, value: &str, reason: &str) {
        self.notices.push(Notice::BadValue {
            key: clip(key),
            value: clip(value),
            reason: reason.to_owned(),
        });
    }
}

fn stage(place: &str) -> Option<Place> {
    let (module, rank) = place.split_once('.').unwrap_or(("0", place));
    Some(Place {
        module: module.parse().ok()?,
        pp_rank: rank.parse().ok()?,
    })
}
