//! Hydra overrides of a Megatron-Bridge configuration.

mod hybrid;

use core::fmt::Write;

use super::arguments::{Argument, arguments, quoted};
use super::launcher;
use crate::config::canonical::{Meaning, hybrid_pattern, is_on, meaning};
use crate::config::choices::{AdapterType, CudaGraphImpl};
use crate::config::compress_ratios::{CompressRatio, CompressRatios};
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::{RawJob, Settings};
use crate::formats::dialects::bridge::{self, BRIDGE};
use crate::formats::dialects::dev_branch;
use crate::formats::environment;
use crate::value::Value;

/// Megatron-Bridge's one key for the number of virtual stages, which Megatron-LM has three arguments for.
const VIRTUAL_STAGES: &str = "model.virtual_pipeline_model_parallel_size";

/// The key that says which class of adapters there are.
pub(super) const PEFT_CLASS: &str = "peft._target_";

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OverrideValue {
    /// Python's `None`.
    Nothing,
    Flag(bool),
    Number(String),
    /// One of the choices of a field.
    Name(String),
    /// A list of choices.
    Names(Vec<String>),
    /// A list of whole numbers.
    Numbers(Vec<u64>),
    /// Free text.
    Text(String),
    /// A Python expression.
    Expression(String),
}

/// The overrides of a configuration.
pub(super) struct Overrides {
    /// Keys with their values.
    pub(super) settings: Vec<(String, OverrideValue)>,
    /// The fields that Megatron-Bridge has no key for.
    pub(super) without_key: Vec<FieldId>,
}

impl Overrides {
    /// A field that two sections have under its own name.
    fn in_sections(&mut self, sections: [&str; 2], argument: &Argument) {
        for section in sections {
            let key = [section, ".", argument.id.field().name].concat();
            self.settings.extend(setting(&key, argument, false));
        }
    }

    fn add(&mut self, key: &str, word: OverrideValue) {
        self.settings.push((key.to_owned(), word));
    }

    /// Lets a buffer of Megatron FSDP have its own dtype, which `DistributedDataParallelConfig` has no name for.
    fn own_dtype(&mut self, argument: &Argument) {
        if let Some((key, _)) = bridge::key_of(argument.destination) {
            self.add(&key, OverrideValue::Nothing);
        }
    }

    /// Sets the class of adapters, or one of their attributes where there are any.
    fn adapters(&mut self, settings: &Settings, argument: &Argument) {
        let id = FieldId::peft_type;
        let Meaning::Is(Parsed::Choice(index)) = meaning(id, settings.get(id)) else {
            return;
        };
        let class = match AdapterType::at(index) {
            Some(AdapterType::Lora) => "megatron.bridge.peft.lora.LoRA",
            Some(AdapterType::CanonicalLora) => "megatron.bridge.peft.canonical_lora.CanonicalLoRA",
            Some(AdapterType::Dora) => "megatron.bridge.peft.dora.DoRA",
            Some(AdapterType::None) | None => return,
        };
        if argument.id == id {
            return self.name(PEFT_CLASS, class);
        }
        let Some(name) = argument.id.field().name.strip_prefix("peft_") else {
            return;
        };
        let key = ["peft.", name].concat();
        if matches!(name, "target_modules" | "exclude_modules") {
            let names = argument.words().join(" ");
            let names = names.split(',').map(|name| name.trim().to_owned());
            let names: Vec<String> = names.filter(|name| is_module_name(name)).collect();
            if !names.is_empty() {
                self.add(&key, OverrideValue::Names(names));
            }
        } else {
            self.settings.extend(setting(&key, argument, false));
        }
    }

    fn name(&mut self, key: &str, name: &str) {
        self.add(key, OverrideValue::Name(name.to_owned()));
    }

