//! Tests of GPUs: their names, and what their generation decides.

use megatron_memory::config::check;
use megatron_memory::config::gpus::{GPUS, GpuGeneration, by_name, candidates, generation};
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::assumptions;
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;
use serde_json::{Map, json};

/// A small job with these settings besides.
fn job(settings: serde_json::Value) -> RawJob {
    let mut job = json!({
        "num_layers": 4, "hidden_size": 1024, "num_attention_heads": 16, "seq_length": 2048, "max_position_embeddings": 2048,
        "micro_batch_size": 1, "global_batch_size": 8, "world_size": 8, "padded_vocab_size": 32000, "bf16": true,
    });
    let settings: Map<_, _> = serde_json::from_value(settings).unwrap();
    job.as_object_mut().unwrap().extend(settings);
    RawJob::from_value(&serde_json::from_value::<Value>(job).unwrap())
}

/// The messages of a job's problems.
fn messages(settings: serde_json::Value) -> Vec<String> {
    let checked = check(&job(settings));
    checked.problems.iter().map(|problem| problem.message.clone()).collect()
}

#[test]
fn names_of_people_and_logs_are_known() {
    let cases = [
        ("Tesla V100-SXM2-16GB", "v100-16gb"),
        ("Tesla V100-SXM2-32GB", "v100-32gb"),
        ("NVIDIA A100-SXM4-40GB", "a100-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-80gb"),
        ("A100-80GB", "a100-80gb"),
        ("A800-SXM4-80GB", "a800-80gb"),
        ("NVIDIA A800", "a800-80gb"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA H100 80GB HBM3", "h100-80gb"),
        ("NVIDIA H100 PCIe", "h100-80gb"),
        ("H100SXM", "h100-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl"),
        ("NVIDIA H800", "h800"),
        ("NVIDIA H20", "h20"),
        ("NVIDIA H20-3e", "h20-3e"),
        ("NVIDIA H200 NVL", "h200"),
        ("NVIDIA B200", "b200"),
        ("B200 192GB", "b200"),
        ("NVIDIA B300 SXM6 AC", "b300"),
        ("dgx_gb200", "gb200"),
        ("GB300 NVL72", "gb300"),
        ("NVIDIA GB10", "gb10"),
        (
            "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "rtx-pro-6000",
        ),
        ("AMD Instinct MI300X OAM", "mi300x"),
        ("mi355x", "mi355x"),
    ];
    for (name, id) in cases {
        assert_eq!(by_name(name).map(|gpu| gpu.id), Some(id), "{name}");
    }
    for gpu in GPUS {
        assert_eq!(by_name(gpu.id), Some(gpu));
        assert_eq!(by_name(gpu.name), Some(gpu), "{}", gpu.name);
        assert_eq!(generation(gpu.id), Some(gpu.generation));
    }
}

#[test]
fn a_name_that_leaves_the_memory_open_has_a_generation_all_the_same() {
    use GpuGeneration::{Ada, Ampere, Hopper};
    for (name, expected) in [
        ("A100", Ampere),
        ("A100 64GB", Ampere),
        ("NVIDIA A10", Ampere),
        ("H100 96GB", Hopper),
        ("NVIDIA GH200 480GB", Hopper),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", Ada),
        ("NVIDIA L4", Ada),
        ("NVIDIA RTX 6000 Ada Generation", Ada),
    ] {
        assert_eq!(by_name(name), None, "{name}");
        assert_eq!(generation(name), Some(expected), "{name}");
    }
    let ids: Vec<_> = candidates("NVIDIA A100").map(|gpu| gpu.id).collect();
    assert_eq!(ids, ["a100-40gb", "a100-80gb"]);
    for unknown in ["", "GPU", "T4", "TPU v5", "H1000", "MI250X"] {
        assert_eq!(generation(unknown), None, "{unknown}");
    }
}

#[test]
fn a_gpu_that_is_not_known_says_what_is_assumed() {
    let said = |settings: serde_json::Value| messages(settings).join("\n");
    assert!(said(json!({"gpu": "T4"})).starts_with("gpu knows no “T4”; Hopper is assumed; use one of v100-16gb, "));
    assert!(said(json!({"gpu": "T4"})).ends_with("or give gpu_memory_mib and gpu_generation"));
    assert!(said(json!({"gpu": "T4", "gpu_memory_mib": 15360})).ends_with("or give gpu_generation"));
    let full = json!({"gpu": "T4", "gpu_memory_mib": 15360, "gpu_generation": "volta"});
    assert_eq!(said(full), "");
    assert_eq!(
        said(json!({"gpu": "A100"})),
        "gpu knows no “A100”; use one of a100-40gb, a100-80gb, or give gpu_memory_mib"
    );
    assert_eq!(said(json!({"gpu": "A100 64GB", "gpu_memory_mib": 65_536})), "");
    assert_eq!(said(json!({"gpu": "NVIDIA H100 80GB HBM3"})), "");
    assert_eq!(
        said(json!({"gpu": "h100-80gb", "gpu_generation": "ampere"})),
        "gpu_generation ampere is not that of h100-80gb, which is hopper"
    );
    let assumed = |settings| {
        let config = check(&job(settings)).config.unwrap();
        let all = assumptions(&config);
        all.into_iter()
            .filter(|text| text.contains("ernels and workspaces"))
            .collect::<String>()
    };
    for settings in [json!({}), json!({"gpu_memory_mib": 15360}), json!({"gpu": "T4"})] {
        assert!(assumed(settings).starts_with("The GPU is not known: kernels and workspaces are those of Hopper."));
    }
    for settings in [
        json!({"gpu": "a100-80gb"}),
        json!({"gpu_memory_mib": 15360, "gpu_generation": "volta"}),
    ] {
        assert_eq!(assumed(settings), "");
    }
    assert!(assumed(json!({"gpu": "vr200"})).contains("those of Blackwell"));
    assert!(assumed(json!({"gpu": "mi300x"})).contains("those of Hopper"));
}

/// PyTorch's and Transformer Engine's workspaces in KiB, fp8, fp8 with a scale for each block, and mxfp8.
#[test]
fn the_generation_decides_workspaces_and_precisions() {
    let cases = [
        ("v100-32gb", 8320, 4096, [false, false, false]),
        ("a800-80gb", 8320, 4096, [false, false, false]),
        ("l40s", 8320, 4096, [true, false, false]),
        ("h20", 32768, 32769, [true, true, false]),
        ("b200", 32768, 32769, [true, true, true]),
        ("rtx-pro-6000", 32768, 32769, [true, true, false]),
        ("vr200", 32768, 32769, [true, true, true]),
    ];
    let recipes = ["tensorwise", "blockwise", "mxfp8"];
    for (gpu, torch, te, precisions) in cases {
        let total = |settings: serde_json::Value| {
            let mut settings = settings;
            settings["gpu"] = json!(gpu);
            settings["attention_backend"] = json!("flash");
            let config = check(&job(settings)).config.unwrap();
            estimate(&config).modules[0].stages[0].steady.0
        };
        let given = json!({"cublas_workspace_kib": torch, "te_cublas_workspace_kib": te});
        assert_eq!(total(json!({})), total(given), "{gpu}");
        for (recipe, legal) in recipes.iter().zip(precisions) {
            let fp8 = json!({"gpu": gpu, "fp8_format": "hybrid", "fp8_recipe": recipe});
            let checked = check(&job(fp8));
            assert_eq!(checked.config.is_some(), legal, "{gpu} {recipe}");
        }
    }
}

#[test]
fn volta_has_neither_flash_attention_nor_grouped_products() {
    let peak = |settings| {
        let config = check(&job(settings)).config.unwrap();
        estimate(&config).modules[0].stages[0].total
    };
    let volta = peak(json!({"gpu": "v100-32gb"}));
    assert_eq!(volta, peak(json!({"gpu": "v100-32gb", "attention_backend": "unfused"})));
    assert!(volta > peak(json!({"gpu": "a100-80gb"})));
    let experts = json!({
        "gpu": "v100-32gb", "num_experts": 8, "moe_router_topk": 2, "moe_grouped_gemm": true, "moe_token_dispatcher_type": "alltoall",
    });
    let found = messages(experts).join("\n");
    assert!(
        found.contains("moe_grouped_gemm needs a GPU of Ampere or later, not Volta"),
        "{found}"
    );
}
