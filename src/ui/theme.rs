//! What a reader sets once for all visits: colors and the unit of memory.

use leptos::prelude::*;

use super::browser;
use super::parts::{aria, click, text};
use super::state::state;
use crate::report::amount::Unit;

const THEME: &str = "theme";
const UNIT: &str = "unit";

/// Light, dark, or as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system has it.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme of the last visit.
    #[must_use]
    pub fn stored() -> Self {
        let name = browser::stored(THEME).unwrap_or_default();
        let known = Self::ALL.into_iter().find(|theme| theme.name() == name);
        known.unwrap_or_default()
    }

    const fn next(self) -> Self {
        match self {
            Self::Auto => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::Auto,
        }
    }
}

/// The unit of the last visit.
pub(super) fn stored_unit() -> Unit {
    match browser::stored(UNIT).as_deref() {
        Some("GB") => Unit::Gb,
        _ => Unit::Gib,
    }
}

/// The switch between light, dark and the system's choice.
#[component]
pub fn ThemeButton() -> impl IntoView {
    let theme = state().theme;
    let turn = move || {
        let next = theme.get_untracked().next();
        theme.set(next);
        browser::store(THEME, next.name());
        browser::mark_root("data-theme", (next != Theme::Auto).then(|| next.name()));
    };
    view! {
        <button type="button" class="quiet" on:click=click(turn)>
            <span class="theme-icon" aria-hidden="true"></span>
            <span class="theme-name">
            {text(move || format!("Theme: {}", theme.get().name()))}
            </span>
        </button>
    }
}

/// The switch between GiB and GB.
#[component]
pub fn UnitSwitch() -> impl IntoView {
    let unit = state().unit;
    let button = move |this: Unit| {
        let choose = move || {
            unit.set(this);
            browser::store(UNIT, this.symbol());
        };
        let pressed = aria(move || unit.get() == this);
        view! { <button type="button" aria-pressed=pressed on:click=click(choose)>{this.symbol()}</button> }
    };
    view! {
        <div class="segments" role="group" aria-label="Unit of memory">
            {Unit::ALL.map(button).collect_view()}
        </div>
    }
}
