//! `config.json` of models with Mamba-2 layers.

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::import::{Import, ImportError, Options, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use crate::oracle;

fn read(config: &Json) -> Result<Import, ImportError> {
    import(&config.to_string(), &Options::default())
}

/// The distinct parameters of the model.
fn parameters(mut job: RawJob) -> u64 {
    for id in [FieldId::world_size, FieldId::seq_length, FieldId::micro_batch_size] {
        job.shared.set(id, Value::Int(1));
    }
    let checked = check(&job);
    let config = checked.config.unwrap_or_else(|| panic!("{:?}", checked.problems));
    estimate(&config).modules[0].parameters.total()
}

/// The file that Nemotron-H's own software would write for the arguments of a real model.
fn nemotron_h(arguments: &Json) -> Json {
    let pattern = arguments["hybrid_layer_pattern"].as_str().unwrap().replace('|', "");
    let mut parts = pattern.split('/');
    let mut config = json!({
        "model_type": "nemotron_h",
        "architectures": ["NemotronHForCausalLM"],
        "hybrid_override_pattern": parts.next().unwrap(),
        "num_hidden_layers": arguments["num_layers"],
        "mlp_hidden_act": "relu2",
        "mamba_hidden_act": "silu",
        "conv_kernel": 4,
        "chunk_size": 128,
        "expand": 2,
        "torch_dtype": "bfloat16",
        "attention_bias": false,
        "mlp_bias": false,
        "use_bias": false,
        "use_conv_bias": true,
        "tie_word_embeddings": false,
        "n_shared_experts": 1,
        "time_step_limit": [0.0, 1.0],
    });
    for (key, argument) in [
        ("hidden_size", "hidden_size"),
        ("intermediate_size", "ffn_hidden_size"),
        ("num_attention_heads", "num_attention_heads"),
        ("num_key_value_heads", "num_query_groups"),
        ("head_dim", "kv_channels"),
        ("vocab_size", "padded_vocab_size"),
        ("max_position_embeddings", "max_position_embeddings"),
        ("ssm_state_size", "mamba_state_dim"),
        ("mamba_num_heads", "mamba_num_heads"),
        ("mamba_head_dim", "mamba_head_dim"),
        ("n_groups", "mamba_num_groups"),
        ("n_routed_experts", "num_experts"),
        ("num_experts_per_tok", "moe_router_topk"),
        ("moe_intermediate_size", "moe_ffn_hidden_size"),
        (
            "moe_shared_expert_intermediate_size",
            "moe_shared_expert_intermediate_size",
        ),
        ("moe_latent_size", "moe_latent_size"),
    ] {
        config[key] = arguments[argument].clone();
    }
    let depths: Vec<&str> = parts.collect();
    if let Some(depth) = depths.first() {
        config["num_nextn_predict_layers"] = json!(depths.len());
        config["mtp_hybrid_override_pattern"] = json!(depth);
        config["mtp_use_repeated_layer"] = arguments["mtp_use_repeated_layer"].clone();
    }
    config
}

/// Arguments that a file of a model decides.
const DECIDED: [FieldId; 14] = [
    FieldId::hidden_size,
    FieldId::num_attention_heads,
    FieldId::kv_channels,
    FieldId::squared_relu,
    FieldId::normalization,
    FieldId::position_embedding_type,
    FieldId::untie_embeddings_and_output_weights,
    FieldId::mamba_state_dim,
    FieldId::mamba_num_groups,
    FieldId::mamba_num_heads,
    FieldId::mamba_head_dim,
    FieldId::num_experts,
    FieldId::moe_latent_size,
    FieldId::add_bias_linear,
];

#[test]
fn every_real_nemotron_comes_out_of_its_config_with_its_parameters() {
    let mut compared = 0;
    for file in oracle::files("params_hybrid") {
        if !(file.contains("nemotronh_") || file.contains("nemotron3") || file.contains("nemotron_nano")) {
            continue;
        }
        let case = oracle::json(&file);
        let arguments = &case["config"];
        let imported = read(&nemotron_h(arguments)).unwrap();
        let job = imported.state.setup.job;
        let expected: Value = serde_json::from_value(arguments.clone()).unwrap();
        let expected = RawJob::from_value(&expected);
        for id in DECIDED {
            let of = |job: &RawJob| meaning(id, job.shared.get(id));
            assert_eq!(of(&job), of(&expected), "{file} {}", id.field().name);
        }
        for row in &imported.report {
            let known = !matches!(
                row.status,
                KeyStatus::Unknown | KeyStatus::NotModelled | KeyStatus::Conflicting
            );
            assert!(known, "{file}: {row:?}");
        }
        let total = case["global_total_parameters"].as_u64().unwrap();
        assert_eq!(parameters(job), total, "{file}");
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

/// Keys that files of this family leave out or write in another way.
#[test]
fn keys_of_nemotron_h_have_other_spellings() {
    let base = json!({
        "model_type": "nemotron_h", "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
        "num_key_value_heads": 2, "attention_head_dim": 64, "vocab_size": 1024, "hybrid_override_pattern": "M-M*-",
        "mamba_num_heads": 8, "mamba_head_dim": 64, "ssm_state_size": 16, "n_groups": 2,
        "max_position_embeddings": 4096,
    });
    let pattern = |changes: Json| {
        let mut config = base.clone();
        for (key, value) in changes.as_object().unwrap() {
            config[key] = value.clone();
        }
        let import = read(&config).unwrap();
        let shared = import.state.setup.job.shared;
        let id = FieldId::hybrid_layer_pattern;
        let repeated = shared.get(FieldId::mtp_use_repeated_layer).cloned();
        let Some(Value::Text(pattern)) = shared.get(id).cloned() else {
            panic!("{changes}");
        };
        (pattern, repeated)
    };
    let names = json!({"hybrid_override_pattern": null, "layers_block_type": ["mamba", "moe", "attention", "mlp"],
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64});
    assert_eq!(pattern(names), ("ME*-".to_owned(), None));
    let mtp = |more: Json| {
        let mut changes = json!({"num_nextn_predict_layers": 2, "mtp_hybrid_override_pattern": "*-"});
        for (key, value) in more.as_object().unwrap() {
            changes[key] = value.clone();
        }
        pattern(changes)
    };
    // Megatron-Bridge shares the layer of all depths unless the file says otherwise.
    let shared = Some(Value::Bool(true));
    assert_eq!(mtp(json!({})), ("M-M*-/*-/*-".to_owned(), shared));
    let own = Some(Value::Bool(false));
    assert_eq!(
        mtp(json!({"mtp_use_repeated_layer": false})),
        ("M-M*-/*-/*-".to_owned(), own)
    );
    assert_eq!(mtp(json!({"num_nextn_predict_layers": 0})), ("M-M*-".to_owned(), None));
    // Python writes numbers that JSON does not have.
    let text = base
        .to_string()
        .replacen('{', "{\"time_step_limit\": [0.0, Infinity], \"x\": NaN, ", 1);
    let job = import(&text, &Options::default()).unwrap().state.setup.job;
    assert_eq!(parameters(job), parameters(read(&base).unwrap().state.setup.job));
    // The default of the family's class.
    let depth = json!({"num_nextn_predict_layers": 1, "n_routed_experts": 4});
    assert_eq!(pattern(depth).0, "M-M*-/*E");
    let wrong = {
        let mut config = base.clone();
        config["hybrid_override_pattern"] = json!("M-X");
        read(&config).unwrap_err().to_string()
    };
    assert!(wrong.contains("hybrid_override_pattern"), "{wrong}");
}

/// Granite 4: a mixer and then an MLP in every layer, with experts or without.
#[test]
fn granite_has_a_mixer_and_an_mlp_in_every_layer() {
    let tiny = |more: Json| {
        let mut config = json!({
            "model_type": "granitemoehybrid", "hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 4,
            "num_hidden_layers": 40, "vocab_size": 100_352, "intermediate_size": 512, "shared_intermediate_size": 1024,
            "mamba_n_heads": 48, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4,
            "mamba_expand": 2, "num_local_experts": 64, "num_experts_per_tok": 6, "position_embedding_type": "nope",
            "max_position_embeddings": 131_072, "tie_word_embeddings": true, "hidden_act": "silu",
            "layer_types": (0..40).map(|i| if [5, 15, 25, 35].contains(&i) { "attention" } else { "mamba" }).collect::<Vec<_>>(),
        });
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        let import = read(&config).unwrap();
        import.state.setup.job
    };
    // As published.
    assert_eq!(parameters(tiny(json!({}))), 6_939_037_248);
    assert_eq!(parameters(tiny(json!({"mamba_d_head": "auto"}))), 6_939_037_248);
    let dense = tiny(json!({"num_local_experts": 0}));
    let Some(Value::Text(pattern)) = dense.shared.get(FieldId::hybrid_layer_pattern) else {
        panic!("{dense:?}");
    };
    assert!(
        pattern.starts_with("M-M-M-M-M-*-M-") && pattern.len() == 80,
        "{pattern}"
    );
}

#[test]
fn what_megatron_core_does_not_build_is_refused_with_the_reason() {
    for (model_type, reason) in [
        ("falcon_mamba", "Mamba-1"),
        ("jamba", "Mamba-1"),
        ("mamba", "Mamba-1"),
        ("zamba2", "share their weights"),
        ("nemotron_h_puzzle", "different shapes"),
        ("mamba2", "hybrid_layer_pattern"),
    ] {
        let config = json!({"model_type": model_type, "num_hidden_layers": 4, "hidden_size": 64});
        let error = read(&config).unwrap_err().to_string();
        assert!(error.contains(reason), "{model_type}: {error}");
    }
}
