//! What a layer keeps for its backward pass, against what the real modules keep.

use std::collections::BTreeMap;

use megatron_memory::config::NameSet;
use megatron_memory::config::choices::RecomputeModule;
use megatron_memory::model::kernels::Kernels;
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::ActivationTensor;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::config;
use crate::oracle;

fn chosen(record: &Json) -> Option<NameSet<RecomputeModule>> {
    let names = record["recompute_modules"].as_array()?;
    let modules: Vec<RecomputeModule> = names
        .iter()
        .map(|name| {
            let all = RecomputeModule::ALL.iter();
            *all.clone().find(|m| m.name() == name.as_str().unwrap()).unwrap()
        })
        .collect();
    Some(NameSet::<RecomputeModule>::of(&modules))
}

/// The job of a record: one layer on one GPU.
fn job(kind: &str, dims: &Json) -> Json {
    let mut job: serde_json::Map<String, Json> = dims.as_object().unwrap().clone();
    job.retain(|_, value| !value.is_null());
    let gelu = kind.contains("gelu");
    let layernorm = kind.contains("layernorm") && !kind.contains("qk");
    let extra = json!({
        "num_layers": 1, "group_query_attention": !kind.starts_with("mla"), "bf16": true, "swiglu": !gelu,
        "normalization": if layernorm { "LayerNorm" } else { "RMSNorm" }, "add_bias_linear": kind.ends_with("bias"),
        "qk_layernorm": kind.contains("qknorm") || kind.starts_with("mla"),
        "position_embedding_type": if kind.contains("norope") { "none" } else { "rope" },
        "attention_dropout": 0, "hidden_dropout": 0, "multi_latent_attention": kind.starts_with("mla"),
        "moe_shared_expert_gate": kind.contains("gate"),
    });
    job.extend(extra.as_object().unwrap().clone());
    Json::Object(job)
}

fn kept_by(kernels: Kernels, kind: &str, record: &Json) -> Vec<ActivationTensor> {
    let config = config(&job(kind, &record["dims"]));
    let sizes = Sizes {
        kernels,
        ..Sizes::new(&config.modules()[0])
    };
    let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[0]);
    if record["recompute"] == "full" {
        return vec![*tape.get(tape.input.unwrap()).unwrap()];
    }
    kept(
        &tape,
        RecomputeOptions {
            recompute: chosen(record),
            ..RecomputeOptions::NONE
        },
    )
}

/// The oracle's name for what a tensor is part of.
fn term(what: &str, mla: bool) -> &'static str {
    match what {
        "layer input" => "residual into attention",
        "residual stream" => "residual into mlp",
        "input norm output" | "input norm statistics" => "input norm: stats + output",
        "pre-MLP norm output" | "pre-MLP norm statistics" => "pre-mlp norm: stats + output",
        "queries, keys and values" => "fused qkv (kept whole by the v view)",
        "queries after rotary embedding" | "keys after rotary embedding" if !mla => "q,k after rope",
        "normed queries" | "normed keys" => "q,k after rope",
        "queries after rotary embedding" | "keys" => "q,k for attention",
        "values" => "v for attention",
        "rotary cosines and sines" if !mla => "rope cos/sin of q and k",
        "rotary cosines and sines" | "rotary frequencies" => "rope cos/sin or frequencies",
        "statistics of the norms on queries and keys" => "q,k norm stats",
        "copy of queries for their norm" => "q norm input copy",
        "attention output" => "attention output",
        "log-sum-exp of each row in fp32" => "softmax log-sum-exp fp32",
        "kind of the attention mask" => "checkpoint argument",
        "compressed queries" | "query norm statistics" => "q down-projection, norm stats",
        "query norm output" => "q norm output",
        "compressed keys and values" | "key and value norm statistics" => "kv down-projection, norm stats",
        "key and value norm output" => "kv norm output",
        "output of linear_fc1" => "mlp fc1 output",
        "output of the activation function" => "mlp activation output",
        "scores of the chosen experts in fp32" | "indices of the chosen experts" => {
            "router: top-k scores fp32 + indices"
        }
        "routing map"
        | "router probabilities"
        | "sorted indices of the permutation"
        | "probabilities of the dispatched tokens" => {
            "dispatch: routing map bool + probs bf16 + sort index int64 + permuted probs bf16"
        }
        "dispatched tokens" => "dispatched tokens",
        "experts: output of linear_fc1" => "experts fc1 output",
        "experts: output of the activation function" => "experts activation output",
        "experts: activation before the probability" => "experts gelu output before probability",
        "shared experts: output of linear_fc1" | "shared experts: output of the activation function" => {
            "shared experts fc1 output + activation"
        }
        "shared experts: output" | "shared experts: gate score" => "shared expert output before gate + gate score",
        other => panic!("no term for {other}"),
    }
}

