//! The line at the top: the preset, what can be done with the settings, and how the page looks.

use super::browser;
use super::dialogs::{DialogKind, OpenDialog};
use super::draw::{aria, button, dialog};
use super::link;
use super::presets_bar;
use super::results::pin;
use super::shortcuts::SHORTCUTS;
use super::shown::{Gesture, Piece, shown};
use super::state::State;
use super::theme;
use crate::report::amount::Unit;
use crate::report::markup::{Markup, tag};
use leptos::prelude::*;

/// The ids of the dialog with the link and of the link in it.
const LINK: &str = "link";
const LINK_TEXT: &str = "link-text";

/// The id of what a phone shows only when asked.
const MENU: &str = "menu";

/// Buttons that open a dialog of `exchange.js`, which is loaded then: the dialog and the button's label.
const DIALOGS: [(&str, &str); 2] = [("import", "Import"), ("export", "Export")];

/// The header.
pub(super) fn header(state: State) -> Piece {
    let header = Header {
        state,
        address: RwSignal::new(String::new()),
        open_dialog: expect_context(),
    };
    shown(
        "whole",
        move || header.draw(),
        move |gesture| header.act(gesture),
    )
}

#[derive(Clone, Copy)]
struct Header {
    state: State,
    /// The link, where the clipboard does not take it.
    address: RwSignal<String>,
    open_dialog: OpenDialog,
}

impl Header {
    fn draw(&self) -> Vec<Markup> {
        let state = self.state;
        let skip = tag("a")
            .class("skip")
            .with("href", "#results")
            .with("data-at", "skip")
            .text("Skip to the results");
        let pinned = state.compare.read().is_some();
        let dialogs = DIALOGS.map(|(dialog, label)| {
            let button = button(dialog, "", label).with("aria-haspopup", "dialog");
            button.with("data-exchange", dialog)
        });
        let exchange = tag("div")
            .class("actions")
            .children(dialogs)
            .child(button("compare", "", "Compare").with("aria-pressed", aria(pinned)));
        // On a wide screen all of it is in the line; on a phone it opens over the page.
        let menu = tag("div")
            .class("menu")
            .with("id", MENU)
            .with("popover", "")
            .child(exchange)
            .child(self.looks());
        let header = tag("header")
            .class("header")
            .child(tag("h1").text("Megatron Memory"))
            .child(presets_bar::draw(state))
            .child(self.actions())
            .child(button("more", "more", "More").with("popovertarget", MENU))
            .child(menu);
        vec![skip, header, self.link()]
    }

    /// What can be done with the settings.
    fn actions(&self) -> Markup {
        let state = self.state;
        // Whether it does anything: a button that has done its work keeps the focus.
        let usable = |button: Markup, usable: bool| button.with("aria-disabled", aria(!usable));
        tag("div")
            .class("actions")
            .with("role", "group")
            .with("aria-label", "This job")
            .child(usable(button("undo", "", "Undo"), state.can_undo()))
            .child(usable(button("redo", "", "Redo"), state.can_redo()))
            .child(usable(button("reset", "", "Reset"), !state.is_pristine()))
            .child(button("copy", "share", "Copy link"))
    }

    /// How the page looks.
    fn looks(&self) -> Markup {
        let (unit, theme) = (self.state.unit.get(), self.state.theme.get());
        let units = Unit::ALL.map(|this| {
            button(this.symbol(), "", this.symbol()).with("aria-pressed", aria(this == unit))
        });
        let units = tag("div")
            .class("segments")
            .with("role", "group")
            .with("aria-label", "Unit of memory")
            .children(units);
        let icon = tag("span").class("theme-icon").with("aria-hidden", "true");
        let name = tag("span").class("theme-name");
        let theme = button("theme", "quiet", "")
            .child(icon)
            .child(name.text(format!("Theme: {}", theme.name())));
        let evidence = tag("a").class("quiet").with("href", "./evidence.html");
        let evidence = evidence.text("Evidence");
        tag("div")
            .class("looks")
            .child(units)
            .child(theme)
            .child(evidence)
            .child(button(SHORTCUTS, "quiet", "Help").with("aria-haspopup", "dialog"))
    }

    /// The dialog for browsers that deny the clipboard.
    fn link(&self) -> Markup {
        let text = tag("input")
            .with("id", LINK_TEXT)
            .with("type", "text")
            .with("readonly", "")
            .with("aria-label", "Link")
            .with("value", self.address.get());
        let why = tag("p").text("The browser does not let the page use the clipboard.");
        dialog(LINK, "Copy this link", vec![why, text])
    }

    fn act(&self, gesture: Gesture<'_>) -> bool {
        let state = self.state;
        match gesture {
            // A link to a fragment would overwrite the one that holds the settings.
            Gesture::Choose("skip") => {
                browser::focus("results");
                return true;
            }
            Gesture::Choose("undo") => {
                state.undo();
            }
            Gesture::Choose("redo") => {
                state.redo();
            }
            Gesture::Choose("reset") => self.reset(),
            Gesture::Choose("copy") => self.copy(),
            Gesture::Choose("compare") => pin(state),
            Gesture::Choose("import") => self.open_dialog.open(DialogKind::Import),
            Gesture::Choose("export") => self.open_dialog.open(DialogKind::Export),
            Gesture::Choose("theme") => theme::turn(state),
            Gesture::Choose(place) => {
                if let Some(unit) = Unit::ALL.into_iter().find(|unit| unit.symbol() == place) {
                    theme::set_unit(state, unit);
                } else {
                    browser::open_dialog(place);
                }
            }
            Gesture::Change(presets_bar::PRESET, id) => presets_bar::pick(state, id),
            _ => {}
        }
        false
    }

    fn reset(&self) {
        let state = self.state;
        if untrack(|| state.is_pristine()) {
            return;
        }
        let start = state.setup.read_untracked().start();
        state.jump(start);
        let said = "All settings are those of the preset again.";
        state.notices.offer_undo(said);
    }

    fn copy(&self) {
        let shown = self.address;
        link::copy(self.state, move |address| {
            shown.set(address);
            browser::open_dialog(LINK);
            browser::select(LINK_TEXT);
        });
    }
}
