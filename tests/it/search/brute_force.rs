//! A search against every combination one by one, on random jobs.

#![allow(clippy::cast_precision_loss, reason = "nanoseconds beside seconds")]

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::{check, validate};
use megatron_memory::formats::share_url::visit;
use megatron_memory::memory::estimate;
use megatron_memory::search::{Axis, Keep, Options, Searcher, Space, search};
use megatron_memory::time::coefficients::Coefficients;
use megatron_memory::time::{Nominal, Replay, Software, timed};
use megatron_memory::value::Value;
use megatron_memory::verdict::device;
use proptest::prelude::*;

use super::{all, vary, with};

/// Small models with the parts of large ones.
const MODELS: [&str; 4] = [
    // Dense, with GQA.
    r#"{"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "group_query_attention": true, "num_query_groups": 2,
        "vocab_size": 8192, "swiglu": true, "ffn_hidden_size": 1536}"#,
    // Experts after a dense layer, with shared ones.
    r#"{"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "vocab_size": 8192, "swiglu": true, "ffn_hidden_size": 1536,
        "num_experts": 8, "moe_router_topk": 2, "moe_ffn_hidden_size": 512, "moe_layer_freq": "[0]+[1]*3",
        "moe_shared_expert_intermediate_size": 512, "moe_token_dispatcher_type": "alltoall", "add_bias_linear": false}"#,
    // Multi-latent attention and MTP.
    r#"{"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "vocab_size": 8192, "swiglu": true, "ffn_hidden_size": 1536,
        "multi_latent_attention": true, "q_lora_rank": 128, "kv_lora_rank": 64, "qk_head_dim": 64, "qk_pos_emb_head_dim": 32,
        "v_head_dim": 64, "mtp_num_layers": 1, "num_experts": 8, "moe_router_topk": 2, "moe_ffn_hidden_size": 256,
        "moe_token_dispatcher_type": "alltoall", "add_bias_linear": false, "position_embedding_type": "rope"}"#,
    // Tied embeddings and learned positions.
    r#"{"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "vocab_size": 8192, "add_position_embedding": true}"#,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No layout that fits is missed, none is listed that does not, and each has the peak of its own estimate.
    #[test]
    fn no_fitting_layout_is_missed(
        model in 0..MODELS.len(),
        world in prop::sample::select(vec![2u64, 4, 8]),
        batch in prop::sample::select(vec![8u64, 16]),
        axes in prop::sample::subsequence(Axis::ALL.to_vec(), 1..3),
        share in 2u64..98,
        distributed in any::<bool>(),
        grouped in any::<bool>(),
    ) {
        let more = format!(
            r#"{{"world_size": {world}, "global_batch_size": {batch}, "micro_batch_size": 1, "seq_length": 512,
                "max_position_embeddings": 512, "bf16": true, "use_distributed_optimizer": {distributed},
                "moe_grouped_gemm": {grouped}, "cuda_context_mib": 0, "nccl_mib_per_group": 0}}"#
        );
        let mut job = with(MODELS[model], &more);
        let space = Space::new(&job, &Options { vary: axes.clone(), ..Options::default() });
        let Ok(space) = space else { return Ok(()) };
        // Every combination by itself; jobs that only the scheduler refuses are no layouts.
        let unscheduled = |rule: &str| ["microbatches_fill_group", "last_group"].contains(&rule);
        let one_by_one: Vec<(u64, u64)> = (0..space.total())
            .filter_map(|index| {
                let checked = validate(&space.job(index));
                let runs = !checked.problems.iter().any(|p| p.is_error() || unscheduled(p.rule));
                let config = checked.config.filter(|_| runs)?;
                Some((index, estimate(&config).worst_rank.total.0))
            })
            .collect();
        let Some(most) = one_by_one.iter().map(|(_, peak)| *peak).max() else {
            return Ok(());
        };
        // A GPU that some of the layouts fit.
        let mib = (most * share / 100) >> 20;
        prop_assume!(mib > 0);
        job.put(0, FieldId::gpu_memory_mib, Value::Int(mib.into()));
        let space = Space::new(&job, &Options { vary: axes, ..Options::default() }).unwrap();
        let found = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
        let listed: Vec<(u64, u64)> = found.candidates.iter().map(|c| (c.index, c.peak.0)).collect();
        let all = search(&space, 0..space.total(), u32::MAX, Keep::Legal);
        let legal: Vec<(u64, u64)> = all.candidates.iter().map(|c| (c.index, c.peak.0)).collect();
        prop_assert_eq!(&legal, &one_by_one);
        let fitting = all.candidates.iter().filter(|c| !c.is_too_large());
        let fitting: Vec<(u64, u64)> = fitting.map(|c| (c.index, c.peak.0)).collect();
        prop_assert_eq!(&listed, &fitting);
        prop_assert_eq!(found.closest, all.closest);
    }
}

