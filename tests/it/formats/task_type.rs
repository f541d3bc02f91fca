//! What a model of ms-swift puts out.

use megatron_memory::config::canonical::{Meaning, meaning};
use megatron_memory::config::choices::ModuleToSave;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::parse::Parsed;
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::value::Value;

fn read(arguments: &str) -> Import {
    let text = format!("NPROC_PER_NODE=8 megatron sft --model org/model --max_length 4096 {arguments}");
    import(&text, &Options::default()).unwrap()
}

fn labels(import: &Import) -> Option<u64> {
    let id = FieldId::num_labels;
    match meaning(id, import.state.setup.job.shared.get(id)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    }
}

fn is_untied(import: &Import) -> bool {
    let id = FieldId::untie_embeddings_and_output_weights;
    meaning(id, import.state.setup.job.shared.get(id)) == Meaning::Is(Parsed::Flag(true))
}

fn marks(import: &Import) -> Vec<&str> {
    let marks = import.state.setup.job.not_modelled.iter();
    marks.map(|mark| mark.key.as_str()).collect()
}

#[test]
fn classification_has_a_head_of_as_many_labels() {
    for arguments in ["--task_type seq_cls --num_labels 2", "--num_labels 2"] {
        let import = read(arguments);
        assert_eq!(labels(&import), Some(2), "{arguments}");
        assert!(is_untied(&import), "{arguments}");
        assert_eq!(marks(&import), [""; 0], "{arguments}");
    }
    let missing = read("--task_type seq_cls");
    assert_eq!(marks(&missing), ["task_type"]);
    assert_eq!(labels(&missing), None);
}

#[test]
fn language_models_have_no_labels() {
    let import = read("--task_type causal_lm --num_labels 2");
    assert_eq!(labels(&import), None);
    assert_eq!(marks(&import), [""; 0]);
    let row = import.report.iter().find(|row| row.key == "--num_labels");
    assert_eq!(row.map(|row| row.status), Some(KeyStatus::Ignored));
}

/// A field of the job in words; empty where the text leaves its default.
fn field(import: &Import, id: FieldId) -> String {
    let value = import.state.setup.job.shared.get(id);
    match value {
        None => String::new(),
        Some(Value::Text(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[test]
fn heads_for_embeddings_and_ranking_have_a_loss_and_rows_of_their_own() {
    for (task, loss, rows) in [
        ("embedding", "ms_swift_embedding", 2),
        ("generative_reranker", "ms_swift_reranker", 8),
    ] {
        let import = read(&format!(
            "--task_type {task} --micro_batch_size 2 --global_batch_size 16"
        ));
        assert_eq!(marks(&import), [""; 0], "{task}");
        assert_eq!(labels(&import), None, "{task}");
        assert_eq!(field(&import, FieldId::token_loss), loss);
        assert_eq!(field(&import, FieldId::micro_batch_size), (2 * rows).to_string());
        assert_eq!(field(&import, FieldId::global_batch_size), (16 * rows).to_string());
    }
    assert_eq!(marks(&read("--task_type reranker")), ["task_type"]);
}

#[test]
fn trainers_that_take_the_labels_make_log_probabilities_themselves() {
    for (kind, loss) in [("grpo", "ms_swift"), ("gkd", "ms_swift"), ("dpo", ""), ("kto", "")] {
        let text = format!("NPROC_PER_NODE=8 megatron rlhf --rlhf_type {kind} --model org/model --max_length 4096");
        let import = import(&text, &Options::default()).unwrap();
        assert_eq!(field(&import, FieldId::token_loss), loss, "{kind}");
    }
}

#[test]
fn modules_that_are_saved_are_trained_as_a_whole_beside_adapters() {
    let [embedding, output] =
        [ModuleToSave::WordEmbeddings, ModuleToSave::OutputLayer].map(|module| 1 << module as u32);
    for (arguments, modules) in [
        (
            "--tuner_type lora --modules_to_save word_embeddings output_layer",
            Some(embedding | output),
        ),
        ("--tuner_type lora --modules_to_save all-embedding", Some(embedding)),
        ("--modules_to_save word_embeddings", None),
    ] {
        let import = read(arguments);
        assert_eq!(marks(&import), [""; 0], "{arguments}");
        let id = FieldId::peft_modules_to_save;
        let saved = import
            .state
            .setup
            .job
            .shared
            .get(id)
            .map(|value| meaning(id, Some(value)));
        let expected = modules.map(|bits| Meaning::Is(Parsed::Set(bits)));
        assert_eq!(saved, expected, "{arguments}");
    }
    assert_eq!(
        marks(&read("--tuner_type lora --modules_to_save lm_head")),
        ["modules_to_save"]
    );
}

#[test]
fn reward_models_have_one_label() {
    let text = "NPROC_PER_NODE=8 megatron rlhf --rlhf_type rm --model org/model --max_length 4096";
    let import = import(text, &Options::default()).unwrap();
    assert_eq!(labels(&import), Some(1));
    assert!(is_untied(&import));
    assert_eq!(marks(&import), [""; 0]);
}
