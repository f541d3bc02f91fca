//! Small jobs of every kind, for laws.

use megatron_memory::config::check;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{self, RecomputeOptions};
use megatron_memory::model::{LayerSpec, layer_tape};
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

/// A checked job.
pub(crate) fn config(job: &Json) -> Config {
    let checked = check(&raw(job));
    checked
        .config
        .unwrap_or_else(|| panic!("{job}: {:?}", checked.problems))
}

/// The job as it is given, before it is checked.
pub(crate) fn raw(job: &Json) -> RawJob {
    let value: Value = serde_json::from_value(job.clone()).unwrap();
    RawJob::from_value(&value)
}

/// What the first layer of a job's first module keeps for its backward pass.
pub(crate) fn kept_by_a_layer(job: &Json) -> Vec<ActivationTensor> {
    let config = config(job);
    let m = &config.modules()[0];
    let tape = layer_tape(&Sizes::new(m), LayerSpec::all(m)[0]);
    recompute::kept(&tape, RecomputeOptions::of(m))
}

/// A dense model of four layers on eight GPUs with tensor and pipeline parallelism.
pub(crate) fn small_model() -> Json {
    json!({
        "num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 1024, "padded_vocab_size": 1024,
        "max_position_embeddings": 1024, "add_bias_linear": false, "swiglu": true, "world_size": 8, "tensor_model_parallel_size": 2,
        "pipeline_model_parallel_size": 2, "bf16": true, "position_embedding_type": "rope", "micro_batch_size": 1,
    })
}

/// The same job with some settings changed.
pub(crate) fn with(job: &Json, settings: &Json) -> Json {
    let mut job = job.clone();
    let object = job.as_object_mut().unwrap();
    object.extend(settings.as_object().unwrap().clone());
    job
}

fn model() -> impl Strategy<Value = Map<String, Json>> {
    let kind = prop_oneof![Just("dense"), Just("moe"), Just("mla"), Just("mla_moe")];
    let attention = prop_oneof![Just("flash"), Just("fused"), Just("unfused"), Just("auto")];
    let switches = prop::collection::vec(any::<bool>(), 12);
    let recipe = prop_oneof![Just("none"), Just("tensorwise"), Just("blockwise"), Just("mxfp8")];
    let switches = (switches, recipe, prop::collection::vec(any::<bool>(), 4));
    (kind, attention, 1u64..3, switches).prop_map(|(kind, attention, batch, (on, recipe, fp8))| {
        let mut job = json!({
            "num_layers": 8, "hidden_size": 256, "ffn_hidden_size": 640, "num_attention_heads": 8,
            "seq_length": 512, "micro_batch_size": batch, "padded_vocab_size": 4096, "bf16": true,
            "attention_backend": attention, "swiglu": on[0], "qk_layernorm": on[1],
            "hidden_dropout": if on[2] { 0.1 } else { 0.0 }, "attention_dropout": if on[2] { 0.1 } else { 0.0 },
            "normalization": if on[3] { "RMSNorm" } else { "LayerNorm" },
            "use_distributed_optimizer": on[4], "gradient_accumulation_fusion": on[5],
            "apply_rope_fusion": on[6], "position_embedding_type": if on[7] { "rope" } else { "none" },
            "cross_entropy_loss_fusion": on[8], "untie_embeddings_and_output_weights": on[9],
            "create_attention_mask_in_dataloader": on[10], "add_bias_linear": false,
        });
        let object = job.as_object_mut().unwrap();
        let mut put = |settings: Json| object.extend(settings.as_object().unwrap().clone());
        if recipe != "none" {
            put(json!({
                "fp8_format": "hybrid", "fp8_recipe": recipe, "fp8_param_gather": on[4] && fp8[0],
                "first_last_layers_bf16": fp8[1], "disable_parameter_transpose_cache": fp8[2],
                "gpu": if fp8[3] || recipe == "mxfp8" { "b200" } else { "h100-80gb" },
            }));
        }
        if kind.contains("moe") {
            put(json!({
                "num_experts": 8, "moe_ffn_hidden_size": 128, "moe_layer_freq": "([0]*2+[1]*6)",
                "moe_token_dispatcher_type": if on[11] { "alltoall" } else { "allgather" },
                "moe_grouped_gemm": true, "moe_shared_expert_intermediate_size": 128,
            }));
        }
        if kind.contains("mla") {
            put(
                json!({ "multi_latent_attention": true, "q_lora_rank": 96, "kv_lora_rank": 64, "qk_head_dim": 32,
                "qk_pos_emb_head_dim": 16, "v_head_dim": 32, "position_embedding_type": "rope" }),
            );
        } else if on[11] {
            put(json!({ "group_query_attention": true, "num_query_groups": 4 }));
        }
        object.clone()
    })
}

fn parallelism() -> impl Strategy<Value = Json> {
    let vpp = prop_oneof![Just(1u64), Just(2)];
    let sizes = (0u32..3, 0u32..3, vpp, 1u64..10, any::<[bool; 2]>(), 0u32..2);
    sizes.prop_map(|(tp, pp, vpp, microbatches, [sp, deallocates], cp)| {
        let (tp, pp, cp) = (1u64 << tp, 1u64 << pp, 1u64 << cp);
        let mut job = json!({
            "tensor_model_parallel_size": tp, "pipeline_model_parallel_size": pp, "context_parallel_size": cp,
            "sequence_parallel": sp && tp > 1, "world_size": 2 * tp * pp * cp,
            "deallocate_pipeline_outputs": deallocates,
        });
        let object = job.as_object_mut().unwrap();
        let microbatches = microbatches.max(pp).div_ceil(pp) * pp;
        object.insert("microbatches".to_owned(), json!(microbatches));
        if pp > 1 && vpp > 1 {
            object.insert("virtual_pipeline_model_parallel_size".to_owned(), json!(vpp));
        }
        job
    })
}

/// A job that Megatron accepts.
pub(crate) fn any_job() -> impl Strategy<Value = Json> {
    (model(), parallelism()).prop_map(|(mut model, parallelism)| {
        let mut parallelism = parallelism.as_object().unwrap().clone();
        let microbatches = parallelism.remove("microbatches").unwrap().as_u64().unwrap();
        let batch = model["micro_batch_size"].as_u64().unwrap();
        model.insert("global_batch_size".to_owned(), json!(2 * microbatches * batch));
        if model.contains_key("num_experts") {
            // Megatron refuses experts with TP but without sequence parallelism.
            let tp = parallelism["tensor_model_parallel_size"].as_u64().unwrap();
            parallelism.insert("sequence_parallel".to_owned(), json!(tp > 1));
            parallelism.insert("expert_model_parallel_size".to_owned(), json!(2));
            parallelism.insert("expert_tensor_parallel_size".to_owned(), json!(1));
        }
        if parallelism["context_parallel_size"] != 1 && model["attention_backend"] == "unfused" {
            // No kernel of it splits sequences.
            model.insert("attention_backend".to_owned(), json!("auto"));
        }
        model.extend(parallelism);
        Json::Object(model)
    })
}
