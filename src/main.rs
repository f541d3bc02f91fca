//! The app: says where a panic goes, then hands the page to [`megatron_memory::ui`].

use std::panic;

use leptos::{mount, wasm_bindgen::JsCast, wasm_bindgen::JsValue};
use megatron_memory::ui::App;

fn main() {
    // The page's own script notices the trap that follows and shows what the reader can do.
    panic::set_hook(Box::new(|panic| {
        web_sys::console::error_1(&JsValue::from_str(&panic.to_string()));
    }));

    let app = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.get_element_by_id("app"))
        .and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(app) = app {
        app.set_text_content(None);
        mount::mount_to(app, App).forget();
    }
}