    /// Sets the precision preset of a dtype, then the fields in which the job differs from that preset.
    fn precision(&mut self, settings: &Settings, dtype: FieldId) {
        let bf16 = dtype == FieldId::bf16;
        let preset = if bf16 { "bf16_mixed" } else { "fp16_mixed" };
        self.name("mixed_precision", preset);
        if bf16 && !reduces_in_fp32(settings) {
            self.add("mixed_precision.grad_reduce_in_fp32", OverrideValue::Flag(false));
        }
        // `fp8_recipe` matters for training in fp8 and for the optimizer, and its default is not Megatron-LM's.
        let says = |id: FieldId| meaning(id, settings.get(id)) != meaning(id, None);
        let asked = says(FieldId::fp8_format) || says(FieldId::use_precision_aware_optimizer);
        if asked && !says(FieldId::fp8_recipe) {
            self.name("mixed_precision.fp8_recipe", "delayed");
        }
    }

    /// Sets the tokenizer's vocabulary. Megatron-Bridge never pads the model's own in training
    /// (`_validate_and_set_vocab_size` in `training/setup.py`), but the tokenizer's where the model has none.
    fn vocabulary(&mut self, settings: &Settings, argument: &Argument) {
        self.settings.extend(setting("tokenizer.vocab_size", argument, false));
        let padded = FieldId::padded_vocab_size;
        if meaning(padded, settings.get(padded)) == meaning(padded, None) {
            self.add("model.vocab_size", OverrideValue::Nothing);
        }
        // Routers that look experts up have a table of the vocabulary (`TransformerConfig.actual_vocab_size`).
        let hashed = FieldId::moe_n_hash_layers;
        if meaning(hashed, settings.get(hashed)) != meaning(hashed, None) {
            self.settings
                .extend(setting("model.actual_vocab_size", argument, false));
        }
    }

    /// Sets a gated activation function.
    fn gated(&mut self, function: &str) {
        self.add("model.gated_linear_unit", OverrideValue::Flag(true));
        self.name("model.activation_func", function);
    }
}

/// One override a line, in the order of the fields. Several fields may share a key, and the dtype is a precision
/// preset.
#[must_use]
pub fn overrides(job: &RawJob) -> String {
    let Overrides { settings, without_key } = overrides_of(&job.shared);
    let mut out = comments(&job.shared, &without_key);
    for (key, word) in settings {
        out.push_str(&quoted(&format!("{key}={}", hydra(&word))));
        out.push('\n');
    }
    out
}

/// Comments that name the fields without a key, and what Megatron-Bridge refuses although Megatron-LM runs it.
pub(super) fn comments(settings: &Settings, without_key: &[FieldId]) -> String {
    let mut out = hybrid::comments(settings);
    for id in without_key {
        let _ = writeln!(out, "# Megatron-Bridge has no key for {}.", id.field().name);
    }
    out
}

/// Whether a field is the dtype of a buffer of Megatron FSDP.
fn is_fsdp_dtype(id: FieldId) -> bool {
    matches!(
        id,
        FieldId::megatron_fsdp_main_params_dtype
            | FieldId::megatron_fsdp_main_grads_dtype
            | FieldId::megatron_fsdp_grad_comm_dtype
    )
}

