//! The browser, as far as the page needs it. Nothing else names `web_sys`, and nothing here fails: what
//! a browser denies is done without.

mod embed;
mod patch;

use core::time::Duration;
use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::js_sys::{Array, Function};
use web_sys::{
    Document, EventTarget, HtmlElement, HtmlInputElement, IntersectionObserver,
    IntersectionObserverEntry, KeyboardEvent, MouseEvent, PointerEvent, ResizeObserver, Storage,
    Window,
};

pub(crate) use embed::query;
pub(crate) use patch::Patch;
pub(crate) use web_sys::{Element, Event};

fn window() -> Option<Window> {
    web_sys::window()
}

fn document() -> Option<Document> {
    window()?.document()
}

/// Moves the focus to the element with this id once what is on its way to the page is there.
pub(crate) fn focus(id: impl Into<String>) {
    let id = id.into();
    soon(Box::new(move || {
        let element = document().and_then(|document| document.get_element_by_id(&id));
        // SVG elements take the focus in the same way, but are no HTML elements.
        if let Some(element) = element {
            let _ = element.unchecked_ref::<HtmlElement>().focus();
        }
    }));
}

/// Acts once the event that is being handled is over.
pub(crate) fn after_event(act: Box<dyn FnOnce()>) {
    if let Some(window) = window() {
        window.queue_microtask(&once(act));
    }
}

/// Acts once what is on its way to the page is there.
fn soon(act: Box<dyn FnOnce()>) {
    if let Some(window) = window() {
        let _ = window.request_animation_frame(&once(act));
    }
}

/// A function that is called once.
fn once(act: Box<dyn FnOnce()>) -> Function {
    Closure::once_into_js(act).unchecked_into()
}

/// Acts after a delay. The number stops it before that.
fn later(delay: Duration, act: Box<dyn FnOnce()>) -> Option<i32> {
    let delay = delay.as_millis().try_into().unwrap_or(i32::MAX);
    let window = window()?;
    window
        .set_timeout_with_callback_and_timeout_and_arguments_0(&once(act), delay)
        .ok()
}

/// How long after a frame the page rests: the next key may be about to come.
const REST: Duration = Duration::from_millis(30);

/// Acts once the frame that comes next is on the screen, and the page has had a rest.
pub(crate) fn after_frame(act: Box<dyn FnOnce()>) {
    soon(Box::new(move || {
        later(REST, act);
    }));
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
    let page = address
        .split_once('#')
        .map_or(address.as_str(), |(page, _)| page);
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
pub(crate) fn copy(text: &str, done: impl Fn(bool) + 'static) {
    copy_boxed(text, Rc::new(done));
}

fn copy_boxed(text: &str, done: Rc<dyn Fn(bool)>) {
    // Pages that were not loaded over a secure connection have no clipboard at all.
    let clipboard = window().map(|window| window.navigator().clipboard());
    let Some(clipboard) = clipboard.filter(|clipboard| !clipboard.is_undefined()) else {
        return done(false);
    };
    let [written, denied] = [true, false].map(|allowed| {
        let done = Rc::clone(&done);
        Closure::<dyn FnMut(JsValue)>::new(move |_| done(allowed))
    });
    let _ = clipboard.write_text(text).then2(&written, &denied);
    written.forget();
    denied.forget();
}

/// Moves the focus to the first element that matches.
pub(crate) fn focus_first(selector: &str) {
    let found = document().and_then(|document| document.query_selector(selector).ok().flatten());
    if let Some(element) = found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        let _ = element.focus();
    }
}

/// Whether the element that has the focus matches.
pub(crate) fn focus_is(selector: &str) -> bool {
    document()
        .and_then(|document| document.active_element())
        .is_some_and(|element| element.matches(selector) == Ok(true))
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

/// Where an event happened: the `data-at` of the nearest element that has one. An element that stands for
/// `data-cells`, such as `16 4` for 16 columns and 4 rows, adds the pointer's: `map@12,3`.
pub(crate) fn place(event: &Event) -> Option<String> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let found = target.closest("[data-at]").ok().flatten()?;
    let mut place = found.get_attribute("data-at")?;
    if let Some(cells) = found.get_attribute("data-cells")
        && let Some(event) = event.dyn_ref::<MouseEvent>()
        && let Some((columns, rows)) = cells.split_once(' ')
    {
        let bounds = found.get_bounding_client_rect();
        let column = cell(event.client_x(), bounds.left(), bounds.width(), columns);
        let row = cell(event.client_y(), bounds.top(), bounds.height(), rows);
        place.extend(["@", &column, ",", &row]);
    }
    Some(place)
}

