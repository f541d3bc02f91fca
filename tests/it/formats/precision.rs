//! The dtype of gradients and main parameters that a configuration ends up with.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::export::{bridge, bridge_recipe};
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;

const MODEL: &str = "model.num_layers=2 model.hidden_size=256 model.num_attention_heads=4 tokenizer.vocab_size=1024 \
    model.seq_length=128 train.micro_batch_size=1 train.global_batch_size=8 ddp.use_distributed_optimizer=true";
const VERL: &str = "actor_rollout_ref.actor.megatron.override_transformer_config.num_layers=2 \
    actor_rollout_ref.actor.megatron.override_transformer_config.hidden_size=256 \
    actor_rollout_ref.actor.megatron.override_transformer_config.num_attention_heads=4 \
    actor_rollout_ref.actor.megatron.override_transformer_config.vocab_size=1024 data.max_prompt_length=64 \
    data.max_response_length=64 actor_rollout_ref.actor.ppo_mini_batch_size=8 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1";
const AWARE: &str = "optimizer.use_precision_aware_optimizer=true";

fn read(text: &str) -> Import {
    import(text, &Options::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Bytes of a gradient and, in eighths because eight GPUs share them, of a main parameter; and whether copies of the
/// gradients in fp32 stay after a step.
fn widths(import: &Import) -> (u64, u64, bool) {
    let mut job = import.state.setup.job.clone();
    job.shared.set(FieldId::world_size, Value::Int(8));
    let config = check(&job).config.unwrap();
    let estimate = estimate(&config);
    let stage = &estimate.modules[0].stages[0];
    let weights = stage.bytes(Bucket::WeightsDense).0;
    let in_weights = |bucket| 2 * stage.bytes(bucket).0;
    let persistent = stage.states() + stage.bytes(Bucket::Buffers);
    let parameters = weights / 2;
    (
        in_weights(Bucket::MainGradsDense).div_ceil(weights),
        (8 * in_weights(Bucket::MainParamsDense)).div_ceil(weights),
        stage.steady.0 >= persistent.0 + parameters / 2,
    )
}

#[test]
fn gradients_are_as_wide_as_the_front_end_makes_them() {
    for (says, [gradients, main], copies) in [
        // Reduced in fp32 by the preset; Transformer Engine's Adam would hold 16 bits of main parameters, but only
        // without a recipe of fp8 or with the delayed one, and mixed precision names another.
        ("mixed_precision=bf16_mixed", [4, 4], false),
        ("mixed_precision=bf16_mixed {AWARE}", [4, 4], false),
        (
            "mixed_precision=bf16_mixed {AWARE} mixed_precision.fp8_recipe=delayed",
            [4, 2],
            false,
        ),
        // The buffer has the dtype of the parameters, and each step makes fp32 copies of a shard.
        (
            "mixed_precision=bf16_mixed mixed_precision.grad_reduce_in_fp32=false",
            [2, 4],
            true,
        ),
        (
            "mixed_precision=bf16_mixed mixed_precision.grad_reduce_in_fp32=false {AWARE}",
            [2, 4],
            true,
        ),
        (
            "mixed_precision=bf16_mixed mixed_precision.grad_reduce_in_fp32=false {AWARE} mixed_precision.fp8_recipe=delayed",
            [2, 2],
            false,
        ),
        (
            "mixed_precision=bf16_mixed mixed_precision.grad_reduce_in_fp32=false {AWARE} optimizer.main_grads_dtype=bf16",
            [2, 4],
            true,
        ),
        // Mixed precision overwrites what DDP is told, in either order, and main_grads_dtype makes no buffer.
        (
            "mixed_precision=bf16_mixed ddp.grad_reduce_in_fp32=false",
            [4, 4],
            false,
        ),
        (
            "ddp.grad_reduce_in_fp32=false mixed_precision=bf16_mixed",
            [4, 4],
            false,
        ),
        (
            "ddp.grad_reduce_in_fp32=true mixed_precision=bf16_mixed mixed_precision.grad_reduce_in_fp32=false",
            [2, 4],
            true,
        ),
        (
            "mixed_precision=bf16_mixed {AWARE} optimizer.main_grads_dtype=bf16",
            [4, 4],
            false,
        ),
        // Without mixed precision DDP's own word counts, and its default.
        ("model.bf16=true ddp.grad_reduce_in_fp32=true", [4, 4], false),
        ("model.bf16=true", [2, 4], true),
        ("model.bf16=true {AWARE}", [2, 2], false),
        ("mixed_precision.fp16=true", [4, 4], false),
        ("mixed_precision=fp16_mixed", [2, 4], true),
    ] {
        let text = format!("{MODEL} {}", says.replace("{AWARE}", AWARE));
        let import = read(&text);
        assert_eq!(widths(&import), (gradients, main, copies), "{says}");
        let job = &import.state.setup.job;
        for text in [bridge::overrides(job), bridge_recipe::recipe(job)] {
            assert_eq!(widths(&read(&text)), (gradients, main, copies), "{says}: {text}");
        }
    }
}

#[test]
fn verl_builds_the_buffer_itself_too() {
    let ddp = "actor_rollout_ref.actor.megatron.override_ddp_config.grad_reduce_in_fp32";
    for (says, gradients) in [("", 4), ("=True", 4), ("=False", 2)] {
        let says = if says.is_empty() {
            String::new()
        } else {
            format!("{ddp}{says}")
        };
        assert_eq!(widths(&read(&format!("{VERL} {says}"))).0, gradients, "{says}");
    }
}

#[test]
fn the_report_says_which_key_decides() {
    let text = format!(
        "{MODEL} mixed_precision=bf16_mixed ddp.grad_reduce_in_fp32=false {AWARE} optimizer.main_grads_dtype=bf16"
    );
    let import = read(&text);
    let row = |key: &str| {
        let row = import.report.iter().find(|row| row.key == key);
        let row = row.unwrap_or_else(|| panic!("{key}"));
        (row.status, row.note.as_ref())
    };
    let decides = (KeyStatus::Ignored, "mixed_precision decides");
    assert_eq!(row("ddp.grad_reduce_in_fp32"), decides);
    assert_eq!(row("optimizer.main_grads_dtype").0, KeyStatus::Ignored);
    let default = (KeyStatus::Defaulted, "default of Megatron-Bridge");
    assert_eq!(row("fp8_recipe"), default);
}
