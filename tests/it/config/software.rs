//! Tests of `config::software`.

use std::collections::BTreeSet;

use megatron_memory::config::check;
use megatron_memory::config::choices::{SoftwareFact, SoftwareStack};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::software::{FACTS, STACKS};
use megatron_memory::memory::{JobMoment, StageEstimate, estimate, estimate_at};
use megatron_memory::value::Value;
use serde_json::json;

/// A job that every fact changes: MoE layers with norms on queries and keys, and Transformer Engine's fused loss or
/// none.
fn job(changes: serde_json::Value) -> RawJob {
    let mut job = json!({
        "num_layers": 4, "hidden_size": 1024, "num_attention_heads": 16, "seq_length": 2048, "max_position_embeddings": 2048,
        "padded_vocab_size": 32768, "qk_layernorm": true, "num_experts": 8, "moe_ffn_hidden_size": 512, "moe_grouped_gemm": true,
        "moe_token_dispatcher_type": "alltoall", "untie_embeddings_and_output_weights": true, "add_bias_linear": false,
        "position_embedding_type": "rope", "recompute_granularity": "selective", "bf16": true, "world_size": 1,
        "expandable_segments": true,
    });
    for (key, value) in changes.as_object().unwrap() {
        job[key] = value.clone();
    }
    RawJob::from_value(&serde_json::from_value::<Value>(job).unwrap())
}

fn stage(job: &RawJob, moment: JobMoment) -> StageEstimate {
    let config = check(job).config.unwrap();
    estimate_at(&config, moment).modules[0].stages[0].clone()
}

/// Bytes by which a fact changes steady memory, the peak and the first iteration.
fn effect(fact: SoftwareFact, changes: &serde_json::Value) -> [i64; 3] {
    let plain = job(changes.clone());
    let mut with = plain.clone();
    let name = Value::Text(fact.name().to_owned());
    with.shared.set(FieldId::software_facts, name);
    let amounts = |job: &RawJob| {
        let later = stage(job, JobMoment::LaterIteration);
        let first = stage(job, JobMoment::FirstIteration);
        [later.steady.0, later.total.0, first.total.0].map(|bytes| i64::try_from(bytes).unwrap())
    };
    let (with, without) = (amounts(&with), amounts(&plain));
    [0, 1, 2].map(|index| with[index] - without[index])
}

#[test]
fn every_stack_and_fact_is_explained_once() {
    let stacks: BTreeSet<_> = STACKS.iter().map(|versions| versions.stack).collect();
    assert_eq!(stacks.len(), STACKS.len());
    assert_eq!(stacks, SoftwareStack::ALL.iter().copied().collect());
    let facts: BTreeSet<_> = FACTS.iter().map(|text| text.fact).collect();
    assert_eq!(facts.len(), FACTS.len());
    assert_eq!(facts, SoftwareFact::ALL.iter().copied().collect());
    for fact in SoftwareFact::ALL {
        let explained = fact.explained().unwrap();
        assert!(explained.text.ends_with('.') && explained.source.url().starts_with("https://"));
        let of_stack = STACKS.iter().any(|versions| versions.facts.contains(fact));
        assert!(of_stack, "{} is of no stack", fact.name());
    }
    let first = STACKS.first().unwrap();
    assert_eq!((first.stack, first.facts), (SoftwareStack::MegatronMain, [].as_slice()));
}

#[test]
fn facts_change_what_they_say() {
    let mib = 1 << 20;
    let none = json!({});
    // linear_qkv, linear_proj.
    let linear = -(3 + 1) * 1024 * 1024 * 2;
    assert_eq!(effect(SoftwareFact::NoLinearStandIns, &none)[0], linear);
    // linear_fc1 and linear_fc2 of experts, which are as large.
    assert_eq!(effect(SoftwareFact::NoExpertStandIns, &none)[0], -2 * 512 * 1024 * 2);
    assert_eq!(effect(SoftwareFact::NoOutputStandIn, &none)[0], -32768 * 1024 * 2);
    // Queries and keys of four layers.
    let views = effect(SoftwareFact::QkNormViews, &none);
    assert_eq!((views[0], views[1]), (0, -4 * 2 * 2048 * 1024 * 2));
    let logits = effect(SoftwareFact::LogitsCopied, &none);
    assert_eq!((logits[0], logits[1]), (0, 2048 * 32768 * 4));
    let fused = json!({ "cross_entropy_loss_fusion": true, "cross_entropy_fusion_impl": "te" });
    let gradient = effect(SoftwareFact::LossGradientInFp32, &fused);
    assert!(gradient[0] == 0 && gradient[1] > 0, "{gradient:?}");
    assert_eq!(effect(SoftwareFact::LossGradientInFp32, &none), [0; 3]);
    // Workspaces of Hopper: 32 MiB each.
    assert_eq!(effect(SoftwareFact::HipBlasLtWorkspaces, &none)[0], 2 * (76 - 32) * mib);
    assert_eq!(
        effect(SoftwareFact::GroupedGemmPackage, &none)[0],
        -4 * (32 * mib + 1024)
    );
    // Of each of eight micro batches a mask of one byte for each pair of tokens, three numbers and a loss mask for each
    // token. The mask of the latest one is there at the peak anyway.
    let batches = effect(SoftwareFact::MicroBatchesStay, &json!({ "global_batch_size": 8 }));
    let of_tokens = 8 * (3 * 8 + 4) * 2048;
    assert_eq!(batches[0], 8 * 2048 * 2048 + of_tokens);
    assert_eq!(batches[1], 7 * 2048 * 2048 + of_tokens);
    let unmasked = json!({ "global_batch_size": 8, "create_attention_mask_in_dataloader": false });
    assert_eq!(effect(SoftwareFact::MicroBatchesStay, &unmasked)[0], of_tokens);
    // The embedding, the output layer and the final norm.
    let fsdp = json!({
        "world_size": 2, "use_megatron_fsdp": true, "data_parallel_sharding_strategy": "optim_grads_params",
        "use_distributed_optimizer": true, "expert_model_parallel_size": 1, "gradient_accumulation_fusion": false,
    });
    let released = effect(SoftwareFact::FsdpReleasesOutsideLayers, &fsdp);
    assert_eq!(released, [-(2 * 32768 + 2) * 1024 * 2, 0, 0]);
    assert_eq!(effect(SoftwareFact::FsdpReleasesOutsideLayers, &none), [0; 3]);
    // Routing map and probabilities of four layers.
    assert_eq!(effect(SoftwareFact::TopkDispatcher, &none)[0], -4 * 2048 * 8 * 3);
}