/// The settings that differ from the defaults of Megatron-Bridge's classes.
pub(super) fn overrides_of(settings: &Settings) -> Overrides {
    let mut all = Overrides {
        settings: Vec::new(),
        without_key: Vec::new(),
    };
    let bf16 = is_on(settings, FieldId::bf16);
    let pattern = hybrid_pattern(settings);
    for argument in arguments(settings, &BRIDGE) {
        match argument.id {
            _ if hybrid::add(&mut all, pattern.as_ref(), &argument) => {}
            FieldId::swiglu if argument.is_on() => all.gated("silu"),
            FieldId::geglu if argument.is_on() => all.gated("gelu"),
            FieldId::quick_geglu if argument.is_on() => all.gated("quick_gelu"),
            FieldId::squared_relu if argument.is_on() => {
                all.name("model.activation_func", "squared_relu");
            }
            FieldId::bf16 | FieldId::fp16 if argument.is_on() => {
                all.precision(settings, argument.id);
            }
            // The precision preset sets these.
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
            | FieldId::num_query_groups
            | FieldId::bias_gelu_fusion
            | FieldId::bias_swiglu_fusion => {}
            // Only rotary positions can be fused (`validate_rope_fusion_compatibility`).
            FieldId::apply_rope_fusion if argument.is_on() && !has_rotary_positions(settings) => {}
            // Megatron-LM ignores the number of groups without `group_query_attention`; Megatron-Bridge has only the
            // number.
            FieldId::group_query_attention => {
                let groups = FieldId::num_query_groups;
                if let Meaning::Is(Parsed::Int(groups)) = meaning(groups, settings.get(groups)) {
                    all.add("model.num_query_groups", OverrideValue::Number(groups.to_string()));
                }
            }
            FieldId::vocab_size => all.vocabulary(settings, &argument),
            // Megatron-Bridge has no such key: learned positions are as many as a sequence has tokens
            // (`GPTModelProvider.provide`).
            FieldId::max_position_embeddings => {
                let learned = FieldId::position_embedding_type;
                let same = meaning(FieldId::seq_length, settings.get(FieldId::seq_length)) == argument.means;
                if meaning(learned, settings.get(learned)) == meaning(learned, None) && !same {
                    all.without_key.push(argument.id);
                }
            }
            // Only models with latent attention have these keys.
            FieldId::q_lora_rank | FieldId::kv_lora_rank if !is_on(settings, FieldId::multi_latent_attention) => {}
            FieldId::padded_vocab_size => {
                all.settings.extend(setting("model.vocab_size", &argument, false));
            }
            FieldId::virtual_pipeline_model_parallel_size | FieldId::num_virtual_stages_per_pipeline_rank => {
                all.settings.extend(setting(VIRTUAL_STAGES, &argument, false));
            }
            FieldId::num_layers_per_virtual_pipeline_stage => {
                if let Some(stages) = virtual_stages(settings) {
                    all.add(VIRTUAL_STAGES, OverrideValue::Number(stages.to_string()));
                }
            }
            // `GPTModelProvider` refuses graphs without these.
            FieldId::cuda_graph_impl => {
                all.settings.extend(setting("model.cuda_graph_impl", &argument, false));
                all.add("model.use_te_rng_tracker", OverrideValue::Flag(true));
                all.add("rng.te_rng_tracker", OverrideValue::Flag(true));
                if environment::captures(settings) == Some(CudaGraphImpl::FullIteration) {
                    all.add("rerun_state_machine.check_for_nan_in_loss", OverrideValue::Flag(false));
                }
            }
            FieldId::delay_wgrad_compute => all.in_sections(["model", "ddp"], &argument),
            FieldId::seq_length => all.in_sections(["model", "dataset"], &argument),
            id if id.field().group == Group::Adapters => all.adapters(settings, &argument),
            id if is_fsdp_dtype(id) && argument.words() == ["auto"] => all.own_dtype(&argument),
            id => match key_of(settings, id, argument.destination) {
                Some((key, opposite)) => all.settings.extend(setting(&key, &argument, opposite)),
                None if id.field().group == Group::Hardware => {}
                None if id == FieldId::world_size => {}
                None => all.without_key.push(id),
            },
        }
    }
    if fuses_activation(settings) {
        all.add("model.bias_activation_fusion", OverrideValue::Flag(true));
    }
    all
}

/// Whether an operation adds the bias and applies the activation function: Megatron-LM has one flag for gated functions
/// and another for GELU, Megatron-Bridge one for both. Other functions have no such operation, and GELU only with a bias
/// (`TransformerConfig.__post_init__`).
fn fuses_activation(settings: &Settings) -> bool {
    let on = |id| is_on(settings, id);
    let gated = [FieldId::swiglu, FieldId::geglu, FieldId::quick_geglu]
        .into_iter()
        .any(on);
    let residual = FieldId::kimi_attn_res_block_size;
    if gated {
        if on(FieldId::quick_geglu) && launcher::is_own(settings) {
            return on(FieldId::add_bias_linear) && on(FieldId::bias_gelu_fusion);
        }
        // The gate of Kimi K3 is bounded.
        return on(FieldId::bias_swiglu_fusion) && meaning(residual, settings.get(residual)) == meaning(residual, None);
    }
    !on(FieldId::squared_relu) && on(FieldId::add_bias_linear) && on(FieldId::bias_gelu_fusion)
}

