//! The line at the top: the preset, what can be done with the sheet, and how the page looks.

use leptos::prelude::*;

use super::browser;
use super::presets_bar::PresetsBar;
use super::shortcuts::SHORTCUTS;
use super::state::{Sheet, state};
use super::theme::{ThemeButton, UnitSwitch};

/// The header.
#[component]
pub fn Header() -> impl IntoView {
    let state = state();
    let pristine = Memo::new(move |_| {
        let sheet = state.sheet.read();
        state.baseline.with(|base| sheet.job == **base)
    });
    let reset = move |_| {
        let preset = state.sheet.with_untracked(|s| s.preset.clone());
        let job = state.baseline.get_untracked();
        state.jump(Sheet {
            preset,
            job: (*job).clone(),
        });
        state
            .notices
            .offer_undo("All settings are those of the preset again.");
    };
    view! {
        <header class="header">
            <h1>"Megatron Memory"</h1>
            <PresetsBar />
            <div class="actions" role="group" aria-label="Settings">
                <button
                    type="button"
                    disabled=move || !state.can_undo()
                    on:click=move |_| {
                        state.undo();
                    }
                >
                    "Undo"
                </button>
                <button
                    type="button"
                    disabled=move || !state.can_redo()
                    on:click=move |_| {
                        state.redo();
                    }
                >
                    "Redo"
                </button>
                <button type="button" disabled=pristine on:click=reset>"Reset"</button>
            </div>
            <div class="looks">
                <UnitSwitch />
                <ThemeButton />
                <button
                    type="button"
                    class="quiet"
                    aria-haspopup="dialog"
                    on:click=move |_| browser::open_dialog(SHORTCUTS)
                >
                    "Help"
                </button>
            </div>
        </header>
    }
}