/// The step of `torch.optim.AdamW` is heavier than the passes of a small batch, by 4 bytes for each parameter.
#[test]
fn torch_adamw_needs_four_bytes_a_parameter() {
    let small = json!({ "seq_length": 16, "max_position_embeddings": 16 });
    let config = check(&job(small.clone())).config.unwrap();
    let parameters = estimate(&config).modules[0].stages[0].parameters().total();
    let [steady, peak, first] = effect(SoftwareFact::TorchAdamW, &small);
    let bytes = i64::try_from(parameters * 4).unwrap();
    assert_eq!((steady, first), (0, bytes));
    assert!(peak > bytes / 2, "{peak} {bytes}");
}

/// A stack is its facts.
#[test]
fn stacks_are_their_facts() {
    for versions in STACKS {
        let mut by_stack = job(json!({}));
        let name = Value::Text(versions.stack.name().to_owned());
        by_stack.shared.set(FieldId::software_stack, name);
        let mut by_facts = job(json!({}));
        let names = versions.facts.iter().map(|fact| fact.name());
        let names = Value::Text(names.collect::<Vec<_>>().join(","));
        by_facts.shared.set(FieldId::software_facts, names);
        let moment = JobMoment::default();
        let (by_stack, by_facts) = (stage(&by_stack, moment), stage(&by_facts, moment));
        assert_eq!(by_stack.moments, by_facts.moments, "{:?}", versions.stack);
    }
}

#[test]
fn moments_differ_by_the_states_of_the_first_step() {
    let fp16 = json!({ "bf16": false, "fp16": true });
    for changes in [json!({}), fp16, json!({ "use_distributed_optimizer": true })] {
        let job = job(changes);
        let at = |moment| stage(&job, moment);
        let later = at(JobMoment::LaterIteration);
        let first = at(JobMoment::FirstIteration);
        let skipped = at(JobMoment::SkippedSteps);
        let saving = at(JobMoment::SavingCheckpoint);
        let moments = 8 * later.parameters().total();
        assert_eq!(first.steady, later.steady);
        // Rounding to whole blocks aside.
        let missing = later.steady.0 - skipped.steady.0;
        assert!(missing >= moments && missing - moments < 1 << 20, "{missing} {moments}");
        assert_eq!(later.total.0 - skipped.total.0, missing);
        assert_eq!(first.total, skipped.total.max(first.steady));
        assert_eq!((saving.total, saving.steady), (later.steady, later.steady));
        assert_eq!(at(JobMoment::FirstIterationAfterResume).total, later.total);
        for moment in JobMoment::EACH {
            let of = at(moment);
            let listed = later.moments.iter().find(|of| of.moment == moment).unwrap();
            assert_eq!(
                (listed.total, listed.steady, listed.at),
                (of.total, of.steady, of.moment)
            );
            assert_eq!(
                of.memory.iter().copied().sum::<megatron_memory::units::Bytes>(),
                of.total
            );
        }
    }
}

/// The interface's types name every stack and moment.
#[test]
fn types_of_the_interface_are_complete() {
    let types = include_str!("../../../src/api/estimate/options.rs");
    let stacks = SoftwareStack::NAMES.iter().copied();
    for name in stacks.chain(JobMoment::EACH.iter().map(|moment| moment.name())) {
        assert!(types.contains(&format!(" * - `{name}`: ")), "{name} is not explained");
        assert!(types.contains(&format!("  | \"{name}\"")), "{name} is no type");
    }
}
