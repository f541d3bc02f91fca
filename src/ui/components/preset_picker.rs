//! The model of the job, and the list of models and of jobs of several modules, which a button opens.

mod list;
mod pick;

use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use leptos::prelude::*;

use crate::browser;
use crate::state::State;
use list::{Order, PresetList};
use megatron_memory::presets::{by_id, jobs};

/// The id of the list that the button opens.
const LIST: &str = "presets";

/// A button with the name of the model, which opens the list of presets.
#[component]
pub fn PresetPicker() -> impl IntoView {
    let state = expect_context::<State>();
    let chosen = Memo::new(move |_| {
        let setup = state.setup.read();
        let preset = setup.preset.as_ref();
        preset.map(|preset| preset.id.clone()).unwrap_or_default()
    });
    let query = RwSignal::new(String::new());
    let order = RwSignal::new(Order::default());
    // The list is drawn when it is first asked for.
    let is_wanted = RwSignal::new(false);
    let list = NodeRef::<Div>::new();
    let first = move || list.get_untracked().and_then(|list| browser::first_control(&list));
    let press = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" => {
            event.prevent_default();
            if let Some(first) = first() {
                first.click();
            }
        }
        "ArrowDown" => {
            event.prevent_default();
            if let Some(first) = first() {
                let _ = first.focus();
            }
        }
        _ => {}
    };
    let open = move |_| {
        query.set(String::new());
        is_wanted.set(true);
        if let Some(list) = list.get_untracked() {
            browser::scroll_to_pressed(list.into());
        }
    };
    view! {
        <div class="preset">
            <button
                type="button"
                id="preset"
                value=chosen
                aria-haspopup="dialog"
                popovertarget=LIST
                on:click=open
            >
                <span class="unseen">"Model: "</span>
                <span class="preset-name">{move || name(&chosen.read())}</span>
            </button>
            <div id=LIST popover="" role="dialog" aria-label="Choose a model">
                <div class="preset-tools">
                    <input
                        id="preset-search"
                        type="search"
                        placeholder="Find a model"
                        aria-label="Find a model by name, family or publisher"
                        autocomplete="off"
                        spellcheck="false"
                        autofocus
                        prop:value=query
                        on:input:target=move |event| query.set(event.target().value())
                        on:keydown=press
                    />
                    <div class="segments" role="group" aria-label="Order of the models">
                        <OrderButton order to=Order::Family label="Family" />
                        <OrderButton order to=Order::Size label="Size" />
                        <OrderButton order to=Order::Date label="Newest" />
                    </div>
                </div>
                <Show when=move || is_wanted.get()>
                    <PresetList chosen query order list />
                    <a class="preset-more" href="./recipes.html">
                        "Every recipe that Megatron-Bridge publishes"
                    </a>
                    <a class="preset-more" href="./fewest-gpus.html">
                        "The fewest GPUs for every model"
                    </a>
                </Show>
            </div>
        </div>
    }
}

/// A button that puts the list in another order.
#[component]
fn OrderButton(order: RwSignal<Order>, to: Order, label: &'static str) -> impl IntoView {
    view! {
        <button
            type="button"
            aria-pressed=move || (order.get() == to).to_string()
            on:click=move |_| order.set(to)
        >
            {label}
        </button>
    }
}

/// The name of a preset on the button.
fn name(id: &str) -> &'static str {
    let model = by_id(id).map(|preset| preset.name);
    let job = || jobs::by_id(id).map(|job| job.name);
    model.or_else(job).unwrap_or("Choose a model")
}
