//! The memory that each way of recomputing or offloading would save on the shown stage. A click applies it.

use std::sync::Arc;

use leptos::prelude::*;

use crate::parts::{Panel, PanelHead, ScrollBox, Table, passing_memo, when_idle};
use crate::state::ResultsState;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::savings::{Kind, SavingsRow, rows};
use megatron_memory::search::{Saving, savings};

/// The ways of recomputing and offloading, with what each saves.
#[component]
pub(crate) fn SavingsPanel() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let saved = savings_after_pause(results);
    let rows = Memo::new(move |_| rows(&saved.read(), Scale::fine(results.page.preferences.unit.get())));
    view! {
        <Panel title="savings-title">
            <PanelHead
                id="savings-title"
                title="What recompute would save"
                note="on this stage, against the settings as they are; recomputed is the part of the forward pass that runs twice; a step is longer or shorter by the last column"
            />
            <div class="savings">
                <ScrollBox titled_by="savings-title">
                    <Table headings=["Recompute", "Saves", "This stage", "Fullest stage", "Recomputed", "A step"]>
                        <For each=move || 0..rows.read().len() key=|number| *number let:number>
                            <SavingRow rows=rows number=number />
                        </For>
                    </Table>
                </ScrollBox>
            </div>
        </Panel>
    }
}

/// What each choice saves. It takes a dozen estimates, so that it is worked out once the reader has paused. While the
/// settings cannot run, the last savings stay, as all results do.
fn savings_after_pause(results: ResultsState) -> RwSignal<Arc<Vec<Saving>>> {
    let saved = RwSignal::new(Arc::default());
    let track = move || {
        results.page.outcome.track();
        results.stage.track();
    };
    when_idle(
        track,
        || (),
        move |()| {
            let job = &results.page.setup.read().job;
            let found = results.stage.get().map(|stage| savings(job, stage)).unwrap_or_default();
            if results.page.outcome.read().is_none() || !found.is_empty() {
                saved.set(Arc::new(found));
            }
            true
        },
    );
    saved
}

/// A choice with what it saves.
#[component]
fn SavingRow(
    rows: Memo<Vec<SavingsRow>>,
    /// Its place in the table.
    number: usize,
) -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let row = passing_memo(move || rows.read().get(number).cloned());
    let is = move |read: fn(&SavingsRow) -> bool| row.read().as_ref().is_some_and(read);
    let text = move |read: fn(&SavingsRow) -> &String| row.read().as_ref().map(read).cloned();
    let is_refused = Memo::new(move |_| is(|row| row.kind == Kind::Refused));
    let apply = move |_| {
        if let Some(row) = row.get_untracked() {
            apply(results, &row);
        }
    };
    view! {
        <tr class:chosen=move || is(|row| row.current)>
            <th scope="row">
                <button
                    type="button"
                    class="link"
                    aria-pressed=move || is(|row| row.current).to_string()
                    disabled=is_refused
                    title=move || is_refused.get().then(|| text(|row| &row.saves))
                    on:click=apply
                >
                    {move || text(|row| &row.name)}
                </button>
            </th>
            <Show
                when=move || is_refused.get()
                fallback=move || view! {
                    <td class=move || row.read().as_ref().map_or("", saving_class)>
                        {move || text(|row| &row.saves)}
                    </td>
                    <td>{move || text(|row| &row.peak)}</td>
                    <td class:more=move || is(|row| row.too_large)>{move || text(|row| &row.fullest)}</td>
                    <td>{move || text(|row| &row.again)}</td>
                    <td>{move || text(|row| &row.step)}</td>
                }
            >
                // A reason is a sentence: it has all the columns of numbers for itself.
                <td class="refused" colspan="5">{move || text(|row| &row.saves)}</td>
            </Show>
        </tr>
    }
}

const fn saving_class(row: &SavingsRow) -> &'static str {
    match row.kind {
        // No saving that anybody can have.
        Kind::Less if row.too_large => "same",
        Kind::Less => "less",
        Kind::Same => "same",
        Kind::More => "more",
        Kind::Refused => "refused",
    }
}

/// Makes the choice the job's.
fn apply(results: ResultsState, row: &SavingsRow) {
    let Some(stage) = results.stage.get_untracked() else {
        return;
    };
    let mut setup = results.page.setup.get_untracked();
    for (field, value) in row.choice.settings() {
        setup.job.put(stage.module, field, value);
    }
    results.page.jump(setup);
}
