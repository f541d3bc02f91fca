//! What a reader sets once for all visits: colors and the unit of memory.

use super::browser;
use super::state::State;
use crate::report::amount::Unit;
use leptos::prelude::*;

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

    /// Its name, also in style sheets.
    #[must_use]
    pub const fn name(self) -> &'static str {
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

/// Turns to the next theme.
pub(super) fn turn(state: State) {
    let next = state.theme.get_untracked().next();
    state.theme.set(next);
    browser::store(THEME, next.name());
    browser::mark_root("data-theme", (next != Theme::Auto).then(|| next.name()));
}

/// Shows memory in this unit from now on.
pub(super) fn set_unit(state: State, unit: Unit) {
    state.unit.set(unit);
    browser::store(UNIT, unit.symbol());
}
