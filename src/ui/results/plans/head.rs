//! The heading of a column of plans.

use leptos::prelude::*;

use super::columns::Head;
use crate::state::{ResultsState, SavedPlans};

/// The name of a plan, with buttons that open, pin and remove it.
#[component]
pub(super) fn PlanHead(head: Head) -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let shelf = expect_context::<SavedPlans>();
    let Head {
        name,
        setup,
        is_pinned,
        is_kept,
    } = head;
    let label = name.clone();
    let labelled = |verb: &str| format!("{verb} {label}");
    let (setup, name) = (StoredValue::new(setup), StoredValue::new(name));
    let open = move |_| {
        page.jump(setup.get_value());
        page.toasts.offer_undo(format!("Opened {}.", name.get_value()));
    };
    let pin = move |_| {
        if is_pinned {
            setup.with_value(|setup| page.unpin(setup));
        } else {
            page.pin([setup.get_value()]);
        }
    };
    let pins = if is_pinned { "Unpin" } else { "Pin" };
    let remove = move |_| name.with_value(|name| shelf.remove(name));
    view! {
        <th scope="col">
            {label.clone()}
            <span class="plan-buttons">
                <button type="button" class="link" aria-label=labelled("Open") on:click=open>
                    "Open"
                </button>
                <button type="button" class="link" aria-label=labelled(pins) on:click=pin>
                    {pins}
                </button>
                <button
                    type="button"
                    class="link"
                    hidden=!is_kept
                    aria-label=labelled("Remove")
                    on:click=remove
                >
                    "Remove"
                </button>
            </span>
        </th>
    }
}
