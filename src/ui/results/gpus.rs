//! The same job on every type of GPU, in the order of searches. A click puts the job there.

use leptos::prelude::*;

use crate::parts::{OpenButton, Panel, PanelHead, when_idle};
use crate::state::State;
use crate::values::shown;
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus::{GPUS, Gpu};
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::{OnGpu, move_to, on_gpu};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::headroom::Headroom;
use megatron_memory::report::time::ranked_step;
use megatron_memory::search::{Candidate, Ranking, ranking};
use megatron_memory::verdict::{Refusal, Standing, Verdict};

/// The id of the panel's title.
const TITLE: &str = "gpus-title";

/// The panel. Nothing is worked out before the reader opens it.
#[component]
pub(crate) fn GpusPanel() -> impl IntoView {
    let is_open = RwSignal::new(false);
    view! {
        <Panel class="gpus" title=TITLE>
            <PanelHead id=TITLE title="On other GPUs" note="the same job with the same layout">
                <OpenButton attr:data-testid="all-gpus" is_open label="Show all" />
            </PanelHead>
            <Show when=move || is_open.get()>
                <GpuStrip />
            </Show>
        </Panel>
    }
}

/// What a job needs on a type of GPU, or the first reason why Megatron refuses it there.
fn measure(index: usize, job: &RawJob, gpu: &Gpu) -> Result<OnGpu, String> {
    let index = u64::try_from(index).unwrap_or(u64::MAX);
    on_gpu(index, job, gpu).ok_or_else(|| {
        let mut job = job.clone();
        move_to(&mut job, gpu);
        let checked = check(&job);
        let mut refusals = checked.refusals();
        refusals
            .next()
            .map(|refusal| refusal.message.clone())
            .unwrap_or_default()
    })
}

/// A button for each type of GPU. While the job is worked out anew, the earlier numbers stay.
#[component]
fn GpuStrip() -> impl IntoView {
    let state = expect_context::<State>();
    let found = RwSignal::new(Vec::<Result<OnGpu, String>>::new());
    when_idle(
        move || state.outcome.track(),
        Vec::new,
        move |done: &mut Vec<Result<OnGpu, String>>| {
            let Some(gpu) = GPUS.get(done.len()) else {
                if *found.read_untracked() != *done {
                    found.set(core::mem::take(done));
                }
                return true;
            };
            done.push(measure(done.len(), &state.setup.read_untracked().job, gpu));
            false
        },
    );
    let now = Memo::new(move |_| {
        let id = FieldId::gpu;
        shown(id.field(), state.value(id).as_ref())
    });
    let buttons = move || {
        let found = found.get();
        let candidates = found.iter().map(|on_gpu| on_gpu.as_ref().ok()?.candidate);
        let candidates: Vec<Option<Candidate>> = candidates.collect();
        let ranked = ranking(&candidates).into_iter();
        let buttons = ranked.filter_map(|ranked| {
            let (gpu, result) = (GPUS.get(ranked.index)?, found.get(ranked.index)?.clone());
            Some(view! { <GpuButton gpu result ranked now /> })
        });
        buttons.collect_view()
    };
    view! {
        <div class="sweep gpu-strip" role="group" aria-label="The job on each type of GPU">
            {buttons}
        </div>
    }
}

#[component]
fn GpuButton(
    gpu: &'static Gpu,
    /// What the job needs there, or why it cannot run.
    result: Result<OnGpu, String>,
    ranked: Ranking,
    now: Memo<String>,
) -> impl IntoView {
    let state = expect_context::<State>();
    let candidate = result.as_ref().ok().and_then(|on_gpu| on_gpu.candidate);
    let step = ranked_step(candidate.as_ref(), &ranked).map(|words| view! { <small>{words}</small> });
    let memory = result.map(|on_gpu| on_gpu.memory);
    let verdict = memory
        .as_ref()
        .map_or(Verdict::Refused(Refusal::ByRules), |memory| memory.verdict);
    let words = move || {
        let scale = Scale::coarse(state.preferences.unit.get());
        let headroom = |memory: Standing| {
            let gpu = memory.gpu?;
            Some(Headroom::of((memory.device.0, memory.device.1), gpu).words(scale))
        };
        match &memory {
            Err(reason) => format!("cannot run: {reason}"),
            Ok(memory) => headroom(*memory).unwrap_or_default(),
        }
    };
    let apply = move |_| {
        let mut job = state.setup.get_untracked().job;
        move_to(&mut job, gpu);
        state.edit(job);
    };
    view! {
        <button
            type="button"
            value=gpu.id
            aria-pressed=move || (*now.read() == gpu.id).to_string()
            data-verdict=verdict.style()
            on:click=apply
        >
            <strong>{gpu.name}</strong>
            " "
            <span>{format!("{} ", verdict.sign())} {words}</span>
            {step}
        </button>
    }
}
