//! The list of presets, by family, size or date, with those that match a query.

use leptos::html::Div;
use leptos::prelude::*;

use super::{LIST, pick};
use crate::browser;
use crate::state::State;
use megatron_memory::presets::PRESETS;
use megatron_memory::presets::jobs::JOBS;
use megatron_memory::report::amount::parameters;

/// The order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// By family, in the order of the presets.
    #[default]
    Family,
    /// The largest model first.
    Size,
    /// The newest model first.
    Date,
}

/// One preset of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    id: &'static str,
    name: &'static str,
    family: &'static str,
    organization: &'static str,
    /// The number of parameters, and those that are active for one token; none for a job of several modules.
    parameters: Option<(u64, Option<u64>)>,
    released: &'static str,
}

impl Entry {
    /// Whether every word of a query is in one of the preset's names.
    fn matches(&self, query: &str) -> bool {
        let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], " ");
        let names = [self.id, self.name, self.family, self.organization].map(plain);
        let names = names.join(" ");
        plain(query).split_whitespace().all(|word| names.contains(word))
    }

    /// The size in words, such as `235.1B, 22.0B active`.
    fn size(&self) -> String {
        match self.parameters {
            Some((total, Some(active))) => {
                format!("{}, {} active", parameters(total), parameters(active))
            }
            Some((total, None)) => parameters(total),
            None => String::new(),
        }
    }
}

/// All presets in the order of the menu.
fn entries() -> Vec<Entry> {
    let models = PRESETS.iter().map(|model| Entry {
        id: model.id,
        name: model.name,
        family: model.family,
        organization: model.organization,
        parameters: Some((model.parameters, model.active_parameters)),
        released: model.released,
    });
    let jobs = JOBS.iter().map(|job| Entry {
        id: job.id,
        name: job.name,
        family: SEVERAL_MODULES,
        organization: "",
        parameters: None,
        released: "",
    });
    models.chain(jobs).collect()
}

/// The group of jobs of several modules.
const SEVERAL_MODULES: &str = "Several modules";

/// The presets that match, in groups: a family each, or all in one.
fn groups(query: &str, order: Order) -> Vec<(&'static str, Vec<Entry>)> {
    let mut entries: Vec<Entry> = entries().into_iter().filter(|e| e.matches(query)).collect();
    match order {
        Order::Family => {
            let mut groups: Vec<(&str, Vec<Entry>)> = Vec::new();
            for entry in entries {
                match groups.iter_mut().find(|(name, _)| *name == entry.family) {
                    Some((_, group)) => group.push(entry),
                    None => groups.push((entry.family, vec![entry])),
                }
            }
            return groups;
        }
        Order::Size => {
            let size = |entry: &Entry| entry.parameters.map(|(total, _)| total);
            entries.sort_by_key(|entry| core::cmp::Reverse(size(entry)));
        }
        Order::Date => entries.sort_by_key(|entry| core::cmp::Reverse(entry.released)),
    }
    if entries.is_empty() {
        return Vec::new();
    }
    vec![("", entries)]
}

/// The presets that match the query.
#[component]
pub(super) fn PresetList(
    chosen: Memo<String>,
    query: RwSignal<String>,
    order: RwSignal<Order>,
    /// The element that the presets are in.
    list: NodeRef<Div>,
) -> impl IntoView {
    let groups = Memo::new(move |_| groups(&query.read(), order.get()));
    list.on_load(|list| browser::scroll_to_pressed(list.into()));
    view! {
        <div class="preset-list" node_ref=list>
            {move || {
                let groups = groups.get().into_iter();
                groups
                    .map(|(name, entries)| view! { <PresetGroup name entries chosen /> })
                    .collect_view()
            }}
            <p class="faint" role="status">
                {move || groups.read().is_empty().then_some("No preset has this name. Import takes any Hugging Face config.json.")}
            </p>
        </div>
    }
}

/// Presets that stand together, below their name where they have one.
#[component]
fn PresetGroup(name: &'static str, entries: Vec<Entry>, chosen: Memo<String>) -> impl IntoView {
    let heading = (!name.is_empty()).then(|| view! { <h2>{name}</h2> });
    let options = entries.into_iter().map(|entry| view! { <PresetOption entry chosen /> });
    view! {
        {heading}
        <ul>{options.collect_view()}</ul>
    }
}

/// A preset, as a button that takes it over and closes the list.
#[component]
fn PresetOption(entry: Entry, chosen: Memo<String>) -> impl IntoView {
    let state = expect_context::<State>();
    view! {
        <li>
            <button
                type="button"
                class="preset-option"
                value=entry.id
                aria-pressed=move || (*chosen.read() == entry.id).to_string()
                popovertarget=LIST
                popovertargetaction="hide"
                on:click=move |_| pick::pick(state, entry.id)
            >
                <span>{entry.name}</span>
                <span class="preset-size">{entry.size()}</span>
                <span class="preset-date">{entry.released}</span>
            </button>
        </li>
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, groups};
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test(unsupported = test)]
    fn presets_are_found_by_any_name_and_in_any_order() {
        let names = |query: &str, order| -> Vec<&str> {
            let groups = groups(query, order).into_iter();
            groups.flat_map(|(_, entries)| entries).map(|entry| entry.id).collect()
        };
        let of_words = names("qwen3-235b", Order::Family);
        assert_eq!(of_words, ["qwen3-235b-a22b", "qwen3-vl-235b-a22b"]);
        assert!(names("meta", Order::Family).contains(&"llama3-8b"));
        assert_eq!(names("", Order::Size).first(), Some(&"kimi-k3"));
        assert!(names("no such model", Order::Date).is_empty());
        let dates = groups("", Order::Date).into_iter().flat_map(|(_, entries)| entries);
        let dates: Vec<&str> = dates.map(|entry| entry.released).collect();
        assert!(dates.is_sorted_by(|a, b| a >= b));
    }
}