/// Whether positions are rotary ones of the kind that has a fused kernel.
fn has_rotary_positions(settings: &Settings) -> bool {
    let (kind, rotary) = (FieldId::position_embedding_type, Value::Text("rope".to_owned()));
    meaning(kind, settings.get(kind)) == meaning(kind, Some(&rotary))
}

/// The key of a field, and whether it means the opposite. Layers of Megatron-LM's dev branch have names of their own.
fn key_of(settings: &Settings, id: FieldId, destination: &str) -> Option<(String, bool)> {
    match dev_branch::destination_of(settings, id) {
        Some(name) => Some((["model.", name].concat(), false)),
        None => bridge::key_of(destination),
    }
}

/// The number of virtual stages from their number of layers; `None` where the division is not exact.
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

/// Whether bf16 training reduces its gradients in fp32: it does, unless the job keeps or reduces them in another dtype
/// (`validate_args`).
fn reduces_in_fp32(settings: &Settings) -> bool {
    let kept = FieldId::main_grads_dtype;
    let less = meaning(kept, settings.get(kept)) != meaning(kept, None);
    !less && !is_on(settings, FieldId::grad_reduce_in_bf16)
}

/// Whether a text can be the name of a module, where `*` stands for any part.
fn is_module_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '*' | '-');
    !text.is_empty() && text.chars().all(is_part)
}

/// A key with the value of an argument, negated where the key means the `opposite`; `None` for a value without meaning.
fn setting(key: &str, argument: &Argument, opposite: bool) -> Option<(String, OverrideValue)> {
    let words = argument.words();
    let joined = words.join(" ");
    let word = match &argument.means {
        Meaning::Bad(_) => return None,
        Meaning::Nothing => OverrideValue::Nothing,
        Meaning::Is(Parsed::Flag(on)) => OverrideValue::Flag(*on != opposite),
        Meaning::Is(Parsed::Set(_)) => OverrideValue::Names(words),
        Meaning::Is(Parsed::Choice(_)) => OverrideValue::Name(joined),
        Meaning::Is(Parsed::Int(_) | Parsed::Decimal(_)) => OverrideValue::Number(joined),
        // Text of digits only is written as a number.
        Meaning::Is(Parsed::Pattern(_) | Parsed::Text(_)) if joined.bytes().all(|b| b.is_ascii_digit()) => {
            OverrideValue::Number(joined)
        }
        Meaning::Is(Parsed::Pattern(_)) => OverrideValue::Expression(joined),
        // Megatron-Bridge takes no text for the list (`TransformerConfig.csa_compress_ratios`).
        Meaning::Is(Parsed::Text(text)) if argument.id == FieldId::csa_compress_ratios => {
            let CompressRatios(ratios) = text.parse().ok()?;
            OverrideValue::Numbers(ratios.into_iter().map(CompressRatio::tokens).collect())
        }
        Meaning::Is(Parsed::Text(_)) => OverrideValue::Text(joined),
    };
    Some((key.to_owned(), word))
}

/// A list of numbers, as both Hydra and Python write it.
pub(super) fn number_list(numbers: &[u64], separator: &str) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(separator))
}

/// A value in Hydra's grammar.
fn hydra(word: &OverrideValue) -> String {
    match word {
        OverrideValue::Nothing => "null".to_owned(),
        OverrideValue::Flag(on) => on.to_string(),
        OverrideValue::Number(word) | OverrideValue::Name(word) => word.clone(),
        OverrideValue::Names(names) => format!("[{}]", names.join(",")),
        OverrideValue::Numbers(numbers) => number_list(numbers, ","),
        OverrideValue::Text(text) | OverrideValue::Expression(text) => format!("\"{text}\""),
    }
}
