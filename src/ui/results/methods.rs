//! The job trained in other ways: all weights, adapters alone, or all weights with Megatron FSDP. A click makes it so.

mod row;

use leptos::prelude::*;

use crate::parts::{OpenButton, Panel, PanelHead, ScrollBox, Table, when_idle};
use crate::state::State;
use megatron_memory::memory::methods::TrainingMethod;
use megatron_memory::report::amount::Scale;
use megatron_memory::search::MethodAlternative;
use row::{MethodAmounts, MethodFacts, rows};

/// The id of the panel's title.
const TITLE: &str = "methods-title";

/// The panel. Nothing is worked out before the reader opens it.
#[component]
pub(crate) fn MethodsPanel() -> impl IntoView {
    let is_open = RwSignal::new(false);
    view! {
        <Panel class="frameworks methods" title=TITLE>
            <PanelHead
                id=TITLE
                title="Full training, adapters, FSDP"
                note="the same job with the same layout"
            >
                <OpenButton attr:data-testid="all-methods" is_open label="Compare" />
            </PanelHead>
            <Show when=move || is_open.get()>
                <MethodTable />
            </Show>
        </Panel>
    }
}

/// The ways of training. While the job is worked out anew, or cannot run, the earlier numbers stay.
#[component]
fn MethodTable() -> impl IntoView {
    let state = expect_context::<State>();
    let found = RwSignal::new(Vec::<MethodAlternative>::new());
    when_idle(
        move || state.outcome.track(),
        Vec::new,
        move |done: &mut Vec<MethodAlternative>| {
            let next = TrainingMethod::EACH.get(done.len());
            let job = &state.setup.read_untracked().job;
            let module = state.form.module.get_untracked();
            match next.map(|next| MethodAlternative::new(job, module, *next)) {
                Some(Some(way)) => {
                    done.push(way);
                    false
                }
                // Megatron refuses the job.
                Some(None) => true,
                None => {
                    if *found.read_untracked() != *done {
                        found.set(core::mem::take(done));
                    }
                    true
                }
            }
        },
    );
    let rows = Memo::new(move |_| {
        let outcome = state.outcome.read();
        let config = outcome.as_ref().map(|outcome| &outcome.config);
        rows(&found.read(), config, Scale::coarse(state.preferences.unit.get()))
    });
    view! {
        <ScrollBox titled_by=TITLE>
            <Table headings=[
                "Way of training",
                "Rank",
                "Peak",
                "On this GPU",
                "Between steps",
                "A step",
                "Trained parameters",
                "What changes most",
            ]>
                <For each=move || 0..rows.read().len() key=|number| *number let:number>
                    <MethodRow rows number />
                </For>
            </Table>
        </ScrollBox>
        <p class="panel-note">
            "Allocated at the peak, between steps, and parameters are those of one GPU of the fullest stage. Adapters and sharding strategy are the job's own where it has any, LoRA and optim_grads_params otherwise. The order is that of searches: what fits with room to run as predicted, all weights before adapters alone, the shortest step; steps that differ by less than 5 % are a tie."
        </p>
    }
}

/// A way of training with a button that takes it over.
#[component]
fn MethodRow(
    rows: Memo<Vec<MethodFacts>>,
    /// Its place in the table.
    number: usize,
) -> impl IntoView {
    let state = expect_context::<State>();
    let row = Memo::new(move |_| rows.read().get(number).cloned());
    let is = move |read: fn(&MethodFacts) -> bool| row.read().as_ref().is_some_and(read);
    let text = move |read: fn(&MethodFacts) -> &String| row.read().as_ref().map(read).cloned();
    let cells = move || match row.get().map(|row| row.result) {
        None => ().into_any(),
        Some(Err(refused)) => view! {
            <td colspan="7" class="refused">{format!("Megatron refuses it: {refused}")}</td>
        }
        .into_any(),
        Some(Ok(MethodAmounts {
            rank,
            peak,
            verdict,
            gpu,
            steady,
            step,
            trained,
            changes,
        })) => view! {
            <td>{rank}</td>
            <td data-cell="peak">{peak}</td>
            <td data-verdict=verdict.style()>{format!("{} {gpu}", verdict.sign())}</td>
            <td>{steady}</td>
            <td>{step}</td>
            <td>{trained}</td>
            <td class="changes">{changes}</td>
        }
        .into_any(),
    };
    let apply = move |_| {
        if let Some(row) = row.get_untracked().filter(|row| !row.is_current) {
            apply(state, &row);
        }
    };
    view! {
        <tr
            class:ours=move || is(|row| row.is_current)
            class:below-line=move || is(|row| row.is_below_line)
            data-method=move || row.read().as_ref().map(|row| row.id)
        >
            <th scope="row">
                <button
                    type="button"
                    class="link"
                    aria-pressed=move || is(|row| row.is_current).to_string()
                    disabled=move || is(|row| row.result.is_err())
                    on:click=apply
                >
                    {move || text(|row| &row.name)}
                </button>
                <span class="method-settings">
                    {move || text(|row| &row.settings).map(|settings| breaking_at_underscores(&settings))}
                </span>
            </th>
            {cells}
        </tr>
    }
}

/// A text whose long names may go on in the next line behind an underscore.
fn breaking_at_underscores(text: &str) -> impl IntoView + use<> {
    let pieces = text.split_inclusive('_').map(str::to_owned);
    let breakable = |piece: String| {
        view! {
            {piece}
            <wbr />
        }
    };
    pieces.map(breakable).collect_view()
}

/// Makes a way of training the job's, which can be undone.
fn apply(state: State, row: &MethodFacts) {
    let module = state.form.module.get_untracked();
    let mut setup = state.setup.get_untracked();
    for (field, value) in &row.changes {
        setup.job.put(module, *field, value.clone());
    }
    state.jump(setup);
    state.edit_module(module);
    let peak = row.result.as_ref().map(|amounts| amounts.peak.as_str());
    let said = format!("{}: {} allocated.", row.name, peak.unwrap_or_default());
    state.toasts.offer_undo(said);
}
