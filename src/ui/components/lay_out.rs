//! A button that gives the job the best layout with which it fits its GPUs.

use leptos::prelude::*;

use crate::browser;
use crate::parts::{Deferred, passing_memo};
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::LayoutSearch;
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
    let work = Deferred::new();
    let lay_out = move |_| {
        let job = state.setup.read_untracked().job.clone();
        let search = match LayoutSearch::new(&job) {
            Ok(search) => search,
            Err(reason) => return state.toasts.tell(format!("No layout: {reason}.")),
        };
        percent.set(Some(0));
        work.in_pieces((job, search), move |(job, search)| {
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
        });
    };
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
            on:click=lay_out
        >
            {label}
        </button>
    }
}

/// Makes the layout the job's, or says that none fits.
fn finish(state: State, job: &RawJob, search: &LayoutSearch) {
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
