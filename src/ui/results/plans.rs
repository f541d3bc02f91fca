//! Plans side by side: the job on the page, the pinned ones, which are a part of the link, and those that are kept
//! under names, a column each.

mod columns;
mod head;

use leptos::html::Div;
use leptos::prelude::*;

use crate::browser::files;
use crate::parts::{
    CopyButton, FileButton, InSight, MoreHeadings, Panel, PanelHead, ScrollBox, Table, deferred_signal,
};
use crate::state::{DialogKind, OpenDialog, Plan, ResultsState, SavedPlans, State};
use columns::{PlanColumn, PlanRow, heads, rows};
use head::PlanHead;
use megatron_memory::formats::share_url::encode;
use megatron_memory::formats::state::{PresetRef, Setup, ShareState};

/// The id of the panel's title.
const TITLE: &str = "plans-title";

/// The panel.
#[component]
pub(crate) fn PlansPanel() -> impl IntoView {
    let shelf = expect_context::<SavedPlans>();
    let page = expect_context::<ResultsState>().page;
    let has_plans = Memo::new(move |_| !shelf.plans.read().is_empty() || !page.pinned.read().is_empty());
    view! {
        <Panel class="frameworks plans" title=TITLE needs_result=false>
            <PanelHead id=TITLE title="Plans side by side" note="pinned ones are in the link, kept ones in this browser" />
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
    let shelf = expect_context::<SavedPlans>();
    let open_dialog = expect_context::<OpenDialog>();
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
    let link_copied = move |is_copied| {
        if is_copied {
            let count = page.pinned.read_untracked().len() + 1;
            page.toasts.tell(format!("Link to {count} jobs copied."));
        } else {
            open_dialog.open(DialogKind::Link);
        }
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
                name="pin-plan"
                on:click=move |_| {
                    if page.pin([page.setup.get_untracked()]) {
                        page.toasts.tell("Pinned. The link holds this job as well.");
                    }
                }
            >
                "Pin this job"
            </button>
            <CopyButton
                attr:name="link-plans"
                attr:hidden=move || shelf.plans.read().is_empty() && page.pinned.read().is_empty()
                text=move || link_to_all(page, shelf)
                on_done=link_copied
            >
                "Copy a link to all"
            </CopyButton>
            <button
                type="button"
                class="link"
                name="plans-file"
                hidden=move || shelf.plans.read().is_empty()
                on:click=move |_| files::save_text("plans.json", &shelf.file())
            >
                "Save all as a file"
            </button>
            <FileButton name="plans-open" label="Open a file of plans" accept=".json,application/json" on_file=take />
        </form>
    }
}

/// Pins all kept plans, so that the link holds every column. Returns the link, or nothing where they cannot be pinned.
fn link_to_all(page: State, shelf: SavedPlans) -> Option<String> {
    let (pinned, plans) = (page.pinned.get_untracked(), shelf.plans.get_untracked());
    let heads = heads(&pinned, &plans);
    // Each is put before the ones that are pinned already.
    let kept = heads.into_iter().rev().filter(|head| !head.is_pinned);
    let kept: Vec<Setup> = kept.map(|head| head.setup).collect();
    if !kept.is_empty() && !page.pin(kept) {
        return None;
    }
    Some(page.address())
}

/// The columns: the job on the page first.
#[component]
fn PlanTable() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let shelf = expect_context::<SavedPlans>();
    let place = NodeRef::<Div>::new();
    // Plans are worked out when they are pinned or kept, and the job on the page with every change.
    let plans = Memo::new(move |earlier: Option<&Vec<PlanColumn>>| {
        let earlier = earlier.map_or(&[][..], Vec::as_slice);
        let heads = heads(&page.pinned.read(), &shelf.plans.read());
        let heads = heads.into_iter();
        heads.map(|head| PlanColumn::new(head, earlier)).collect::<Vec<_>>()
    });
    let compute = move || {
        let now = PlanColumn::of_page(&page.setup.read(), page.outcome.get(), page.standing.get());
        let plans = plans.read();
        let columns: Vec<&PlanColumn> = core::iter::once(&now).chain(plans.iter()).collect();
        rows(&columns, page.preferences.unit.get())
    };
    let shown = deferred_signal(place, InSight::AfterFrame, move || page.outcome.track(), compute);
    let heads = move || {
        let plans = plans.read();
        let heads = plans.iter().map(|column| column.head.clone());
        heads.map(|head| view! { <PlanHead head /> }).collect_view()
    };
    let row = |row: PlanRow| {
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
            <ScrollBox titled_by=TITLE>
                <Table headings=["Setting", "This job"]>
                    <MoreHeadings slot>{heads}</MoreHeadings>
                    {move || shown.get().into_iter().map(row).collect_view()}
                </Table>
            </ScrollBox>
        </div>
    }
}
