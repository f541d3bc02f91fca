//! The dialogs over the calculator.

mod export;
mod import;
mod parts;
mod search;

use leptos::ev;
use leptos::prelude::*;

use self::export::ExportDialog;
use self::import::ImportDialog;
use self::import::session::ImportSession;
use self::parts::Title;
use self::search::{KeptSearch, SearchDialog};
use super::browser::files;
use super::lazy_parts::{LazyParts, Loaded};
use super::parts::Dialog;
use super::state::{DialogKind, OpenDialog, WorkerQueue};
use search_worker::Answer;

/// The `<dialog>` element of import, export and search. Its content is there while it is open. Files dropped and texts
/// pasted anywhere on the page open the import.
#[component]
pub(super) fn Dialogs() -> impl IntoView {
    let open_dialog: OpenDialog = expect_context();
    let session = RwSignal::new(ImportSession::default());
    provide_context(session);
    // What the search dialog leaves for the next time.
    provide_context(StoredValue::new(None::<KeptSearch>));
    // The dialogs with a `Modal` of their own are none of these.
    let kind = Memo::new(move |_| {
        let kind = open_dialog.0.get();
        kind.filter(|kind| matches!(kind, DialogKind::Import | DialogKind::Export | DialogKind::Search))
    });
    import_dropped_and_pasted(open_dialog, session);
    let reader = WorkerQueue::new();
    provide_context(reader);
    read_texts(session, reader);
    let close = move || {
        if let Some(kind) = kind.get_untracked() {
            open_dialog.close(kind);
        }
    };
    let LazyParts { dialog, .. } = expect_context();
    view! {
        <Dialog
            attr:class="modal"
            class:modal-wide=move || kind.get() == Some(DialogKind::Search)
            title_id=parts::TITLE.to_owned()
            is_open=move || kind.get().is_some()
            on_close=close
        >
            // Loaded at once: then the first dialog opens without a wait.
            <Loaded load=move || dialog(kind.get()) around_message=not_loaded />
        </Dialog>
    }
}

/// The content of the open dialog; nothing while none of these is open.
#[must_use]
pub fn dialog(kind: Option<DialogKind>) -> AnyView {
    match kind {
        Some(DialogKind::Import) => view! { <ImportDialog session=expect_context() /> }.into_any(),
        Some(DialogKind::Export) => view! { <ExportDialog /> }.into_any(),
        Some(DialogKind::Search) => view! { <SearchDialog kept=expect_context() /> }.into_any(),
        Some(DialogKind::Link | DialogKind::Report | DialogKind::Help) | None => ().into_any(),
    }
}

/// The content of a dialog that cannot be loaded.
fn not_loaded(message: AnyView) -> AnyView {
    view! {
        <Title text="Not loaded" />
        {message}
        <form method="dialog">
            <button>"Close"</button>
        </form>
    }
    .into_any()
}

/// Lets the worker read each text, with its answers, unless the session could do so by itself.
fn read_texts(session: RwSignal<ImportSession>, reader: WorkerQueue) {
    let version = Memo::new(move |_| session.read().version());
    Effect::new(move |_| {
        let version = version.get();
        let request = session.with_untracked(|session| session.is_reading().then(|| session.request()));
        let Some(request) = request else { return };
        reader.ask(request, move |answer| {
            let imported = match answer {
                Some(Answer::Read(imported)) => imported.map(|reading| *reading),
                _ => Err(String::from("The text could not be read. Reload the page.")),
            };
            session.update(|session| session.take_reading(version, imported));
        });
    });
}

/// Opens the import with a file that is dropped anywhere, or with a text that is pasted where nothing takes it.
fn import_dropped_and_pasted(open_dialog: OpenDialog, session: RwSignal<ImportSession>) {
    let take = move |name: String, text: String| {
        open_dialog.open(DialogKind::Import);
        session.update(|session| session.take_file(&text, name));
    };
    window_event_listener(ev::dragover, |event| {
        if files::carries_files(&event) {
            event.prevent_default();
        }
    });
    window_event_listener(ev::drop, move |event| {
        if let Some(file) = files::dropped(&event) {
            event.prevent_default();
            files::read(file, take);
        }
    });
    window_event_listener(ev::paste, move |event| {
        if let Some(text) = files::pasted_on_page(&event) {
            take("the clipboard".to_owned(), text);
        }
    });
}
