//! The controls of a search: the settings that it varies, and their bounds.

use leptos::prelude::*;

use super::state::SearchState;
use crate::dialogs::parts::Menu;
use megatron_memory::search::{Axis, Keep, Order, Split};

/// The ways to part layers into stages: names of the choices, what they are called, and what they mean.
const SPLITS: [(&str, &str, Split); 2] = [
    ("as_given", "as in the job", Split::AsGiven),
    (
        "rest_in_last_stage",
        "evenly, or the last stage has fewer",
        Split::RestInLastStage,
    ),
];

/// The orders of layouts that fit: names of the choices, and what they are called.
const ORDERS: [(&str, &str, Order); 2] = [
    ("time", "time of a step", Order::Time),
    ("memory", "memory: recompute, bubble, traffic, replica", Order::Memory),
];

/// The controls.
#[component]
pub(super) fn Controls() -> impl IntoView {
    let search: SearchState = expect_context();
    let (has_experts, has_gpu) = match search.space_untracked() {
        Some(space) => (space.has_experts(), space.gpu_memory().is_some()),
        None => (true, false),
    };
    let axes = Axis::ALL.into_iter();
    let axes = axes.filter(|axis| has_experts || !matches!(axis, Axis::Expert | Axis::ExpertTensor));
    let axes = axes.map(|axis| view! { <AxisRow axis /> }).collect_view();
    let split = Signal::derive(move || {
        let split = search.options.read().split;
        let known = SPLITS.iter().find(|(.., known)| *known == split);
        known.map_or(String::new(), |(name, ..)| (*name).to_owned())
    });
    let order = Signal::derive(move || {
        let order = search.options.read().order;
        let known = ORDERS.iter().find(|(.., known)| *known == order);
        known.map_or(String::new(), |(name, ..)| (*name).to_owned())
    });
    let orders = ORDERS.map(|(name, label, _)| (name.to_owned(), label.to_owned()));
    let splits = SPLITS.map(|(name, label, _)| (name.to_owned(), label.to_owned()));
    let keep = has_gpu.then(|| {
        view! {
            <Checkbox
                name="keep".to_owned()
                label="Hide layouts that do not fit"
                checked=Signal::derive(move || search.keep.get() == Keep::Fitting)
                toggle=move |fitting| {
                    search.keep.set(if fitting { Keep::Fitting } else { Keep::Legal });
                    search.begin_again();
                }
            />
        }
    });
    view! {
        <fieldset class="layouts-axes">
            <legend>"What may vary"</legend>
            {axes}
            <Menu
                name="split"
                label="Layers of each stage"
                options=splits.into()
                chosen=split
                choose=move |name| {
                    let known = SPLITS.iter().find(|(known, ..)| *known == name);
                    let split = known.map_or(Split::AsGiven, |(.., split)| *split);
                    search.options.update(|options| options.split = split);
                    search.begin_again();
                }
            />
            <Menu
                name="order"
                label="Order"
                options=orders.into()
                chosen=order
                choose=move |name| {
                    let known = ORDERS.iter().find(|(known, ..)| *known == name);
                    let order = known.map_or(Order::Time, |(.., order)| *order);
                    search.options.update(|options| options.order = order);
                    search.begin_again();
                }
            />
            {keep}
        </fieldset>
    }
}

#[component]
fn Checkbox(
    name: String,
    label: &'static str,
    checked: Signal<bool>,
    /// Called with whether the box is checked now.
    toggle: impl Fn(bool) + 'static,
) -> impl IntoView {
    view! {
        <label class="layouts-check">
            <input
                type="checkbox"
                name=name
                prop:checked=checked
                on:change:target=move |event| toggle(event.target().checked())
            />
            <span>{label}</span>
        </label>
    }
}

/// Whether an axis varies, and its bound.
#[component]
fn AxisRow(axis: Axis) -> impl IntoView {
    let search: SearchState = expect_context();
    let name = axis.field().field().name;
    let label = match axis {
        Axis::Training => "Way to train: adapters, Megatron FSDP",
        Axis::Recompute => "Recompute",
        _ => axis.field().field().label,
    };
    let varies = Memo::new(move |_| search.options.read().vary.contains(&axis));
    let toggle = move |on: bool| {
        search.options.update(|options| {
            options.vary.retain(|varied| *varied != axis);
            if on {
                options.vary.push(axis);
            }
        });
        search.begin_again();
    };
    view! {
        <div class="layouts-axis">
            <Checkbox name=format!("vary:{name}") label checked=varies.into() toggle />
            <Show when=move || varies.get() && axis.has_sizes()>
                <Bound axis label />
            </Show>
        </div>
    }
}

/// The most that a size may be.
#[component]
fn Bound(axis: Axis, label: &'static str) -> impl IntoView {
    let search: SearchState = expect_context();
    let name = axis.field().field().name;
    let error = format!("wrong-{name}");
    let wrong = Memo::new(move |_| {
        let bounds = search.unreadable_bounds.read();
        bounds.iter().any(|(of, _)| *of == axis)
    });
    let typed = untrack(|| {
        let options = search.options.read();
        let bound = options.at_most.iter().find(|(of, _)| *of == axis);
        let bounds = search.unreadable_bounds.read();
        let unreadable = bounds.iter().find(|(of, _)| *of == axis);
        let bound = bound.map(|(_, most)| most.to_string());
        bound.or(unreadable.map(|(_, typed)| typed.clone()))
    });
    let set = move |typed: &str| {
        let bound = typed.trim();
        let most: Option<u64> = bound.parse().ok().filter(|most| *most > 0);
        search.options.update(|options| {
            options.at_most.retain(|(of, _)| *of != axis);
            options.at_most.extend(most.map(|most| (axis, most)));
        });
        search.unreadable_bounds.update(|bounds| {
            bounds.retain(|(of, _)| *of != axis);
            if most.is_none() && !bound.is_empty() {
                bounds.push((axis, bound.to_owned()));
            }
        });
        search.begin_again();
    };
    view! {
        <label class="layouts-bound">
            <span>"at most"</span>
            <input
                name=format!("most:{name}")
                inputmode="numeric"
                autocomplete="off"
                aria-label=format!("{label}, at most")
                aria-describedby=error.clone()
                aria-invalid=move || if wrong.get() { "true" } else { "false" }
                value=typed
                on:input:target=move |event| set(&event.target().value())
            />
            <span class="modal-error" id=error role="status">
                {move || if wrong.get() { "is not a size, so nothing is limited" } else { "" }}
            </span>
        </label>
    }
}
