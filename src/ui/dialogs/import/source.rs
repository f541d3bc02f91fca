//! Where the text of an import comes from: typed, pasted, from a file, or from the Hugging Face Hub.

use leptos::ev;
use leptos::html::Textarea;
use leptos::prelude::*;

use super::hub::HubField;
use super::session::ImportSession;
use crate::browser::files;
use crate::dialogs::parts::Labelled;
use crate::parts::FileButton;
use megatron_memory::report::amount::grouped;

/// Longer texts, in bytes, are taken like files: a field that shows them would hold up the page.
const LONG_TEXT: usize = 200_000;

/// The field for the text, and the other ways to bring one.
#[component]
pub(super) fn Source(
    session: RwSignal<ImportSession>,
    /// The field for the text.
    text: NodeRef<Textarea>,
) -> impl IntoView {
    let typed = Memo::new(move |_| session.read().typed_text().to_owned());
    let take = move |name: String, text: String| {
        session.update(|session| session.take_file(&text, name));
    };
    let paste = move |event: ev::ClipboardEvent| {
        let long = files::pasted(&event).filter(|text| text.len() > LONG_TEXT);
        if let Some(text) = long {
            event.prevent_default();
            take("the clipboard".to_owned(), text);
        }
    };
    // What is pasted takes the place of what is there, and that is there before it is selected.
    text.on_load(move |text| {
        text.set_value(&typed.read_untracked());
        text.select();
    });
    view! {
        <div class="modal-source">
            <Labelled label="Paste it here, or drop a file anywhere on the page">
                <textarea
                    node_ref=text
                    name="text"
                    rows="8"
                    spellcheck="false"
                    autofocus
                    prop:value=typed
                    on:input:target=move |event| {
                        session.update(|session| session.type_text(event.target().value()));
                    }
                    on:paste=paste
                ></textarea>
            </Labelled>
            <FileButton name="file" label="Choose a file" on_file=take />
            <HubField session />
            <div>{move || session.read().file().map(|(name, bytes)| file_line(session, name, bytes))}</div>
        </div>
    }
}

/// Says which file the text is from.
fn file_line(session: RwSignal<ImportSession>, name: &str, bytes: usize) -> impl IntoView + use<> {
    let bytes = grouped(u64::try_from(bytes).unwrap_or(u64::MAX));
    view! {
        <p>
            <span>{format!("Read from {name}, {bytes} bytes. ")}</span>
            <button type="button" name="forget" on:click=move |_| session.update(ImportSession::forget_file)>
                "Forget it"
            </button>
        </p>
    }
}
