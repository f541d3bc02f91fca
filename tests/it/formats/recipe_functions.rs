//! Files of recipe functions: one function is one job.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::ImportedText;

use super::functions::{import_function, question};

const FILE: &str = r#"
import torch
from megatron.bridge import AutoBridge
from acme.recipes import acme_9b_pretrain_config, tune

_LENGTH: int = 8192
_MODEL = "Qwen/Qwen3-8B"


def acme_small_pretrain_16gpu_h100_bf16_config() -> ConfigContainer:
    """cfg.model.tensor_model_parallel_size = 64"""
    cfg = _pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained(_MODEL, revision="x").to_megatron_provider(load_weights=False)
    cfg.tokenizer.vocab_size = DEFAULT_NULL_TOKENIZER_VOCAB_SIZE
    seq_length = 2048
    cfg.model.seq_length = seq_length
    cfg.dataset.seq_length = cfg.model.seq_length
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.recompute_modules = ["core_attn", "mlp"]
    _batches(cfg, micro=4)
    return cfg


def acme_long_sft_config(context: int = 2, wide=True) -> ConfigContainer:
    cfg = acme_small_pretrain_16gpu_h100_bf16_config()
    cfg.model.seq_length = _LENGTH
    cfg.model.context_parallel_size = context
    cfg.model.bias_activation_fusion = False
    if wide:
        cfg.model.tensor_model_parallel_size = 8
    else:
        cfg.model.tensor_model_parallel_size = 1
    if context is None:
        cfg.model.context_parallel_size = 7
    cfg.optimizer.exp_avg_dtype = torch.bfloat16
    return cfg


def acme_elsewhere_pretrain_config() -> ConfigContainer:
    cfg = acme_9b_pretrain_config()
    tune(cfg)
    cfg.model.expert_model_parallel_size = count_experts()
    return cfg


def _batches(cfg, micro, whole=64):
    cfg.train.micro_batch_size = micro
    cfg.train.global_batch_size = whole
"#;

#[track_caller]
fn has(imported: &ImportedText, wanted: &[(FieldId, &str)]) {
    let settings = &imported.import.state.setup.job.shared;
    for (id, value) in wanted {
        let found = settings.get(*id).map(ToString::to_string);
        assert_eq!(found.as_deref(), Some(*value), "{}", id.field().name);
    }
}

#[test]
fn every_function_is_a_job_of_its_own() {
    assert_eq!(detect(FILE).unwrap().format, Format::BridgePython);
    let first = import_function(FILE, None);
    let (line, functions) = question(&first).unwrap();
    assert_eq!(line, 10);
    assert_eq!(
        functions,
        [
            "acme_small_pretrain_16gpu_h100_bf16_config",
            "acme_long_sft_config",
            "acme_elsewhere_pretrain_config"
        ]
    );
    has(
        &first,
        &[
            (FieldId::num_layers, "36"),
            (FieldId::padded_vocab_size, "151936"),
            (FieldId::seq_length, "2048"),
            (FieldId::tensor_model_parallel_size, "2"),
            (FieldId::micro_batch_size, "4"),
            (FieldId::global_batch_size, "64"),
            (FieldId::world_size, "16"),
            (FieldId::overlap_grad_reduce, "true"),
            (FieldId::bf16, "true"),
        ],
    );
    assert_eq!(first.import.state.setup.job.not_modelled, []);
    let second = import_function(FILE, Some(1));
    has(
        &second,
        &[
            (FieldId::num_layers, "36"),
            (FieldId::tensor_model_parallel_size, "8"),
            (FieldId::context_parallel_size, "2"),
            (FieldId::micro_batch_size, "4"),
            (FieldId::bias_swiglu_fusion, "false"),
        ],
    );
    let third = import_function(FILE, Some(2));
    let asks = |asked: &Question| matches!(asked, Question::Model { name } if name == "acme_9b_pretrain_config");
    assert!(third.import.questions.iter().any(asks), "{:?}", third.import.questions);
    // What a function of another file sets, and a value that only running it would tell, mark the job.
    let marks: Vec<_> = third
        .import
        .state
        .setup
        .job
        .not_modelled
        .iter()
        .map(ToString::to_string)
        .collect();
    for key in ["acme_9b_pretrain_config", "tune", "expert_model_parallel_size"] {
        assert!(marks.iter().any(|mark| mark.contains(key)), "{key}: {marks:?}");
    }
}

