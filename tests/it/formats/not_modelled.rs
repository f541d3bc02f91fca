//! What an import cannot follow marks the job, as far as it changes memory by 2 % or more.

use megatron_memory::config::not_modelled::MemoryEffect;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::megatron_args::{self, effect};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::formats::share_url::decode;

const LLAMA: &str = "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 \
     --max-position-embeddings 4096 --vocab-size 128256";

fn marks(text: &str) -> Vec<String> {
    let import = import_text(text, &ImportOptions::default()).unwrap().import;
    let job: &RawJob = &import.state.setup.job;
    job.not_modelled.iter().map(|mark| mark.key.clone()).collect()
}

#[test]
fn flags_and_programs_of_scripts_mark_their_job() {
    for (program, flags, expected) in [
        ("pretrain_gpt.py", "--perform-rl-step", "perform-rl-step"),
        ("pretrain_gpt.py", "--use-checkpoint-args", "use-checkpoint-args"),
        (
            "pretrain_gpt.py",
            "--tensor-parallel-num-weight-shards 8",
            "tensor-parallel-num-weight-shards",
        ),
        ("pretrain_gpt.py", "--lora-rank 16", "lora-rank"),
        ("examples/vlm/pretrain_vlm.py", "", "pretrain_vlm.py"),
        ("train_rl.py", "", "train_rl.py"),
    ] {
        let script = format!("torchrun --nproc-per-node 8 {program} {LLAMA} {flags}");
        assert_eq!(marks(&script), [expected], "{script}");
    }
    for flags in [
        "",
        "--lr 1e-4",
        "--ep-overlap-early-attn-memory-release",
        "--tensor-parallel-num-weight-shards 1",
    ] {
        let script = format!("torchrun --nproc-per-node 8 pretrain_gpt.py {LLAMA} {flags}");
        assert_eq!(marks(&script), [""; 0], "{script}");
    }
}

#[test]
fn keys_of_front_ends_mark_their_job() {
    for (text, expected) in [
        (
            "model.num_layers=32\nmodel.hidden_size=4096\npeft.dim=16\npeft.alpha=32",
            vec![],
        ),
        (
            "model.num_layers=32\nmodel.perform_rl_step=true",
            vec!["model.perform_rl_step"],
        ),
        ("model.num_layers=32\nmodel.perform_rl_step=false", vec![]),
        (
            "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2\nactor_rollout_ref.model.lora_rank=16",
            vec![],
        ),
        (
            "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2\nactor_rollout_ref.model.lora_rank=0",
            vec![],
        ),
        ("megatron sft --tuner_type lora --lora_rank 8 --max_length 2048", vec![]),
        (
            "megatron sft --tuner_type adalora --lora_rank 8 --max_length 2048",
            vec!["tuner_type"],
        ),
        ("megatron sft --tuner_type full --max_length 2048", vec![]),
        (
            r#"{"model_type": "brandnew", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 128, "vocab_size": 1000, "torch_dtype": "bfloat16"}"#,
            vec!["model_type=brandnew"],
        ),
    ] {
        assert_eq!(marks(text), expected, "{text}");
    }
}

#[test]
fn marks_of_a_text_go_onto_the_job_and_a_whole_job_replaces_them() {
    let mut onto = decode("#v1;m=llama3-8b@2;nm=lora_rank").0.setup;
    let keys = |text: &str, onto: &_| {
        let options = ImportOptions {
            onto: Some(Clone::clone(onto)),
            ..ImportOptions::default()
        };
        let import = import_text(text, &options).unwrap().import;
        let marks = import.state.setup.job.not_modelled.into_iter();
        marks.map(|mark| mark.key).collect::<Vec<_>>()
    };
    let overrides = "--tensor-model-parallel-size 2 --perform-rl-step";
    assert_eq!(keys(overrides, &onto), ["lora_rank", "perform-rl-step"]);
    assert_eq!(keys(&format!("torchrun pretrain_gpt.py {LLAMA}"), &onto), [""; 0]);
    assert_eq!(keys("#v1;m=gpt2@1", &onto), [""; 0]);
    onto.job.unmark("lora_rank");
    assert_eq!(keys(overrides, &onto), ["perform-rl-step"]);
}

#[test]
fn every_row_that_is_not_modelled_says_how_much_it_changes() {
    let text = format!(
        "torchrun pretrain_gpt.py {LLAMA} --perform-rl-step --ep-overlap-early-attn-memory-release --reset-position-ids --fp4-recipe custom"
    );
    let import = import_text(&text, &ImportOptions::default()).unwrap().import;
    let effects: Vec<_> = import
        .report
        .iter()
        .filter(|row| row.status == KeyStatus::NotModelled)
        .map(|row| (row.key.as_str(), row.effect.unwrap()))
        .collect();
    assert_eq!(
        effects,
        [
            ("--perform-rl-step", MemoryEffect::More),
            ("--ep-overlap-early-attn-memory-release", MemoryEffect::BelowTwoPercent),
            ("--reset-position-ids", MemoryEffect::Nothing),
            ("--fp4-recipe", MemoryEffect::Nothing),
        ]
    );
}

/// Destinations that the reader of scripts handles by name.
const HANDLED: &[&str] = &[
    "heterogeneous_layers_config_encoded_json",
    "encoder_num_layers",
    "encoder_seq_length",
    "use_rotary_position_embeddings",
    "add_position_embedding",
    "openai_gelu",
    "rampup_batch_size",
    "recompute_activations",
    "checkpoint_activations",
    "use_flash_attn",
    "deprecated_use_mcore_models",
    "model_parallel_size",
    "fake_process_group",
    "moe_router_load_balancing_type",
    "cuda_graph_scope_deprecated",
    "enable_cuda_graph",
    "external_cuda_graph",
    "moe_layer_recompute",
    "calculate_per_token_loss",
    "hybrid_override_pattern",
    "pad_vocab_size",
];

#[test]
fn the_effect_of_every_flag_without_a_field_is_known() {
    use megatron_memory::config::fields::FieldId;
    use megatron_memory::config::not_modelled::Feature;
    let mut open = Vec::new();
    for flag in megatron_args::flags() {
        let dest: &str = &flag.dest;
        let field = FieldId::by_destination(dest).or_else(|| FieldId::by_name(dest));
        let known = field.is_some() || Feature::of_key(dest).is_some() || HANDLED.contains(&dest);
        if !known && effect(dest).is_none() {
            open.push(dest.to_owned());
        }
    }
    assert_eq!(open, [""; 0]);
}
