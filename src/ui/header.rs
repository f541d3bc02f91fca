//! The line at the top: the preset, what can be done with the sheet, and how the page looks.

use leptos::prelude::*;

use super::browser;
use super::link;
use super::parts::{click, memo, text, yes};
use super::presets_bar::PresetsBar;
use super::shortcuts::SHORTCUTS;
use super::state::state;
use super::theme::{ThemeButton, UnitSwitch};
use crate::config::fields::FieldId;
use crate::formats::state::Setup;

/// The ids of the dialog with the link and of the link in it.
const LINK: &str = "link";
const LINK_TEXT: &str = "link-text";

/// The header.
#[component]
pub fn Header() -> impl IntoView {
    let state = state();
    let pristine = memo(move || {
        let plain = state
            .setup
            .with(|s| s.job.modules.is_empty() && s.job.unknown.is_empty());
        plain && !FieldId::ALL.iter().any(|id| state.changed(*id))
    });
    let reset = move || {
        let preset = state.setup.with_untracked(|s| s.preset.clone());
        let job = state.baseline.get_untracked();
        state.jump(Setup {
            preset,
            job: (*job).clone(),
        });
        state
            .notices
            .offer_undo("All settings are those of the preset again.");
    };
    let shown = RwSignal::new(String::new());
    let copy = move || {
        link::copy(state, move |address| {
            shown.set(address);
            browser::open_dialog(LINK);
            browser::select(LINK_TEXT);
        });
    };
    view! {
        <header class="header">
            <h1>"Megatron Memory"</h1>
            <PresetsBar />
            <div class="actions" role="group" aria-label="Settings">
                <button
                    type="button"
                    disabled=yes(move || !state.can_undo())
                    on:click=click(move || {
                        state.undo();
                    })
                >
                    "Undo"
                </button>
                <button
                    type="button"
                    disabled=yes(move || !state.can_redo())
                    on:click=click(move || {
                        state.redo();
                    })
                >
                    "Redo"
                </button>
                <button type="button" disabled=yes(move || pristine.get()) on:click=click(reset)>"Reset"</button>
            </div>
            <button type="button" class="share" on:click=click(copy)>"Copy link"</button>
            <div class="looks">
                <UnitSwitch />
                <ThemeButton />
                <a class="quiet" href="./evidence.html">"Evidence"</a>
                <button
                    type="button"
                    class="quiet"
                    aria-haspopup="dialog"
                    on:click=click(|| browser::open_dialog(SHORTCUTS))
                >
                    "Help"
                </button>
            </div>
        </header>
        <dialog id=LINK class="help" aria-labelledby="link-title">
            <h2 id="link-title">"Copy this link"</h2>
            <p>"The browser does not let the page use the clipboard."</p>
            <input id=LINK_TEXT type="text" readonly aria-label="Link" prop:value=text(move || shown.get()) />
            <form method="dialog">
                <button>"Close"</button>
            </form>
        </dialog>
    }
}
