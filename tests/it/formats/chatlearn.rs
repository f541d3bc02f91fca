//! Overrides of `ChatLearn`, of which the training of the policy is read.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import::{Import, Question};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::value::Value;

use super::fields::has;

/// The overrides of every job.
const JOB: &str = "\
python chatlearn/entrypoint.py grpo --config-file template/grpo_megatron.yaml \\
    runtime_args.train_backend=megatron \\
    runtime_args.train_global_batch_size=512 \\
    models.policy_trainer.num_gpu=16 \\
    models.policy_trainer.tensor_model_parallel_size=2 \\
    models.policy.load=/models/our-8b \\
    models.policy.tensor_model_parallel_size=4";

#[track_caller]
fn read(overrides: &[&str]) -> Import {
    let words = overrides.iter().map(|word| format!(" \\\n    {word}"));
    let text = format!("{JOB}{}\n", words.collect::<String>());
    let options = ImportOptions {
        model: Some("qwen3-8b".to_owned()),
        ..ImportOptions::default()
    };
    let imported = import_text(&text, &options);
    imported.unwrap_or_else(|error| panic!("{error}\n{text}")).import
}

#[test]
fn the_trainer_of_the_policy_is_the_job() {
    let import = read(&["models.policy_trainer.seq_length=2048"]);
    assert_eq!(import.dialect, "ChatLearn");
    has(
        &import,
        &[
            (FieldId::world_size, "16"),
            (FieldId::tensor_model_parallel_size, "2"),
            (FieldId::global_batch_size, "512"),
            (FieldId::seq_length, "2048"),
            (FieldId::num_layers, "36"),
            (FieldId::padded_vocab_size, "151936"),
            // Of the template.
            (FieldId::bf16, "true"),
            (FieldId::sequence_parallel, "true"),
            (FieldId::use_distributed_optimizer, "true"),
            (FieldId::max_seqlen_per_dp_cp_rank, "2048"),
            (FieldId::micro_batch_size, "1"),
            (FieldId::token_loss, "chatlearn"),
        ],
    );
    assert_eq!(import.state.setup.job.not_modelled, []);
    assert_eq!(import.questions, []);
}

#[test]
fn micro_batches_are_packed_unless_they_are_not() {
    let lengths = [
        "models.policy.max_prompt_tokens_length=1024",
        "models.policy.max_response_tokens_length=3072",
    ];
    let tokens = "models.policy_trainer.max_token_in_packing=8192";
    let ranks = "models.policy_trainer.context_parallel_size=2";
    let seq = (FieldId::seq_length, "4096");
    let packed = FieldId::max_seqlen_per_dp_cp_rank;
    has(&read(&[&lengths[..], &[tokens]].concat()), &[seq, (packed, "8192")]);
    has(
        &read(&[&lengths[..], &[tokens, ranks, "models.policy_trainer.packing=True"]].concat()),
        &[seq, (packed, "4096")],
    );
    has(&read(&[&lengths[..], &[ranks]].concat()), &[seq, (packed, "2048")]);
    let padded = "models.policy_trainer.packing=False";
    let micro = "runtime_args.train_micro_batch_size=8";
    let import = read(&[&lengths[..], &[tokens, padded, micro]].concat());
    has(&import, &[seq, (FieldId::micro_batch_size, "8")]);
    assert_eq!(import.state.setup.job.shared.get(packed), None);
}

#[test]
fn what_is_not_the_training_of_a_gpt_with_megatron_is_said() {
    let length = "models.policy_trainer.seq_length=2048";
    for (word, key) in [
        (
            "models.policy_trainer.model_provider_module=qwen2_5_vl.pretrain_qwen",
            "models.policy_trainer.model_provider_module",
        ),
        ("models.policy_trainer.unheard_of=3", "models.policy_trainer.unheard_of"),
        (
            "models.policy.free_gpu_memory.offload_weights=False",
            "models.policy.free_gpu_memory.offload_weights",
        ),
        (
            "models.policy_trainer.freeze_ViT=True",
            "models.policy_trainer.freeze_ViT",
        ),
    ] {
        let import = read(&[length, word]);
        let marks: Vec<_> = import.state.setup.job.not_modelled.iter().collect();
        assert_eq!(marks.len(), 1, "{word}");
        assert_eq!(marks[0].key, key);
    }
    let fsdp = JOB.replace("train_backend=megatron", "train_backend=fsdp");
    let template = "runtime_args:\n  train_backend: megatron\nmodels:\n  policy_trainer:\n    num_gpu: 1\n";
    let alone = JOB.replace("train_backend=megatron", "num_episode=50");
    let config = alone.replace("grpo_megatron", "grpo_fsdp");
    let setting = format!("{alone} models.policy_trainer.meta_init=True");
    for (text, expected) in [
        (fsdp.as_str(), "FSDP"),
        (setting.as_str(), "FSDP"),
        (&format!("#!/bin/bash\n{config}"), "FSDP"),
        (template, "the template of a ChatLearn job"),
    ] {
        let error = import_text(text, &ImportOptions::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn the_reference_model_is_counted_where_it_stays_on_the_gpus() {
    let words = [
        "models.policy_trainer.seq_length=2048",
        "models.ref_policy.free_gpu_memory.offload_weights=False",
    ];
    has(&read(&words), &[(FieldId::ref_model, "true")]);
    let import = read(&[&words[..], &["models.ref_policy.tensor_model_parallel_size=4"]].concat());
    assert_eq!(import.state.setup.job.not_modelled.len(), 1);
}

#[test]
fn the_model_is_asked_for_by_the_name_in_the_text() {
    let import = import_text(JOB, &ImportOptions::default()).unwrap().import;
    let name = "/models/our-8b".to_owned();
    assert!(import.questions.contains(&Question::Model { name }));
    let text = JOB.replace("/models/our-8b", "Qwen/Qwen3-8B");
    let import = import_text(&text, &ImportOptions::default()).unwrap().import;
    assert_eq!(
        import.state.setup.job.shared.get(FieldId::num_layers),
        Some(&Value::Int(36))
    );
}