/// As the recipes of MiniMax-M3 do, whose towers are not trained.
#[test]
fn the_text_model_of_a_provider_is_read() {
    let text = "_PATH = \"MiniMaxAI/MiniMax-M3\"\n\n\n\
        def acme_pretrain_256gpu_h100_bf16_config() -> ConfigContainer:\n    \
        cfg = _pretrain_common()\n    vlm_provider = AutoBridge.from_hf_pretrained(_PATH, trust_remote_code=True).\
        to_megatron_provider(\n        load_weights=False\n    )\n    cfg.model = vlm_provider.to_text_provider()\n    \
        cfg.model.tensor_model_parallel_size = 2\n    cfg.model.expert_model_parallel_size = 32\n    \
        cfg.model.sequence_parallel = True\n    return cfg\n";
    let import = import_function(text, None);
    has(
        &import,
        &[
            (FieldId::num_layers, "60"),
            (FieldId::moe_router_weight_in_fp32, "true"),
            (FieldId::expert_model_parallel_size, "32"),
            (FieldId::world_size, "256"),
        ],
    );
    assert_eq!(import.import.state.setup.job.not_modelled, []);
}

#[test]
fn one_function_is_not_asked_for() {
    let one = FILE
        .split("def acme_long")
        .next()
        .unwrap()
        .replace("    _batches(cfg, micro=4)\n", "");
    let import = import_function(&one, None);
    assert_eq!(question(&import), None);
    has(
        &import,
        &[(FieldId::seq_length, "2048"), (FieldId::micro_batch_size, "2")],
    );
}

#[test]
fn a_container_of_sections_is_read() {
    let text = "def build() -> ConfigContainer:\n    cfg = ConfigContainer(\n        model=GPTModelProvider(num_layers=4, hidden_size=256, \
        num_attention_heads=4, vocab_size=1000, seq_length=64),\n        train=TrainingConfig(micro_batch_size=2, global_batch_size=16),\n        \
        mixed_precision=\"bf16_mixed\",\n    )\n    return cfg\n";
    let import = import_function(text, None);
    has(
        &import,
        &[
            (FieldId::num_layers, "4"),
            (FieldId::micro_batch_size, "2"),
            (FieldId::global_batch_size, "16"),
            (FieldId::bf16, "true"),
        ],
    );
}

#[test]
fn flags_of_the_program_that_runs_a_recipe_are_reported() {
    let command = "torchrun --nproc_per_node 8 scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config --mode pretrain \
        --step_func gpt_step model.tensor_model_parallel_size=2 train.global_batch_size=16";
    let import = import_function(command, None);
    for key in ["--recipe", "--mode", "--step_func"] {
        assert!(import.import.report.iter().any(|row| row.key == key), "{key}");
    }
    has(
        &import,
        &[
            (FieldId::num_layers, "32"),
            (FieldId::tensor_model_parallel_size, "2"),
            (FieldId::global_batch_size, "16"),
        ],
    );
    // A recipe whose name tells no model.
    let unknown = import_function(&command.replace("llama3_8b_pretrain_config", "my_own_config"), None);
    let asks = |asked: &Question| matches!(asked, Question::Model { name } if name == "my_own_config");
    assert!(
        unknown.import.questions.iter().any(asks),
        "{:?}",
        unknown.import.questions
    );
    let adapters = import_function(&command.replace("--mode pretrain", "--mode lora"), None);
    let row = adapters.import.report.iter().find(|row| row.key == "--mode").unwrap();
    assert_ne!(row.note, "does not change memory");
}
