//! The layers of `hybrid_layer_pattern` as cells below the text of the pattern. Text and cells edit each other.

mod cells;
mod edit;
mod editor;
mod from_gpt;
mod keys;
mod palette;
mod rows;
mod stage_tools;
mod write_as_pattern;

use leptos::prelude::*;

use cells::LayerCells;
use editor::Editor;
use palette::LayerPalette;
use stage_tools::StageTools;
use write_as_pattern::WriteAsPattern;

use crate::state::State;

/// The layers of the pattern as cells with the tools to edit them; for a module without a pattern, a button that writes
/// one.
#[component]
pub fn PatternEditor() -> impl IntoView {
    let editor = Editor::new(expect_context::<State>());
    provide_context(editor);
    let has_pattern = Memo::new(move |_| editor.pattern.read().is_some());
    view! {
        <div class="pattern-editor">
            <Show when=move || has_pattern.get() fallback=move || view! { <WriteAsPattern /> }>
                <p class="pattern-note" hidden=move || !editor.unreadable.get()>
                    "The cells show the last pattern that could be read."
                </p>
                <LayerCells />
                <LayerPalette />
                <StageTools />
            </Show>
        </div>
    }
}
