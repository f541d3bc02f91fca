//! What the line of a section says about its fields, so that a closed section still informs.

use crate::config::choices::{AdapterType, FrontEnd, RecomputeGranularity};
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::gpus;
use crate::config::job::Precision;
use crate::report::amount::parameters;
use crate::ui::state::State;
use crate::ui::values::shown;
use leptos::prelude::*;

/// A group of settings in a few words, for the module that the form edits; `None` before the first valid job.
pub(super) fn section_summary(group: Group, state: State) -> Option<String> {
    let outcome = state.outcome.read();
    let outcome = outcome.as_ref()?;
    let index = state.module.get();
    let module = outcome.module(index)?;
    let (a, d) = (module.args(), module.derived());
    Some(match group {
        Group::Model => {
            let estimate = outcome.estimate.modules.get(index)?;
            let total = estimate.parameters.total();
            if estimate.active_parameters == total {
                format!("{} parameters", parameters(total))
            } else {
                format!(
                    "{}, {} active",
                    parameters(total),
                    parameters(estimate.active_parameters)
                )
            }
        }
        Group::Attention if a.multi_latent_attention => {
            format!("MLA, {} heads", a.num_attention_heads)
        }
        Group::Attention if a.group_query_attention => {
            format!(
                "{} heads, {} groups",
                a.num_attention_heads, a.num_query_groups
            )
        }
        Group::Attention => format!("{} heads", a.num_attention_heads),
        Group::Moe => match a.num_experts {
            Some(experts) => format!("{experts} experts, top {}", a.moe_router_topk),
            None => String::from("dense"),
        },
        Group::Parallelism => format!("{} GPUs", module.ranks()),
        Group::Batch => format!("{} of {} tokens", d.global_batch_size, a.seq_length),
        Group::Savers => match a.recompute_granularity {
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
