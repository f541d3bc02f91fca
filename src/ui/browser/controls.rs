//! Controls that stand together: in lists, and in toolbars, which are one stop of the Tab key, as the practices of
//! WAI-ARIA have it.

use leptos::prelude::request_animation_frame;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

/// The controls inside an element, in their order.
fn controls(parent: &Element) -> Vec<HtmlElement> {
    let mut found = Vec::new();
    let mut next = parent.first_element_child();
    while let Some(element) = next {
        next = element.next_element_sibling();
        if element.matches("button, a[href]") == Ok(true) {
            found.extend(element.dyn_into::<HtmlElement>());
        } else {
            found.extend(controls(&element));
        }
    }
    found
}

/// The first control inside an element.
pub(crate) fn first_control(parent: &Element) -> Option<HtmlElement> {
    controls(parent).into_iter().next()
}

/// Scrolls the button that is pressed inside an element into the middle of it.
pub(crate) fn scroll_to_pressed(parent: HtmlElement) {
    request_animation_frame(move || {
        let is_pressed = |control: &HtmlElement| control.get_attribute("aria-pressed").as_deref() == Some("true");
        if let Some(pressed) = controls(&parent).into_iter().find(is_pressed) {
            let from_top = pressed.offset_top() - parent.offset_top();
            parent.set_scroll_top(from_top - parent.client_height() / 2);
        }
    });
}

/// Makes one control of a toolbar the one that the Tab key reaches: the one with the focus, or else the first.
pub(crate) fn set_tab_stop(toolbar: &Element) {
    let controls = controls(toolbar);
    let focused = controls
        .iter()
        .position(|control| control.matches(":focus") == Ok(true));
    for (number, control) in controls.iter().enumerate() {
        control.set_tab_index(if number == focused.unwrap_or(0) { 0 } else { -1 });
    }
}

/// Moves the focus to the control of a toolbar that a key leads to. Returns whether it has led to one.
pub(crate) fn press_in_toolbar(toolbar: &Element, key: &str) -> bool {
    let controls = controls(toolbar);
    let Some(last) = controls.len().checked_sub(1) else {
        return false;
    };
    let focused = controls
        .iter()
        .position(|control| control.matches(":focus") == Ok(true));
    let to = match (key, focused) {
        ("ArrowLeft", Some(number)) => number.checked_sub(1).unwrap_or(last),
        ("ArrowRight", Some(number)) if number < last => number + 1,
        ("ArrowRight" | "Home", _) => 0,
        ("End", _) => last,
        _ => return false,
    };
    controls.get(to).is_some_and(|control| control.focus().is_ok())
}
