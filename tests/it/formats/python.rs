//! Recipes in Python.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::formats::{overrides, python};
use megatron_memory::value::Value;

const RECIPE: &str = r#""""A recipe.

cfg.model.num_layers = 99
"""
from megatron.bridge.recipes.acme import acme_7b_pretrain_config  # --num-layers 98


def tuned() -> ConfigContainer:
    """Fewer GPUs."""
    cfg = acme_7b_pretrain_config()
    cfg.model = GPTModelProvider(num_layers=97)
    cfg.model.num_layers = 12  # was 16
    cfg.model.hidden_size=1_024
    cfg.model.num_attention_heads = 8; cfg.rng.seed = 7
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.recompute_modules = [
        "core_attn",  # cheap
        'mlp',
    ]
    cfg.model.moe_layer_freq = [0] * 1 + [1] * 11
    cfg.model.activation_func = F.silu
    cfg.model.gated_linear_unit = True
    cfg.model.make_vocab_size_divisible_by = \
        64
    # cfg.model.num_layers = 96
    if cfg.model.num_layers == 12:
        cfg.model.frobnicate = "a # b = c"
    cfg.mixed_precision = bf16_mixed()
    cfg.mixed_precision.grad_reduce_in_fp32 = False
    cfg.optimizer.exp_avg_dtype = torch.bfloat16
    cfg.train.micro_batch_size += 1
    cfg.dataset.seq_length = 2048
    return cfg
"#;

fn read(text: &str) -> Import {
    import(text, &Options::default()).unwrap()
}

fn get(import: &Import, id: FieldId) -> Option<&Value> {
    import.state.setup.job.shared.get(id)
}

#[test]
fn assignments_to_a_configuration_are_read_and_nothing_else() {
    assert_eq!(detect(RECIPE).unwrap().format, Format::BridgePython);
    let import = read(RECIPE);
    assert_eq!(import.dialect, "Megatron-Bridge");
    for (id, value) in [
        (FieldId::num_layers, Value::Int(12)),
        (FieldId::hidden_size, Value::Int(1024)),
        (FieldId::num_attention_heads, Value::Int(8)),
        (FieldId::tensor_model_parallel_size, Value::Int(2)),
        (FieldId::make_vocab_size_divisible_by, Value::Int(64)),
        (FieldId::seq_length, Value::Int(2048)),
        (FieldId::swiglu, Value::Bool(true)),
        (FieldId::bf16, Value::Bool(true)),
        (FieldId::accumulate_allreduce_grads_in_fp32, Value::Bool(false)),
        (FieldId::exp_avg_dtype, Value::Text("bf16".to_owned())),
    ] {
        assert_eq!(get(&import, id), Some(&value), "{id:?}");
    }
    let modules = get(&import, FieldId::recompute_modules).unwrap();
    assert_eq!(modules.to_string(), r#"["core_attn","mlp"]"#);
    let rows = |key: &str| {
        let mut rows = import.report.iter().filter(|row| row.key == key);
        let row = rows.next().unwrap_or_else(|| panic!("no row for {key}"));
        (row.line, row.status)
    };
    assert_eq!(rows("model.num_layers"), (Some(12), KeyStatus::Mapped));
    assert_eq!(rows("model.recompute_modules"), (Some(16), KeyStatus::Mapped));
    assert_eq!(rows("model.frobnicate").1, KeyStatus::Unknown);
    assert!(import.report.iter().all(|row| row.key != "model"));
}

#[test]
fn what_only_looks_like_python_is_what_it_was() {
    for (text, format) in [
        (
            "python train.py actor_rollout_ref.model.path=Qwen/Qwen3-8B trainer.nnodes=2",
            Format::Overrides,
        ),
        ("model.num_layers=4 train.micro_batch_size=1", Format::Overrides),
        (
            "#!/bin/bash\ncat <<EOF\ncfg.model.num_layers = 4\nEOF\ntorchrun pretrain_gpt.py --num-layers 2\n",
            Format::Script,
        ),
    ] {
        assert_eq!(detect(text).unwrap().format, format, "{text}");
    }
    assert!(detect("recipe.trainer.devices = 4").is_none());
}

#[test]
fn nothing_holds_the_reader_up() {
    for text in [
        "cfg.model.num_layers = (".repeat(4_000),
        "cfg.model.num_layers = \"".repeat(4_000),
        "cfg.model.num_layers = 4\n".repeat(4_000),
        "\"\"\"cfg.model.num_layers = 4".repeat(3_000),
        "cfg.a.b = \\\n".repeat(8_000),
    ] {
        assert!(text.len() <= overrides::MAX_BYTES);
        let read = python::parse(&text);
        assert!(read.root.entries().len() <= 1);
    }
    assert!(
        python::parse(&"cfg.model.a = 1\n".repeat(10_000))
            .root
            .entries()
            .is_empty()
    );
}
