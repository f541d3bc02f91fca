//! Finding a field by any name that people have for it.

use super::field_row::flag;
use super::ids::control_id;
use crate::browser;
use crate::state::State;
use leptos::ev::KeyboardEvent;
use leptos::html::Ul;
use leptos::prelude::*;
use megatron_memory::config::field::Kind;
use megatron_memory::config::fields::FieldId;

/// The id of the search box.
pub const SEARCH: &str = "search";
/// The most matches that are listed.
const SHOWN: usize = 12;

/// How well a field matches the words; nothing where one of them is nowhere.
fn score(id: FieldId, words: &[String]) -> Option<usize> {
    let field = id.field();
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], " ");
    let names = [
        plain(field.name),
        plain(field.label),
        plain(field.key),
        plain(field.symbol),
    ];
    let aliases = id.aliases().iter().map(|alias| plain(alias)).collect::<Vec<_>>();
    let help = plain(id.help());
    let values = match field.kind {
        Kind::Choice(values) | Kind::Set(values) => values,
        _ => &[],
    };
    let values: Vec<String> = values.iter().map(|value| plain(value)).collect();
    words.iter().try_fold(0, |sum, word| {
        let in_names = names.iter().chain(&aliases);
        let best = in_names
            .filter_map(|name| match name.find(word.as_str()) {
                Some(0) if name.len() == word.len() => Some(8),
                Some(0) => Some(5),
                Some(_) => Some(3),
                None => None,
            })
            .max();
        let in_values = || values.iter().any(|value| value.starts_with(word.as_str()));
        let best = best.or_else(|| in_values().then_some(2));
        let best = best.or_else(|| help.contains(word.as_str()).then_some(1));
        best.map(|best| sum + best)
    })
}

fn matches(query: &str) -> Vec<FieldId> {
    let query = query.to_ascii_lowercase().replace(['-', '_'], " ");
    let words: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let scored = FieldId::ALL.iter().filter_map(|id| Some((score(*id, &words)?, *id)));
    let mut found: Vec<_> = scored.collect();
    found.sort_by_key(|(score, id)| (core::cmp::Reverse(*score), *id));
    found.truncate(SHOWN);
    found.into_iter().map(|(_, id)| id).collect()
}

/// The search box and its matches.
#[component]
pub fn FieldSearch() -> impl IntoView {
    let state = expect_context::<State>();
    let query = RwSignal::new(String::new());
    let found = Memo::new(move |_| matches(&query.read()));
    let go = Callback::new(move |id: FieldId| {
        query.set(String::new());
        state.reveal(id);
        browser::focus(control_id(id.field()));
    });
    let list = NodeRef::<Ul>::new();
    let press = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" => {
            let first = untrack(|| found.read().first().copied());
            if let Some(id) = first {
                event.prevent_default();
                go.run(id);
            }
        }
        "Escape" => query.set(String::new()),
        "ArrowDown" => {
            event.prevent_default();
            let first = list.get_untracked().and_then(|list| browser::first_control(&list));
            if let Some(first) = first {
                let _ = first.focus();
            }
        }
        _ => {}
    };
    let said = move || match (query.read().is_empty(), found.read().len()) {
        (true, _) => String::new(),
        (_, 0) => String::from("No field has this name."),
        (_, 1) => String::from("1 field"),
        (_, n) => format!("{n} fields"),
    };
    view! {
        <div class="search" role="search">
            <input
                id=SEARCH
                type="search"
                placeholder="Find a setting or flag"
                aria-label="Find a setting by its name, Megatron flag or Hugging Face key"
                autocomplete="off"
                spellcheck="false"
                prop:value=query
                on:input:target=move |event| query.set(event.target().value())
                on:keydown=press
            />
            <ul class="matches" node_ref=list hidden=move || found.read().is_empty()>
                <For each=move || found.get() key=|id| id.field().key let:id>
                    <li>
                        <button type="button" on:click=move |_| go.run(id)>
                            <span>{id.field().label}</span>
                            <code>{flag(id)}</code>
                        </button>
                    </li>
                </For>
            </ul>
            <p class="faint" role="status">
                {said}
            </p>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::matches;
    use megatron_memory::config::fields::FieldId;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test(unsupported = test)]
    fn a_field_is_found_by_every_name_it_has() {
        for (query, field) in [
            ("--tensor-model-parallel-size", FieldId::tensor_model_parallel_size),
            ("tp", FieldId::tensor_model_parallel_size),
            ("num_moe_experts", FieldId::num_experts),
            ("num_hidden_layers", FieldId::num_layers),
            ("zero", FieldId::use_distributed_optimizer),
            ("activation checkpointing", FieldId::recompute_granularity),
            ("intermediate_size", FieldId::ffn_hidden_size),
            ("deepep", FieldId::moe_flex_dispatcher_backend),
        ] {
            assert_eq!(matches(query).first(), Some(&field), "{query}");
        }
        assert!(matches(" - ").is_empty());
        assert!(matches("no such thing").is_empty());
    }
}
