//! The keyboard commands in the cells of a pattern.

use super::cells::cell_id;
use super::edit::{Edit, LayerPosition};
use super::editor::Editor;
use crate::browser;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use megatron_memory::config::hybrid_pattern::LayerSymbol;

/// The keys in words.
pub(super) const HELP: &str = "Arrow keys move. A letter sets the kind. Enter inserts a layer after, Shift+Enter before; \
    Delete removes one; | begins or ends a stage.";

/// Obeys a key that was pressed in the cells.
pub(super) fn press(editor: Editor, event: &KeyboardEvent) {
    let current = editor.current.get_untracked();
    let key = browser::key(event);
    let done = match key.as_str() {
        "Enter" => editor.apply(Edit::InsertAfter(current)),
        "Shift+Enter" => editor.apply(Edit::InsertBefore(current)),
        "Delete" => editor.apply(Edit::Remove(current)),
        "Backspace" => remove_and_go_back(editor, current),
        "|" => editor.apply(Edit::ToggleBorder(current)),
        key => match (symbol_of_key(key), destination(editor, current, key)) {
            (Some(symbol), _) => editor.apply(Edit::SetKind(current, symbol)),
            (None, Some(to)) => {
                editor.focused.set(to);
                true
            }
            (None, None) => return,
        },
    };
    event.prevent_default();
    event.stop_propagation();
    if done {
        // Edits move the layers, so that the one at work may have another cell now.
        browser::focus(cell_id(untrack(|| editor.current.get())));
    }
}

/// The kind of layer that a key stands for, in upper or lower case.
fn symbol_of_key(key: &str) -> Option<LayerSymbol> {
    let mut letters = key.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => LayerSymbol::of(letter.to_ascii_uppercase()),
        _ => None,
    }
}

fn remove_and_go_back(editor: Editor, current: LayerPosition) -> bool {
    let is_removed = editor.apply(Edit::Remove(current));
    if is_removed {
        let index = current.index.saturating_sub(1);
        editor.focused.set(LayerPosition { index, ..current });
    }
    is_removed
}

/// The layer that a key leads to; `None` for a key that leads nowhere by itself.
fn destination(editor: Editor, current: LayerPosition, key: &str) -> Option<LayerPosition> {
    let layers = editor.layers.get_untracked();
    let all: Vec<LayerPosition> = layers.all().collect();
    let at = all.iter().position(|layer| *layer == current)?;
    let row = untrack(|| editor.row_of(current));
    let to = match key {
        "ArrowLeft" => all.get(at.saturating_sub(1)),
        "ArrowRight" => all.get(at + 1),
        "ArrowUp" => return Some(in_next_line(&all, at, false)),
        "ArrowDown" => return Some(in_next_line(&all, at, true)),
        "Home" => return row.map(|row| layer_in(current, row.start)),
        "End" => return row.map(|row| layer_in(current, row.end.saturating_sub(1))),
        "Ctrl+Home" => all.first(),
        "Ctrl+End" => all.last(),
        _ => return None,
    };
    Some(to.copied().unwrap_or(current))
}

fn layer_in(current: LayerPosition, index: usize) -> LayerPosition {
    LayerPosition { index, ..current }
}

/// The layer whose cell is nearest in the line of cells above or below; the layer itself where there is no such line.
fn in_next_line(all: &[LayerPosition], at: usize, below: bool) -> LayerPosition {
    let place = |layer: &LayerPosition| {
        let (left, top) = browser::corner(&cell_id(*layer))?;
        Some((*layer, left, top))
    };
    let (before, rest) = all.split_at(at.min(all.len()));
    let Some((current, left, top)) = rest.first().and_then(place) else {
        return all.get(at).copied().unwrap_or(LayerPosition::FIRST);
    };
    let others: Vec<_> = if below {
        rest.iter().filter_map(place).collect()
    } else {
        before.iter().rev().filter_map(place).collect()
    };
    let line = others.iter().map(|(.., other)| *other);
    let Some(line) = line.into_iter().find(|other| *other != top) else {
        return current;
    };
    let in_line = others.iter().filter(|(.., other)| *other == line);
    let nearest = in_line.min_by_key(|(_, other, _)| other.abs_diff(left));
    nearest.map_or(current, |(layer, ..)| *layer)
}
