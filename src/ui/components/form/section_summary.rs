//! The summary of a section's fields in its heading, which is there while the section is closed too.

use crate::state::State;
use crate::values::shown;
use leptos::prelude::*;
use megatron_memory::config::choices::{AdapterType, FrontEnd, RecomputeGranularity};
use megatron_memory::config::field::Group;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus;
use megatron_memory::config::job::Precision;
use megatron_memory::memory::ModuleEstimate;
use megatron_memory::report::amount::{grouped, parameters};

/// The parameters of a model in words, such as `671.0B, and 11.6B MTP; 37.6B active`. Blocks of multi-token prediction
/// are counted by themselves, as those who publish a model do.
fn counted(model: &ModuleEstimate) -> String {
    let total = model.parameters.total();
    let components = model.parameters.components();
    let mtp: u64 = components.filter(|(_, mtp, _)| *mtp).map(|(.., count)| count).sum();
    let main = parameters(total.saturating_sub(mtp));
    let words = match (mtp, model.active_parameters == total) {
        (0, true) => return format!("{main} parameters"),
        (0, false) => format!("{main},"),
        (_, true) => return format!("{main}, and {} MTP", parameters(mtp)),
        (_, false) => format!("{main}, and {} MTP;", parameters(mtp)),
    };
    format!("{words} {} active", parameters(model.active_parameters))
}

/// The number of GPUs that the form says, also while the job cannot run with it; `None` where it says none, and for
/// several modules, each of which has GPUs of its own.
fn typed_gpus(state: State) -> Option<u64> {
    let setup = state.setup.read();
    let gpus = setup.job.number(0, FieldId::world_size);
    gpus.filter(|_| setup.job.modules.is_empty())
}

/// A group of settings in a few words, for the module that the form edits; `None` before the first valid job.
pub(super) fn section_summary(group: Group, state: State) -> Option<String> {
    let outcome = state.outcome.read();
    let outcome = outcome.as_ref()?;
    let index = state.form.module.get();
    let module = outcome.module(index)?;
    let (a, d) = (module.args(), module.derived());
    Some(match group {
        Group::Model => {
            let estimate = outcome.estimate.modules.get(index)?;
            counted(estimate)
        }
        Group::Attention if a.multi_latent_attention => {
            format!("MLA, {} heads", a.num_attention_heads)
        }
        Group::Attention if a.group_query_attention => {
            format!("{} heads, {} groups", a.num_attention_heads, a.num_query_groups)
        }
        Group::Attention => format!("{} heads", a.num_attention_heads),
        Group::Moe => match a.num_experts {
            Some(experts) => format!("{experts} experts, top {}", a.moe_router_topk),
            None => String::from("dense"),
        },
        Group::Parallelism => match typed_gpus(state).unwrap_or(module.ranks()) {
            1 => String::from("1 GPU"),
            gpus => format!("{} GPUs", grouped(gpus)),
        },
        Group::Batch => format!("{} × {} tokens", grouped(d.global_batch_size), grouped(a.seq_length)),
        Group::MemorySavers => match a.recompute_granularity {
            Some(RecomputeGranularity::Full) => String::from("full recompute"),
            Some(RecomputeGranularity::Selective) => String::from("selective recompute"),
            None => String::from("no recompute"),
        },
        Group::Optimizer => {
            let precision = match module.precision {
                Precision::Bf16 => "bf16",
                Precision::Fp16 => "fp16",
                Precision::Fp32 => "fp32",
            };
            let sharded = if a.use_distributed_optimizer {
                "distributed "
            } else {
                ""
            };
            format!("{sharded}{}, {precision}", a.optimizer.name())
        }
        Group::Adapters => match a.peft_type {
            AdapterType::None => String::from("none"),
            kind => format!("{} of rank {}", kind.name(), a.peft_dim),
        },
        Group::Kernels => format!("{} attention", a.attention_backend.name()),
        Group::Encoder => String::from(match module.io().front_end {
            FrontEnd::Tokens => "reads tokens",
            FrontEnd::Patches => "reads images",
            FrontEnd::Audio => "reads sound",
            FrontEnd::Features => "reads vectors",
        }),
        Group::Hardware => {
            let id = shown(FieldId::gpu.field(), state.value(FieldId::gpu).as_ref());
            gpus::by_id(&id).map_or(id, |gpu| gpu.name.to_owned())
        }
    })
}
