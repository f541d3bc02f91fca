//! Presses of controls that can do nothing.

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event};

use super::document;

/// Controls that can do nothing at the moment, and have the reason as their title.
const DISABLED: &str = "[aria-disabled=true][title]";

/// Hands on the reason why a control can do nothing, each time that one is pressed: fingers and keys reach no title.
pub(crate) fn on_press_of_disabled(tell: impl Fn(String) + 'static) {
    let Some(document) = document() else { return };
    // Before the control's own handler: what a press has just used up was not disabled when it was pressed.
    let options = EventListenerOptions::run_in_capture_phase();
    EventListener::new_with_options(&document, "click", options, move |event| {
        if let Some(reason) = reason(event) {
            tell(reason);
        }
    })
    .forget();
}

fn reason(event: &Event) -> Option<String> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest(DISABLED).ok().flatten()?.get_attribute("title")
}
