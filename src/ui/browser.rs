//! The browser, as far as the page needs it. Nothing else names `web_sys`, and nothing here fails: what
//! a browser denies is done without.

mod controls;
mod disabled;
mod elsewhere;
mod embed;
pub(crate) mod fetch;
pub(crate) mod files;
pub(crate) mod picture;
mod pointer;
mod unseen;

use leptos::prelude::request_animation_frame;
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Document, Element, FocusOptions, HtmlElement, HtmlInputElement, HtmlSelectElement, HtmlTextAreaElement,
    KeyboardEvent, Storage, Window,
};

pub(crate) use controls::{first_control, press_in_toolbar, scroll_to_pressed, set_tab_stop};
pub(crate) use disabled::on_press_of_disabled;
pub(crate) use elsewhere::on_click_elsewhere_or_escape;
pub(crate) use embed::query;
pub(crate) use pointer::{is_mouse, pointer_cell, table_column};
pub(crate) use unseen::Unseen;

fn window() -> Option<Window> {
    web_sys::window()
}

fn document() -> Option<Document> {
    window()?.document()
}

/// How many frames an element is waited for that is on its way to the page.
const FRAMES: u32 = 60;

/// Hands on the element with this id once it is there. What is on its way to the page comes with the next frame, or with
/// a later one where it is built in its turn. SVG elements are handed on as HTML elements: they take the focus in the
/// same way.
fn once_there(frames: u32, id: String, then: impl FnOnce(&HtmlElement) + 'static) {
    request_animation_frame(
        move || match document().and_then(|document| document.get_element_by_id(&id)) {
            Some(element) => then(element.unchecked_ref()),
            None if frames > 0 => once_there(frames - 1, id, then),
            None => {}
        },
    );
}

/// Moves the focus to the element with this id once it is there.
pub(crate) fn focus(id: impl Into<String>) {
    once_there(FRAMES, id.into(), |element| {
        let _ = element.focus();
    });
}

/// Scrolls the element with this id to the top of what it scrolls in, and moves the focus there, once it is there.
pub(crate) fn go_to(id: &'static str) {
    once_there(FRAMES, id.to_owned(), |element| {
        element.scroll_into_view_with_bool(true);
        let options = FocusOptions::new();
        options.set_prevent_scroll(true);
        let _ = element.focus_with_options(&options);
    });
}

/// Whether the lower edge of the window has come down to an element.
pub(crate) fn is_reached(element: &Element) -> bool {
    let height = window().and_then(|window| window.inner_height().ok()?.as_f64());
    height.is_some_and(|height| element.get_bounding_client_rect().top() < height)
}

/// How many milliseconds the page has been open.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole milliseconds are enough"
)]
pub(crate) fn now() -> u64 {
    let performance = window().and_then(|window| window.performance());
    performance.map_or(0, |performance| performance.now() as u64)
}

/// The address's fragment with its `#`; empty where there is none.
pub(crate) fn fragment() -> String {
    let fragment = window().and_then(|window| window.location().hash().ok());
    fragment.unwrap_or_default()
}

/// The page's address with another fragment.
pub(crate) fn address(fragment: &str) -> String {
    let address = window().and_then(|window| window.location().href().ok());
    let address = address.unwrap_or_default();
    let page = address.split_once('#').map_or(address.as_str(), |(page, _)| page);
    format!("{page}{fragment}")
}

/// Where a new address goes in the browser's history.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryEntry {
    /// In place of the current entry.
    Same,
    /// In an entry of its own, from which Back leads to the current one.
    New,
}

/// Changes the address's fragment. Some browsers refuse when it happens too often; the next change then brings the
/// address up to date.
pub(crate) fn write_fragment(fragment: &str, entry: HistoryEntry) {
    let Some(history) = window().and_then(|window| window.history().ok()) else {
        return;
    };
    let _ = match entry {
        HistoryEntry::New => history.push_state_with_url(&JsValue::NULL, "", Some(fragment)),
        HistoryEntry::Same => history.replace_state_with_url(&JsValue::NULL, "", Some(fragment)),
    };
}

/// Puts text on the clipboard and then says whether that was allowed.
pub(crate) fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    // Pages that were not loaded over a secure connection have no clipboard at all.
    let clipboard = window().map(|window| window.navigator().clipboard());
    let Some(clipboard) = clipboard.filter(|clipboard| !clipboard.is_undefined()) else {
        return done(false);
    };
    let written = clipboard.write_text(text);
    spawn_local(async move { done(JsFuture::from(written).await.is_ok()) });
}

/// Sets the title of the document.
pub(crate) fn set_title(title: &str) {
    if let Some(document) = document() {
        document.set_title(title);
    }
}

