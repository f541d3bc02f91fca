//! The import dialog: a text, what it was understood as, what it leaves open, and what became of each of its keys.

mod hub;
mod questions;
mod report;
pub(super) mod session;
mod source;

use leptos::html::Textarea;
use leptos::prelude::*;

use self::hub::HubRequest;
use self::questions::{Questions, variable_id};
use self::report::Report;
use self::session::ImportSession;
use self::source::Source;
use super::Brought;
use super::parts::{Alert, CloseButton, Title};
use crate::browser;
use crate::state::{
    DialogKind, MEASURED_TITLE, MeasuredLog, OpenDialog, OutOfMemoryErrors, ResultsTab, State, WorkerQueue,
};
use search_worker::Answer;

/// The id of the sentence that says what Apply waits for.
const WAITS: &str = "apply-waits";

/// The import dialog.
#[component]
pub(super) fn ImportDialog(
    /// What is typed and answered; it outlives the dialog.
    session: RwSignal<ImportSession>,
) -> impl IntoView {
    let state: State = expect_context();
    let text = NodeRef::<Textarea>::new();
    let request = RwSignal::new(HubRequest::default());
    provide_context(request);
    let reader = expect_context::<WorkerQueue>();
    reader.prepare();
    session.update(|session| session.open(state.share_untracked()));
    take_brought(session);
    read_texts(session, reader);
    let error = Signal::derive(move || {
        let refused = request.read().refused.clone();
        if refused.is_empty() {
            session.read().error().to_owned()
        } else {
            refused
        }
    });
    let format = Memo::new(move |_| {
        let session = session.read();
        session.imported().map(|read| read.summary.clone()).unwrap_or_default()
    });
    view! {
        <Title text="Import a job" />
        <p>
            "A config.json, a launch script, flags, YAML, overrides, a recipe, a saved job or a link. It is read \
             here and never run or uploaded."
        </p>
        <Source session text />
        <Alert message=error />
        <Progress session />
        <p role="status" class="modal-format">
            {format}
        </p>
        <Questions session />
        <Report session />
        <Actions session text />
    }
}

/// Takes each file that is dropped, and each text that is pasted, anywhere on the page.
fn take_brought(session: RwSignal<ImportSession>) {
    let brought = expect_context::<RwSignal<Option<Brought>>>();
    Effect::new(move |_| {
        brought.track();
        let taken = brought.write_untracked().take();
        if let Some(Brought { name, text }) = taken {
            session.update(|session| session.take_file(&text, name));
        }
    });
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

/// That a text is still being read, with a button that stops it; nothing for one that takes no time.
#[component]
fn Progress(session: RwSignal<ImportSession>) -> impl IntoView {
    let reader: WorkerQueue = expect_context();
    let stop = move |_| {
        reader.stop();
        session.update(ImportSession::stop_reading);
    };
    view! {
        <p class="modal-progress" role="status">
            <Show when=move || reader.is_slow.get()>
                <span>"Reading the text"</span>
                <progress aria-label="Reading the text"></progress>
                <button type="button" name="stop-reading" on:click=stop>
                    "Stop"
                </button>
            </Show>
        </p>
    }
}

/// The buttons. Apply can be reached while something is missing: it says what, and leads to the first variable.
#[component]
fn Actions(
    session: RwSignal<ImportSession>,
    /// The field for the text.
    text: NodeRef<Textarea>,
) -> impl IntoView {
    let state: State = expect_context();
    let dialog: OpenDialog = expect_context();
    // Apply was pressed while the text was being read.
    let is_awaited = RwSignal::new(false);
    let waits = Memo::new(move |_| {
        let session = session.read();
        if session.is_reading() {
            return Some("Apply waits for the text to be read.".to_owned());
        }
        if session.imported().is_none() {
            return Some("Apply waits for a text that can be read.".to_owned());
        }
        let names: Vec<String> = session.missing_variables().map(|name| format!("${name}")).collect();
        (!names.is_empty()).then(|| format!("Apply waits for {}.", names.join(" and ")))
    });
    let log = use_context::<MeasuredLog>();
    let errors = use_context::<OutOfMemoryErrors>();
    let apply = move || match session.read_untracked().applied() {
        Some(mut page) => {
            dialog.close(DialogKind::Import);
            // A training log has numbers to set beside the job's own, and they are what its reader came for.
            let measured = |session: &ImportSession| session.imported()?.measured.clone();
            let is_measured = log.is_some_and(|log| log.take(session.with_untracked(measured)));
            if is_measured {
                page.view.tab = Some(ResultsTab::Compare.id().to_owned());
            }
            if let Some(errors) = errors {
                let of_text = |session: &ImportSession| Some(session.imported()?.out_of_memory.clone());
                errors.0.set(session.with_untracked(of_text).unwrap_or_default());
            }
            state.open(page);
            if is_measured {
                state.view.go_to(MEASURED_TITLE);
            }
        }
        None if session.read_untracked().is_reading() => is_awaited.set(true),
        None if session.read_untracked().imported().is_none() => {
            if let Some(text) = text.get_untracked() {
                let _ = text.focus();
            }
        }
        None => {
            let first = session.with_untracked(|session| session.missing_variables().next().map(variable_id));
            if let Some(first) = first {
                browser::focus(first);
            }
        }
    };
    Effect::new(move |_| {
        let is_read = !session.read().is_reading();
        if is_read && is_awaited.get_untracked() {
            is_awaited.set(false);
            apply();
        }
    });
    view! {
        <div class="modal-actions">
            <button
                type="button"
                name="apply"
                class="share"
                aria-disabled=move || waits.read().is_some().to_string()
                aria-describedby=WAITS
                on:click=move |_| apply()
            >
                "Apply"
            </button>
            <CloseButton kind=DialogKind::Import label="Cancel" />
            <span id=WAITS>{waits}</span>
        </div>
    }
}
