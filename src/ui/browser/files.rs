//! Files that come to the page by drop, choice or paste, and files that the page saves.

use core::time::Duration;

use gloo::file::{Blob, File, FileList, ObjectUrl};
use gloo::timers::callback::Timeout;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{ClipboardEvent, DragEvent, Element, HtmlAnchorElement, HtmlInputElement};

use super::document;

/// The most bytes of a file that are read. One more than an import takes, so that a larger file is refused for its
/// size.
const MAX_BYTES: u64 = 5_000_001;
/// How long a saved file's content is kept, since some browsers read it only after the click.
const KEPT: Duration = Duration::from_secs(10);

/// Whether files are dragged, and not text or links.
pub(crate) fn carries_files(event: &DragEvent) -> bool {
    let data = event.data_transfer();
    data.is_some_and(|data| data.types().includes(&"Files".into(), 0))
}

/// The first file that was dropped.
pub(crate) fn dropped(event: &DragEvent) -> Option<File> {
    first(event.data_transfer()?.files()?)
}

/// The first file that the reader chose in a file input.
pub(crate) fn chosen(input: &HtmlInputElement) -> Option<File> {
    first(input.files()?)
}

fn first(files: web_sys::FileList) -> Option<File> {
    FileList::from(files).first().cloned()
}

/// The text of a paste, where no control takes it.
pub(crate) fn pasted_on_page(event: &ClipboardEvent) -> Option<String> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let taken = target.closest("input, textarea, dialog").ok()?;
    pasted(event).filter(|_| taken.is_none())
}

/// The text of a paste; `None` where there is none.
pub(crate) fn pasted(event: &ClipboardEvent) -> Option<String> {
    let text = event.clipboard_data()?.get_data("text").ok()?;
    Some(text).filter(|text| !text.is_empty())
}

/// Reads a file and hands its name and text on. A file that cannot be read is like an empty one.
pub(crate) fn read(file: File, take: impl FnOnce(String, String) + 'static) {
    let name = file.name();
    let content = Blob::from(file).slice(0, MAX_BYTES);
    spawn_local(async move {
        let text = gloo::file::futures::read_as_text(&content).await;
        take(name, text.unwrap_or_default());
    });
}

/// Saves a text as a file.
pub(crate) fn save_text(name: &str, text: &str) {
    save(name, Blob::new(text));
}

/// Saves a file.
pub(super) fn save(name: &str, content: Blob) {
    let url = ObjectUrl::from(content);
    let link = document().and_then(|document| document.create_element("a").ok());
    if let Some(link) = link.and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok()) {
        link.set_href(&url);
        link.set_download(name);
        link.click();
    }
    let millis = KEPT.as_millis().try_into().unwrap_or(u32::MAX);
    Timeout::new(millis, move || drop(url)).forget();
}
