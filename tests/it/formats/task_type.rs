//! What a model of ms-swift puts out.

use megatron_memory::config::canonical::{Meaning, meaning};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::parse::Parsed;
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::report::KeyStatus;

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

#[test]
fn heads_for_embeddings_and_ranking_are_marked() {
    for task in ["embedding", "generative_reranker"] {
        let import = read(&format!("--task_type {task}"));
        assert_eq!(marks(&import), ["task_type"], "{task}");
        assert_eq!(labels(&import), None, "{task}");
    }
}

#[test]
fn reward_models_have_one_label() {
    let text = "NPROC_PER_NODE=8 megatron rlhf --rlhf_type rm --model org/model --max_length 4096";
    let import = import(text, &Options::default()).unwrap();
    assert_eq!(labels(&import), Some(1));
    assert!(is_untied(&import));
    assert_eq!(marks(&import), [""; 0]);
}
