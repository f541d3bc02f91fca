//! How front ends ask for CUDA graphs, and what is written for them.

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::{bridge, megatron_args};
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::value::Value;
use serde_json::json;

#[track_caller]
fn read(text: &str) -> Import {
    import(text, &Options::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What an import says about graphs: who captures, and what.
fn graphs(import: &Import) -> (String, String) {
    let settings = &import.state.setup.job.shared;
    let words = |id| match settings.get(id) {
        None => String::new(),
        Some(Value::Text(text)) => text.trim().replace(',', " "),
        Some(Value::List(names)) => {
            let names = names.iter().map(|name| match name {
                Value::Text(name) => name.clone(),
                other => other.to_string(),
            });
            names.collect::<Vec<_>>().join(" ")
        }
        Some(other) => other.to_string(),
    };
    (words(FieldId::cuda_graph_impl), words(FieldId::cuda_graph_modules))
}

#[test]
fn every_spelling_of_graphs_is_read() {
    let te = "transformer_engine";
    let both = "attn moe_router";
    let cases = [
        (
            "torchrun x.py --num-layers 4 --cuda-graph-impl transformer_engine --cuda-graph-modules attn moe_router",
            te,
            both,
        ),
        (
            "torchrun x.py --num-layers 4 --cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router",
            te,
            both,
        ),
        (
            "torchrun x.py --num-layers 4 --external-cuda-graph --cuda-graph-scope attn moe_router",
            te,
            both,
        ),
        (
            "torchrun x.py --num-layers 4 --external-cuda-graph --cuda-graph-scope full",
            te,
            "",
        ),
        ("torchrun x.py --num-layers 4 --enable-cuda-graph", "local", ""),
        (
            "torchrun x.py --num-layers 4 --cuda-graph-scope full_iteration --cuda-graph-impl local",
            "full_iteration",
            "",
        ),
        (
            "torchrun x.py --num-layers 4 --cuda-graph-impl full_iteration",
            "full_iteration",
            "",
        ),
        (
            "MODEL_ARGS:\n  --num-layers: 4\n  --cuda-graph-impl: transformer_engine\n  --cuda-graph-modules: \"[attn moe_router]\"\n",
            te,
            both,
        ),
        (
            "model.num_layers=4 model.cuda_graph_impl=transformer_engine model.cuda_graph_scope=[attn,moe_router]",
            te,
            both,
        ),
        (
            "model.num_layers=4 model.cuda_graph_impl=local model.cuda_graph_scope=[full_iteration]",
            "full_iteration",
            "",
        ),
        (
            "from megatron.bridge.recipes.llama import llama3_8b_pretrain_config\ncfg = llama3_8b_pretrain_config()\n\
          cfg.model.num_layers = 4\ncfg.model.cuda_graph_impl = \"transformer_engine\"\n\
          cfg.model.cuda_graph_modules = [CudaGraphModule.attn, CudaGraphModule.moe_router]\n",
            te,
            both,
        ),
    ];
    for (text, implementation, modules) in cases {
        let import = read(text);
        let expected = (implementation.to_owned(), modules.to_owned());
        assert_eq!(graphs(&import), expected, "{text}");
        let about = import.report.iter().filter(|row| row.key.contains("graph"));
        for row in about {
            assert!(
                matches!(row.status, KeyStatus::Mapped | KeyStatus::Derived),
                "{text}: {row:?}"
            );
        }
    }
}

fn job(graphs: &serde_json::Value) -> RawJob {
    let mut job = json!({
        "num_layers": 4, "hidden_size": 1024, "num_attention_heads": 8, "padded_vocab_size": 1024, "seq_length": 2048,
        "bf16": true,
    });
    let settings = job.as_object_mut().unwrap();
    settings.extend(graphs.as_object().unwrap().clone());
    RawJob::from_value(&serde_json::from_value(job).unwrap())
}

#[test]
fn what_is_written_runs_and_comes_back() {
    let layers = job(&json!({
        "cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["attn", "mlp"], "cuda_graph_warmup_steps": 1,
        "expandable_segments": true,
    }));
    let script = megatron_args::script(&layers);
    for line in [
        "export NCCL_GRAPH_REGISTER=0\n",
        "--cuda-graph-impl transformer_engine\n",
        "--cuda-graph-modules attn mlp\n",
        "--cuda-graph-warmup-steps 1\n",
    ] {
        assert!(script.contains(line), "{line}{script}");
    }
    let expected = ("transformer_engine".to_owned(), "attn mlp".to_owned());
    let overrides = bridge::overrides(&layers);
    assert!(overrides.contains("rng.te_rng_tracker=true"), "{overrides}");
    for text in [&script, &megatron_args::yaml(&layers), &overrides] {
        let back = read(text);
        assert_eq!(graphs(&back), expected, "{text}");
        let warm = back.state.setup.job.shared.get(FieldId::cuda_graph_warmup_steps);
        assert_eq!(warm, Some(&Value::Int(1)), "{text}");
        let unknown = back.report.iter().find(|row| row.status == KeyStatus::Unknown);
        assert_eq!(unknown, None, "{text}");
    }
    let whole = job(&json!({"cuda_graph_impl": "full_iteration"}));
    let script = megatron_args::script(&whole);
    assert!(script.contains("--no-check-for-nan-in-loss-and-grad"), "{script}");
    let overrides = bridge::overrides(&whole);
    let unchecked = "rerun_state_machine.check_for_nan_in_loss=false";
    assert!(overrides.contains(unchecked), "{overrides}");
    assert!(!megatron_args::script(&layers).contains("no-check"));
}
