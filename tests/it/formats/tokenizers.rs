//! What a launch script leaves to its tokenizer, to its environment and to programs other than the common one.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import::{Import, Options, Question, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::value::Value;

#[track_caller]
fn read(flags: &str) -> Import {
    let text = format!("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 {flags}");
    import(&text, &Options::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn vocabulary(import: &Import) -> Option<Value> {
    let settings = &import.state.setup.job.shared;
    settings.get(FieldId::vocab_size).cloned()
}

#[track_caller]
fn status(import: &Import, key: &str) -> (KeyStatus, Option<FieldId>) {
    let row = import.report.iter().find(|row| row.key == key);
    row.map_or_else(|| panic!("{key}"), |row| (row.status, row.field))
}

#[test]
fn a_known_tokenizer_gives_the_vocabulary() {
    for (flags, size, key) in [
        ("--tokenizer-type GPT2BPETokenizer", 50_257, "--tokenizer-type"),
        (
            "--tokenizer-type Llama2Tokenizer --tokenizer-model /data/tokenizer.model",
            32_000,
            "--tokenizer-type",
        ),
        (
            "--tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-8B",
            151_936,
            "--tokenizer-model",
        ),
        (
            "--tokenizer-model nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16",
            131_072,
            "--tokenizer-model",
        ),
        (
            "--tokenizer-model DEEPSEEK-AI/deepseek-v3",
            129_280,
            "--tokenizer-model",
        ),
        // A variant of a preset's model, a copy of it, and a folder with its name.
        (
            "--tokenizer-model meta-llama/Llama-3.1-8B-Instruct",
            128_256,
            "--tokenizer-model",
        ),
        (
            "--tokenizer-model unsloth/Qwen3-30B-A3B-Instruct-2507",
            151_936,
            "--tokenizer-model",
        ),
        (
            "--tokenizer-model /data/models/Qwen2.5-7B-Instruct/",
            152_064,
            "--tokenizer-model",
        ),
        ("--tokenizer-model Qwen/Qwen3.5-27B", 248_320, "--tokenizer-model"),
    ] {
        let import = read(flags);
        assert_eq!(vocabulary(&import), Some(Value::Int(size)), "{flags}");
        let derived = (KeyStatus::Derived, Some(FieldId::vocab_size));
        assert_eq!(status(&import, key), derived, "{flags}");
    }
}

#[test]
fn a_given_vocabulary_counts_and_an_unknown_tokenizer_says_nothing() {
    for flags in [
        "--tokenizer-type GPT2BPETokenizer --vocab-size 1000",
        "--vocab-size 1000 --tokenizer-model Qwen/Qwen3-8B",
    ] {
        assert_eq!(vocabulary(&read(flags)), Some(Value::Int(1000)), "{flags}");
    }
    let padded = read("--tokenizer-type GPT2BPETokenizer --padded-vocab-size 50304");
    assert_eq!(vocabulary(&padded), None);
    for model in ["Qwen/Qwen3", "Qwen", "/data/Qwen3-8B/tokenizer", "", "blob/main"] {
        let flags = format!("--tokenizer-type HuggingFaceTokenizer --tokenizer-model '{model}'");
        let import = read(&flags);
        assert_eq!(vocabulary(&import), None, "{model}");
        for key in ["--tokenizer-type", "--tokenizer-model"] {
            assert_eq!(status(&import, key), (KeyStatus::Ignored, None), "{model}");
        }
    }
}

#[test]
fn a_variable_that_only_sets_a_path_is_neither_asked_for_nor_missing() {
    let import = read("--save ${OUTPUT} --tokenizer-model $TOKENIZER --hidden-size $HIDDEN");
    for key in ["--save", "--tokenizer-model"] {
        assert_eq!(status(&import, key), (KeyStatus::Ignored, None), "{key}");
    }
    let width = Some(FieldId::hidden_size);
    assert_eq!(status(&import, "--hidden-size"), (KeyStatus::Missing, width));
    let asked: Vec<_> = import
        .questions
        .iter()
        .filter_map(|question| match question {
            Question::Variable { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(asked, ["HIDDEN"]);
}

#[test]
fn flags_of_other_programs_are_known() {
    let import = read(
        "--export-te-mcore-model --finetune-hf-dataset org/data --export-kd-cfg kd.yaml --freeze-LM \
         --top_p 0.9 --prompts a b --flextron --llm-tp 4 --misspelled-flag 1",
    );
    for (key, expected) in [
        ("--export-te-mcore-model", KeyStatus::Ignored),
        ("--finetune-hf-dataset", KeyStatus::Ignored),
        ("--export-kd-cfg", KeyStatus::NotModelled),
        ("--freeze-LM", KeyStatus::NotModelled),
        ("--top_p", KeyStatus::Ignored),
        ("--prompts", KeyStatus::Ignored),
        ("--flextron", KeyStatus::NotModelled),
        ("--llm-tp", KeyStatus::NotModelled),
        ("--misspelled-flag", KeyStatus::Unknown),
    ] {
        assert_eq!(status(&import, key).0, expected, "{key}");
    }
    let sizes = import.report.iter().find(|row| row.key == "--llm-tp");
    let why = &sizes.unwrap().note;
    assert!(why.contains("each with its own sizes"), "{why}");
}