/// Whether the page is mostly used with fingers.
pub(crate) fn is_coarse() -> bool {
    let query = window().and_then(|window| window.match_media("(pointer: coarse)").ok());
    query.flatten().is_some_and(|query| query.matches())
}

/// Whether the pointer of a pointer event is a mouse.
pub(crate) fn is_mouse(event: &Event) -> bool {
    let event: &PointerEvent = event.unchecked_ref();
    event.pointer_type() == "mouse"
}

/// Which of so many equal cells of a length a place is in.
#[allow(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    reason = "browsers measure in fractions of pixels"
)]
fn cell(at: i32, start: f64, length: f64, cells: &str) -> String {
    let cells: i32 = cells.parse().unwrap_or(1);
    let cell = (f64::from(at) - start) * f64::from(cells) / length.max(1.0);
    (cell as i32).clamp(0, cells - 1).to_string()
}

/// Listens to some kinds of events on something and in it, as long as the page lives.
pub(crate) fn listen(to: &EventTarget, kinds: &[&str], hear: Box<dyn Fn(&Event)>) {
    let hear = Closure::<dyn Fn(Event)>::new(move |event: Event| hear(&event));
    for kind in kinds {
        let _ = to.add_event_listener_with_callback(kind, hear.as_ref().unchecked_ref());
    }
    hear.forget();
}

/// Listens to the window.
pub(crate) fn listen_everywhere(kinds: &[&str], hear: Box<dyn Fn(&Event)>) {
    if let Some(window) = window() {
        listen(&window, kinds, hear);
    }
}

/// The key that was pressed, after its modifiers: `Ctrl+Alt+Shift+ArrowUp`. Shift is named only before keys that write
/// nothing, and the command key counts as Ctrl.
pub(crate) fn key(event: &Event) -> String {
    let event: &KeyboardEvent = event.unchecked_ref();
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

/// What the control that an event happened to holds: its text, or for a checkbox `true` or `false`.
pub(crate) fn text(event: &Event) -> String {
    let Some(target) = event.target() else {
        return String::new();
    };
    // All kinds of controls have these properties under the same names.
    let control: &HtmlInputElement = target.unchecked_ref();
    match control.get_attribute("type").as_deref() {
        Some("checkbox") => String::from(if control.checked() { "true" } else { "false" }),
        _ => control.value(),
    }
}

/// Tells the width of an element in pixels as soon as it has one and whenever it changes, as long as the page lives.
pub(crate) fn watch_width(element: &Element, tell: Box<dyn Fn(i32)>) {
    let watched = element.clone();
    let tell = Closure::<dyn Fn()>::new(move || tell(watched.client_width()));
    if let Ok(observer) = ResizeObserver::new(tell.as_ref().unchecked_ref()) {
        observer.observe(element);
        tell.forget();
    }
}

/// Tells whether an element is in sight, as soon as that is known and whenever it changes, as long as the page lives.
pub(crate) fn watch_sight(element: &Element, tell: Box<dyn Fn(bool)>) {
    let tell = Closure::<dyn Fn(Array)>::new(move |changes: Array| {
        let last: IntersectionObserverEntry = changes.at(-1).unchecked_into();
        tell(last.is_intersecting());
    });
    if let Ok(observer) = IntersectionObserver::new(tell.as_ref().unchecked_ref()) {
        observer.observe(element);
        tell.forget();
    }
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

/// A timer that starts again at every call, so that only the last of a quick row of actions happens.
#[derive(Default)]
pub(crate) struct Timer(Cell<Option<i32>>);

impl Timer {
    /// Runs `action` after `delay`, instead of what was still waiting.
    pub(crate) fn restart(&self, delay: Duration, action: Box<dyn FnOnce()>) {
        self.stop();
        self.0.set(later(delay, action));
    }

    /// Forgets what is waiting.
    pub(crate) fn stop(&self) {
        if let (Some(waiting), Some(window)) = (self.0.take(), window()) {
            window.clear_timeout_with_handle(waiting);
        }
    }
}
