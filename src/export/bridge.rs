//! Overrides of a Megatron-Bridge configuration.

use super::arguments::{Argument, arguments, quoted};
use crate::config::canonical::{Meaning, meaning};
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::RawJob;
use crate::formats::bridge_keys;
use crate::formats::import::Dialect;

/// One override a line, in the order of the fields. Some fields share a key, and the precision is a preset.
#[must_use]
pub fn overrides(job: &RawJob) -> String {
    let mut lines: Vec<String> = Vec::new();
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
            }
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
            FieldId::virtual_pipeline_model_parallel_size => {
                let key = "model.virtual_pipeline_model_parallel_size";
                lines.extend(line(key, &argument, false));
            }
            _ => {
                if let Some((key, opposite)) = bridge_keys::key_of(argument.destination) {
                    lines.extend(line(&key, &argument, opposite));
                }
            }
        }
    }
    lines.iter().fold(String::new(), |mut out, line| {
        out.push_str(&quoted(line));
        out.push('\n');
        out
    })
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
