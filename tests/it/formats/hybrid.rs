//! Layers of hybrid models as front ends write them.

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::hybrid_pattern::HybridPattern;
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::value::Value;

#[track_caller]
fn read(text: &str) -> Import {
    import(text, &Options::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn text(import: &Import, id: FieldId) -> String {
    match import.state.setup.job.shared.get(id) {
        Some(Value::Text(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn pattern(import: &Import) -> String {
    text(import, FieldId::hybrid_layer_pattern)
}

#[track_caller]
fn status(import: &Import, key: &str) -> KeyStatus {
    let mut rows = import.report.iter();
    rows.find(|row| row.key == key)
        .unwrap_or_else(|| panic!("{key}: {:#?}", import.report))
        .status
}

/// Texts and the pattern that Megatron-LM or Megatron-Bridge builds of them.
const PATTERNS: &[(&str, &str)] = &[
    // Megatron-LM's flags.
    (
        "pretrain_hybrid.py --hybrid-layer-pattern 'M-M-|M-M*-/MM/MM'",
        "M-M-|M-M*-/MM/MM",
    ),
    ("pretrain_hybrid.py --hybrid-layer-pattern '*-*-|*-*-'", "*-*-|*-*-"),
    ("pretrain_hybrid.py --hybrid-layer-pattern=M+E", "M+E"),
    (
        "pretrain_mamba.py --hybrid-override-pattern \"M-M*\" --num-layers 4",
        "M-M*",
    ),
    (
        "pretrain_mamba.py --hybrid-override-pattern MEM* --mtp-hybrid-override-pattern '*E' --mtp-num-layers 2",
        "MEM*/*E/*E",
    ),
    // A pattern with an MTP part of its own, and one without a number of depths, stays as it is.
    (
        "pretrain_hybrid.py --hybrid-layer-pattern MEM*/*E --mtp-hybrid-override-pattern 'MM' --mtp-num-layers 2",
        "MEM*/*E",
    ),
    (
        "pretrain_hybrid.py --hybrid-layer-pattern MEM* --mtp-hybrid-override-pattern '*E'",
        "MEM*",
    ),
    (
        "pretrain_mamba.py --is-hybrid-model --num-layers 24 --hybrid-attention-ratio 0.08 --hybrid-mlp-ratio 0.5",
        "M-M-M--*M-M-M-M-*M--M-M-",
    ),
    (
        "pretrain_mamba.py --num-layers 4 --hybrid-override-pattern M*M- --hybrid-attention-ratio 0.08",
        "M*M-",
    ),
    ("pretrain_mamba.py --num-layers 3 --hidden-size 64", "MMM"),
    ("pretrain_gpt.py --num-layers 3 --hidden-size 64", ""),
    // Through variables, arrays and quotes of a shell.
    (
        "PATTERN=\"M-M*-|M-M*-\"\ntorchrun pretrain_hybrid.py --hybrid-layer-pattern $PATTERN",
        "M-M*-|M-M*-",
    ),
    (
        "P='*-*-/*-'\nARGS=(\n  --hybrid-layer-pattern \"${P}\"\n)\ntorchrun pretrain_hybrid.py ${ARGS[@]}",
        "*-*-/*-",
    ),
    (
        "A='M-M*'\nB=E\nARGS=\"--hybrid-layer-pattern ${A}${B}|$A$B --num-experts 8\"\ntorchrun pretrain_hybrid.py $ARGS",
        "M-M*E|M-M*E",
    ),
    (
        "MTP='*E'\nD=2\ntorchrun pretrain_hybrid.py --hybrid-layer-pattern MEM --mtp-hybrid-override-pattern \"$MTP\" --mtp-num-layers $D",
        "MEM/*E/*E",
    ),
    // YAML.
    (
        "MODEL_ARGS:\n  --hybrid-layer-pattern: \"*-*-|*-*-/*-\"\n  --hidden-size: 64\n",
        "*-*-|*-*-/*-",
    ),
    (
        "MODEL_ARGS:\n  --hybrid-layer-pattern: M-M*-\n  --hidden-size: 64\n",
        "M-M*-",
    ),
    (
        "model:\n  hybrid_layer_pattern: MEM*E\n  mtp_hybrid_override_pattern: '*E'\n  mtp_num_layers: 1\n  num_layers: 5\n",
        "MEM*E/*E",
    ),
    // As the finished configuration has both, joined already.
    (
        "model:\n  _target_: megatron.bridge.models.hybrid.hybrid_provider.HybridModelProvider\n  hybrid_layer_pattern: MEM*E/*E/*E\n  hybrid_override_pattern: null\n  hybrid_attention_ratio: 0.0\n  hybrid_mlp_ratio: 0.0\n  mtp_hybrid_override_pattern: '*E'\n  mtp_num_layers: 2\n",
        "MEM*E/*E/*E",
    ),
    // The repeated MTP layer is there without a number of depths.
    (
        "model:\n  hybrid_layer_pattern: MEM*E\n  mtp_hybrid_override_pattern: '*E'\n  mtp_use_repeated_layer: true\n  mtp_num_layers: 0\n",
        "MEM*E/*E",
    ),
    (
        "model:\n  hybrid_layer_pattern: MEM*E/*E\n  mtp_hybrid_override_pattern: '*E'\n  mtp_num_layers: 0\n",
        "MEM*E",
    ),
    // Overrides and recipes of Megatron-Bridge.
    (
        "model.hybrid_layer_pattern='M-M*-|M-M*-' model.hidden_size=64",
        "M-M*-|M-M*-",
    ),
    ("model.hybrid_override_pattern=*-*- model.hidden_size=64", "*-*-"),
    (
        "uv run torchrun run.py model.hybrid_layer_pattern='*-|*-' model.mtp_hybrid_override_pattern='*-' model.mtp_num_layers=1",
        "*-|*-/*-",
    ),
    (
        "cfg.model.hybrid_layer_pattern = \"M-M*-\" * 3 + \"M\"\ncfg.model.hidden_size = 64\n",
        "M-M*-M-M*-M-M*-M",
    ),
    (
        "cfg.model = HybridModelProvider(\n    # The layers, as they are.\n    hybrid_layer_pattern=(\n        \"M-M*-\" * 2\n    ),\n    hidden_size=64, num_query_groups=2,\n    activation_func=squared_relu,\n)\ncfg.train.micro_batch_size = 1\n",
        "M-M*-M-M*-",
    ),
    (
        "cfg.model = HybridModelProvider(hybrid_layer_pattern='*-|*-', hidden_size=64)\ncfg.model.hybrid_layer_pattern = 'M-'\ncfg.train.micro_batch_size = 1\n",
        "M-",
    ),
    (
        "cfg.model.hybrid_layer_pattern = 2 * 'ME' + '*'\ncfg.model.mtp_hybrid_override_pattern = \"*\" + \"E\"\ncfg.model.mtp_num_layers = 2\n",
        "MEME*/*E/*E",
    ),
];

#[test]
fn every_spelling_of_a_pattern_is_read() {
    for (given, expected) in PATTERNS {
        let import = read(given);
        assert_eq!(pattern(&import), *expected, "{given}");
        for row in &import.report {
            let stays = !matches!(row.status, KeyStatus::Unknown | KeyStatus::NotModelled);
            assert!(stays, "{given}: {row:?}");
        }
    }
}

#[test]
fn keys_that_do_not_count_are_reported() {
    use KeyStatus::{Conflicting, Derived, Ignored, Mapped, Missing, NotModelled};
    let cases = [
        (
            "a.py --hybrid-layer-pattern M- --hybrid-override-pattern MM",
            "--hybrid-override-pattern",
            Conflicting,
        ),
        (
            "a.py --hybrid-layer-pattern M-/M --mtp-hybrid-override-pattern MM --mtp-num-layers 1",
            "--mtp-hybrid-override-pattern",
            Ignored,
        ),
        (
            "a.py --hybrid-layer-pattern M- --mtp-hybrid-override-pattern M --mtp-num-layers 1",
            "--mtp-hybrid-override-pattern",
            Derived,
        ),
        (
            "a.py --num-layers 4 --mtp-hybrid-override-pattern M",
            "--mtp-hybrid-override-pattern",
            Ignored,
        ),
        (
            "a.py --num-layers 4 --hybrid-attention-ratio 0.25",
            "--hybrid-attention-ratio",
            Derived,
        ),
        (
            "a.py --num-layers 4 --hybrid-attention-ratio 1.25",
            "--hybrid-attention-ratio",
            Missing,
        ),
        (
            "a.py --hidden-size 4 --hybrid-mlp-ratio 0.25",
            "--hybrid-mlp-ratio",
            Missing,
        ),
        (
            "a.py --hybrid-layer-pattern M- --hybrid-mlp-ratio 0.25",
            "--hybrid-mlp-ratio",
            Ignored,
        ),
        (
            "a.py --hybrid-layer-pattern M- --is-hybrid-model",
            "--is-hybrid-model",
            Ignored,
        ),
        (
            "a.py --hybrid-layer-pattern M- --mamba-num-groups 4",
            "--mamba-num-groups",
            Mapped,
        ),
        (
            "a.py --hybrid-layer-pattern M- --disable-mamba-mem-eff-path",
            "--disable-mamba-mem-eff-path",
            Mapped,
        ),
        (
            "a.py --hybrid-layer-pattern M- --spec my.module my_spec",
            "--spec",
            NotModelled,
        ),
        (
            "a.py --hybrid-layer-pattern $P --hidden-size 64",
            "--hybrid-layer-pattern",
            Missing,
        ),
        (
            "model.hybrid_layer_pattern=M- model.mamba_chunk_size=128",
            "model.mamba_chunk_size",
            Ignored,
        ),
        (
            "model.hybrid_layer_pattern=M- model.mamba_chunk_size=256",
            "model.mamba_chunk_size",
            NotModelled,
        ),
    ];
    for (text, key, expected) in cases {
        assert_eq!(status(&read(text), key), expected, "{text}");
    }
}

#[test]
fn only_the_function_of_a_spec_counts() {
    let module = "megatron.core.models.hybrid.hybrid_layer_specs";
    let (usual, products) = ("hybrid_stack_spec", "gated_delta_product_stack_spec");
    let cases = [
        (format!("a.py --hidden-size 64 --spec {module} {usual}"), usual),
        (
            format!("a.py --spec {module} gdp_stack_spec --hidden-size 64"),
            products,
        ),
        (format!("a.py --hidden-size 64 --spec {module} {products}"), products),
        (
            format!("S=\"{module} {products}\"\npython a.py --hidden-size 64 --spec $S"),
            products,
        ),
        (
            format!("MODEL_ARGS:\n  --hidden-size: 64\n  --spec: \"[{module} mamba_stack_spec]\"\n"),
            usual,
        ),
        (
            format!("MODEL_ARGS:\n  --hidden-size: 64\n  --spec: {module} {products}\n"),
            products,
        ),
        (
            format!(
                "model:\n  hidden_size: 64\n  hybrid_stack_spec:\n    _target_: {module}.{products}\n    _partial_: true\n"
            ),
            products,
        ),
        (
            String::from(
                "model:\n  hidden_size: 64\n  mamba_stack_spec:\n    _target_: megatron.bridge.models.mamba.mamba_provider.get_default_mamba_stack_spec\n    _partial_: true\n",
            ),
            usual,
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(text(&read(&given), FieldId::spec), expected, "{given}");
    }
}

/// What a configuration that Megatron-Bridge wrote says twice, the second time with nothing in it; and a vocabulary
/// that only the tokenizer's name tells.
#[test]
fn empty_older_names_take_nothing_away() {
    let import = read(
        "model:\n  _target_: x.HybridModelProvider\n  hybrid_layer_pattern: MEM*E\n  cuda_graph_impl: transformer_engine\n  \
        cuda_graph_modules: [attn, mamba]\n  cuda_graph_scope: null\n  vocab_size: null\n\
        ddp:\n  overlap_grad_reduce: true\ncomm_overlap:\n  overlap_grad_reduce: null\n\
        tokenizer:\n  vocab_size: null\n  tokenizer_model: nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16\n",
    );
    let shared = &import.state.setup.job.shared;
    assert_eq!(text(&import, FieldId::vocab_size), "131072");
    assert_eq!(shared.get(FieldId::overlap_grad_reduce), Some(&Value::Bool(true)));
    assert!(text(&import, FieldId::cuda_graph_modules).contains("mamba"));
    for key in [
        "model.cuda_graph_scope",
        "comm_overlap.overlap_grad_reduce",
        "tokenizer.vocab_size",
        "model.vocab_size",
    ] {
        assert_eq!(status(&import, key), KeyStatus::Ignored, "{key}");
    }
}

/// A pattern that cannot be read stays in the job, whose rules say where it is wrong.
#[test]
fn a_wrong_pattern_stays() {
    let import = read("a.py --hybrid-layer-pattern M-X --hidden-size 64");
    assert_eq!(pattern(&import), "M-X");
}

/// What `pattern_from_ratios` makes of layers, attention's part and the part of MLPs.
#[test]
fn ratios_spread_layers_as_megatron_lm_does() {
    let cases = [
        (1, 0.0, 0.0, "M"),
        (24, 0.08, 0.5, "M-M-M--*M-M-M-M-*M--M-M-"),
        (
            56,
            0.08,
            0.5,
            "M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-",
        ),
        (8, 0.5, 0.5, "-*-**-*-"),
        (5, 0.5, 0.5, "M*-*-"),
        (3, 0.5, 0.5, "*-*"),
        (10, 0.3, 0.3, "M-*MM*-*M-"),
        (48, 0.125, 0.4, "M-M-MM*-M-M-M*-M-MM-*M-M-M-*MM-M-M*-M-M-M*M-M-M-"),
        (11, 1.0, 0.0, "***********"),
        (7, 0.0, 1.0, "-------"),
        (30, 0.15, 0.35, "MM-M-*MM-M-*MM-MM-*M-MM-*M-MM-"),
        (9, 0.22, 0.77, "--*---*--"),
    ];
    for (layers, attention, mlp, expected) in cases {
        let pattern = HybridPattern::from_ratios(layers, attention, mlp).unwrap();
        assert_eq!(pattern.to_string(), expected, "{layers} {attention} {mlp}");
    }
    for (layers, attention, mlp) in [
        (0, 0.1, 0.1),
        (4, 0.6, 0.6),
        (4, -0.1, 0.0),
        (4, 0.0, 1.5),
        (4, f64::NAN, 0.0),
        (1 << 40, 0.0, 0.0),
    ] {
        let pattern = HybridPattern::from_ratios(layers, attention, mlp);
        assert_eq!(pattern, None, "{layers} {attention} {mlp}");
    }
}
