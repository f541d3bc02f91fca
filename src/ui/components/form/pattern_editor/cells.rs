//! The layers of a pattern as cells, one a letter.

use super::edit::{LayerPosition, PatternPart};
use super::editor::Editor;
use super::keys;
use super::palette::PALETTE;
use super::rows::StageRow;
use crate::browser;
use leptos::prelude::*;
use megatron_memory::config::hybrid_pattern::LayerSymbol;

/// The id of the cell of a layer.
pub(super) fn cell_id(layer: LayerPosition) -> String {
    let part = match layer.part {
        PatternPart::Decoder => "layer",
        PatternPart::Mtp => "mtp-layer",
    };
    format!("pattern-{part}-{}", layer.index)
}

/// The style classes of a layer's cell.
pub(super) fn cell_class(symbol: LayerSymbol) -> String {
    format!("pattern-cell layer-{}", symbol.id())
}

/// All cells, in a row for each pipeline chunk and one for an MTP depth. One cell is in the tab order; keys lead to the
/// others.
#[component]
pub(super) fn LayerCells() -> impl IntoView {
    let editor = expect_context::<Editor>();
    view! {
        <div
            class="pattern-cells"
            class:pattern-unreadable=editor.unreadable
            role="listbox"
            aria-label="Layers of the pattern"
            aria-orientation="horizontal"
            aria-describedby="pattern-keys"
            on:keydown=move |event| keys::press(editor, &event)
        >
            <For each=move || 0..editor.rows.read().len() key=|row| *row let:row>
                <RowCells row />
            </For>
        </div>
    }
}

/// The cells of one row, behind its name.
#[component]
fn RowCells(row: usize) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let row = Memo::new(move |_| editor.rows.read().get(row).cloned());
    let text = move |read: fn(StageRow) -> String| row.get().map(read).unwrap_or_default();
    let label = move || {
        text(|row| {
            let words = [row.name.as_str(), row.detail.as_str()];
            let words = words.into_iter().filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join(", ")
        })
    };
    let layers = move || {
        let layers = row.get().map(|row| {
            let part = row.part;
            row.layers.map(move |index| LayerPosition { part, index })
        });
        layers.into_iter().flatten()
    };
    let is_mtp = move || row.read().as_ref().is_some_and(|row| row.part == PatternPart::Mtp);
    let is_empty = move || row.read().as_ref().is_some_and(|row| row.layers.is_empty());
    view! {
        <div class="pattern-stage" class:pattern-mtp=is_mtp role="group" aria-label=label>
            <span class="pattern-stage-name" aria-hidden="true">
                <span>{move || text(|row| row.name)}</span>
                <span class="faint">{move || text(|row| row.detail)}</span>
            </span>
            <div class="pattern-stage-cells">
                <span class="faint" aria-hidden="true" hidden=move || !is_empty()>
                    "no layers"
                </span>
                <For each=layers key=|layer| *layer let:layer>
                    <LayerCell layer />
                </For>
            </div>
        </div>
    }
}

/// The cell of a layer: its letter, in the color of its kind.
#[component]
fn LayerCell(layer: LayerPosition) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let cell = Memo::new(move |_| (editor.symbol(layer), editor.current.get() == layer));
    // One effect a cell rather than one for each attribute: a pattern has a hundred cells.
    move || {
        let (symbol, is_current) = cell.get();
        symbol.map(|symbol| {
            let label = format!("{layer}: {}", symbol.label());
            view! {
                <span
                    id=cell_id(layer)
                    class=cell_class(symbol)
                    role="option"
                    tabindex=if is_current { "0" } else { "-1" }
                    aria-selected=is_current.to_string()
                    aria-label=label.clone()
                    title=label
                    on:focus=move |_| {
                        editor.focused.set(layer);
                        browser::uncover(cell_id(layer), PALETTE);
                    }
                >
                    {symbol.letter()}
                </span>
            }
        })
    }
}
