//! Finding a field by any name that people have for it.

use super::field::{control_id, flag};
use crate::config::field::Field;
use crate::config::fields::FieldId;
use crate::report::markup::{Markup, tag};
use crate::ui::browser;
use crate::ui::draw::button;
use crate::ui::shown::{Gesture, Piece, shown};
use crate::ui::state::State;
use leptos::prelude::*;

/// The id of the search box.
pub(in crate::ui) const SEARCH: &str = "search";
/// More matches than this say little.
const SHOWN: usize = 12;

/// How well a field matches the words; nothing where one of them is nowhere.
fn score(field: &Field, words: &[String]) -> Option<usize> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], " ");
    let names = [
        plain(field.name),
        plain(field.presentation().label),
        plain(field.key),
        plain(field.presentation().symbol),
    ];
    let aliases = field
        .presentation()
        .aliases
        .iter()
        .map(|alias| plain(alias))
        .collect::<Vec<_>>();
    let help = plain(field.presentation().help);
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
    let scored = FieldId::ALL
        .iter()
        .filter_map(|id| Some((score(id.field(), &words)?, *id)));
    let mut found: Vec<_> = scored.collect();
    found.sort_by_key(|(score, id)| (core::cmp::Reverse(*score), *id));
    found.truncate(SHOWN);
    found.into_iter().map(|(_, id)| id).collect()
}

/// The search box and its matches.
pub(super) fn search(state: State) -> Piece {
    let query = RwSignal::new(String::new());
    let search = Search {
        state,
        query,
        found: Memo::new(move |_| matches(&query.read())),
    };
    shown(
        "whole",
        move || search.draw(),
        move |gesture| search.act(gesture),
    )
}

#[derive(Clone, Copy)]
struct Search {
    state: State,
    query: RwSignal<String>,
    found: Memo<Vec<FieldId>>,
}

impl Search {
    fn draw(&self) -> Vec<Markup> {
        let (found, query) = (self.found.read(), self.query.read());
        let said = match (query.is_empty(), found.len()) {
            (true, _) => String::new(),
            (_, 0) => String::from("No field has this name."),
            (_, 1) => String::from("1 field"),
            (_, n) => format!("{n} fields"),
        };
        let input = tag("input")
            .with("id", SEARCH)
            .with("data-at", SEARCH)
            .with("type", "search")
            .with("placeholder", "Find a setting or flag")
            .with(
                "aria-label",
                "Find a setting by its name, Megatron flag or Hugging Face key",
            )
            .with("autocomplete", "off")
            .with("spellcheck", "false")
            .with("value", query.clone());
        let entries = found.iter().map(|id| {
            let field = id.field();
            let entry = button(field.key, "", "")
                .child(tag("span").text(field.presentation().label))
                .child(tag("code").text(flag(field)));
            tag("li").child(entry)
        });
        let list = tag("ul")
            .class("matches")
            .mark("hidden", found.is_empty())
            .children(entries);
        let search = tag("div").class("search").with("role", "search");
        let said = tag("p").class("faint").with("role", "status").text(said);
        vec![search.child(input).child(list).child(said)]
    }

    fn act(&self, gesture: Gesture<'_>) -> bool {
        match gesture {
            Gesture::Input(SEARCH, text) => self.query.set(text.to_owned()),
            Gesture::Press(SEARCH, "Enter") => {
                let first = untrack(|| self.found.read().first().copied());
                if let Some(id) = first {
                    self.go(id);
                    return true;
                }
            }
            Gesture::Press(SEARCH, "Escape") => self.query.set(String::new()),
            Gesture::Press(SEARCH, "ArrowDown") => {
                browser::focus_first(".matches button");
                return true;
            }
            Gesture::Choose(place) => {
                if let Some(id) = FieldId::by_key(place) {
                    self.go(id);
                }
            }
            _ => {}
        }
        false
    }

    fn go(&self, id: FieldId) {
        self.query.set(String::new());
        self.state.reveal(id);
        browser::focus(control_id(id.field()));
    }
}

// Embeds have no search, and fields in them no other names.
#[cfg(test)]
mod tests {
    use super::matches;
    use crate::config::fields::FieldId;

    #[test]
    fn a_field_is_found_by_every_name_it_has() {
        for (query, field) in [
            (
                "--tensor-model-parallel-size",
                FieldId::tensor_model_parallel_size,
            ),
            ("tp", FieldId::tensor_model_parallel_size),
            ("num_moe_experts", FieldId::num_experts),
            ("num_hidden_layers", FieldId::num_layers),
            ("zero", FieldId::use_distributed_optimizer),
            ("activation checkpointing", FieldId::recompute_granularity),
            ("intermediate_size", FieldId::ffn_hidden_size),
        ] {
            assert_eq!(matches(query).first(), Some(&field), "{query}");
        }
        assert!(matches(" - ").is_empty());
        assert!(matches("no such thing").is_empty());
    }
}
