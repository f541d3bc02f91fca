//! How many GPUs of which type, beside the model at the top of the page.

use leptos::prelude::*;

use crate::components::form::{Select, TextBox, gpu_options};
use crate::state::State;
use megatron_memory::config::fields::FieldId;

/// The number and the type of the GPUs. The form has the same two fields with their flags and problems.
#[component]
pub(super) fn Cluster() -> impl IntoView {
    let state = expect_context::<State>();
    let invalid = |id| Memo::new(move |_| state.has_error(id));
    let count = invalid(FieldId::world_size);
    let kind = invalid(FieldId::gpu);
    view! {
        <div class="cluster">
            <span>"on"</span>
            <label>
                <span class="unseen">"Number of GPUs"</span>
                <TextBox id=FieldId::world_size invalid=count element="gpu-count" />
            </label>
            <span aria-hidden="true">"×"</span>
            <label>
                <span class="unseen">"Type of GPU"</span>
                <Select id=FieldId::gpu invalid=kind options=gpu_options() element="gpu-type" />
            </label>
        </div>
    }
}
