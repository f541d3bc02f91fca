//! What follows from the fields, shown next to the ones that it follows from.

use super::Sheet;
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::job::Module;
use crate::parallel::stages::Chunk;
use crate::report::amount::parameters;
use crate::report::markup::{Markup, tag};

/// The number that a left-out field stands for.
pub(super) fn resolved(id: FieldId, module: &Module) -> Option<u64> {
    let derived = module.derived();
    Some(match id {
        FieldId::ffn_hidden_size => derived.ffn_hidden_size,
        FieldId::kv_channels => derived.kv_channels,
        FieldId::padded_vocab_size => derived.padded_vocab_size,
        FieldId::global_batch_size => derived.global_batch_size,
        FieldId::data_parallel_size => derived.data_parallel_size,
        FieldId::expert_tensor_parallel_size => derived.expert_tensor_parallel_size,
        // A layout has chunks of its own.
        FieldId::virtual_pipeline_model_parallel_size
            if derived.virtual_pipeline_model_parallel_size > 1 =>
        {
            derived.virtual_pipeline_model_parallel_size
        }
        FieldId::world_size => module.ranks(),
        _ => return None,
    })
}

/// A name and a value; nothing where it has no meaning for this job.
type Chip = (&'static str, String);

fn chips(group: Group, module: &Module) -> Vec<Chip> {
    let d = module.derived();
    let args = module.args();
    let moe = d.experts_per_rank > 0;
    match group {
        Group::Model => vec![(
            "padded vocabulary",
            format!("{} (+{})", d.padded_vocab_size, d.vocab_padding),
        )],
        Group::Moe if moe => vec![("experts on a rank", d.experts_per_rank.to_string())],
        Group::Parallelism => {
            let mut chips = vec![("DP", d.data_parallel_size.to_string())];
            if moe {
                chips.push(("EDP", d.expert_data_parallel_size.to_string()));
                chips.push(("experts on a rank", d.experts_per_rank.to_string()));
            }
            let layers = module.stages.chunks().iter().map(Chunk::num_layers);
            let (least, most) = (layers.clone().min(), layers.max());
            let name = if d.virtual_pipeline_model_parallel_size > 1 {
                "layers in a chunk"
            } else {
                "layers in a stage"
            };
            if let (Some(least), Some(most)) = (least, most) {
                let range = if least == most {
                    most.to_string()
                } else {
                    format!("{least} to {most}")
                };
                chips.push((name, range));
            }
            chips
        }
        Group::Batch => {
            let tokens = d.global_batch_size.saturating_mul(args.seq_length);
            vec![
                ("micro batches", d.num_microbatches.to_string()),
                ("tokens in a step", parameters(tokens)),
            ]
        }
        _ => Vec::new(),
    }
}

/// The derived values of a group.
pub(super) fn derived(sheet: &Sheet, group: Group) -> Markup {
    let module = sheet.outcome.as_ref().and_then(|o| o.module(sheet.module));
    let chips = module.map(|m| chips(group, m)).unwrap_or_default();
    tag("dl")
        .class("chips")
        .with("id", format!("chips-{}", group as usize))
        .with("aria-label", "Derived")
        .mark("hidden", chips.is_empty())
        .children(chips.into_iter().map(|(name, value)| {
            tag("div")
                .class("chip")
                .child(tag("dt").text(name))
                .child(tag("dd").text(value))
        }))
}
