//! Overrides of a Megatron-Bridge configuration.

use core::fmt::Write;

use super::arguments::{Argument, arguments, quoted};
use crate::config::canonical::{Meaning, meaning};
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::{RawJob, Settings};
use crate::formats::bridge_keys;
use crate::formats::import::Dialect;

/// Megatron-Bridge has one name for what Megatron-LM can say in three ways.
const VIRTUAL_STAGES: &str = "model.virtual_pipeline_model_parallel_size";

/// One override a line, in the order of the fields. Some fields share a key, and the precision is a preset.
#[must_use]
pub fn overrides(job: &RawJob) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut lost = Vec::new();
    let bf16 = is_on(&job.shared, FieldId::bf16);
    let gated = |function: &str| {
        vec![
            "model.gated_linear_unit=true".to_owned(),
            format!("model.activation_func={function}"),
        ]
    };
    for argument in arguments(&job.shared, Dialect::Bridge) {
        match argument.id {
            FieldId::swiglu if argument.is_on() => lines.extend(gated("silu")),
            FieldId::geglu if argument.is_on() => lines.extend(gated("gelu")),
            FieldId::quick_geglu if argument.is_on() => lines.extend(gated("quick_gelu")),
            FieldId::squared_relu if argument.is_on() => {
                lines.push("model.activation_func=squared_relu".to_owned());
            }
            FieldId::bf16 if argument.is_on() => {
                lines.push("mixed_precision=bf16_mixed".to_owned());
                // The preset reduces in fp32, whatever the gradients are kept in.
                if !reduces_in_fp32(&job.shared) {
                    lines.push("mixed_precision.grad_reduce_in_fp32=false".to_owned());
                }
            }
            // Said with the precision.
            FieldId::accumulate_allreduce_grads_in_fp32 | FieldId::grad_reduce_in_bf16 if bf16 => {}
            FieldId::fp16 if argument.is_on() => {
                lines.push("mixed_precision=fp16_mixed".to_owned());
            }
            FieldId::swiglu
            | FieldId::geglu
            | FieldId::quick_geglu
            | FieldId::squared_relu
            | FieldId::bf16
            | FieldId::fp16
            | FieldId::num_query_groups => {}
            // Groups count only with the switch, and Megatron-Bridge has no other switch than their number.
            FieldId::group_query_attention => {
                let groups = FieldId::num_query_groups;
                if let Meaning::Is(Parsed::Int(groups)) = meaning(groups, job.shared.get(groups)) {
                    lines.push(format!("model.num_query_groups={groups}"));
                }
            }
            FieldId::vocab_size => {
                lines.push("model.should_pad_vocab=true".to_owned());
                lines.extend(line("model.vocab_size", &argument, false));
            }
            FieldId::padded_vocab_size => lines.extend(line("model.vocab_size", &argument, false)),
            FieldId::virtual_pipeline_model_parallel_size
            | FieldId::num_virtual_stages_per_pipeline_rank => {
                lines.extend(line(VIRTUAL_STAGES, &argument, false));
            }
            FieldId::num_layers_per_virtual_pipeline_stage => {
                let stages = virtual_stages(&job.shared);
                lines.extend(stages.map(|stages| format!("{VIRTUAL_STAGES}={stages}")));
            }
            FieldId::seq_length => {
                lines.extend(line("model.seq_length", &argument, false));
                lines.extend(line("dataset.seq_length", &argument, false));
            }
            _ => match bridge_keys::key_of(argument.destination) {
                Some((key, opposite)) => lines.extend(line(&key, &argument, opposite)),
                None if argument.id.presentation().group == Group::Hardware => {}
                None if argument.id == FieldId::world_size => {}
                None => lost.push(argument.id.field().name),
            },
        }
    }
    let mut out = String::new();
    for name in lost {
        let _ = writeln!(out, "# Megatron-Bridge has no key for {name}.");
    }
    for line in lines {
        out.push_str(&quoted(&line));
        out.push('\n');
    }
    out
}

/// Virtual stages from their number of layers; none where the layers do not come out even.
fn virtual_stages(settings: &Settings) -> Option<u64> {
    let number = |id| match meaning(id, settings.get(id)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    };
    let ends = [
        FieldId::account_for_embedding_in_pipeline_split,
        FieldId::account_for_loss_in_pipeline_split,
    ];
    let ends = ends.into_iter().map(|id| u64::from(is_on(settings, id)));
    let layers = number(FieldId::num_layers)?.checked_add(ends.sum())?;
    let stages = number(FieldId::pipeline_model_parallel_size)?;
    let each = number(FieldId::num_layers_per_virtual_pipeline_stage)?;
    let per_stage = layers.checked_div(stages)?;
    let even = layers.is_multiple_of(stages) && per_stage.is_multiple_of(each);
    even.then(|| per_stage.checked_div(each)).flatten()
}

fn is_on(settings: &Settings, id: FieldId) -> bool {
    meaning(id, settings.get(id)) == Meaning::Is(Parsed::Flag(true))
}

/// Whether bf16 training reduces its gradients in fp32: unless it is told not to, or to keep them in less.
fn reduces_in_fp32(settings: &Settings) -> bool {
    let told = FieldId::accumulate_allreduce_grads_in_fp32;
    if let Meaning::Is(Parsed::Flag(told)) = meaning(told, settings.get(told)) {
        return told;
    }
    let kept = FieldId::main_grads_dtype;
    let less = meaning(kept, settings.get(kept)) != meaning(kept, None);
    !less && !is_on(settings, FieldId::grad_reduce_in_bf16)
}

fn line(key: &str, argument: &Argument, opposite: bool) -> Option<String> {
    let words = argument.words();
    let value = match &argument.means {
        Meaning::Bad => return None,
        Meaning::Nothing => "null".to_owned(),
        Meaning::Is(Parsed::Flag(on)) => (*on != opposite).to_string(),
        Meaning::Is(Parsed::Set(_)) => format!("[{}]", words.join(",")),
        Meaning::Is(Parsed::Pattern(_) | Parsed::Text(_)) => match words.join(" ") {
            // A number stays one; the rest is text for Hydra.
            number if number.bytes().all(|b| b.is_ascii_digit()) => number,
            text => format!("\"{text}\""),
        },
        Meaning::Is(_) => words.join(" "),
    };
    Some(format!("{key}={value}"))
}
