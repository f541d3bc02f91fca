//! Tests of the records of runs: reading, writing, making and checking them.

use megatron_memory::config::raw::RawJob;
use megatron_memory::evidence::{
    self, Measured, MeasuredStage, Run, Software, mistakes, read, review, submission, write,
};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use serde_json::json;

use std::collections::BTreeSet;

use super::runs;

fn job() -> RawJob {
    let job = json!({
        "num_layers": 8, "hidden_size": 1024, "num_attention_heads": 16, "seq_length": 2048, "max_position_embeddings": 2048,
        "micro_batch_size": 1, "global_batch_size": 16, "world_size": 8, "pipeline_model_parallel_size": 2,
        "padded_vocab_size": 32000, "bf16": true, "gpu": "h100-80gb",
    });
    RawJob::from_value(&serde_json::from_value::<Value>(job).unwrap())
}

/// A run that can be submitted as it is.
fn complete() -> Run {
    let measured = Measured {
        steady_allocated: Some(Bytes(3_000_000_000)),
        peak_allocated: Some(Bytes(4_000_000_000)),
        ..Measured::default()
    };
    let mut run = submission(job(), measured, MeasuredStage::At(1));
    run.source = String::from("https://example.com/log.txt");
    run.software = [(Software::Pytorch, "2.8.0".to_owned())].into();
    run.note = Some("after \"2\" iterations\nand a line".to_owned());
    run
}

/// The error of a record that differs from a complete one in one field; null takes the field away.
fn refusal(key: &str, value: serde_json::Value) -> String {
    let mut record: serde_json::Value = serde_json::from_str(&write(&complete())).unwrap();
    record[key] = value;
    read(&record.to_string()).unwrap_err().to_string()
}

#[test]
fn every_run_comes_back_from_its_record() {
    let mut all = runs();
    all.push(complete());
    for run in all {
        assert_eq!(read(&write(&run)).unwrap(), [run]);
    }
}

#[test]
fn one_record_or_a_list_is_read() {
    let run = complete();
    let list = format!("[{},{}]", write(&run), write(&run));
    assert_eq!(read(&list).unwrap(), [run.clone(), run]);
    let error = read("3").unwrap_err().to_string();
    assert!(error.contains("a record is a JSON object"), "{error}");
}

#[test]
fn errors_name_the_record_the_field_its_rule_and_a_value() {
    let cases = [
        (
            "source",
            json!(null),
            "source cannot be read: invalid type: null, expected a string; an example is \"https://",
        ),
        (
            "gpus",
            json!("eight"),
            "gpus cannot be read: invalid type: string \"eight\", expected u64; an example is 8",
        ),
        (
            "gpus",
            json!(-8),
            "gpus cannot be read: invalid value: integer `-8`, expected u64; an example is 8",
        ),
        (
            "confidence",
            json!("D"),
            "confidence cannot be read: unknown variant `D`, expected one of `A`, `B`, `C`; an example is \"A\"",
        ),
        ("pp_rank", json!("first"), "pp_rank cannot be read: "),
        ("pp_rank", json!(-1), "pp_rank cannot be read: "),
        (
            "moment",
            json!("tomorrow"),
            "moment cannot be read: unknown variant `tomorrow`, expected one of `first_iteration`, `later_iteration`",
        ),
        (
            "measured",
            json!({"peak": 1}),
            "measured.peak cannot be read: unknown field `peak`, expected one of `steady_allocated`, `peak_allocated`",
        ),
        (
            "measured",
            json!({"peak_allocated": 3814.5}),
            "measured.peak_allocated cannot be read: invalid type: floating point `3814.5`, expected u64; an example is 5",
        ),
        (
            "measured",
            json!("1"),
            "measured cannot be read: invalid type: string \"1\", expected struct Measured; an example is {",
        ),
        (
            "software",
            json!({"torch": "2.8"}),
            "software cannot be read: unknown variant `torch`, expected one of `container`, `cuda`, `pytorch`",
        ),
        ("out_of_scope", json!("why"), "out_of_scope must not stand beside job"),
        ("id", json!(" "), "id must not be empty; an example is \"submitted:"),
        (
            "job",
            json!(null),
            "job must be an object with Megatron's arguments, such as {\"num_layers\": 32",
        ),
        (
            "job",
            json!(7),
            "job cannot be read: a job is an object with Megatron's arguments; an example is {\"num_layers\":32",
        ),
        (
            "predicted",
            json!({"version": "0.1.0"}),
            "predicted cannot be read: missing field `steady_allocated`; an example is 38171500000",
        ),
        (
            "assumption",
            json!("x"),
            "assumption cannot be read: unknown field `assumption`, expected one of `id`, `group`, `model`",
        ),
    ];
    for (key, value, expected) in cases {
        let error = refusal(key, value);
        let rule = error
            .split_once(if key == "id" {
                "( ): "
            } else {
                "(submitted:8x1024-8gpus): "
            })
            .map(|(_, rule)| rule);
        assert!(rule.is_some_and(|rule| rule.starts_with(expected)), "{error}");
    }
}

