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
    let brought = RwSignal::new(None::<Brought>);
    provide_context(brought);
    import_dropped_and_pasted(open_dialog, brought);
    provide_context(WorkerQueue::new());
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

/// A file that was dropped, or a text that was pasted: the import takes it once it is open.
#[derive(Clone, Debug)]
struct Brought {
    name: String,
    text: String,
}

/// Opens the import with a file that is dropped anywhere, or with a text that is pasted where nothing takes it.
fn import_dropped_and_pasted(open_dialog: OpenDialog, brought: RwSignal<Option<Brought>>) {
    let take = move |name: String, text: String| {
        brought.set(Some(Brought { name, text }));
        open_dialog.open(DialogKind::Import);
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
