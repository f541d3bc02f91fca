//! A recipe for Megatron-Bridge: a Python function that returns a `ConfigContainer` with the same settings as the
//! overrides.

use core::fmt::Write;

use super::bridge::{OverrideValue, PEFT_CLASS, comments, number_list, overrides_of};
use super::megatron_args::stack_spec;
use crate::config::canonical::{Meaning, hybrid_pattern, is_on, meaning};
use crate::config::check;
use crate::config::choices::HybridStackSpec;
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::RawJob;

/// The import of the recipe that the function changes. It has Megatron-LM's defaults (`recipes/gpt/vanilla_gpt.py`).
const BASE_IMPORT: &str = "from megatron.bridge.recipes.gpt.vanilla_gpt import vanilla_gpt_pretrain_config\n";

/// Parts of values, each with the import that it needs.
const IMPORTS: [(&str, &str); 13] = [
    (" torch.", "import torch"),
    (" F.", "import torch.nn.functional as F"),
    (
        "MLAModelProvider",
        "from megatron.bridge.models.mla_provider import MLAModelProvider",
    ),
    (
        "HybridModelProvider",
        "from megatron.bridge.models.hybrid.hybrid_provider import HybridModelProvider",
    ),
    (
        " gated_delta_product_stack_spec",
        "from megatron.core.models.hybrid.hybrid_layer_specs import gated_delta_product_stack_spec",
    ),
    (
        "bf16_mixed()",
        "from megatron.bridge.training.mixed_precision import bf16_mixed",
    ),
    (
        "fp16_mixed()",
        "from megatron.bridge.training.mixed_precision import fp16_mixed",
    ),
    // Of two functions of this name, the one that can be fused (`transformer_config.py`).
    (
        " quick_gelu",
        "from megatron.core.fusions.fused_bias_geglu import quick_gelu",
    ),
    (" squared_relu", "from megatron.core.activations import squared_relu"),
    (" LoRA()", "from megatron.bridge.peft.lora import LoRA"),
    (" DoRA()", "from megatron.bridge.peft.dora import DoRA"),
    (
        " CanonicalLoRA()",
        "from megatron.bridge.peft.canonical_lora import CanonicalLoRA",
    ),
    ("AttnBackend", "from megatron.core.transformer.enums import AttnBackend"),
];

/// A Python file with a function that returns the configuration. Run as a program, it trains with this configuration.
#[must_use]
pub fn recipe(job: &RawJob) -> String {
    let mut overrides = overrides_of(&job.shared);
    // The recipe says it in Python.
    overrides.without_key.retain(|id| *id != FieldId::spec);
    let mut body = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(body, "    cfg.{key} = {value}");
    };
    for (key, value) in differing_from_base(job) {
        if overrides.settings.iter().all(|(set, _)| set != key) {
            line(key, &value);
        }
    }
    for (key, value) in &overrides.settings {
        match value {
            // An object of the class, whose attributes follow.
            OverrideValue::Name(class) if key == PEFT_CLASS => {
                let class = class.rsplit('.').next().unwrap_or_default();
                line("peft", &[class, "()"].concat());
            }
            _ => line(key, &python(key, value)),
        }
    }
    let needed = IMPORTS.iter().filter(|(part, _)| body.contains(part));
    let imports = needed.fold(String::new(), |mut out, (_, import)| {
        let _ = writeln!(out, "{import}");
        out
    });
    let comments = comments(&job.shared, &overrides.without_key);
    format!(
        "{comments}{imports}{BASE_IMPORT}\n\n\
         def pretrain_config():\n    cfg = vanilla_gpt_pretrain_config()\n{body}    return cfg\n\n\n\
         if __name__ == \"__main__\":\n    \
         from megatron.bridge.training.gpt_step import forward_step\n    \
         from megatron.bridge.training.pretrain import pretrain\n\n    \
         pretrain(pretrain_config(), forward_step)\n"
    )
}

/// The settings of the base recipe that differ from the defaults of Megatron-Bridge's classes, with the job's values.
fn differing_from_base(job: &RawJob) -> Vec<(&'static str, String)> {
    let settings = &job.shared;
    let mut lines = Vec::new();
    if hybrid_pattern(settings).is_some() {
        lines.push(("model", "HybridModelProvider()".to_owned()));
        let spec = stack_spec(settings);
        if spec != HybridStackSpec::HybridStackSpec {
            lines.push(("model.hybrid_stack_spec", spec.name().to_owned()));
        }
        let length = FieldId::seq_length;
        if let Meaning::Is(Parsed::Int(length)) = meaning(length, settings.get(length)) {
            lines.push(("dataset.seq_length", length.to_string()));
        }
    } else if is_on(settings, FieldId::multi_latent_attention) {
        lines.push(("model", "MLAModelProvider()".to_owned()));
    }
    if let Some(module) = check(job).config.as_ref().and_then(|config| config.modules().first()) {
        let batch = module.derived().global_batch_size;
        lines.push(("train.micro_batch_size", module.args().micro_batch_size.to_string()));
        lines.push(("train.global_batch_size", batch.to_string()));
    }
    // Megatron-Bridge turns both on where one is on (`_validate_and_sync_distributed_optimizer_settings`).
    let distributed = is_on(settings, FieldId::use_distributed_optimizer);
    for key in ["ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"] {
        lines.push((key, truth(distributed).to_owned()));
    }
    if !is_on(settings, FieldId::bf16) && !is_on(settings, FieldId::fp16) {
        lines.push(("mixed_precision", "None".to_owned()));
        lines.push(("optimizer.bf16", truth(false).to_owned()));
    }
    let (own, padded) = (FieldId::vocab_size, FieldId::padded_vocab_size);
    if meaning(own, settings.get(own)) == meaning(own, None)
        && let Meaning::Is(Parsed::Int(rows)) = meaning(padded, settings.get(padded))
    {
        lines.push(("tokenizer.vocab_size", rows.to_string()));
    }
    lines
}

/// Python's word for a boolean.
fn truth(on: bool) -> &'static str {
    if on { "True" } else { "False" }
}

/// The value of a key as a Python expression.
fn python(key: &str, word: &OverrideValue) -> String {
    let text = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    match word {
        OverrideValue::Nothing => "None".to_owned(),
        OverrideValue::Flag(on) => truth(*on).to_owned(),
        OverrideValue::Number(word) | OverrideValue::Expression(word) => word.clone(),
        OverrideValue::Names(names) => {
            let names: Vec<String> = names.iter().map(|name| text(name)).collect();
            format!("[{}]", names.join(", "))
        }
        OverrideValue::Numbers(numbers) => number_list(numbers, ", "),
        OverrideValue::Name(name) => match (key, name.as_str()) {
            ("mixed_precision", name) => format!("{name}()"),
            ("model.activation_func", "silu" | "gelu") => format!("F.{name}"),
            ("model.activation_func", name) => name.to_owned(),
            ("model.attention_backend", name) => format!("AttnBackend.{name}"),
            (key, name) if key.ends_with("_dtype") && (key.starts_with("optimizer.") || key.starts_with("ddp.")) => {
                dtype(name)
            }
            (_, name) => text(name),
        },
        OverrideValue::Text(words) => text(words),
    }
}

/// PyTorch's name of an optimizer dtype. The optimizer stores fp8 as `uint8`.
fn dtype(name: &str) -> String {
    let dtype = match name {
        "fp16" => "float16",
        "bf16" => "bfloat16",
        "fp8" => "uint8",
        _ => "float32",
    };
    format!("torch.{dtype}")
}
