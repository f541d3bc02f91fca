//! Overrides of a Megatron-Bridge configuration.

use core::fmt::Write;

use super::arguments::{Argument, arguments, quoted};
use crate::config::canonical::{Meaning, is_on, meaning};
use crate::config::choices::CudaGraphImpl;
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::{RawJob, Settings};
use crate::formats::dialects::{Dialect, bridge};
use crate::formats::environment;

/// Megatron-Bridge has one name for what Megatron-LM can say in three ways.
const VIRTUAL_STAGES: &str = "model.virtual_pipeline_model_parallel_size";

/// What a key is set to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Nothing,
    Flag(bool),
    Number(String),
    /// A name out of a list.
    Name(String),
    /// Any number of names.
    Names(Vec<String>),
    /// Free text.
    Text(String),
    /// A Python expression.
    Expression(String),
}

/// Settings of a configuration, and the fields that it has no key for.
pub(super) struct Overrides {
    pub(super) settings: Vec<(String, Word)>,
    pub(super) lost: Vec<FieldId>,
}

impl Overrides {
    fn add(&mut self, key: &str, word: Word) {
        self.settings.push((key.to_owned(), word));
    }

    fn name(&mut self, key: &str, name: &str) {
        self.add(key, Word::Name(name.to_owned()));
    }

    /// The preset of a dtype, and where the job is not as it would be with it.
    fn precision(&mut self, settings: &Settings, dtype: FieldId) {
        let bf16 = dtype == FieldId::bf16;
        let preset = if bf16 { "bf16_mixed" } else { "fp16_mixed" };
        self.name("mixed_precision", preset);
        if bf16 && !reduces_in_fp32(settings) {
            self.add("mixed_precision.grad_reduce_in_fp32", Word::Flag(false));
        }
        // The recipe counts for training in fp8 and for the optimizer, and is not Megatron-LM's by default.
        let says = |id: FieldId| meaning(id, settings.get(id)) != meaning(id, None);
        let asked = says(FieldId::fp8_format) || says(FieldId::use_precision_aware_optimizer);
        if asked && !says(FieldId::fp8_recipe) {
            self.name("mixed_precision.fp8_recipe", "delayed");
        }
    }

    fn gated(&mut self, function: &str) {
        self.add("model.gated_linear_unit", Word::Flag(true));
        self.name("model.activation_func", function);
    }
}

/// One override a line, in the order of the fields. Some fields share a key, and the precision is a preset.
#[must_use]
pub fn overrides(job: &RawJob) -> String {
    let Overrides { settings, lost } = of(&job.shared);
    let mut out = without_key(&lost);
    for (key, word) in settings {
        out.push_str(&quoted(&format!("{key}={}", hydra(&word))));
        out.push('\n');
    }
    out
}

/// Comments that name what has no key.
pub(super) fn without_key(lost: &[FieldId]) -> String {
    lost.iter().fold(String::new(), |mut out, id| {
        let _ = writeln!(out, "# Megatron-Bridge has no key for {}.", id.field().name);
        out
    })
}