#[test]
fn a_submission_holds_the_job_and_its_prediction() {
    let run = complete();
    assert_eq!(run.job.as_deref(), Some(&job()));
    assert_eq!(run.gpus, Some(8));
    assert_eq!(run.hardware.as_deref(), Some("H100 80 GB"));
    let predicted = run.predicted.as_ref().unwrap();
    let compared = evidence::compare(&run).unwrap();
    assert_eq!(compared.pp_rank, 1);
    assert_eq!(predicted.steady_allocated, compared.steady);
    assert_eq!(predicted.peak_allocated, compared.peak);
}

#[test]
fn a_complete_submission_has_no_mistakes() {
    assert_eq!(mistakes(&complete()), []);
}

#[test]
fn mistakes_of_a_submission_name_the_field_and_what_would_do() {
    let with = |change: fn(&mut Run)| {
        let mut run = complete();
        change(&mut run);
        let found: Vec<String> = mistakes(&run).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.join("")
    };
    let set = |run: &mut Run, key: &str, value: Value| {
        let Value::Map(mut entries) = run.job.as_deref().unwrap().to_value() else {
            panic!()
        };
        entries.push((key.to_owned(), value));
        run.job = Some(Box::new(RawJob::from_value(&Value::Map(entries))));
    };
    let cases = [
        (
            with(|run| run.source = "a log".to_owned()),
            "source must be the URL where the numbers are published, such as https://",
        ),
        (
            with(|run| run.measured = Measured::default()),
            "measured must have a number, such as {",
        ),
        (
            with(|run| run.measured.steady_allocated = Some(Bytes(38_171))),
            "measured.steady_allocated must be in bytes: 38171 is less than 100 MiB. 38171 MiB would be 40025194496",
        ),
        (
            with(|run| run.measured.peak_reserved = Some(Bytes(3_999_999_999))),
            "measured.peak_reserved must be at least measured.peak_allocated, which is 4000000000",
        ),
        (
            with(|run| run.gpus = Some(16)),
            "gpus must be the job's world_size 8, not 16",
        ),
        (
            with(|run| run.stage = None),
            "pp_rank must say which pipeline rank was measured, such as 0",
        ),
        (
            with(|run| run.stage = Some(MeasuredStage::At(2))),
            "pp_rank must be a pipeline rank of the job: 0 to 1",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.starts_with(expected), "{found}");
    }
    let mut misspelled = complete();
    set(&mut misspelled, "num_layer", Value::Int(8));
    let mut refused = complete();
    set(&mut refused, "tensor_model_parallel_size", Value::Int(3));
    for (run, expected) in [
        (misspelled, "job.num_layer is not a field of this calculator"),
        (refused, "job is one that Megatron refuses: "),
    ] {
        let found = mistakes(&run);
        assert!(
            found.iter().any(|mistake| mistake.to_string().starts_with(expected)),
            "{found:?}"
        );
    }
}

#[test]
fn a_review_recomputes_the_record() {
    let run = complete();
    let taken = BTreeSet::from(["another".to_owned()]);
    let found = review(&write(&run), &taken);
    assert_eq!(found.mistakes, [""; 0]);
    assert_eq!(found.accepted, std::slice::from_ref(&run.id));
    let predicted = run.predicted.clone().unwrap();
    let mib = |bytes: Bytes| (bytes.0 + (1 << 19)) >> 20;
    let steady = format!(
        "{}: steady 2861 MiB measured, {} MiB predicted: ",
        run.id,
        mib(predicted.steady_allocated)
    );
    assert!(found.remarks[0].starts_with(&steady), "{found:?}");
    assert_eq!(found.remarks.len(), 2, "{found:?}");
    // The prediction of another version, or of another job.
    let mut older = run.clone();
    older.predicted.as_mut().unwrap().peak_allocated = Bytes(predicted.peak_allocated.0 / 2);
    let found = review(&write(&older), &taken);
    let difference = format!(
        "bytes by version 0.1.0, {} bytes now: +100.00 %",
        predicted.peak_allocated.0
    );
    assert!(found.remarks[2].ends_with(&difference), "{found:?}");
    assert_eq!(found.mistakes, [""; 0]);
}

#[test]
fn a_review_refuses_what_cannot_be_taken() {
    let run = complete();
    let list = format!("[{},{}]", write(&run), write(&run));
    let found = review(&list, &BTreeSet::new());
    assert_eq!(found.accepted, std::slice::from_ref(&run.id));
    assert_eq!(found.mistakes.len(), 1);
    assert!(found.mistakes[0].ends_with(&format!("there is a run {0} already. {0}-2 would do", run.id)));
    let taken = BTreeSet::from([run.id.clone()]);
    assert_eq!(review(&write(&run), &taken).accepted, [""; 0]);
    let mut unsourced = run.clone();
    unsourced.source = String::new();
    let found = review(&write(&unsourced), &BTreeSet::new());
    assert!(
        found.mistakes[0].contains("source must be the URL where the numbers are published, such as https://"),
        "{found:?}"
    );
}
