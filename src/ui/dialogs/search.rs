//! The layout search: what varies, how far the search is, and what it found.

mod columns;
mod controls;
mod left_out;
mod nearest;
mod pool;
mod progress;
mod state;
mod table;
mod tradeoff;

use leptos::html::Div;
use leptos::prelude::*;

use self::controls::Controls;
use self::progress::Progress;
pub(super) use self::state::KeptSearch;
use self::state::{Phase, SearchState};
use self::table::FoundLayouts;
use super::parts::{Alert, CloseButton, Title};
use crate::browser::{self, files};
use crate::parts::CopyButton;
use crate::state::DialogKind;
use megatron_memory::export::provenance::{CommentStyle, with_provenance};
use megatron_memory::report::amount::{Scale, grouped};
use megatron_memory::report::layouts::SearchHead;
use megatron_memory::search::{Dimension, Space};

/// The search dialog.
#[component]
pub(super) fn SearchDialog(
    /// The search of the last time.
    kept: StoredValue<Option<KeptSearch>>,
) -> impl IntoView {
    let last = kept.try_update_value(Option::take).flatten();
    let search = SearchState::new(expect_context(), expect_context(), last);
    provide_context(search);
    let rows = NodeRef::<Div>::new();
    on_cleanup(move || {
        if let Some(search) = search.close() {
            kept.set_value(Some(search));
        }
    });
    let space_error = Signal::derive(move || search.space.get().err().unwrap_or_default());
    let searchable = Memo::new(move |_| search.space.read().is_ok());
    let marks = move || {
        let space = search.space()?;
        let marks = space.not_modelled().iter();
        let marks = marks.map(|mark| format!("Estimates of other jobs: {mark}."));
        let rows = marks.map(|mark| view! { <p class="not-this-job">{mark}</p> });
        Some(rows.collect_view())
    };
    let about = move || {
        let space = search.space()?;
        let scale = Scale::fine(search.state.preferences.unit.get());
        let lines = SearchHead::new(&space, scale).lines(&space, scale).into_iter();
        Some(lines.map(|line| view! { <li>{line}</li> }).collect_view())
    };
    let size = move || search.space().map(|space| size(&space));
    view! {
        <Title text="Browse layouts" />
        <Alert message=space_error />
        {marks}
        <details class="layouts-options" open=move || search.phase.get() == Phase::Before>
            <summary>"What varies"</summary>
            <ul class="layouts-of" data-testid="search-head" hidden=move || !searchable.get()>
                {about}
            </ul>
            <Controls />
            <p class="layouts-space" hidden=move || !searchable.get()>
                {size}
            </p>
        </details>
        <div class="layouts-bar">
            <Progress />
            <Actions searchable rows />
        </div>
        <Alert message=search.error />
        <Show when=move || searchable.get() && search.phase.get() != Phase::Before>
            <FoundLayouts place=rows />
        </Show>
    }
}

/// The buttons.
#[component]
fn Actions(
    /// Whether there is anything to search.
    searchable: Memo<bool>,
    /// The box of the rows.
    rows: NodeRef<Div>,
) -> impl IntoView {
    let search: SearchState = expect_context();
    let said = RwSignal::new("");
    let is_empty = Memo::new(move |_| search.table.read().is_empty());
    let is_running = Memo::new(move |_| search.phase.get() == Phase::Running);
    let table = move |separator: &str| {
        let space = search.space_untracked()?;
        Some(search.table.read_untracked().as_text(&space, separator))
    };
    let copied = move |is_copied| {
        if is_copied {
            said.set("Copied.");
        } else {
            if let Some(rows) = rows.get_untracked() {
                browser::select_content(&rows);
            }
            said.set("The browser does not let the page use the clipboard. The rows in sight are selected.");
        }
    };
    let download = move |_| {
        if let Some(text) = table(",") {
            let link = search.state.address();
            files::save_text("layouts.csv", &with_provenance(CommentStyle::Column, &text, &link));
        }
    };
    view! {
        <div class="modal-actions">
            <Show
                when=move || is_running.get()
                fallback=move || {
                    view! {
                        <button
                            type="button"
                            name="start"
                            class="share"
                            hidden=move || !searchable.get()
                            on:click=move |_| search.start()
                        >
                            "Search"
                        </button>
                    }
                }
            >
                <button type="button" name="stop" on:click=move |_| search.stop()>
                    "Cancel"
                </button>
            </Show>
            <CopyButton
                attr:name="copy"
                attr:hidden=move || is_empty.get()
                text=move || table("\t")
                on_done=copied
            >
                "Copy table"
            </CopyButton>
            <button
                type="button"
                name="download"
                hidden=move || is_empty.get()
                on:click=download
            >
                "Download CSV"
            </button>
            <CloseButton kind=DialogKind::Search />
            <span role="status">{said}</span>
        </div>
    }
}

/// The size of the space, as the product that it is.
fn size(space: &Space) -> String {
    let factor = |d: &Dimension| {
        let (count, within) = (d.values.len(), d.within());
        let values = if count == 1 { "value" } else { "values" };
        let symbol = d.axis.symbol();
        if within == count {
            format!("{count} {values} of {symbol}")
        } else {
            format!("{count} {values} of {symbol} ({within} within your limit)")
        }
    };
    let factors: Vec<String> = space.dimensions().iter().map(factor).collect();
    let total = grouped(space.total());
    match factors.as_slice() {
        [] => "Nothing varies: 1 combination.".to_owned(),
        factors => format!("{} = {total} combinations.", factors.join(" × ")),
    }
}
