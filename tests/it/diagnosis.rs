//! Out-of-memory errors and their jobs: what the failed allocation was, and why there was no room.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::diagnosis::{Cause, Diagnosis, diagnose};
use megatron_memory::formats::out_of_memory::{OutOfMemory, read};
use megatron_memory::formats::state::Setup;
use megatron_memory::memory::allocations::allocations;
use megatron_memory::memory::estimate;
use megatron_memory::presets;
use megatron_memory::report::diagnosis::{named, sentences};
use megatron_memory::units::{Bytes, GIB, MIB};
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::oracle;

/// The message that PyTorch prints of these amounts.
fn message(amounts: &Json) -> String {
    let amount = |key: &str| amounts[key].as_str();
    let mut text = format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}.",
        amount("requested").unwrap()
    );
    let mut add = |key: &str, before: &str, after: &str| {
        if let Some(amount) = amount(key) {
            text += &format!("{before}{amount}{after}");
        }
    };
    add("capacity", " GPU 0 has a total capacity of ", "");
    add("free", " of which ", " is free.");
    add("other", " Process 17 has ", " memory in use.");
    for process in amounts["processes"].as_array().into_iter().flatten() {
        text += &format!(" Process 18 has {} memory in use.", process.as_str().unwrap());
    }
    let mut add = |key: &str, before: &str, after: &str| {
        if let Some(amount) = amount(key) {
            text += &format!("{before}{amount}{after}");
        }
    };
    add(
        "in_process",
        " Including non-PyTorch memory, this process has ",
        " memory in use.",
    );
    add("allowed", " ", " allowed;");
    add("allocated", " Of the allocated memory ", " is allocated by PyTorch,");
    add("unallocated", " and ", " is reserved by PyTorch but unallocated.");
    text
}

fn error(text: &str) -> OutOfMemory {
    read(text).into_iter().next().unwrap()
}

fn config(job: &Json) -> Config {
    let value = serde_json::from_value(job.clone()).unwrap();
    let checked = check(&RawJob::from_value(&value));
    let problems: Vec<_> = checked.errors().map(|problem| problem.message.clone()).collect();
    checked.config.unwrap_or_else(|| panic!("{problems:?}"))
}

/// A traceback of these frames, as Python prints it above a message.
fn traceback(frames: &Json) -> String {
    let mut text = String::new();
    for frame in frames.as_array().into_iter().flatten() {
        let part = |place: usize| frame[place].as_str().unwrap();
        if text.is_empty() {
            text += "Traceback (most recent call last):\n";
        }
        text += &format!("  File \"{}\", line 7, in {}\n    {}\n", part(0), part(1), part(2));
    }
    text
}

/// The name of a cause in the data.
fn id(cause: &Cause) -> &'static str {
    match cause {
        Cause::Fragmentation { .. } => "fragmentation",
        Cause::HeldByOthers { .. } => "held_by_others",
        Cause::LongerMicroBatch(_) => "longer_micro_batch",
        Cause::TooLarge { .. } => "too_large",
        Cause::MoreThanThisJob { .. } => "more_than_this_job",
        Cause::Unknown => "unknown",
    }
}

/// The names of the tensors that the failed allocation may have been.
fn blocks(diagnosis: &Diagnosis) -> Vec<String> {
    let longer = diagnosis.longer.first().map(|longer| &longer.tensor);
    let shorter = diagnosis.shorter.iter().map(|shorter| &shorter.tensor);
    diagnosis
        .same_size
        .iter()
        .chain(shorter)
        .chain(longer)
        .map(named)
        .collect()
}

