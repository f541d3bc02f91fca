//! How the page looks, and its help.

use crate::parts::Toolbar;
use crate::state::{DialogKind, OpenDialog, State};
use leptos::prelude::*;
use megatron_memory::report::amount::Unit;

/// The unit of memory, the theme and the help.
#[component]
pub fn LookControls() -> impl IntoView {
    let state = expect_context::<State>();
    let open_dialog = expect_context::<OpenDialog>();
    let units = Unit::ALL.map(|unit| {
        let pressed = move || (state.preferences.unit.get() == unit).to_string();
        view! {
            <button
                type="button"
                aria-pressed=pressed
                on:click=move |_| state.preferences.set_unit(unit)
            >
                {unit.symbol()}
            </button>
        }
    });
    view! {
        <Toolbar class="looks" label="Unit, theme and help">
            <div class="segments" role="group" aria-label="Unit of memory">
                {units}
            </div>
            <button type="button" class="quiet" data-testid="theme" on:click=move |_| state.preferences.turn_theme()>
                <span class="theme-icon" aria-hidden="true"></span>
                <span class="theme-name">{move || format!("Theme: {}", state.preferences.theme.get().name())}</span>
            </button>
            <button
                type="button"
                class="quiet"
                data-testid="help"
                aria-haspopup="dialog"
                on:click=move |_| open_dialog.open(DialogKind::Help)
            >
                "Help"
            </button>
        </Toolbar>
    }
}
