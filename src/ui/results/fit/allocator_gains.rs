//! What settings of PyTorch's allocator would gain, changes that cost little: found by replays in a worker.

use leptos::html::Div;
use leptos::prelude::*;

use crate::browser;
use crate::results::answer_in_sight::answer_in_sight;
use crate::state::State;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::reserved::{Gained, gain};
use search_worker::{Answer, Request};

/// Every gain in a sentence, with a button that takes it; room for them where there is none.
#[component]
pub(super) fn AllocatorGains() -> impl IntoView {
    let state = expect_context::<State>();
    let place = NodeRef::<Div>::new();
    let gained = answer_in_sight(
        place,
        || (),
        |link| Some(Request::Gain { link }),
        |answer| match answer {
            Answer::Gained(found) => Some(found),
            _ => None,
        },
    );
    let words = move |of: Gained| gain(of, Scale::fine(state.preferences.unit.get()));
    let apply = move |of: Gained| {
        let (field, value) = of.setting.field();
        let mut setup = state.setup.get_untracked();
        setup.job.put(of.module, field, value);
        state.jump(setup);
        state.toasts.offer_undo(format!("The job has {}.", of.setting.label()));
        // The button goes away with the gain.
        browser::focus("fit-title");
    };
    view! {
        <div class="allocator-gains" data-testid="allocator-gains" node_ref=place>
            {move || {
                gained
                    .get()
                    .unwrap_or_default()
                    .into_iter()
                    .map(|of| {
                        view! {
                            <p class="panel-note">
                                {move || words(of)} " "
                                <button type="button" class="link" on:click=move |_| apply(of)>
                                    {format!("Use {}", of.setting.label())}
                                </button>
                            </p>
                        }
                    })
                    .collect_view()
            }}
        </div>
    }
}
