//! One module of the list.

use super::edits::edit_button_id;
use crate::components::form::ProblemNote;
use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::problem::{Fix, Problem};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::modules::ModuleRow;

/// The most problems of a module that are shown.
const MOST_PROBLEMS: usize = 4;

/// The module with this index: its name, sizes, ranks and memory, the tools to move it, and its problems.
#[component]
pub fn ModuleItem(index: usize, rows: Memo<Vec<ModuleRow>>) -> impl IntoView {
    let state = expect_context::<State>();
    let edited = Memo::new(move |_| state.form.module.get() == index);
    let row = Memo::new(move |_| rows.read().get(index).cloned());
    let name = Memo::new(move |_| row.get().map(|row| row.name).unwrap_or_default());
    let sizes = move || row.get().map(|row| row.sizes);
    let ranks = move || row.get().map(|row| row.ranks);
    let rename = move |typed: String| state.edit_job(|job| job.rename_module(index, &typed));
    view! {
        <li class="module" class:edited=edited>
            <div class="module-line">
                <button
                    type="button"
                    class="module-edit"
                    id=edit_button_id(index)
                    aria-pressed=move || edited.get().to_string()
                    aria-label=move || format!("Edit {}", name.get())
                    title="Edit this module in the form below"
                    on:click=move |_| state.edit_module(index)
                >
                    {move || if edited.get() { "●" } else { "○" }}
                </button>
                <input
                    class="module-name"
                    aria-label=format!("Name of module {}", index + 1)
                    autocomplete="off"
                    prop:value=name
                    on:change:target=move |event| {
                        let input = event.target();
                        rename(input.value());
                        // Also where the name stays what it was.
                        input.set_value(&untrack(|| name.get()));
                    }
                />
                <ModuleMemory row />
                <ModuleTools index count=Memo::new(move |_| rows.read().len()) />
            </div>
            <p class="module-facts">
                <span>{sizes}</span>
                <span>{ranks}</span>
            </p>
            <ModuleProblems index />
        </li>
    }
}

/// The memory of the module's fullest stage on each GPU, and whether it fits.
#[component]
fn ModuleMemory(row: Memo<Option<ModuleRow>>) -> impl IntoView {
    let state = expect_context::<State>();
    move || match row.get().and_then(|row| row.memory) {
        Some((most, verdict)) => {
            let amount = Scale::coarse(state.preferences.unit.get()).amount(most);
            let class = format!("module-memory verdict-{}", verdict.style());
            view! {
                <span class=class title=verdict.words()>
                    {format!("{} {amount}", verdict.sign())}
                </span>
            }
            .into_any()
        }
        None => view! { <span class="module-memory">"–"</span> }.into_any(),
    }
}

/// The buttons that move, copy and remove a module.
#[component]
fn ModuleTools(index: usize, count: Memo<usize>) -> impl IntoView {
    let state = expect_context::<State>();
    let tool = |label: &'static str, sign: &'static str, act: Callback<()>| {
        view! {
            <button
                type="button"
                class="tool"
                aria-label=label
                title=label
                on:click=move |_| act.run(())
            >
                {sign}
            </button>
        }
    };
    let up = Callback::new(move |()| state.move_module(index, index.saturating_sub(1)));
    let down = Callback::new(move |()| state.move_module(index, index + 1));
    let copy = Callback::new(move |()| state.copy_module(index));
    let remove = Callback::new(move |()| state.remove_module(index));
    view! {
        <span class="module-tools">
            {(index > 0).then(|| tool("Move up", "↑", up))}
            {move || (index + 1 < count.get()).then(|| tool("Move down", "↓", down))}
            {tool("Copy this module", "Copy", copy)}
            {move || (count.get() > 1).then(|| tool("Remove", "✕", remove))}
        </span>
    }
}

/// The problems of a module, with what would fix them.
#[component]
fn ModuleProblems(index: usize) -> impl IntoView {
    let state = expect_context::<State>();
    let problems = Memo::new(move |_| {
        let checked = state.checked.read();
        let own = checked.problems.iter().filter(|p| p.module == index);
        own.take(MOST_PROBLEMS).cloned().collect::<Vec<_>>()
    });
    let fix = Callback::new(move |fix: Fix| {
        state.edit_job(|job| job.put(index, fix.field, fix.value));
    });
    move || {
        let problems = problems.get().into_iter().map(|problem: Problem| {
            let repair = problem.repair.clone();
            let repair = repair.map(|repair| {
                let label = repair.label.clone();
                view! {
                    <button
                        type="button"
                        class="fix"
                        on:click=move |_| state.edit_job(|job| job.repair(&repair))
                    >
                        {label}
                    </button>
                }
            });
            view! {
                <ProblemNote problem on_fix=fix>
                    {repair}
                </ProblemNote>
            }
        });
        problems.collect_view()
    }
}
