//! Plans side by side: the job on the page and those that are kept under names, a column each.

mod columns;

use leptos::html::Div;
use leptos::prelude::*;

use super::deferred::deferred_memo;
use super::panel::{Panel, PanelHead, SidewaysScroll};
use super::state::ResultsState;
use crate::formats::share_url::encode;
use crate::formats::state::{PresetRef, ShareState};
use crate::ui::browser::files;
use crate::ui::shelf::{Plan, Shelf};
use columns::{Column, Row, rows};

/// The id of the panel's title.
const TITLE: &str = "plans-title";

/// The panel.
#[component]
pub(super) fn PlansPanel() -> impl IntoView {
    let shelf = expect_context::<Shelf>();
    let has_plans = Memo::new(move |_| !shelf.plans.read().is_empty());
    view! {
        <Panel class="frameworks plans" title=TITLE needs_result=false>
            <PanelHead id=TITLE title="Plans side by side" note="kept in this browser" />
            <ShelfActions />
            <Show when=move || has_plans.get()>
                <PlanTable />
            </Show>
        </Panel>
    }
}

/// A field and a button that keep the job on the page, and the file of all plans.
#[component]
fn ShelfActions() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let shelf = expect_context::<Shelf>();
    let name = RwSignal::new(String::new());
    let keep = move || {
        let setup = page.setup.get_untracked();
        let preset = setup.preset.as_ref().and_then(PresetRef::label);
        let typed = name.get_untracked();
        let used = shelf.plans.read_untracked().len();
        let name = match typed.trim() {
            "" => format!("{} {}", preset.unwrap_or("Plan"), used + 1),
            typed => typed.to_owned(),
        };
        let share = ShareState {
            setup,
            ..ShareState::default()
        };
        page.toasts.tell(format!("Kept as {name}."));
        shelf.keep(Plan {
            name,
            link: encode(&share),
        });
    };
    let take = move |_: String, text: String| {
        page.toasts.tell(match shelf.take_file(&text) {
            Ok(1) => String::from("1 plan read."),
            Ok(count) => format!("{count} plans read."),
            Err(why) => why.to_owned(),
        });
    };
    view! {
        <form
            class="plan-actions"
            on:submit=move |event| {
                event.prevent_default();
                keep();
                name.set(String::new());
            }
        >
            <input
                type="text"
                name="plan-name"
                aria-label="Name of the plan"
                placeholder="Name, such as long context"
                autocomplete="off"
                prop:value=name
                on:input:target=move |event| name.set(event.target().value())
            />
            <button type="submit" name="keep-plan">"Keep this job"</button>
            <button
                type="button"
                class="link"
                name="plans-file"
                hidden=move || shelf.plans.read().is_empty()
                on:click=move |_| files::save_text("plans.json", &shelf.file())
            >
                "Save all as a file"
            </button>
            <label class="plan-file">
                <span>"Open a file of plans"</span>
                <input
                    type="file"
                    name="plans-open"
                    accept=".json,application/json"
                    on:change:target=move |event| {
                        if let Some(file) = files::chosen(&event.target()) {
                            files::read(file, take);
                        }
                    }
                />
            </label>
        </form>
    }
}

/// The columns: the job on the page first.
#[component]
fn PlanTable() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let shelf = expect_context::<Shelf>();
    let place = NodeRef::<Div>::new();
    // Kept plans are worked out when they are kept, and the job on the page with every change.
    let kept = Memo::new(move |_| {
        let plans = shelf.plans.read();
        let columns = plans.iter();
        columns.filter_map(Column::of_plan).collect::<Vec<_>>()
    });
    let shown = deferred_memo(place, move || {
        let now = Column::of_page(&page.setup.read(), page.outcome.get());
        let kept = kept.read();
        let columns: Vec<&Column> = core::iter::once(&now).chain(kept.iter()).collect();
        rows(&columns, page.unit.get())
    });
    let names = move || {
        kept.read()
            .iter()
            .map(|column| column.name.clone())
            .collect::<Vec<_>>()
    };
    let row = |row: Row| {
        let cells = row.cells.into_iter();
        let cells = cells.map(|(text, differs)| view! { <td class:differs=differs>{text}</td> });
        view! {
            <tr>
                <th scope="row">{row.name}</th>
                {cells.collect_view()}
            </tr>
        }
    };
    view! {
        <div node_ref=place>
            <SidewaysScroll title=TITLE>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Setting"</th>
                            <th scope="col">"This job"</th>
                            {move || names().into_iter().map(|name| view! { <PlanHead name /> }).collect_view()}
                        </tr>
                    </thead>
                    <tbody>{move || shown.get().into_iter().map(row).collect_view()}</tbody>
                </table>
            </SidewaysScroll>
        </div>
    }
}

/// The name of a plan, with buttons that open and remove it.
#[component]
fn PlanHead(name: String) -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let shelf = expect_context::<Shelf>();
    let name = StoredValue::new(name);
    let label = name.get_value();
    let open = move |_| {
        let plans = shelf.plans.get_untracked();
        let plan = plans
            .into_iter()
            .find(|plan| name.with_value(|name| *name == plan.name));
        if let Some(setup) = plan.as_ref().and_then(Plan::setup) {
            page.jump(setup);
            page.toasts
                .offer_undo(format!("Opened {}.", name.get_value()));
        }
    };
    view! {
        <th scope="col">
            {label.clone()}
            <span class="plan-buttons">
                <button type="button" class="link" aria-label=format!("Open {label}") on:click=open>
                    "Open"
                </button>
                <button
                    type="button"
                    class="link"
                    aria-label=format!("Remove {label}")
                    on:click=move |_| name.with_value(|name| shelf.remove(name))
                >
                    "Remove"
                </button>
            </span>
        </th>
    }
}
