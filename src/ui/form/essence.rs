//! What a section's line says, so that a closed section still informs.

use super::Sheet;
use crate::config::choices::{FrontEnd, RecomputeGranularity};
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::gpus;
use crate::config::job::Precision;
use crate::report::amount::parameters;
use crate::ui::state::Outcome;
use crate::ui::values::shown;

/// The essence of a group for the module that the form edits.
pub(super) fn essence(group: Group, sheet: &Sheet, outcome: &Outcome) -> Option<String> {
    let index = sheet.module;
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
        Group::Kernels => format!("{} attention", a.attention_backend.name()),
        Group::Encoder => String::from(match module.ends().front_end {
            FrontEnd::Tokens => "reads tokens",
            FrontEnd::Patches => "reads images",
            FrontEnd::Audio => "reads sound",
            FrontEnd::Features => "reads vectors",
        }),
        Group::Hardware => {
            let id = shown(FieldId::gpu.field(), sheet.value(FieldId::gpu));
            gpus::by_id(&id).map_or(id, |gpu| gpu.name.to_owned())
        }
    })
}
