//! Frameworks that hold Megatron's arguments below sections of their own.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};
use megatron_memory::value::Value;

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

#[track_caller]
fn has(imported: &ImportedText, wanted: &[(FieldId, &str)]) {
    let job = &imported.import.state.setup.job;
    for (id, value) in wanted {
        let found = job.shared.get(*id).map(|value| match value {
            Value::Text(text) => text.clone(),
            other => other.to_string(),
        });
        assert_eq!(found.as_deref(), Some(*value), "{}", id.field().name);
    }
    let problems: Vec<_> = check(job).errors().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
}

/// Keys that are not read.
fn unknown(imported: &ImportedText) -> Vec<&str> {
    let rows = imported.import.report.iter();
    let unknown = rows.filter(|row| row.status.id() == "unknown");
    unknown.map(|row| row.key.as_str()).collect()
}

#[test]
fn flag_scale_hands_its_leaves_to_megatron() {
    assert_eq!(detect(FLAG_SCALE).unwrap().format, Format::FlagScaleYaml);
    let import = read(FLAG_SCALE, None);
    has(
        &import,
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

#[test]
fn primus_overrides_the_arguments_of_its_trainer() {
    assert_eq!(detect(PRIMUS).unwrap().format, Format::PrimusYaml);
    let import = read(PRIMUS, Some("llama3.1-8b"));
    has(
        &import,
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
    has(&import, &[(FieldId::tensor_model_parallel_size, "8")]);
}

#[test]
fn nemo_rl_trains_its_policy_with_bridge() {
    assert_eq!(detect(NEMO_RL).unwrap().format, Format::NemoRlYaml);
    let import = read(NEMO_RL, Some("llama3.1-8b"));
    has(
        &import,
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
        import
            .import
            .state
            .setup
            .job
            .shared
            .get(FieldId::recompute_granularity),
        None
    );
}