/// Large models as they are published, one combination in many.
#[test]
fn layouts_of_large_models_are_what_their_estimates_say() {
    for (link, every) in [
        ("v1;m=deepseek-v3@2", 977),
        ("v1;m=qwen3-235b-a22b@2;gpus=64", 1009),
        ("v1;m=llama3-70b@1;gpus=64", 499),
        ("v1;m=nemotron-h-8b@1;gpus=16", 211),
    ] {
        let job = visit(link).state.setup.job;
        let options = Options {
            vary: Axis::ALL.to_vec(),
            ..Options::default()
        };
        let space = Space::new(&job, &options).unwrap();
        // What layouts share comes from others that were looked at before.
        let mut searcher = Searcher::default();
        let mut legal = 0;
        for number in 0..100 {
            let index = space.total() / every * 7 * number % space.total();
            let one = searcher.search(&space, index..index + 1, u32::MAX, Keep::Legal);
            let checked = check(&space.job(index));
            let Some(candidate) = one.candidates.first() else {
                assert_eq!(one.refused.len(), 1, "{link} {index}");
                continue;
            };
            let config = checked.config.unwrap();
            assert_eq!(candidate.peak, estimate(&config).worst_rank.total);
            legal += 1;
        }
        assert!(legal < 100, "{link}");
    }
}

/// Layouts that are looked at together share parameters, tapes, memory between iterations and times of layers; each has
/// its own peak and its own time all the same, and is what it is when it is looked at alone.
#[test]
fn layouts_that_share_tables_are_what_their_estimates_say() {
    use Axis::{Context, Expert, Gpus, MicroBatch, Pipeline, Recompute, Tensor, Training, Virtual};
    for (link, axes) in [
        (
            "v1;m=qwen3-235b-a22b@2;gpus=64",
            vec![Pipeline, Virtual, Expert, Recompute],
        ),
        ("v1;m=deepseek-v3@2", vec![Pipeline, MicroBatch, Recompute]),
        // With attention residuals.
        ("v1;m=kimi-k3@1", vec![Pipeline, Expert, Recompute]),
        (
            "v1;m=llama3-70b@1;gpus=64",
            vec![Gpus, Pipeline, Virtual, Tensor, Context],
        ),
        ("v1;m=llama3-8b@1;gpus=16", vec![Pipeline, Tensor, MicroBatch]),
        ("v1;m=llama3-70b@1;gpus=64", vec![Training, Tensor, MicroBatch]),
        // With CUDA graphs.
        (
            "v1;m=nemotron-3-super-120b-a12b;gpus=64",
            vec![Pipeline, Virtual, Tensor, MicroBatch],
        ),
        (
            "v1;m=nemotron-3-super-120b-a12b;gpus=64",
            vec![Pipeline, Expert, Recompute],
        ),
    ] {
        let job = visit(link).state.setup.job;
        let space = Space::new(&job, &vary(&axes)).unwrap();
        let found = all(&space);
        assert!(found.candidates.len() > 20, "{link} {}", found.legal);
        let every = found.candidates.len().div_ceil(60);
        for candidate in found.candidates.iter().step_by(every) {
            let config = check(&space.job(candidate.index)).config.unwrap();
            let estimate = estimate(&config);
            let sizes = space.sizes(candidate.index);
            assert_eq!(candidate.peak, estimate.worst_rank.total, "{link} {sizes}");
            assert_eq!(candidate.worst, estimate.worst, "{link} {sizes}");
            let worst = &estimate.worst_rank;
            let device = device(&config, estimate.worst.module, worst.total, worst.graphs);
            assert_eq!((candidate.least, candidate.most), device, "{link} {sizes}");
            assert_eq!(
                space.candidate(candidate.index).as_ref(),
                Some(candidate),
                "{link} {sizes}"
            );
            let Ok((m, on)) = timed(&config) else {
                assert_eq!(candidate.step_nanoseconds, None, "{link} {sizes}");
                continue;
            };
            let nanoseconds = candidate.step_nanoseconds.unwrap();
            let nominal = Nominal::new(m, &estimate.modules[0], &on, Software::default());
            let seconds = nominal.seconds(m, &Coefficients::of(m), Replay::ClosedForm);
            let off = seconds * 1e9 - nanoseconds as f64;
            assert!(off.abs() < 2.0, "{link} {sizes}: {nanoseconds} {seconds}");
        }
    }
}

