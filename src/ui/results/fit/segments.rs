//! What expandable segments would gain, a change that costs nothing: found by replays of PyTorch's allocator in a
//! worker.

use leptos::html::Div;
use leptos::prelude::*;

use crate::browser;
use crate::results::answer_in_sight::answer_in_sight;
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::reserved::{Gained, gain};
use megatron_memory::value::Value;
use search_worker::{Answer, Request};

/// The gain in a sentence, with a button that takes it; room for it where there is none.
#[component]
pub(super) fn SegmentsGain() -> impl IntoView {
    let state = expect_context::<State>();
    let place = NodeRef::<Div>::new();
    let gained = answer_in_sight(
        place,
        || (),
        |link| Some(Request::Gain { link }),
        |answer| match answer {
            Answer::Gained(found) => found,
            _ => None,
        },
    );
    let words = move || {
        let scale = Scale::fine(state.preferences.unit.get());
        gained.get().map(|gained| gain(gained, scale))
    };
    let is_gain = Memo::new(move |_| gained.read().is_some());
    let apply = move |_| {
        let Some(Gained { module, .. }) = gained.get_untracked() else {
            return;
        };
        let mut setup = state.setup.get_untracked();
        setup.job.put(module, FieldId::expandable_segments, Value::Bool(true));
        state.jump(setup);
        state.toasts.offer_undo(String::from("Expandable segments are on."));
        // The button goes away with the gain.
        browser::focus("fit-title");
    };
    view! {
        <div class="segments-gain" data-testid="segments-gain" node_ref=place>
            <Show when=move || is_gain.get()>
                <p class="panel-note">
                    {words} " "
                    <button type="button" class="link" on:click=apply>
                        "Use expandable segments"
                    </button>
                </p>
            </Show>
        </div>
    }
}