#[test]
fn errors_are_explained_as_their_threads_and_arithmetic_say() {
    let file = oracle::json("oom/messages.json");
    let rows = file["rows"].as_array().unwrap();
    assert!(rows.len() >= 30);
    let mut wrong = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let text = traceback(&row["traceback"]) + &message(&row["message"]);
        let error = error(&text);
        let config = config(&row["job"]);
        let found = diagnose(&error, &config, &estimate(&config));
        let blocks = blocks(&found);
        let is_named = |block: &str| blocks.iter().any(|known| known.contains(block));
        let cause = row["cause"].as_str().unwrap();
        let is_cause = cause == "any" || cause == id(&found.cause);
        let longer = found.longer.first().map(|longer| longer.tokens);
        let mut tokens = found.shorter.iter().map(|shorter| shorter.tokens).chain(longer);
        let has_tokens = row["tokens"].as_array().is_none_or(|range| {
            let within = range[0].as_u64().unwrap()..=range[1].as_u64().unwrap();
            tokens.any(|tokens| within.contains(&tokens))
        });
        if !row["block"].as_str().is_none_or(is_named) || !is_cause || !has_tokens {
            wrong.push(format!("row {index}: {text}: {blocks:?}, {:?}", found.cause));
        }
        assert!(!sentences(&error, &config, &found).is_empty());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An amount as PyTorch prints it.
fn printed(bytes: Bytes) -> String {
    let (unit, name) = if bytes.0 > GIB { (GIB, "GiB") } else { (MIB, "MiB") };
    let hundredths = (u128::from(bytes.0) * 100 + u128::from(unit / 2)) / u128::from(unit);
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

/// Saving with fully reshardable states gathers whole buffers in fp32 on the GPU, and buckets of them where gradients are
/// reduced while the backward pass runs.
#[test]
fn a_failure_while_saving_says_what_is_gathered() {
    let frames = serde_json::json!([[
        "megatron/training/checkpointing.py",
        "save_checkpoint",
        "state_dict = generate_state_dict("
    ]]);
    let text = traceback(&frames) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.48 GiB. GPU 0 has";
    // A bucket of 40,000,000 elements ends with the parameter that fills it, at most the embedding.
    for (overlap, elements) in [(false, 8_030_261_248), (true, 40_000_000 + 128_256 * 4_096)] {
        let mut job = Setup::of_preset(presets::by_id("llama3-8b").unwrap()).job;
        for field in [FieldId::overlap_grad_reduce, FieldId::overlap_param_gather] {
            job.put(0, field, Value::Bool(overlap));
        }
        let config = check(&job).config.unwrap();
        let estimate = estimate(&config);
        let error = error(&text);
        let found = diagnose(&error, &config, &estimate);
        let args = config.modules()[0].args();
        let sizes = (args.tensor_model_parallel_size, args.pipeline_model_parallel_size);
        assert_eq!((sizes, config.world_size()), ((1, 1), 8));
        // Fp32, with the eighth that the rank sends itself.
        let expected = Bytes(elements / 8 * 9 * 4);
        let gathered = found.gathered.unwrap();
        assert!(gathered.0.abs_diff(expected.0) < 64 * MIB, "{gathered:?}, {expected:?}");
        let said = sentences(&error, &config, &found).join(" ");
        assert!(said.contains("--dist-ckpt-optim-fully-reshardable"), "{said}");
    }
}

/// Weights of Hugging Face are scattered tensor by tensor: the embedding of Llama 3 is the largest, padded to 512 rows
/// for four ranks.
#[test]
fn a_failure_while_loading_says_what_is_scattered() {
    let frames = serde_json::json!([[
        "megatron/training/checkpointing.py",
        "load_checkpoint",
        "state_dict = dist_checkpointing.load("
    ]]);
    let text = traceback(&frames) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has";
    for (tp, expected) in [(1, 0), (4, 128_512 * 4_096 * 2 / 4 * 5)] {
        let mut job = Setup::of_preset(presets::by_id("llama3-8b").unwrap()).job;
        job.put(0, FieldId::tensor_model_parallel_size, Value::Int(tp));
        let config = check(&job).config.unwrap();
        let estimate = estimate(&config);
        let error = error(&text);
        let found = diagnose(&error, &config, &estimate);
        assert_eq!(found.scattered, Some(Bytes(expected)), "TP {tp}");
        let said = sentences(&error, &config, &found).join(" ");
        assert!(
            said.contains("Weights of Hugging Face") && said.contains("--ckpt-fully-parallel-load"),
            "{said}"
        );
    }
}

/// A job with every kind of layer that presets have is named tensor by tensor.
#[test]
fn every_large_tensor_of_a_job_is_named_by_its_failed_allocation() {
    let mut named_tensors = 0;
    for preset in [
        "deepseek-v3",
        "llama3-8b",
        "qwen3-next-80b-a3b",
        "gpt-oss-20b",
        "mixtral-8x7b",
    ] {
        let job = Setup::of_preset(presets::by_id(preset).unwrap()).job;
        let Some(config) = check(&job).config else {
            panic!("{preset}");
        };
        let estimate = estimate(&config);
        let tensors = allocations(&config, &estimate, estimate.worst);
        for tensor in tensors.iter().filter(|tensor| tensor.requested() > Bytes::mib(20)) {
            let text = format!(
                "CUDA out of memory. Tried to allocate {}. GPU 0 has",
                printed(tensor.requested())
            );
            let found = diagnose(&error(&text), &config, &estimate).same_size;
            let is_named = found.iter().any(|known| known.what == tensor.what);
            // Of more than four of one size, four are named.
            assert!(
                is_named || found.len() >= 4,
                "{preset}: {} of {text}: {found:?}",
                tensor.what
            );
            named_tensors += 1;
        }
    }
    assert!(named_tensors > 100, "{named_tensors}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A cause is never told that the printed amounts contradict.
    #[test]
    fn causes_agree_with_the_amounts(
        requested in 21_u64..60_000, free in 0_u64..20_000, other in 0_u64..60_000, allocated in 0_u64..80_000, unallocated in 0_u64..30_000,
    ) {
        let mib = |mib: u64| format!("{mib}.00 MiB");
        let amounts = serde_json::json!({
            "requested": mib(requested), "capacity": "79.11 GiB", "free": mib(free), "other": mib(other),
            "allocated": mib(allocated), "unallocated": mib(unallocated),
        });
        let error = error(&message(&amounts));
        let job = Setup::of_preset(presets::by_id("llama3-8b").unwrap()).job;
        let config = check(&job).config.unwrap();
        let estimate = estimate(&config);
        let found = diagnose(&error, &config, &estimate);
        match &found.cause {
            Cause::Fragmentation { .. } => prop_assert!(requested <= unallocated + free && unallocated > 0),
            Cause::HeldByOthers { held } => {
                prop_assert!(requested > free && requested <= free + held.0 / MIB + 1);
                // The only process that is listed is another one, unless it has room for what is reserved.
                prop_assert!(other < allocated + unallocated);
                prop_assert_eq!(held.0 / MIB, other);
            }
            Cause::LongerMicroBatch(longer) => prop_assert!(longer.tokens > longer.allowed),
            Cause::TooLarge { device, capacity } => {
                prop_assert!(device.1 > *capacity);
            }
            Cause::MoreThanThisJob { peak } => prop_assert!((allocated + requested) * MIB > peak.0),
            Cause::Unknown => {}
        }
    }
}
