//! The page's entry point: panics go to the console, and [`App`] goes into the element `#app`.

use leptos::{mount, wasm_bindgen::JsCast};
use megatron_memory::ui::App;

fn main() {
    // The loader notices the trap that follows a panic and shows what the reader can do.
    console_error_panic_hook::set_once();

    let app = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.get_element_by_id("app"))
        .and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(app) = app {
        // The first view that the page itself brings makes room for the application.
        app.set_text_content(None);
        mount::mount_to(app, App).forget();
    }
}
