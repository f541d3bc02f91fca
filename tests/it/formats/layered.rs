//! Frameworks that hold Megatron's arguments below sections of their own.

use megatron_memory::config::fields::FieldId;
use megatron_memory::export::bridge;
use megatron_memory::formats::detect::detect;
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};
use megatron_memory::value::Value;

use super::fields::has;

const FLAG_SCALE: &str = "system:\n  tensor_model_parallel_size: 2\n  sequence_parallel: true\n  use_distributed_optimizer: true\n  \
    precision:\n    bf16: true\n  logging:\n    log_interval: 1\n  checkpoint:\n    save_interval: ${experiment.save_steps}\nmodel:\n  \
    num_layers: 4\n  hidden_size: 512\n  num_attention_heads: 8\n  seq_length: 1024\n  swiglu: true\n  normalization: RMSNorm\n  \
    disable_bias_linear: true\n  micro_batch_size: 1\n  global_batch_size: 16\n  optimizer:\n    weight_decay: 0.1\n    lr_scheduler:\n      \
    lr: 1e-4\ndata:\n  data_path: /data\n  tokenizer:\n    tokenizer_type: QwenTokenizerFS\n    vocab_size: 32000\n    \
    make_vocab_size_divisible_by: 64\n";

const PRIMUS: &str = "work_group: ${TEAM:amd}\nexp_name: x\nworkspace: ./output\nmodules:\n  pre_trainer:\n    framework: megatron\n    \
    config: pre_trainer.yaml\n    model: llama3.1_8B.yaml\n    overrides:\n      global_batch_size: 128\n      seq_length: 8192\n      \
    tensor_model_parallel_size: ${PRIMUS_TP:1}\n      overlap_grad_reduce: true\n      use_distributed_optimizer: true\n      \
    lr_decay_iters: null\n      mock_data: true\n";

const NEMO_RL: &str = "grpo:\n  num_prompts_per_step: 64\npolicy:\n  model_name: meta-llama/Llama-3.1-8B-Instruct\n  tokenizer:\n    \
    name: ${policy.model_name}\n  train_global_batch_size: 512\n  train_micro_batch_size: 1\n  max_total_sequence_length: 4096\n  \
    precision: bfloat16\n  dtensor_cfg:\n    enabled: false\n  megatron_cfg:\n    enabled: true\n    pipeline_model_parallel_size: 2\n    \
    activation_checkpointing: true\n    pipeline_dtype: ${policy.precision}\n    optimizer:\n      optimizer: adam\n      \
    use_distributed_optimizer: true\n    distributed_data_parallel_config:\n      grad_reduce_in_fp32: false\n      overlap_grad_reduce: true\n    \
    scheduler:\n      lr_warmup_iters: 13\ncluster:\n  gpus_per_node: 8\n  num_nodes: 2\n";

