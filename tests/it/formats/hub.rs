//! Names of models on the Hugging Face Hub.

use megatron_memory::formats::hub::{Repository, known};
use proptest::prelude::*;

fn address(text: &str) -> Option<String> {
    Repository::read(text).ok().map(|repository| repository.address())
}

#[test]
fn names_and_addresses_of_models_are_understood() {
    let main = "https://huggingface.co/org/model-1.5_b/raw/main/config.json";
    for text in [
        "org/model-1.5_b",
        "  org/model-1.5_b\n",
        "org/model-1.5_b@main",
        "https://huggingface.co/org/model-1.5_b",
        "http://huggingface.co/org/model-1.5_b/",
        "huggingface.co/org/model-1.5_b?library=transformers#use",
        "hf.co/org/model-1.5_b",
        "https://huggingface.co/org/model-1.5_b/tree/main",
        "https://huggingface.co/org/model-1.5_b/blob/main/config.json",
        "https://huggingface.co/org/model-1.5_b/resolve/main/config.json",
    ] {
        assert_eq!(address(text).as_deref(), Some(main), "{text}");
    }
    for (text, expected) in [
        ("gpt2", "gpt2/raw/main"),
        ("https://huggingface.co/gpt2/tree/v1.0", "gpt2/raw/v1.0"),
        ("org/model@refs/pr/3", "org/model/raw/refs%2Fpr%2F3"),
        ("org/model@0123abc", "org/model/raw/0123abc"),
    ] {
        let expected = format!("https://huggingface.co/{expected}/config.json");
        assert_eq!(address(text), Some(expected), "{text}");
    }
}

#[test]
fn what_is_no_name_is_refused() {
    let long = format!("org/{}", "m".repeat(93));
    for text in [
        "",
        "a b",
        "/data/model",
        "../model",
        "org/../secret",
        "org/model/more",
        "org/model@",
        "org/model@../../x",
        "org/model@/x",
        "org/mo--del",
        "org/.hidden",
        "org/model?x=1",
        "org/model#x",
        "org%2Fmodel",
        "user:password@huggingface.co/org/model",
        "https://example.org/org/model",
        "https://huggingface.co.example.org/org/model",
        "https://huggingface.co@example.org/org/model",
        "https://huggingface.co/datasets/org/data",
        "https://huggingface.co/org/model/discussions/1",
        "javascript:alert(1)",
        "org/m\u{f6}del",
        long.as_str(),
    ] {
        assert!(address(text).is_none(), "{text}: {:?}", address(text));
    }
}

/// A model that a text only names is proposed by its preset, those with encoders too, whoever keeps a copy of it.
#[test]
fn a_named_model_has_its_preset_proposed() {
    for (name, id) in [
        ("Qwen/Qwen3-8B", Some("qwen3-8b")),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", Some("qwen3-30b-a3b")),
        ("/models/Qwen3-8B/", Some("qwen3-8b")),
        ("Qwen/Qwen3-VL-30B-A3B-Instruct", Some("qwen3-vl-30b-a3b")),
        ("Qwen/Qwen2-Audio-7B-Instruct", Some("qwen2-audio-7b")),
        ("Qwen/Qwen2.5-Omni-7B", Some("qwen2.5-omni-7b")),
        ("/models/Qwen3-ASR-1.7B", Some("qwen3-asr-1.7b")),
        ("somebody/a-model-of-his-own", None),
    ] {
        assert_eq!(known::proposed(name).map(|(id, _)| id), id, "{name}");
    }
}

proptest! {
    /// Whatever is typed, the page asks the Hub for a `config.json` or nobody for anything.
    #[test]
    fn every_address_is_of_one_file_of_the_hub(text in "(https://huggingface\\.co/)?[a-zA-Z0-9./@:?#%_ \\-\\\\]{0,40}") {
        if let Some(address) = address(&text) {
            let path = address.strip_prefix("https://huggingface.co/").unwrap();
            let (name, rest) = path.split_once("/raw/").unwrap();
            let revision = rest.strip_suffix("/config.json").unwrap();
            prop_assert!(name.split('/').count() <= 2 && !revision.contains('/'));
            prop_assert!(path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./%".contains(&b)));
            prop_assert!(!path.contains(".."));
        }
    }
}
