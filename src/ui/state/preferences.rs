//! The settings of a reader for all visits, kept in the browser's storage: the color theme and the unit of memory.

use crate::browser;
use leptos::prelude::*;
use megatron_memory::report::amount::Unit;

const THEME: &str = "theme";
const UNIT: &str = "unit";

/// Light, dark, or as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the operating system has it.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// The name in storage and style sheets.
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

    /// The theme that the theme button turns to.
    const fn next(self) -> Self {
        match self {
            Self::Auto => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::Auto,
        }
    }
}

/// The reader's settings, of this visit or an earlier one.
#[derive(Clone, Copy, Debug)]
pub struct Preferences {
    /// The unit of memory.
    pub unit: RwSignal<Unit>,
    /// Light, dark, or as the system has it.
    pub theme: RwSignal<Theme>,
}

impl Preferences {
    /// The settings of the last visit.
    pub(super) fn stored() -> Self {
        Self {
            unit: RwSignal::new(stored_unit()),
            theme: RwSignal::new(Theme::stored()),
        }
    }

    /// Turns to the next theme.
    pub fn turn_theme(self) {
        let next = self.theme.get_untracked().next();
        self.theme.set(next);
        browser::store(THEME, next.name());
        browser::mark_root("data-theme", (next != Theme::Auto).then(|| next.name()));
    }

    /// Shows memory in this unit from now on.
    pub fn set_unit(self, unit: Unit) {
        self.unit.set(unit);
        browser::store(UNIT, unit.symbol());
    }
}

/// The unit of the last visit; GiB on the first.
fn stored_unit() -> Unit {
    match browser::stored(UNIT).as_deref() {
        Some("GB") => Unit::Gb,
        _ => Unit::Gib,
    }
}