/// Whether the focus is inside an element.
pub(crate) fn has_focus(parent: &Element) -> bool {
    let focused = document().and_then(|document| document.active_element());
    parent.contains(focused.as_deref())
}

/// A control of a form, which takes keys for itself.
pub(crate) enum FormControl {
    /// A box of one line for text or a number.
    Input {
        /// Its id; may be empty.
        id: String,
    },
    /// A box of several lines.
    TextArea,
    /// A box to tick.
    Checkbox,
    /// A list to choose from.
    Select,
}

/// The control of a form that has the focus; `None` where something else has it.
pub(crate) fn focused_control() -> Option<FormControl> {
    let element = document()?.active_element()?;
    if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
        return Some(match input.type_().as_str() {
            "checkbox" => FormControl::Checkbox,
            _ => FormControl::Input { id: input.id() },
        });
    }
    if element.has_type::<HtmlTextAreaElement>() {
        return Some(FormControl::TextArea);
    }
    element.has_type::<HtmlSelectElement>().then_some(FormControl::Select)
}

/// Where the element with this id begins, in pixels from the left and the top of the window.
#[allow(
    clippy::cast_possible_truncation,
    reason = "no page is that large, and the conversion stops at the ends of the type"
)]
pub(crate) fn corner(id: &str) -> Option<(i32, i32)> {
    let bounds = document()?.get_element_by_id(id)?.get_bounding_client_rect();
    Some((bounds.left().round() as i32, bounds.top().round() as i32))
}

/// Scrolls the page as far as it takes for an element not to lie behind another one that covers the bottom of the
/// window.
#[allow(clippy::float_arithmetic, reason = "browsers measure in fractions of pixels")]
pub(crate) fn uncover(id: String, cover: &'static str) {
    request_animation_frame(move || {
        let bounds = |id: &str| Some(document()?.get_element_by_id(id)?.get_bounding_client_rect());
        if let (Some(element), Some(cover), Some(window)) = (bounds(&id), bounds(cover), window()) {
            let behind = element.bottom() - cover.top();
            if behind > 0.0 {
                window.scroll_by_with_x_and_y(0.0, behind + 8.0);
            }
        }
    });
}

/// Sets or removes an attribute of the root element.
pub(crate) fn mark_root(name: &str, value: Option<&str>) {
    if let Some(root) = document().and_then(|document| document.document_element()) {
        let _ = match value {
            Some(value) => root.set_attribute(name, value),
            None => root.remove_attribute(name),
        };
    }
}

/// Selects what an element shows, so that the reader can copy it.
pub(crate) fn select_content(element: &Element) {
    let selection = window().and_then(|window| window.get_selection().ok().flatten());
    if let Some(selection) = selection {
        let _ = selection.select_all_children(element);
    }
}

/// How many threads the browser offers to workers; two where it does not say.
pub(crate) fn cores() -> usize {
    let cores = window().map(|window| window.navigator().hardware_concurrency());
    let whole = cores.and_then(|cores| format!("{cores}").parse().ok());
    whole.unwrap_or(2)
}

/// Whether the document is the one that other pages show in a frame, `embed.html`.
pub(crate) fn is_embed() -> bool {
    let root = document().and_then(|document| document.document_element());
    root.is_some_and(|root| root.class_list().contains("embed"))
}

/// Whether the page is mostly used with fingers.
pub(crate) fn is_coarse() -> bool {
    let query = window().and_then(|window| window.match_media("(pointer: coarse)").ok());
    query.flatten().is_some_and(|query| query.matches())
}

/// Whether the window is as narrow as a phone; style sheets ask the same.
pub(crate) fn is_narrow() -> bool {
    let query = window().and_then(|window| window.match_media("(max-width: 480px)").ok());
    query.flatten().is_some_and(|query| query.matches())
}

/// The key that was pressed, after its modifiers: `Ctrl+Alt+Shift+ArrowUp`. Shift is named only before keys that write
/// nothing, and the command key counts as Ctrl.
pub(crate) fn key(event: &KeyboardEvent) -> String {
    let key = event.key();
    let shift = event.shift_key() && key.chars().nth(1).is_some();
    let mut name = String::new();
    for (down, modifier) in [
        (event.ctrl_key() || event.meta_key(), "Ctrl+"),
        (event.alt_key(), "Alt+"),
        (shift, "Shift+"),
    ] {
        if down {
            name.push_str(modifier);
        }
    }
    name.push_str(&key);
    name
}

/// Reads what the page kept on this device; nothing where storage is denied.
pub(crate) fn stored(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

/// Keeps a value on this device, where storage is allowed.
pub(crate) fn store(key: &str, value: &str) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(key, value);
    }
}

fn storage() -> Option<Storage> {
    window()?.local_storage().ok().flatten()
}