#[track_caller]
fn read(text: &str, model: Option<&str>) -> ImportedText {
    let options = ImportOptions {
        model: model.map(str::to_owned),
        gpus: (!text.contains("cluster:")).then_some(16),
        ..ImportOptions::default()
    };
    import_text(text, &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Keys that are not read.
fn unknown(imported: &ImportedText) -> Vec<&str> {
    let rows = imported.import.report.iter();
    let unknown = rows.filter(|row| row.status.id() == "unknown");
    unknown.map(|row| row.key.as_str()).collect()
}

#[test]
fn flag_scale_hands_its_leaves_to_megatron() {
    assert_eq!(detect(FLAG_SCALE).unwrap().format.id(), "flag_scale_yaml");
    let import = read(FLAG_SCALE, None);
    has(
        &import.import,
        &[
            (FieldId::num_layers, "4"),
            (FieldId::tensor_model_parallel_size, "2"),
            (FieldId::bf16, "true"),
            (FieldId::add_bias_linear, "false"),
            (FieldId::use_distributed_optimizer, "true"),
            (FieldId::vocab_size, "32000"),
            (FieldId::make_vocab_size_divisible_by, "64"),
        ],
    );
    assert_eq!(unknown(&import), Vec::<&str>::new());
    assert_eq!(import.import.state.setup.job.not_modelled, []);
}

/// Process meshes of the same sizes are stages of an ordinary job.
#[test]
fn flag_scale_puts_stages_on_meshes() {
    let text = |keys: &str| {
        let hetero = format!("  hetero:\n{keys}  precision:\n");
        FLAG_SCALE.replace("  precision:\n", &hetero)
    };
    let with = |keys: &str| read(&text(keys), None);
    let devices = |names: &str| {
        format!(
            "    enable_hetero: true\n    hetero_process_meshes: [1,1,1,2,1, 1,1,1,2,1]\n    \
             hetero_pipeline_layer_split: [3,1]\n    hetero_device_types: {names}\n    hetero_current_device_type: A800\n"
        )
    };
    let same = with(&devices("[A800, A800]"));
    has(
        &same.import,
        &[
            (FieldId::tensor_model_parallel_size, "1"),
            (FieldId::pipeline_model_parallel_size, "2"),
            (FieldId::sequence_parallel, "false"),
            (FieldId::pipeline_model_parallel_layout, "Ettt|tL"),
        ],
    );
    assert_eq!(unknown(&same), Vec::<&str>::new());
    assert_eq!(same.import.state.setup.job.not_modelled, []);
    let alone = text(&devices("[A800, A800]"));
    let alone = import_text(&alone, &ImportOptions::default()).unwrap();
    has(&alone.import, &[(FieldId::world_size, "4")]);
    let other = with(&devices("[A800, mlu590]"));
    let marks = &other.import.state.setup.job.not_modelled;
    let keys: Vec<_> = marks.iter().map(|mark| mark.key.as_str()).collect();
    assert_eq!(keys, ["system.hetero.hetero_device_types"]);
    let off = with("    enable_hetero: false\n    hetero_process_meshes: [1,1,1,2,1]\n");
    has(&off.import, &[(FieldId::tensor_model_parallel_size, "2")]);
}

#[test]
fn primus_overrides_the_arguments_of_its_trainer() {
    assert_eq!(detect(PRIMUS).unwrap().format.id(), "primus_yaml");
    let import = read(PRIMUS, Some("llama3.1-8b"));
    has(
        &import.import,
        &[
            (FieldId::num_layers, "32"),
            (FieldId::seq_length, "8192"),
            (FieldId::tensor_model_parallel_size, "1"),
            (FieldId::bf16, "true"),
            (FieldId::micro_batch_size, "2"),
            (FieldId::global_batch_size, "128"),
        ],
    );
    assert_eq!(unknown(&import), Vec::<&str>::new());
    let options = ImportOptions {
        variables: vec![("PRIMUS_TP".to_owned(), "8".to_owned())],
        model: Some("llama3.1-8b".to_owned()),
        gpus: Some(16),
        ..ImportOptions::default()
    };
    let import = import_text(PRIMUS, &options).unwrap();
    has(&import.import, &[(FieldId::tensor_model_parallel_size, "8")]);
}

/// The dispatcher of Primus-Turbo takes the place of Megatron's flex dispatcher; its second stage has tensors of its
/// own.
#[test]
fn primus_dispatches_tokens_with_deepep() {
    let turbo = |keys: &str| {
        let text = PRIMUS.replace(
            "      mock_data: true\n",
            &format!("      moe_router_dtype: fp32\n      expert_model_parallel_size: 8\n{keys}"),
        );
        read(&text, Some("qwen3-30b-a3b"))
    };
    let deepep = "      use_turbo_deepep: true\n";
    let on = "      enable_primus_turbo: true\n";
    let flex = (FieldId::moe_token_dispatcher_type, "flex");
    let first = turbo(&format!("{on}{deepep}      turbo_sync_free_moe_stage: 1\n"));
    has(&first.import, &[flex, (FieldId::moe_permute_fusion, "true")]);
    assert_eq!(first.import.state.setup.job.not_modelled, []);
    let second = turbo(&format!("{on}{deepep}      turbo_sync_free_moe_stage: 2\n"));
    has(&second.import, &[flex]);
    let marks = &second.import.state.setup.job.not_modelled;
    let keys: Vec<_> = marks.iter().map(|mark| mark.key.as_str()).collect();
    assert_eq!(keys, ["modules.pre_trainer.overrides.turbo_sync_free_moe_stage"]);
    let off = turbo(deepep);
    let dispatcher = off.import.state.setup.job.shared.get(flex.0);
    assert_ne!(dispatcher, Some(&Value::Text(flex.1.to_owned())));
}

#[test]
fn nemo_rl_trains_its_policy_with_bridge() {
    assert_eq!(detect(NEMO_RL).unwrap().format.id(), "nemo_rl_yaml");
    let import = read(NEMO_RL, Some("llama3.1-8b"));
    has(
        &import.import,
        &[
            (FieldId::num_layers, "32"),
            (FieldId::seq_length, "4096"),
            (FieldId::pipeline_model_parallel_size, "2"),
            (FieldId::world_size, "16"),
            (FieldId::global_batch_size, "512"),
            (FieldId::bf16, "true"),
            (FieldId::recompute_granularity, "full"),
            (FieldId::recompute_num_layers, "1"),
        ],
    );
    assert_eq!(unknown(&import), Vec::<&str>::new());
    // Recomputation is off where activation_checkpointing is, whatever stands beside it.
    let off = NEMO_RL.replace(
        "activation_checkpointing: true",
        "activation_checkpointing: false\n    recompute_granularity: full",
    );
    let import = read(&off, Some("llama3.1-8b"));
    assert_eq!(
        import.import.state.setup.job.shared.get(FieldId::recompute_granularity),
        None
    );
}

const NEMO: &str = "run:\n  name: x\ntrainer:\n  num_nodes: 2\n  devices: 8\n  precision: bf16\nexp_manager:\n  name: x\nmodel:\n  \
    mcore_gpt: true\n  micro_batch_size: 1\n  global_batch_size: 32\n  tensor_model_parallel_size: 2\n  encoder_seq_length: 4096\n  \
    max_position_embeddings: 4096\n  num_layers: 4\n  hidden_size: 512\n  ffn_hidden_size: 1024\n  num_attention_heads: 8\n  \
    num_query_groups: 2\n  hidden_dropout: 0.0\n  normalization: rmsnorm\n  bias: false\n  activation: fast-swiglu\n  \
    share_embeddings_and_output_weights: false\n  position_embedding_type: rope\n  megatron_amp_O2: true\n  \
    activations_checkpoint_granularity: selective\n  activations_checkpoint_method: block\n  activations_checkpoint_num_layers: 3\n  \
    sequence_parallel: true\n  fp8: true\n  fp8_e4m3: false\n  fp8_hybrid: true\n  tokenizer:\n    library: huggingface\n    \
    type: meta-llama/Llama-3.1-8B\n  optim:\n    name: mcore_distributed_optim\n    lr: 1e-4\n    overlap_grad_sync: true\n    \
    grad_sync_dtype: bf16\n    sched:\n      name: CosineAnnealing\n  data:\n    seq_length: 4096\n";

#[test]
fn nemo_has_its_own_words_for_megatrons_arguments() {
    assert_eq!(detect(NEMO).unwrap().format.id(), "nemo_yaml");
    let import = read(NEMO, None);
    has(
        &import.import,
        &[
            (FieldId::world_size, "16"),
            (FieldId::seq_length, "4096"),
            (FieldId::num_query_groups, "2"),
            (FieldId::normalization, "RMSNorm"),
            (FieldId::add_bias_linear, "false"),
            (FieldId::swiglu, "true"),
            (FieldId::untie_embeddings_and_output_weights, "true"),
            (FieldId::bf16, "true"),
            (FieldId::fp8_format, "hybrid"),
            (FieldId::use_distributed_optimizer, "true"),
            (FieldId::overlap_grad_reduce, "true"),
            (FieldId::grad_reduce_in_bf16, "true"),
            (FieldId::recompute_granularity, "selective"),
            (FieldId::vocab_size, "128256"),
        ],
    );
    let settings = &import.import.state.setup.job.shared;
    assert_eq!(settings.get(FieldId::recompute_method), None);
    assert_eq!(unknown(&import), Vec::<&str>::new());
    assert_eq!(import.import.state.setup.job.not_modelled, []);
    // Without O2, weights stay in fp32; Apex's optimizer shards gradients; layers may be NeMo's own.
    for (old, new) in [
        ("megatron_amp_O2: true", "megatron_amp_O2: false"),
        ("mcore_distributed_optim", "distributed_fused_adam"),
        ("mcore_gpt: true", "mcore_gpt: false"),
        ("  mcore_gpt: true\n", ""),
        ("fast-swiglu", "reglu"),
        ("  fp8: true", "  a_setting_of_tomorrow: 3\n  fp8: true"),
    ] {
        let import = read(&NEMO.replace(old, new), None);
        let marks = &import.import.state.setup.job.not_modelled;
        assert_eq!(marks.len(), 1, "{new}: {marks:?}");
    }
}

/// The name of the model chooses the layers: others do not know these two keys.
#[test]
fn attention_stands_beside_the_mlp_in_nemos_falcon() {
    let falcon = |name: &str, norms: bool| {
        let keys = format!(
            "  mcore_gpt: true\n  name: {name}\n  mcore_customization_config:\n    new_decoder_architecture: {norms}\n    \
             parallel_attention: true\n"
        );
        read(&NEMO.replace("  mcore_gpt: true\n", &keys), None)
    };
    for (name, norms, beside, marks) in [
        ("megatron_falcon_gpt", false, true, 0),
        ("megatron_falcon_gpt", true, true, 1),
        ("te_gpt", false, false, 0),
    ] {
        let import = falcon(name, norms);
        let job = &import.import.state.setup.job;
        let is_set = job.shared.get(FieldId::parallel_attention) == Some(&Value::Bool(true));
        assert_eq!(is_set, beside, "{name}");
        assert_eq!(job.not_modelled.len(), marks, "{:?}", job.not_modelled);
        assert_eq!(unknown(&import), Vec::<&str>::new());
    }
}

#[test]
fn nemo_rl_adds_the_file_that_a_configuration_changes() {
    let text = "defaults: ../../grpo_math_1B.yaml\npolicy:\n  model_name: meta-llama/Llama-3.1-8B\n  train_micro_batch_size: 2\n  \
        max_total_sequence_length: 4096\n  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 4\ncluster:\n  \
        gpus_per_node: 8\n  num_nodes: 2\n";
    let import = read(text, None);
    has(
        &import.import,
        &[
            (FieldId::num_layers, "32"),
            (FieldId::global_batch_size, "512"),
            (FieldId::world_size, "16"),
            (FieldId::use_distributed_optimizer, "true"),
            // Packed: a micro batch of two samples is one row.
            (FieldId::sft, "true"),
            (FieldId::micro_batch_size, "1"),
            (FieldId::seq_length, "8192"),
            (FieldId::longest_sample_length, "4096"),
        ],
    );
    assert_eq!(unknown(&import), Vec::<&str>::new());
    let other = text.replace("grpo_math_1B", "mine");
    let error = import_text(&other, &ImportOptions::default()).unwrap_err();
    assert!(error.to_string().contains("changes another one"), "{error}");
}

#[test]
fn flag_scale_widens_the_mlp_in_steps() {
    let text = FLAG_SCALE.replace(
        "  swiglu: true",
        "  multiple_of: 256\n  hidden_dim_multiplier: 1.3\n  swiglu: true",
    );
    // ⌊8/3 · 512⌋ = 1365, times 1.3 = 1774, up to the next multiple of 256.
    has(&read(&text, None).import, &[(FieldId::ffn_hidden_size, "1792")]);
}

#[test]
fn a_file_of_another_kind_is_not_taken() {
    let keys: Vec<_> = (0..8).map(|at| format!("  other_{at}: 1\n")).collect();
    let keys = keys.concat();
    let text = format!("model:\n  num_layers: 4\n{keys}train:\n  global_batch_size: 8\n");
    let error = import_text(&text, &ImportOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "This looks like a Megatron-Bridge configuration, but 8 of its 10 keys are no settings of it; nothing was read."
    );
}

#[test]
fn settings_of_what_is_off_are_not_carried() {
    let text = "model:\n  num_layers: 4\n  hidden_size: 512\n  num_attention_heads: 8\n  seq_length: 1024\n  vocab_size: 1000\ntrain:\n  \
        micro_batch_size: 1\n  global_batch_size: 16\noptimizer:\n  optimizer_cpu_offload: false\n  optimizer_offload_fraction: 0.0\n\
        ddp:\n  use_distributed_optimizer: true\n  data_parallel_sharding_strategy: no_shard\n";
    let off = [
        FieldId::optimizer_offload_fraction,
        FieldId::data_parallel_sharding_strategy,
    ];
    let import = read(text, None);
    let job = &import.import.state.setup.job;
    for id in off {
        assert_eq!(job.shared.get(id), None, "{}", id.field().name);
        let exported = bridge::overrides(job);
        assert!(!exported.contains(id.field().name), "{exported}");
    }
    let on = text
        .replace("optimizer_cpu_offload: false", "optimizer_cpu_offload: true")
        .replace("ddp:\n", "ddp:\n  use_megatron_fsdp: true\n");
    let import = read(&on, None);
    for id in off {
        let value = import.import.state.setup.job.shared.get(id);
        assert!(value.is_some(), "{}", id.field().name);
    }
}

/// Training in fp8, with what NeMo-RL's own files have where this one says nothing.
#[test]
fn nemo_rl_trains_in_fp8() {
    let with = |keys: &str| {
        let text = NEMO_RL.replace(
            "    pipeline_dtype:",
            &format!("    fp8_cfg:\n{keys}    pipeline_dtype:"),
        );
        read(&text, Some("llama3.1-8b"))
    };
    let format = (FieldId::fp8_format, "e4m3");
    let base = with("      enabled: true\n");
    has(&base.import, &[format, (FieldId::fp8_recipe, "blockwise")]);
    assert_eq!(base.import.state.setup.job.not_modelled, []);
    let gathered = with("      enabled: true\n      fp8: e4m3\n      fp8_recipe: mxfp8\n      fp8_param: true\n");
    let job = &gathered.import.state.setup.job;
    let gathers = job.shared.get(FieldId::fp8_param_gather);
    assert_eq!(gathers, Some(&Value::Bool(true)));
    let other = with("      enabled: true\n      fp8_param: true\n");
    let marks = &other.import.state.setup.job.not_modelled;
    let keys: Vec<_> = marks.iter().map(|mark| mark.key.as_str()).collect();
    assert_eq!(keys, ["policy.megatron_cfg.fp8_cfg.fp8_param"]);
    let off = with("      enabled: false\n      fp8: e4m3\n");
    assert_eq!(off.import.state.setup.job.shared.get(format.0), None);
}