#[test]
fn every_term_is_what_the_modules_keep() {
    let closed_form = oracle::json("activations/closed_form.json");
    let records = closed_form["records"].as_array().unwrap();
    assert_eq!(records.len(), 644);
    for record in records {
        let kind = record["kind"].as_str().unwrap();
        let mut terms: BTreeMap<&str, u64> = BTreeMap::new();
        let kept = kept_by(Kernels::TE_LIKE, kind, record);
        for tensor in &kept {
            *terms.entry(term(tensor.what, kind.starts_with("mla"))).or_default() += tensor.bytes();
        }
        let expected: BTreeMap<&str, u64> = if record["recompute"] == "full" {
            [("residual into attention", record["measured"].as_u64().unwrap())].into()
        } else {
            let expected = record["terms"].as_object().unwrap().iter();
            expected
                .map(|(name, bytes)| (name.as_str(), bytes.as_u64().unwrap()))
                .collect()
        };
        assert_eq!(
            terms, expected,
            "{kind} {} {}",
            record["recompute"], record["recompute_modules"]
        );
    }
}

#[test]
fn layers_keep_what_was_measured_with_both_engines() {
    let mut compared = [0, 0];
    for file in oracle::files("activations") {
        let oracle = oracle::json(&file);
        let Some(kind) = oracle["kind"].as_str() else {
            continue;
        };
        for record in oracle["records"].as_array().unwrap() {
            let Some(measured) = record["per_layer_bytes"].as_u64() else {
                continue;
            };
            let (kernels, engine) = match record["engine"].as_str().unwrap() {
                "te_like" => (Kernels::TE_LIKE, 0),
                _ => (Kernels::LOCAL, 1),
            };
            let kept: u64 = kept_by(kernels, kind, record).iter().map(ActivationTensor::bytes).sum();
            assert_eq!(
                kept, measured,
                "{kind} {} {} {} {}",
                record["engine"], record["recompute"], record["recompute_modules"], record["dims"]
            );
            compared[engine] += 1;
        }
    }
    assert_eq!(compared, [644, 560]);
}

/// The closed forms of arXiv 2205.05198 come out of the itemised terms under its assumptions: unfused attention with
/// dropout, GELU, `LayerNorm` without its statistics.
#[test]
fn the_identities_of_selective_recompute_emerge() {
    let (s, b, h, a) = (2048, 2, 1024, 16);
    for (t, sequence_parallel, selective) in [
        (1, false, false),
        (4, false, false),
        (4, true, false),
        (1, false, true),
        (4, false, true),
        (4, true, true),
    ] {
        let config = config(&json!({
            "num_layers": 1, "hidden_size": h, "num_attention_heads": a, "seq_length": s, "micro_batch_size": b,
            "padded_vocab_size": 1024, "bf16": true, "attention_backend": "unfused", "world_size": t,
            "tensor_model_parallel_size": t, "sequence_parallel": sequence_parallel,
        }));
        let tape = layer_tape(
            &Sizes::new(&config.modules()[0]),
            LayerSpec::all(&config.modules()[0])[0],
        );
        let modules = NameSet::<RecomputeModule>::of(&[RecomputeModule::CoreAttn]);
        let recompute_options = RecomputeOptions {
            recompute: selective.then_some(modules),
            ..RecomputeOptions::NONE
        };
        let kept = kept(&tape, recompute_options);
        let kept = kept.iter().filter(|tensor| !tensor.what.contains("statistics"));
        let bytes: u64 = kept.map(ActivationTensor::bytes).sum();
        let (sbh, scores) = (s * b * h, if selective { 0 } else { 5 * a * s * s * b });
        let expected = if sequence_parallel || t == 1 {
            (34 * sbh + scores) / t
        } else {
            10 * sbh + (24 * sbh + scores) / t
        };
        assert_eq!(
            bytes, expected,
            "t = {t}, SP {sequence_parallel}, selective {selective}"
        );
    }
}
