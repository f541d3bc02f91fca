//! A button that gives the job the best layout with which it fits its GPUs.

use leptos::prelude::*;

use crate::browser;
use crate::lazy_parts::LazyPart;
use crate::parts::{Deferred, passing_memo};
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit;
use megatron_memory::report::amount::grouped;

/// The number of jobs that are checked at a time.
const CHECKS: u32 = 1;

/// The button. Nothing for a job of several modules, or without a number of GPUs.
#[component]
pub fn LayOutButton(
    /// Whether it stands out among the buttons beside it.
    #[prop(default = false)]
    primary: bool,
) -> impl IntoView {
    let state = expect_context::<State>();
    // The button comes and goes with edits.
    let gpus = passing_memo(move || {
        let setup = state.setup.read();
        let gpus = setup.job.number(0, FieldId::world_size);
        gpus.filter(|_| setup.job.modules.is_empty())
    });
    let percent = RwSignal::new(None::<u64>);
    let label = move || {
        let gpus = match gpus.get().unwrap_or_default() {
            1 => String::from("1 GPU"),
            gpus => format!("{} GPUs", grouped(gpus)),
        };
        match percent.get() {
            Some(percent) => format!("Trying layouts for {gpus}, {percent} %"),
            None => format!("Pick a layout for {gpus}"),
        }
    };
    view! {
        <button
            type="button"
            class="fix"
            class:primary=primary
            data-testid="lay-out"
            hidden=move || gpus.get().is_none()
            on:click=move |_| percent.set(Some(0))
        >
            {label}
        </button>
        <Show when=move || percent.read().is_some()>{LazyPart::LayoutSearch(percent).view()}</Show>
    }
}

/// Searches for the layout of the job on the page as it is now. Shows nothing.
#[component]
pub fn LayoutSearch(
    /// How far the search is; none once it is over.
    percent: RwSignal<Option<u64>>,
) -> impl IntoView {
    let state = expect_context::<State>();
    let job = state.setup.read_untracked().job.clone();
    // In tasks of their own: the end of the search ends this component, which is still to be mounted.
    let work = Deferred::new();
    match fit::LayoutSearch::new(&job) {
        Ok(search) => work.in_pieces((job, search), move |(job, search)| {
            if state.setup.read_untracked().job != *job {
                percent.set(None);
                return true;
            }
            let done = search.advance(CHECKS);
            let now = search.percent();
            if percent.get_untracked() != Some(now) {
                percent.set(Some(now));
            }
            if done {
                percent.set(None);
                finish(state, job, search);
            }
            done
        }),
        Err(reason) => work.in_next_task(move || {
            percent.set(None);
            state.toasts.tell(format!("No layout: {reason}."));
        }),
    }
}

/// Makes the layout the job's, or says that none fits.
fn finish(state: State, job: &RawJob, search: &fit::LayoutSearch) {
    let Some(settings) = search.settings() else {
        return state
            .toasts
            .tell("No layout fits these GPUs, even with recompute. More GPUs, or GPUs with more memory, would help.");
    };
    let mut setup = state.setup.get_untracked();
    setup.job = job.clone();
    for (field, value) in &settings {
        setup.job.put(0, *field, value.clone());
    }
    state.jump(setup);
    let sizes = [
        (FieldId::tensor_model_parallel_size, "TP"),
        (FieldId::pipeline_model_parallel_size, "PP"),
        (FieldId::context_parallel_size, "CP"),
        (FieldId::expert_model_parallel_size, "EP"),
    ];
    let changes = sizes.into_iter().filter_map(|(field, name)| {
        let size = search.job_of_best()?.number(0, field)?;
        Some(format!("{name} {size}"))
    });
    let changes: Vec<String> = changes.collect();
    state
        .toasts
        .offer_undo(format!("Layout picked: {}.", changes.join(", ")));
    // The button may go away with the problem that it stood beside.
    browser::focus("results");
}
