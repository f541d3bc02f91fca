//! The line at the top: the preset, what can be done with the job, and how the page looks.

mod cluster;
mod link_dialog;
mod look_controls;

use cluster::Cluster;
use link_dialog::LinkDialog;
use look_controls::LookControls;

use super::preset_picker::PresetPicker;
use crate::browser;
use crate::parts::{ActionButton, CopyButton, InTurn, Toolbar};
use crate::state::{DialogKind, OpenDialog, State};
use leptos::prelude::*;
use megatron_memory::formats::share_url::left_out;

/// The id of the menu that a phone opens over the page. On a wide screen its content stands in the line.
const MENU: &str = "menu";

/// The header, with the dialog that it shows where the clipboard is refused.
#[component]
pub fn Header() -> impl IntoView {
    view! {
        <a
            class="skip"
            href="#results"
            on:click=move |event| {
                // The browser would put the link's fragment in place of the one that holds the job.
                event.prevent_default();
                browser::focus("results");
            }
        >
            "Skip to the results"
        </a>
        <header class="header">
            <h1>"Megatron Memory"</h1>
            <p class="tagline">
                "GPU memory of a Megatron training run"
            </p>
            <div class="job" role="group" aria-label="Model and GPUs">
                <PresetPicker />
                <InTurn><Cluster /></InTurn>
            </div>
            <InTurn><JobActions /></InTurn>
            <button type="button" class="more" data-testid="more" popovertarget=MENU>
                "More"
            </button>
            <div class="menu" id=MENU popover="">
                <InTurn>
                    <InOutActions />
                    <LookControls />
                </InTurn>
            </div>
        </header>
        <LinkDialog />
    }
}

/// Undo, Redo, Reset and Copy link. A button that can do nothing stays focusable, because the focus may be on it.
#[component]
fn JobActions() -> impl IntoView {
    let state = expect_context::<State>();
    let open_dialog = expect_context::<OpenDialog>();
    let is_pristine = Memo::new(move |_| state.is_pristine());
    let link_copied = move |is_copied| {
        if is_copied {
            let left_out = untrack(|| left_out(&state.share()));
            state.toasts.tell(link_copied(left_out));
        } else {
            open_dialog.open(DialogKind::Link);
        }
    };
    view! {
        <Toolbar class="actions" label="This job">
            <ActionButton
                attr:data-testid="undo"
                blocked=move || !state.can_undo()
                reason="Nothing has been changed yet"
                on_press=move || {
                    state.undo();
                }
            >
                "Undo"
            </ActionButton>
            <ActionButton
                attr:data-testid="redo"
                blocked=move || !state.can_redo()
                reason="Nothing has been undone"
                on_press=move || {
                    state.redo();
                }
            >
                "Redo"
            </ActionButton>
            <ActionButton
                attr:data-testid="reset"
                blocked=is_pristine
                reason="Nothing differs from the start"
                on_press=move || reset(state)
            >
                "Reset"
            </ActionButton>
            <CopyButton
                attr:class="share"
                attr:data-testid="copy-link"
                text=move || Some(state.address())
                on_done=link_copied
            >
                "Copy link"
            </CopyButton>
        </Toolbar>
    }
}

/// Import, Export and Compare.
#[component]
fn InOutActions() -> impl IntoView {
    let state = expect_context::<State>();
    let open_dialog = expect_context::<OpenDialog>();
    let is_pinned = move || !state.pinned.read().is_empty();
    view! {
        <Toolbar class="actions" label="Other jobs and files">
            <button
                type="button"
                data-testid="import"
                aria-haspopup="dialog"
                on:click=move |_| open_dialog.open(DialogKind::Import)
            >
                "Import"
            </button>
            <button
                type="button"
                data-testid="export"
                aria-haspopup="dialog"
                on:click=move |_| open_dialog.open(DialogKind::Export)
            >
                "Export"
            </button>
            <button
                type="button"
                data-testid="compare"
                aria-pressed=move || is_pinned().to_string()
                on:click=move |_| state.toggle_pin()
            >
                "Compare"
            </button>
        </Toolbar>
    }
}

/// Puts all settings back to the preset's.
fn reset(state: State) {
    let start = state.setup.read_untracked().start();
    state.jump(start);
    state.toasts.offer_undo("Reset to the preset.");
}

/// What is said of a link that has been copied without room for so many pinned jobs.
fn link_copied(left_out: usize) -> String {
    match left_out {
        0 => "Link copied.".to_owned(),
        1 => "Link copied, without the job that was pinned first: it has no room for more.".to_owned(),
        _ => format!("Link copied, without the {left_out} jobs that were pinned first: it has no room for more."),
    }
}
