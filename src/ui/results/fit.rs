//! What fits: the largest sizes with which the job fits its GPU, and changes: those that make it fit, or those that the
//! memory left over allows. A click applies each.

mod allocator_gains;
mod assistant;
mod found;
mod limits;

use leptos::prelude::*;

use crate::parts::{Panel, PanelHead};
use crate::state::State;
use allocator_gains::AllocatorGains;
use assistant::Assistant;
pub(crate) use found::{ChangeSearch, apply, call_to_use};
pub(crate) use limits::LargestSizeSearch;
use limits::Limits;
use megatron_memory::report::summary::Verdict;

/// The largest sizes that fit, and changes with which a job fits.
#[component]
pub(crate) fn FitPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let verdict = Memo::new(move |_| state.standing.get().map(|standing| standing.verdict));
    let has_changes = Memo::new(move |_| {
        use Verdict::{DoesNotFit, Fits, Tight};
        matches!(verdict.get(), Some(Fits | Tight | DoesNotFit))
    });
    let note = move || match verdict.get() {
        Some(Verdict::DoesNotFit) => "each change by itself, cheapest first",
        Some(Verdict::Tight) => "each change by itself makes it fit safely, cheapest first",
        Some(Verdict::Fits) => "what the free memory allows, each change by itself",
        Some(Verdict::NotThisJob) => "for the job without what is not modelled",
        Some(Verdict::Refused(_)) => "for a job that Megatron trains",
        Some(Verdict::Unknown) | None => "choose a GPU to see",
    };
    let title = move || match verdict.get() {
        Some(Verdict::Fits) => "Use the free memory",
        _ => "Make it fit",
    };
    view! {
        <Panel class="fit" title="fit-title">
            <PanelHead id="fit-title" title note />
            <div class="fit-sizes">
                <Limits />
                <div class="fit-changes">
                    <Show when=move || has_changes.get()>
                        <Assistant />
                    </Show>
                </div>
            </div>
            <AllocatorGains />
        </Panel>
    }
}