/// Micro batches larger than one that is too large by itself are left out, and no other ones: with every way to keep,
/// recompute or offload activations, the layouts that fit and the one nearest to fitting are those of a search that
/// tries each.
#[test]
fn only_micro_batches_that_cannot_fit_are_left_out() {
    use Axis::{Context, Expert, Gpus, MicroBatch, Pipeline, Recompute, Tensor, Virtual};
    for (link, settings, axes, skips) in [
        (
            "v1;m=qwen3-235b-a22b@2;gpus=64",
            "{}",
            vec![Pipeline, Expert, MicroBatch, Recompute],
            true,
        ),
        ("v1;m=deepseek-v3@2", "{}", vec![Tensor, MicroBatch, Recompute], true),
        (
            "v1;m=llama3-8b@1;gpus=16",
            r#"{"cpu_offloading_num_layers": 3}"#,
            vec![Gpus, Context, MicroBatch],
            false,
        ),
        (
            "v1;m=qwen3-235b-a22b@2;gpus=64",
            r#"{"overlap_moe_expert_parallel_comm": true, "recompute_granularity": null, "moe_shared_expert_overlap": false}"#,
            vec![Pipeline, Virtual, MicroBatch],
            false,
        ),
        (
            "v1;m=llama3-70b@1;gpus=64",
            "{}",
            vec![Pipeline, Tensor, MicroBatch],
            true,
        ),
    ] {
        let mut job = visit(link).state.setup.job;
        job.shared.overlay(&super::job(settings).shared);
        let space = Space::new(&job, &vary(&axes)).unwrap();
        let every = all(&space);
        let found = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
        let fitting = every.candidates.iter().filter(|c| !c.is_too_large());
        let fitting: Vec<_> = fitting.copied().collect();
        assert_eq!(found.candidates, fitting, "{link} {settings}");
        assert_eq!(found.closest, every.closest, "{link} {settings}");
        assert_eq!(found.looked_at, every.looked_at, "{link} {settings}");
        // What layouts need with large tensors on the host does not grow with the micro batch, and passes that run at
        // once are not told apart.
        assert_eq!(found.legal < every.legal, skips, "{link} {settings}");
    }
}

/// Jobs of every kind whose layouts share nothing, or less than those of others, are what their estimates say too.
#[test]
fn layouts_that_share_less_are_what_their_estimates_say() {
    use Axis::{Expert, MicroBatch, Pipeline, Recompute, Tensor, Virtual};
    let stash = r#"{"moe_paged_stash": true, "use_transformer_engine_op_fuser": true, "fp8_format": "e4m3", "fp8_recipe": "mxfp8",
        "gpu": "b200", "moe_expert_rank_capacity_factor": 1.5, "moe_token_dispatcher_type": "flex",
        "moe_flex_dispatcher_backend": "hybridep", "moe_grouped_gemm": true, "moe_router_dtype": "fp32"}"#;
    for (settings, axes) in [
        (stash, vec![Pipeline, Expert, MicroBatch, Recompute]),
        (
            r#"{"use_megatron_fsdp": true, "pipeline_model_parallel_size": 1, "data_parallel_sharding_strategy": "optim_grads_params"}"#,
            vec![Tensor, Expert, MicroBatch],
        ),
        (
            r#"{"peft_type": "lora", "peft_dim": 16}"#,
            vec![Pipeline, Tensor, MicroBatch],
        ),
        (
            r#"{"cuda_graph_impl": "full_iteration"}"#,
            vec![Pipeline, Virtual, MicroBatch],
        ),
        (
            r#"{"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["attn", "moe_router"], "cuda_graph_warmup_steps": 0}"#,
            vec![Pipeline, Virtual, MicroBatch],
        ),
        (
            r#"{"cuda_graph_impl": "local", "cuda_graph_modules": ["attn"]}"#,
            vec![Pipeline, MicroBatch],
        ),
        (
            r#"{"overlap_moe_expert_parallel_comm": true, "recompute_granularity": null, "moe_shared_expert_overlap": false}"#,
            vec![Pipeline, Virtual, MicroBatch],
        ),
        (
            r#"{"defer_embedding_wgrad_compute": true, "gradient_accumulation_fusion": true,
                "pipeline_model_parallel_size": 2, "tensor_model_parallel_size": 2, "expert_tensor_parallel_size": 1,
                "virtual_pipeline_model_parallel_size": null, "num_virtual_stages_per_pipeline_rank": null,
                "num_layers_per_virtual_pipeline_stage": null}"#,
            vec![Tensor, MicroBatch],
        ),
    ] {
        let mut job = visit("v1;m=qwen3-235b-a22b@2;gpus=64").state.setup.job;
        job.shared.overlay(&super::job(settings).shared);
        let space = Space::new(&job, &vary(&axes)).unwrap();
        let found = all(&space);
        assert!(found.candidates.len() > 5, "{settings}: {:?}", found.refused);
        let every = found.candidates.len().div_ceil(20);
        for candidate in found.candidates.iter().step_by(every) {
            let config = check(&space.job(candidate.index)).config.unwrap();
            let estimate = estimate(&config);
            let sizes = space.sizes(candidate.index);
            assert_eq!(candidate.peak, estimate.worst_rank.total, "{settings} {sizes}");
            assert_eq!(candidate.worst, estimate.worst, "{settings} {sizes}");
        }
    }
}
