//! What can be done to the current layer, as buttons: the kinds of layers, which are also the legend of the cells, and
//! the edits around it.

use super::cells::cell_class;
use super::edit::{Edit, LayerPosition, PatternPart};
use super::editor::Editor;
use super::keys;
use crate::parts::ActionButton;
use leptos::prelude::*;
use megatron_memory::config::hybrid_pattern::LayerSymbol;

/// The id of the palette.
pub(super) const PALETTE: &str = "pattern-palette";

/// The buttons for the layer that was last focused.
#[component]
pub(super) fn LayerPalette() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let current = Memo::new(move |_| editor.current_symbol());
    let heading = move || {
        let (layer, symbol) = current.get();
        format!("{layer}: {}", symbol.map_or("", LayerSymbol::label))
    };
    let kinds = LayerSymbol::ALL.map(|symbol| view! { <KindButton symbol current /> });
    let ends_stage = Memo::new(move |_| editor.ends_segment());
    let can_end_stage = Memo::new(move |_| {
        let last = editor.layers.read().decoder.len().saturating_sub(1);
        let current = editor.current.get();
        current.part == PatternPart::Decoder && current.index < last
    });
    view! {
        <div class="pattern-palette" id=PALETTE role="group" aria-labelledby="pattern-current">
            <p id="pattern-current">{heading}</p>
            <div class="pattern-kinds">{kinds}</div>
            <div class="pattern-actions">
                <EditButton label="Insert before" edit=Edit::InsertBefore />
                <EditButton label="Insert after" edit=Edit::InsertAfter />
                <EditButton label="Remove" edit=Edit::Remove />
                <ActionButton
                    attr:aria-pressed=move || ends_stage.get().to_string()
                    blocked=move || !can_end_stage.get()
                    reason="The last layer of the decoder, and MTP, end the last stage"
                    on_press=move || {
                        editor.apply(Edit::ToggleBorder(editor.current.get_untracked()));
                    }
                >
                    "Stage ends here"
                </ActionButton>
            </div>
            <p class="faint" id="pattern-keys">
                {keys::HELP}
            </p>
        </div>
    }
}

/// The button that makes the current layer one of this kind.
#[component]
fn KindButton(symbol: LayerSymbol, current: Memo<(LayerPosition, Option<LayerSymbol>)>) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let is_current = Memo::new(move |_| current.get().1 == Some(symbol));
    // Attention and MLA do not go together in one model.
    let is_refused = Memo::new(move |_| {
        let pattern = editor.pattern.read();
        let edit = Edit::SetKind(editor.current.get(), symbol);
        pattern.as_ref().is_none_or(|pattern| edit.apply(pattern).is_err())
    });
    view! {
        <ActionButton
            attr:class="pattern-kind"
            attr:aria-pressed=move || is_current.get().to_string()
            blocked=is_refused
            reason="No model has this kind of layer together with the others"
            on_press=move || {
                editor.apply(Edit::SetKind(editor.current.get_untracked(), symbol));
            }
        >
            <span class=cell_class(symbol) aria-hidden="true">
                {symbol.letter()}
            </span>
            <span class="pattern-kind-label">{symbol.label()}</span>
        </ActionButton>
    }
}

/// A button for an edit of the current layer.
#[component]
fn EditButton(label: &'static str, edit: fn(LayerPosition) -> Edit) -> impl IntoView {
    let editor = expect_context::<Editor>();
    view! {
        <button
            type="button"
            on:click=move |_| {
                editor.apply(edit(editor.current.get_untracked()));
            }
        >
            {label}
        </button>
    }
}
