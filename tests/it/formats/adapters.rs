//! Adapters in texts of Megatron-Bridge, verl and ms-swift.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::value::Value;

/// The adapters of an imported text: type, rank and layers. A setting that the text does not give is empty.
fn adapters(text: &str) -> [String; 3] {
    let import = import_text(text, &ImportOptions::default()).unwrap().import;
    let job = import.state.setup.job;
    assert!(job.not_modelled.is_empty(), "{text}: {:?}", job.not_modelled);
    let fields = [FieldId::peft_type, FieldId::peft_dim, FieldId::peft_target_modules];
    fields.map(|id| match job.shared.get(id) {
        None => String::new(),
        Some(Value::Text(text)) => text.clone(),
        Some(other) => other.to_string(),
    })
}

/// ms-swift puts adapters beside all linear layers that the model has.
#[test]
fn all_linear_layers_are_those_of_the_model() {
    let targets = |model: &str, rest: &str| {
        let text = format!("megatron sft --model org/model --tuner_type lora --max_length 2048 {rest}");
        let options = ImportOptions {
            model: Some(model.to_owned()),
            ..ImportOptions::default()
        };
        let job = import_text(&text, &options).unwrap().import.state.setup.job;
        job.shared.get(FieldId::peft_target_modules).cloned()
    };
    let names = |more: &str| {
        Some(Value::Text(format!(
            "linear_qkv, linear_proj, linear_fc1, linear_fc2, {more}"
        )))
    };
    assert_eq!(targets("qwen3-8b", ""), None);
    assert_eq!(targets("qwen3-next-80b-a3b", ""), names("in_proj, out_proj"));
    let latent = "linear_q_down_proj, linear_q_up_proj, linear_kv_down_proj, linear_kv_up_proj";
    assert_eq!(targets("deepseek-v3", "--target_modules all-linear"), names(latent));
    assert_eq!(
        targets("deepseek-v3", "--mtp_num_layers 1"),
        names(&format!("{latent}, eh_proj"))
    );
    let given = "--target_modules linear_proj";
    assert_eq!(
        targets("deepseek-v3", given),
        Some(Value::Text("linear_proj".to_owned()))
    );
}

#[test]
fn adapters_are_read_from_every_front_end() {
    for (text, expected) in [
        (
            "model.num_layers=32\nmodel.hidden_size=4096\npeft.dim=16\npeft.alpha=32",
            ["lora", "16", ""],
        ),
        (
            "model:\n  num_layers: 32\n  hidden_size: 4096\npeft:\n  _target_: megatron.bridge.peft.dora.DoRA\n  dim: 8\n  target_modules:\n  - linear_qkv\n  - linear_proj\n  lora_A_init_method: xavier\n",
            ["dora", "8", "linear_qkv, linear_proj"],
        ),
        (
            "model:\n  num_layers: 32\n  hidden_size: 4096\npeft: null\n",
            ["", "", ""],
        ),
        (
            "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2\nactor_rollout_ref.model.lora.rank=16\nactor_rollout_ref.model.lora.type=canonical_lora",
            ["canonical_lora", "16", ""],
        ),
        (
            "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2\nactor_rollout_ref.model.lora.rank=0\nactor_rollout_ref.model.lora.alpha=32",
            ["", "", ""],
        ),
        (
            "megatron sft --tuner_type lora --lora_rank 16 --target_modules linear_qkv linear_proj --max_length 2048",
            ["lora", "16", "linear_qkv, linear_proj"],
        ),
        (
            "megatron sft --train_type lora --target_modules all-linear --max_length 2048",
            ["lora", "8", ""],
        ),
        (
            "policy:\n  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 2\n    peft:\n      enabled: true\n      \
             target_modules: [linear_qkv]\n      dim: 8\n      alpha: 32\n",
            ["lora", "8", "linear_qkv"],
        ),
        (
            "policy:\n  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 2\n    peft:\n      enabled: false\n      dim: 8\n",
            ["", "", ""],
        ),
        ("megatron sft --lora_rank 16 --max_length 2048", ["", "", ""]),
    ] {
        assert_eq!(adapters(text), expected, "{text}");
    }
}