/// The settings that differ from the defaults of Megatron-Bridge's classes.
pub(super) fn of(settings: &Settings) -> Overrides {
    let mut all = Overrides {
        settings: Vec::new(),
        lost: Vec::new(),
    };
    let bf16 = is_on(settings, FieldId::bf16);
    for argument in arguments(settings, Dialect::Bridge) {
        match argument.id {
            FieldId::swiglu if argument.is_on() => all.gated("silu"),
            FieldId::geglu if argument.is_on() => all.gated("gelu"),
            FieldId::quick_geglu if argument.is_on() => all.gated("quick_gelu"),
            FieldId::squared_relu if argument.is_on() => {
                all.name("model.activation_func", "squared_relu");
            }
            FieldId::bf16 | FieldId::fp16 if argument.is_on() => {
                all.precision(settings, argument.id);
            }
            // Said with the precision.
            FieldId::accumulate_allreduce_grads_in_fp32 | FieldId::grad_reduce_in_bf16 if bf16 => {}
            FieldId::accumulate_allreduce_grads_in_fp32 => {
                let key = if is_on(settings, FieldId::fp16) {
                    "mixed_precision.grad_reduce_in_fp32"
                } else {
                    "ddp.grad_reduce_in_fp32"
                };
                all.settings.extend(setting(key, &argument, false));
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
                if let Meaning::Is(Parsed::Int(groups)) = meaning(groups, settings.get(groups)) {
                    all.add("model.num_query_groups", Word::Number(groups.to_string()));
                }
            }
            // The model's own vocabulary is never padded in training (`_validate_and_set_vocab_size` in
            // `training/setup.py`); the tokenizer's is, where the model has none.
            FieldId::vocab_size => {
                all.settings
                    .extend(setting("tokenizer.vocab_size", &argument, false));
                let padded = FieldId::padded_vocab_size;
                if meaning(padded, settings.get(padded)) == meaning(padded, None) {
                    all.add("model.vocab_size", Word::Nothing);
                }
            }
            // There is no such key: learned positions are as many as a sequence has tokens (`GPTModelProvider.provide`).
            FieldId::max_position_embeddings => {
                let learned = FieldId::position_embedding_type;
                let same = meaning(FieldId::seq_length, settings.get(FieldId::seq_length))
                    == argument.means;
                if meaning(learned, settings.get(learned)) == meaning(learned, None) && !same {
                    all.lost.push(argument.id);
                }
            }
            // Only models with latent attention have these keys.
            FieldId::q_lora_rank | FieldId::kv_lora_rank
                if !is_on(settings, FieldId::multi_latent_attention) => {}
            FieldId::padded_vocab_size => {
                all.settings
                    .extend(setting("model.vocab_size", &argument, false));
            }
            FieldId::virtual_pipeline_model_parallel_size
            | FieldId::num_virtual_stages_per_pipeline_rank => {
                all.settings
                    .extend(setting(VIRTUAL_STAGES, &argument, false));
            }
            FieldId::num_layers_per_virtual_pipeline_stage => {
                if let Some(stages) = virtual_stages(settings) {
                    all.add(VIRTUAL_STAGES, Word::Number(stages.to_string()));
                }
            }
            // `GPTModelProvider` refuses graphs without these.
            FieldId::cuda_graph_impl => {
                all.settings
                    .extend(setting("model.cuda_graph_impl", &argument, false));
                all.add("model.use_te_rng_tracker", Word::Flag(true));
                all.add("rng.te_rng_tracker", Word::Flag(true));
                if environment::captures(settings) == Some(CudaGraphImpl::FullIteration) {
                    all.add(
                        "rerun_state_machine.check_for_nan_in_loss",
                        Word::Flag(false),
                    );
                }
            }
            FieldId::seq_length => {
                for key in ["model.seq_length", "dataset.seq_length"] {
                    all.settings.extend(setting(key, &argument, false));
                }
            }
            _ => match bridge::key_of(argument.destination) {
                Some((key, opposite)) => all.settings.extend(setting(&key, &argument, opposite)),
                None if argument.id.field().group == Group::Hardware => {}
                None if argument.id == FieldId::world_size => {}
                None => all.lost.push(argument.id),
            },
        }
    }
    all
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

/// Whether bf16 training reduces its gradients in fp32: unless it is told to keep or to reduce them in less
/// (`validate_args`).
fn reduces_in_fp32(settings: &Settings) -> bool {
    let kept = FieldId::main_grads_dtype;
    let less = meaning(kept, settings.get(kept)) != meaning(kept, None);
    !less && !is_on(settings, FieldId::grad_reduce_in_bf16)
}

fn setting(key: &str, argument: &Argument, opposite: bool) -> Option<(String, Word)> {
    let words = argument.words();
    let joined = words.join(" ");
    let word = match &argument.means {
        Meaning::Bad => return None,
        Meaning::Nothing => Word::Nothing,
        Meaning::Is(Parsed::Flag(on)) => Word::Flag(*on != opposite),
        Meaning::Is(Parsed::Set(_)) => Word::Names(words),
        Meaning::Is(Parsed::Choice(_)) => Word::Name(joined),
        Meaning::Is(Parsed::Int(_) | Parsed::Decimal(_)) => Word::Number(joined),
        // A number stays one.
        Meaning::Is(Parsed::Pattern(_) | Parsed::Text(_))
            if joined.bytes().all(|b| b.is_ascii_digit()) =>
        {
            Word::Number(joined)
        }
        Meaning::Is(Parsed::Pattern(_)) => Word::Expression(joined),
        Meaning::Is(Parsed::Text(_)) => Word::Text(joined),
    };
    Some((key.to_owned(), word))
}

/// A value in Hydra's grammar.
fn hydra(word: &Word) -> String {
    match word {
        Word::Nothing => "null".to_owned(),
        Word::Flag(on) => on.to_string(),
        Word::Number(word) | Word::Name(word) => word.clone(),
        Word::Names(names) => format!("[{}]", names.join(",")),
        Word::Text(text) | Word::Expression(text) => format!("\"{text}\""),
    }
}
