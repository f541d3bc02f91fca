//! The command line, as a user calls it: what it prints, and the exit status.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    missing_docs,
    reason = "a test that meets a surprise should stop there and say so"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use megatron_memory::formats::detect::{Format, detect};
use serde_json::{Value, json};

/// Where the tests' jobs are.
const JOBS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/cli/jobs");

/// How a call ended.
struct Ended {
    status: i32,
    output: String,
    errors: String,
}

/// Runs the command line in the folder of the tests' jobs.
fn run(arguments: &[&str], input: &str) -> Ended {
    let mut child = Command::new(env!("CARGO_BIN_EXE_megatron-memory"))
        .args(arguments)
        .current_dir(JOBS)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A call that fails early reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let ended = child.wait_with_output().unwrap();
    Ended {
        status: ended.status.code().unwrap(),
        output: String::from_utf8(ended.stdout).unwrap(),
        errors: String::from_utf8(ended.stderr).unwrap(),
    }
}

/// A file's text.
fn job(name: &str) -> String {
    fs::read_to_string(format!("{JOBS}/{name}")).unwrap()
}

/// A file for a test's output.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn the_exit_status_of_check_is_the_verdict() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&["deepseek-v3"], 0, "Fits: 65.2 GiB allocated"),
        (&["deepseek-v3", "--max", "70GiB"], 0, "Tight"),
        (&["deepseek-v3", "--max", "70GiB", "--strict"], 1, "Tight"),
        (&["deepseek-v3", "--max", "60GB"], 1, "Does not fit"),
        (&["#v1;m=llama3-8b@1"], 1, "82.5 to 88.2 GiB on the device"),
        (
            &["#v1;m=qwen3-235b-a22b@2;gpus=64"],
            3,
            "world_size 64 cannot hold one replica of the model",
        ),
        (&["megatron_lm.sh", "--gpu", "h100-80gb"], 0, "Fits"),
        (&["megatron_lm.sh", "--gpu", "a100-40gb"], 1, "Does not fit"),
        (&["megatron_lm.sh"], 2, "--gpu or --max says what it may be"),
        (
            &["illegal.sh", "--gpu", "h100-80gb"],
            3,
            "num_attention_heads 32 must be a multiple of tensor_model_parallel_size 3",
        ),
        (
            &["open.sh", "--gpu", "h100-80gb"],
            5,
            "--var NODES_OF_THE_CLUSTER=VALUE",
        ),
        (
            &["open.sh", "--gpu", "h100-80gb", "--var", "NODES_OF_THE_CLUSTER=2"],
            0,
            "Fits",
        ),
        (&["open.sh", "--gpu", "h100-80gb", "--gpus", "16"], 0, "Fits"),
        (&["overrides.txt", "--gpu", "h100-80gb"], 5, "how many GPUs: --gpus N"),
        (
            &[
                "overrides.txt",
                "--gpu",
                "h100-80gb",
                "--gpus",
                "8",
                "--set",
                "bf16=true",
            ],
            1,
            "Does not fit",
        ),
        (
            &["megatron_lm.sh", "--gpu", "h100-80gb", "--set", "micro-batch-size=8"],
            1,
            "Does not fit",
        ),
        (
            &["megatron_lm.sh", "--set", "micro_batch=8"],
            2,
            "did you mean micro_batch_size?",
        ),
        (&["no_such_file.sh"], 5, "`megatron-memory presets` lists presets"),
        (
            &["#v1;m=llama3-8b;nm=use_transformer_engine_op_fuser"],
            4,
            "use_transformer_engine_op_fuser is not modelled",
        ),
        (&["megatron_lm.sh", "--gpu", "h100"], 0, "of 79.1 GiB"),
        (&["megatron_lm.sh", "--gpu", "NVIDIA A100-SXM4-40GB"], 1, "of 39.4 GiB"),
        (&["megatron_lm.sh", "--gpu", "h10"], 2, "there is no GPU h10"),
        // Its schedule refuses it when training starts.
        (
            &[
                "llama3-70b",
                "--gpu",
                "h100-80gb",
                "--set",
                "context_parallel_size=4",
                "--set",
                "global_batch_size=6",
            ],
            3,
            "Cannot run",
        ),
        // The worst of several counts.
        (
            &["deepseek-v3", "illegal.sh", "--gpu", "h100-80gb"],
            3,
            "illegal.sh: Cannot run",
        ),
    ];
    for (arguments, status, text) in cases {
        let ended = run(&[&["check"], *arguments].concat(), "");
        let said = format!("{arguments:?}: {} {}", ended.output, ended.errors);
        assert_eq!(ended.status, *status, "{said}");
        // What the argument parser refuses has no result.
        let place = if ended.output.is_empty() {
            &ended.errors
        } else {
            &ended.output
        };
        assert!(place.contains(text), "{said}");
    }
}

#[test]
fn a_job_may_come_from_the_standard_input() {
    let ended = run(&["check", "-", "--gpu", "h100-80gb"], &job("megatron_lm.sh"));
    assert_eq!(ended.status, 0, "{}", ended.errors);
    let of_file = run(&["check", "megatron_lm.sh", "--gpu", "h100-80gb"], "");
    assert_eq!(
        ended.output.trim_start_matches("-: "),
        of_file.output.trim_start_matches("megatron_lm.sh: ")
    );
}

/// A thread as people paste it: prose, the script, and the message with its traceback.
const THREAD: &str = include_str!("thread.md");

/// One call has the cause, the stage, the tensor and the first change with which the job fits; a second one the changed
/// job.
#[test]
fn a_thread_is_explained_and_its_job_made_to_fit() {
    let Ended { status, output, .. } = run(&["check", "-"], THREAD);
    assert_eq!(status, 1, "{output}");
    for expected in [
        "of 79.2 GiB",
        "out of memory, line 17: The job is too large for the GPU: stage 0",
        "output of linear_fc1",
        "first way out: Sequence parallel",
    ] {
        assert!(output.contains(expected), "{expected}: {output}");
    }
    let Ended { status, output, .. } = run(&["check", "-", "--set", "sequence_parallel=true"], THREAD);
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("Fits"), "{output}");
}

#[test]
fn a_message_alone_says_what_its_amounts_say() {
    let message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of \
                   267.69 GiB of which 7.07 GiB is free. Of the allocated memory 193.72 GiB is allocated by PyTorch, and \
                   56.72 GiB is reserved by PyTorch but unallocated.";
    let Ended { status, output, .. } = run(&["check", "-"], message);
    assert_eq!(status, 5, "{output}");
    assert!(
        output.contains("9.27 GiB were asked for on a GPU of 267.69 GiB"),
        "{output}"
    );
    assert!(
        output.contains("Fragmentation: 9.27 GiB would have fitted into the 56.72 GiB"),
        "{output}"
    );
}

/// What the amounts of a message say does not wait for the answers that its job needs.
#[test]
fn a_message_beside_open_questions_says_what_its_amounts_say() {
    let script = include_str!("jobs/open.sh");
    let message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 79.19 \
                   GiB of which 2.00 GiB is free. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 9.00 GiB \
                   is reserved by PyTorch but unallocated.";
    let Ended { status, output, .. } = run(&["check", "-"], &format!("{script}\n{message}\n"));
    assert_eq!(status, 5, "{output}");
    let [question, cause] =
        ["--var NODES_OF_THE_CLUSTER=VALUE", "Fragmentation: 3.91 GiB"].map(|said| output.find(said));
    assert!(question.is_some() && question < cause, "{output}");
}

#[test]
fn a_job_without_a_result_has_no_number_in_json() {
    let ended = run(&["check", "--json", "deepseek-v3", "illegal.sh", "open.sh"], "");
    let reports: Vec<Value> = serde_json::from_str(&ended.output).unwrap();
    assert_eq!(reports[0]["verdict"], "fits");
    assert_eq!(reports[0]["peak_bytes"], 69_981_795_328_u64);
    assert_eq!(reports[0]["link"], "#v1;m=deepseek-v3@3");
    for (report, verdict, status) in [(&reports[1], "cannot_run", 3), (&reports[2], "open_questions", 5)] {
        assert_eq!(report["verdict"], verdict);
        assert_eq!(report["exit_status"], status);
        assert!(report.get("peak_bytes").is_none());
        assert!(!report["problems"].as_array().unwrap().is_empty());
    }
}

#[test]
fn what_check_found_is_a_table_for_a_comment() {
    let file = scratch("check.md");
    let ended = run(
        &[
            "check",
            "deepseek-v3",
            "illegal.sh",
            "--markdown",
            file.to_str().unwrap(),
        ],
        "",
    );
    assert_eq!(ended.status, 3);
    let table = fs::read_to_string(file).unwrap();
    assert!(
        table.contains("| `deepseek-v3` | fits | 65.2 GiB | 68.3 to 74.7 GiB | stage 1 |"),
        "{table}"
    );
    assert!(
        table.contains("| `illegal.sh` | cannot run: num_attention_heads 32"),
        "{table}"
    );
}

#[test]
fn every_export_of_the_command_line_comes_back_to_the_same_memory() {
    let peak = |place: &str, input: &str| {
        let ended = run(&["check", "--json", place, "--gpu", "h100-80gb", "--gpus", "8"], input);
        let reports: Vec<Value> = serde_json::from_str(&ended.output).unwrap();
        reports[0]["peak_bytes"].clone()
    };
    let expected = peak("megatron_lm.sh", "");
    assert!(expected.is_u64());
    for form in ["json", "megatron_args", "link"] {
        let ended = run(&["export", "megatron_lm.sh", "--to", form], "");
        assert_eq!(ended.status, 0, "{form}: {}", ended.errors);
        assert_eq!(peak("-", &ended.output), expected, "{form}");
    }
}

#[test]
fn an_estimate_is_printed_in_every_form() {
    for (form, text) in [
        ("text", "Fits: on the fullest GPU 65.2 GiB allocated"),
        ("csv", "69981795328"),
        ("markdown", "| stage 1 |"),
        ("tsv", "stage 1\t"),
        ("json", "\"bytes\": 69981795328"),
    ] {
        let ended = run(&["estimate", "deepseek-v3", "--format", form], "");
        assert_eq!(ended.status, 0, "{form}: {}", ended.errors);
        assert!(ended.output.contains(text), "{form}: {}", ended.output);
    }
    let [json, same] = ["--format=json", "--json"].map(|form| run(&["estimate", "deepseek-v3", form], "").output);
    assert_eq!(json, same);
    let ended = run(&["estimate", "illegal.sh"], "");
    assert_eq!(ended.status, 3);
    assert!(ended.output.is_empty() && ended.errors.starts_with("Cannot run"));
}

#[test]
fn what_cannot_be_used_of_a_link_is_said() {
    let ended = run(&["check", "#v1;m=qwen3-235b-a22b@2;gpus=256;gp"], "");
    assert!(ended.errors.contains("“gp” is not known here"), "{}", ended.errors);
}

#[test]
fn an_import_reports_every_key_and_asks_what_is_open() {
    let ended = run(&["import", "open.sh", "--report"], "");
    assert_eq!(ended.status, 5);
    assert!(
        ended.output.contains("--num-layers\t32\tmapped\tnum_layers"),
        "{}",
        ended.output
    );
    assert!(ended.errors.contains("$NODES_OF_THE_CLUSTER"), "{}", ended.errors);
}

/// What CUDA reports of an H100 to a process at least, in bytes: 79.10 GiB.
const H100: u64 = 84_932_978_278;

#[test]
fn a_replay_says_what_the_allocator_reserves() {
    let ended = run(&["check", "llama3-8b", "--json"], "");
    let found: Value = serde_json::from_str(&ended.output).unwrap();
    let of_check = &found[0]["reserved"];
    let number = |key: &str| of_check[key].as_u64().unwrap();
    assert!(number("low_bytes") >= found[0]["peak_bytes"].as_u64().unwrap());
    assert!(number("low_bytes") < number("high_bytes"));
    assert!(number("holes_bytes") < number("high_bytes"));
    assert!(of_check["holes_moment"].as_str().unwrap().starts_with("iteration "));
    let ended = run(&["estimate", "llama3-8b", "--json"], "");
    let same: Value = serde_json::from_str(&ended.output).unwrap();
    assert_eq!(same["result"]["reserved"], *of_check);
    // The JavaScript API is held to the same table.
    let table: Value = serde_json::from_str(include_str!("../reserved.json")).unwrap();
    for row in table.as_array().unwrap() {
        let ended = run(&["check", row["preset"].as_str().unwrap(), "--json"], "");
        let found: Value = serde_json::from_str(&ended.output).unwrap();
        assert_eq!(found[0]["reserved"], row["reserved"], "{row}");
    }
    // What expandable segments would gain starts from the same, and ends with what they reserve.
    let ended = run(&["fit", "llama3-70b", "--json"], "");
    let found: Value = serde_json::from_str(&ended.output).unwrap();
    for (side, setting) in [("now", "false"), ("then", "true")] {
        let set = format!("expandable_segments={setting}");
        let ended = run(&["check", "llama3-70b", "--set", &set, "--json"], "");
        let checked: Value = serde_json::from_str(&ended.output).unwrap();
        let gains = found["reserved_gains"].as_array().unwrap();
        let of_segments = |gain: &&Value| gain["settings"]["expandable_segments"] == true;
        let gain = gains.iter().find(of_segments).unwrap();
        for (name, value) in gain[side].as_object().unwrap() {
            assert_eq!(*value, checked[0]["reserved"][name], "{side}: {name}");
        }
    }
    let ended = run(&["fit", "llama3-70b"], "");
    assert!(
        ended.output.contains("--set expandable_segments=true"),
        "{}",
        ended.output
    );
    // Factors of one's own count in its place.
    for command in ["check", "estimate"] {
        let words = "Reserved by a replay of PyTorch's allocator: ";
        let ended = run(&[command, "llama3-8b"], "");
        assert!(ended.output.contains(words), "{}", ended.output);
        let ended = run(&[command, "llama3-8b", "--set", "reserved_over_allocated_high=1.2"], "");
        assert!(!ended.output.contains(words), "{}", ended.output);
    }
}

#[test]
fn a_measured_run_calibrates_the_times_of_its_model() {
    let ended = run(&["calibrate", "llama3-8b", "--seconds", "40", "--json"], "");
    assert_eq!(ended.status, 0, "{}", ended.errors);
    let found: Value = serde_json::from_str(&ended.output).unwrap();
    let after = found["runs"][0]["after_seconds"].as_f64().unwrap();
    assert!((after / 40.0 - 1.0).abs() < 1e-3, "{found}");
    let by = found["step_time_calibration"].as_str().unwrap();
    let with = format!("step_time_calibration={by}");
    let ended = run(&["estimate", "llama3-8b", "--set", &with], "");
    assert!(ended.output.contains("About 40.0 s a step"), "{}", ended.output);
    assert!(ended.output.contains("calibrated on your log: ±"), "{}", ended.output);
    let ended = run(&["calibrate", "llama3-8b"], "");
    assert!(
        ended.status != 0 && ended.errors.contains("--seconds SECONDS"),
        "{}",
        ended.errors
    );
    // Factors of one model are none of another.
    let ended = run(
        &[
            "calibrate",
            "llama3-8b",
            "llama3-70b",
            "--seconds",
            "40",
            "--seconds",
            "300",
        ],
        "",
    );
    assert!(
        ended.status != 0 && ended.errors.contains("one model"),
        "{}",
        ended.errors
    );
}

#[test]
fn a_search_lists_layouts_that_fit() {
    let ended = run(&["search", "llama3-8b", "--json", "--limit", "3"], "");
    assert_eq!(ended.status, 0, "{}", ended.errors);
    let found: Value = serde_json::from_str(&ended.output).unwrap();
    let layouts = found["layouts"].as_array().unwrap();
    assert_eq!(layouts.len(), 3);
    for layout in layouts {
        assert!(layout["device_bytes"].as_u64().unwrap() <= H100, "{layout}");
        assert!(layout["settings"].is_object(), "{layout}");
    }
    let of = &found["search"];
    assert_eq!(of["limit_bytes"].as_u64(), Some(H100), "{of}");
    assert_eq!(of["varied"][1]["symbol"], "TP", "{of}");
    assert_eq!(of["left_alone"][0]["symbol"], "Train", "{of}");
    let sum = ["fit", "tight", "too_large"].map(|of| found[of].as_u64().unwrap());
    assert_eq!(sum.iter().sum::<u64>(), found["runs"].as_u64().unwrap());
    let ended = run(&["search", "llama3-8b"], "");
    for head in [
        "The job as it is: ",
        "GPU: ",
        "Varied: PP 1 to ",
        "As in the job: ",
        " fit, ",
        " are tight, ",
    ] {
        assert!(ended.output.contains(head), "{head}: {}", ended.output);
    }
    // Without a GPU nothing fits, and where nothing fits it says by how much.
    let ended = run(
        &[
            "search",
            "llama3-8b",
            "--set",
            "gpu=null",
            "--set",
            "gpu_memory_mib=null",
        ],
        "",
    );
    assert_eq!(ended.status, 2, "{}", ended.output);
    assert!(!ended.output.contains(" fit,"), "{}", ended.output);
    let ended = run(&["search", "llama3-70b", "--set", "gpu_memory_mib=9000"], "");
    assert_eq!(ended.status, 1, "{}", ended.output);
    assert!(
        ended.output.contains("Nothing fits. Nearest is ") && ended.output.contains("over by "),
        "{}",
        ended.output
    );
    // GPUs vary as far as they may, and it says how far that was.
    let ended = run(&["search", "llama3-8b", "--vary", "gpus,tp"], "");
    assert!(ended.output.contains("the job's own number"), "{}", ended.output);
    let ended = run(
        &["search", "llama3-8b", "--vary", "gpus,tp", "--at-most", "gpus=512"],
        "",
    );
    assert!(ended.output.contains("GPUs 1 to 512 (at most 512)"), "{}", ended.output);
    let ended = run(&["search", "llama3-8b", "--vary", "width"], "");
    assert_eq!(ended.status, 2);
    assert!(
        ended.errors.contains("possible values: train, gpus, pp, vpp, tp"),
        "{}",
        ended.errors
    );
}

/// What a search says of the job and of each layout is what a check says of it, by verdict and by exit status.
#[test]
fn searches_say_what_checks_say() {
    for more in [
        ["gpu_memory_mib=60000", "global_batch_size=128"],
        ["gpu_memory_mib=38000", "global_batch_size=96"],
        ["gpu_memory_mib=16000", "micro_batch_size=2"],
        ["gpu=null", "global_batch_size=64"],
    ] {
        let sets = |more: &[String]| {
            let mut arguments = vec!["llama3-8b".to_owned()];
            arguments.extend(more.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
            arguments
        };
        let more: Vec<String> = more.map(str::to_owned).into();
        let verdict = |more: &[String]| {
            let arguments = [vec!["check".to_owned(), "--json".to_owned()], sets(more)].concat();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let reports: Value = serde_json::from_str(&run(&arguments, "").output).unwrap();
            reports[0]["verdict"].clone()
        };
        let arguments = [
            vec!["search".to_owned(), "--json".to_owned(), "--all".to_owned()],
            sets(&more),
        ];
        let arguments = arguments.concat();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let found: Value = serde_json::from_str(&run(&arguments, "").output).unwrap();
        let same = |said: &Value, checked: &Value| match said {
            Value::Null => checked == "unknown",
            said => said == checked,
        };
        assert!(same(&found["search"]["verdict"], &verdict(&more)), "{more:?}");
        let layouts = found["layouts"].as_array().unwrap();
        assert!(layouts.len() > 3, "{more:?}");
        // `--set` gives values, and cannot go back to the default of a switch.
        let given = |layout: &&Value| {
            layout["settings"]
                .as_object()
                .unwrap()
                .values()
                .all(|value| !value.is_null())
        };
        for layout in layouts.iter().filter(given).take(8) {
            let settings = layout["settings"].as_object().unwrap().iter();
            let settings = settings.map(|(key, value)| format!("{key}={value}"));
            let checked = verdict(&more.iter().cloned().chain(settings).collect::<Vec<_>>());
            assert!(same(&layout["verdict"], &checked), "{more:?} {layout}: {checked}");
        }
    }
}

#[test]
fn a_chart_is_an_svg_file() {
    let file = scratch("stages.svg");
    let ended = run(
        &[
            "svg",
            "deepseek-v3",
            "--chart",
            "stage_bars",
            "-o",
            file.to_str().unwrap(),
        ],
        "",
    );
    assert_eq!(ended.status, 0, "{}", ended.errors);
    assert!(fs::read_to_string(file).unwrap().starts_with("<svg"));
    let ended = run(&["svg", "deepseek-v3", "--chart", "pie"], "");
    assert_eq!(ended.status, 2);
    assert!(ended.errors.contains("stage_bars"), "{}", ended.errors);
}

#[test]
fn every_preset_is_listed_and_can_be_checked() {
    let ended = run(&["presets"], "");
    let names: Vec<&str> = ended
        .output
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() >= 40);
    let ended = run(&[&["check", "--json", "--gpu", "b300"], names.as_slice()].concat(), "");
    let reports: Vec<Value> = serde_json::from_str(&ended.output).unwrap();
    for report in &reports {
        assert!(report["peak_bytes"].is_u64(), "{report}");
    }
}

/// Llama 3 8B with TP 2 on eight GPUs in every format that is read, one file each: what a check of the file alone asks
/// for, the options that answer, and the verdict then. Launchers differ in what they set beside: the sums of gradients,
/// dropout, the loss.
const DIALECTS: &[(&str, &str, &[&str], &str)] = &[
    ("link", "", &[], FITS_AS_WRITTEN_FOR_MEGATRON_LM),
    ("json", "", &[], FITS_AS_WRITTEN_FOR_MEGATRON_LM),
    (
        "hub",
        "the text does not give seq_length: --set seq_length=N, often 2048, 4096, 8192",
        &[
            "--gpus",
            "8",
            "--set",
            "seq_length=8192",
            "--set",
            "bf16=true",
            "--set",
            "use_distributed_optimizer=true",
            "--set",
            "tensor_model_parallel_size=2",
            "--set",
            "sequence_parallel=true",
            "--set",
            "global_batch_size=128",
            "--set",
            "attention_dropout=0",
            "--set",
            "hidden_dropout=0",
        ],
        FITS_AS_WRITTEN_FOR_MEGATRON_LM,
    ),
    (
        "hf_config",
        "the text does not give seq_length: --set seq_length=N, often 2048, 4096, 8192",
        &[
            "--gpus",
            "8",
            "--set",
            "seq_length=8192",
            "--set",
            "bf16=true",
            "--set",
            "use_distributed_optimizer=true",
            "--set",
            "tensor_model_parallel_size=2",
            "--set",
            "sequence_parallel=true",
            "--set",
            "global_batch_size=128",
            "--set",
            "attention_dropout=0",
            "--set",
            "hidden_dropout=0",
        ],
        FITS_AS_WRITTEN_FOR_MEGATRON_LM,
    ),
    (
        "megatron_args",
        "how many GPUs: --gpus N",
        &["--gpus", "8"],
        FITS_AS_WRITTEN_FOR_MEGATRON_LM,
    ),
    ("script", "", &["--var", "LONG=0"], FITS_AS_WRITTEN_FOR_MEGATRON_LM),
    (
        "model_args",
        "how many GPUs: --gpus N",
        &["--gpus", "8"],
        FITS_AS_WRITTEN_FOR_MEGATRON_LM,
    ),
    (
        "bridge_yaml",
        "how many GPUs: --gpus N",
        &["--gpus", "8"],
        FITS_WITH_MEGATRON_BRIDGE,
    ),
    (
        "bridge_python",
        "how many GPUs: --gpus N",
        &["--gpus", "8"],
        FITS_WITH_MEGATRON_BRIDGE,
    ),
    (
        "verl_yaml",
        "the model /models/our-8b: --model PRESET",
        &["--model", "llama3-8b"],
        FITS_WITH_VERL,
    ),
    (
        "megatron_yaml",
        "how many GPUs: --gpus N",
        &["--gpus", "8"],
        FITS_AS_WRITTEN_FOR_MEGATRON_LM,
    ),
    (
        "swift",
        "the model /models/our-8b: --model PRESET",
        &["--model", "llama3-8b"],
        FITS_WITH_MS_SWIFT,
    ),
    (
        "swift_yaml",
        "the model /models/our-8b: --model PRESET",
        &["--model", "llama3-8b", "--gpus", "8"],
        FITS_WITH_MS_SWIFT_PADDED,
    ),
    (
        "flag_scale_yaml",
        "how many GPUs: --gpus N",
        &["--gpus", "8"],
        FITS_AS_WRITTEN_FOR_MEGATRON_LM,
    ),
    (
        "primus_yaml",
        "the model our_8B.yaml: --model PRESET",
        &["--model", "llama3-8b", "--gpus", "8"],
        FITS_AS_WRITTEN_FOR_MEGATRON_LM,
    ),
    (
        "nemo_rl_yaml",
        "the model /models/our-8b: --model PRESET",
        &["--model", "llama3-8b"],
        FITS_WITH_NEMO_RL,
    ),
    ("nemo_yaml", "", &[], FITS_WITH_NEMO_1),
    ("nemo2_python", "", &[], FITS_WITH_NEMO_2),
    (
        "roll_yaml",
        "the model /models/our-8b: --model PRESET",
        &["--model", "llama3-8b"],
        FITS_WITH_ROLL,
    ),
    (
        "overrides",
        "the model /models/our-8b: --model PRESET",
        &["--model", "llama3-8b"],
        FITS_WITH_VERL,
    ),
    ("log", "", &[], FITS_AS_WRITTEN_FOR_MEGATRON_LM),
    ("arguments", "", &[], FITS_AS_WRITTEN_FOR_MEGATRON_LM),
];
const FITS_AS_WRITTEN_FOR_MEGATRON_LM: &str = "Fits: 54.6 GiB allocated, 56.7 to 61.0 GiB on the device, of 79.1 GiB";
/// With SwiGLU and rotary embeddings that are not fused.
const FITS_WITH_MEGATRON_BRIDGE: &str = "Fits: 63.7 GiB allocated, 66.1 to 70.9 GiB on the device, of 79.1 GiB";
const FITS_WITH_NEMO_2: &str = "Fits: 56.5 GiB allocated, 58.7 to 63.0 GiB on the device, of 79.1 GiB";
/// With gradients in bf16 that are not added up in the matrices' kernels, and the loss on log-probabilities of logits in
/// fp32.
const FITS_WITH_NEMO_RL: &str = "Fits: 49.3 GiB allocated, 51.3 to 55.2 GiB on the device, of 79.1 GiB";
/// Without the data loader's attention mask.
const FITS_WITH_NEMO_1: &str = "Fits: 54.5 GiB allocated, 56.6 to 60.9 GiB on the device, of 79.1 GiB";
/// With what mbridge does not fuse: SwiGLU, rotary embeddings, and the adding up of gradients.
const FITS_WITH_VERL: &str = "Fits: 61.1 GiB allocated, 63.5 to 68.1 GiB on the device, of 79.1 GiB";
/// Without the fused SwiGLU.
const FITS_WITH_ROLL: &str = "Fits: 61.5 GiB allocated, 63.9 to 68.5 GiB on the device, of 79.1 GiB";
/// With samples in one row, and rotary embeddings that are not fused.
const FITS_WITH_MS_SWIFT: &str = "Fits: 58.1 GiB allocated, 60.3 to 64.8 GiB on the device, of 79.1 GiB";
/// The same with padded samples and their mask.
const FITS_WITH_MS_SWIFT_PADDED: &str = "Fits: 58.0 GiB allocated, 60.3 to 64.7 GiB on the device, of 79.1 GiB";

#[test]
fn a_job_of_every_format_is_checked() {
    let files: Vec<PathBuf> = fs::read_dir(format!("{JOBS}/dialects"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let checked: BTreeSet<&str> = DIALECTS.iter().map(|(format, ..)| *format).collect();
    assert_eq!(checked, Format::all().map(Format::id).collect());
    assert_eq!(files.len(), DIALECTS.len());
    for (format, question, answers, verdict) in DIALECTS {
        let file = files
            .iter()
            .find(|file| file.file_stem().is_some_and(|stem| stem == *format))
            .unwrap_or_else(|| panic!("no job is written as {format}"));
        let text = fs::read_to_string(file).unwrap();
        assert_eq!(detect(&text).unwrap().format.id(), *format);
        let check = ["check", "--json", "--gpu", "h100-80gb", file.to_str().unwrap()];
        let report = |arguments: &[&str]| {
            let ended = run(arguments, "");
            let reports: Vec<Value> = serde_json::from_str(&ended.output).unwrap();
            (ended.status, reports[0].clone())
        };
        if !question.is_empty() {
            let (status, open) = report(&check);
            assert_eq!(status, 5, "{format}: {open}");
            assert_eq!(open["verdict"], "open_questions");
            let problems = open["problems"].to_string();
            assert!(problems.contains(question), "{format}: {problems}");
        }
        let (status, answered) = report(&[&check, *answers].concat());
        assert_eq!(status, 0, "{format}: {answered}");
        assert_eq!(answered["verdict"], "fits", "{format}");
        assert_eq!(answered["reason"], *verdict, "{format}");
    }
}

#[test]
fn changes_with_which_a_job_fits_make_it_fit() {
    let ended = run(&["fit", "mixtral-8x7b", "--gpu", "a100-40gb", "--json"], "");
    assert_eq!(ended.status, 0, "{}", ended.errors);
    let report: Value = serde_json::from_str(&ended.output).unwrap();
    assert_eq!(report["verdict"], "does_not_fit");
    let offers = report["offers"].as_array().unwrap();
    assert!(offers.len() > 2, "{report}");
    for offer in offers {
        let check = run(&["check", "--json", offer["link"].as_str().unwrap()], "");
        let checked: Value = serde_json::from_str(&check.output).unwrap();
        assert_eq!((check.status, &checked[0]["verdict"]), (0, &json!("fits")), "{offer}");
        assert_eq!(checked[0]["peak_bytes"], offer["peak_bytes"]);
    }
    // `check` names the first of them, where the job is, and on what.
    let check = run(&["check", "mixtral-8x7b", "--gpu", "a100-40gb"], "");
    let first = offers[0]["change"].as_str().unwrap();
    for words in [
        &format!("first way out: {first}"),
        "A100 40 GB",
        "32 GPUs",
        "PP 4",
        "stage 0",
    ] {
        assert!(check.output.contains(words), "no {words}: {}", check.output);
    }
    // The arguments that the text gives lead to the same job.
    let text = run(&["fit", "llama3-70b", "--set", "micro_batch_size=8"], "").output;
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("--set"))
        .unwrap();
    let arguments: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let changed = [&["check", "llama3-70b", "--set", "micro_batch_size=8"][..], &arguments].concat();
    assert_eq!(run(&changed, "").status, 0, "{line}");
}

#[test]
fn a_job_at_its_limits_fits_and_beyond_them_does_not() {
    let ended = run(&["limits", "llama3-8b", "--json"], "");
    assert_eq!(ended.status, 0, "{}", ended.errors);
    let limits: Value = serde_json::from_str(&ended.output).unwrap();
    let longest = limits["longest_sequence"]["value"].as_u64().unwrap();
    assert!(longest > limits["longest_sequence"]["now"].as_u64().unwrap());
    let with = |length: u64| {
        let setting = format!("seq_length={length}");
        let positions = format!("max_position_embeddings={length}");
        let check = run(
            &["check", "llama3-8b", "--strict", "--set", &setting, "--set", &positions],
            "",
        );
        check.status
    };
    assert_eq!((with(longest), with(longest * 2)), (0, 1));
    for name in ["longest_sequence", "largest_micro_batch", "fewest_gpus"] {
        let link = limits[name]["link"].as_str().unwrap();
        assert_eq!(run(&["check", "--strict", link], "").status, 0, "{name}: {link}");
    }
    let ended = run(&["limits", "megatron_lm.sh"], "");
    assert_eq!(ended.status, 2);
    assert!(
        ended.errors.contains("--gpu says what the job is to fit"),
        "{}",
        ended.errors
    );
}

#[test]
fn a_misspelt_name_gets_the_nearest_one() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&["check", "deepseek-v33"], 5, "did you mean deepseek-v3?"),
        (
            &["estimate", "lama3-8b"],
            5,
            "lama3-8b: there is no such file or preset; did you mean llama3-8b?",
        ),
        (&["check", "llama3-8b", "--gpu", "b30"], 2, "did you mean b300?"),
        (&["export", "llama3-8b", "--to", "brige"], 2, "'bridge'"),
        (&["check", "--from", "yamll", "megatron_lm.sh"], 2, "possible values"),
        (&["check", "llama3-8b", "--var", "NODES"], 2, "write NAME=VALUE"),
    ];
    for (arguments, status, text) in cases {
        let ended = run(arguments, "");
        let said = format!("{}{}", ended.output, ended.errors);
        assert_eq!(ended.status, *status, "{arguments:?}: {said}");
        assert!(said.contains(text), "{arguments:?}: {said}");
    }
}

#[test]
fn a_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = run(&["completions", shell], "");
        assert_eq!(ended.status, 0, "{}", ended.errors);
        for word in ["megatron-memory", "estimate", "h100-80gb", "stage_bars"] {
            assert!(ended.output.contains(word), "{shell}: {word}");
        }
    }
}

/// Linux has a file that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    for command in ["check", "estimate", "import", "limits", "fit", "search"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = Command::new(env!("CARGO_BIN_EXE_megatron-memory"))
            .args([command, "llama3-8b"])
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(6), "{command}");
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert!(errors.contains("the result cannot be written"), "{command}: {errors}");
    }
    let ended = run(&["check", "llama3-8b", "--markdown", "/dev/full"], "");
    assert_eq!(ended.status, 6, "{}", ended.errors);
}

/// As of `megatron-memory import job.sh 2>&1 | head -1`.
#[test]
fn a_reader_who_has_seen_enough_ends_nothing() {
    for command in [
        &["import", "-"][..],
        &["import", "-", "--report"],
        &["estimate", "-"],
        &["search", "-"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_megatron-memory"))
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        let script = "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32";
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        // The text leaves questions open, which nobody hears.
        assert_eq!(child.wait().unwrap().code(), Some(5), "{command:?}");
    }
}

#[test]
fn a_job_without_room_for_a_replica_is_led_to_other_layouts() {
    for command in ["check", "fit"] {
        let ended = run(&[command, "llama3-70b", "--gpus", "16"], "");
        assert_eq!(ended.status, 3, "{}", ended.errors);
        let said = format!("{}{}", ended.output, ended.errors);
        let last = said.trim_end().lines().last().unwrap_or_default().trim();
        assert_eq!(
            last, "`megatron-memory search` lists the layouts that Megatron runs",
            "{said}"
        );
    }
    let ended = run(&["search", "llama3-70b", "--gpus", "16"], "");
    assert!(
        ended.output.contains("--vary takes it too: recompute, train, gpus"),
        "{}",
        ended.output
    );
}

#[test]
fn a_table_says_why_a_job_could_not_be_read() {
    let file = scratch("unreadable.md");
    let ended = run(&["check", "nofile.sh", "--markdown", file.to_str().unwrap()], "");
    assert_eq!(ended.status, 5);
    assert!(
        ended.output.starts_with("nofile.sh: there is no such file or preset;"),
        "{}",
        ended.output
    );
    let table = fs::read_to_string(file).unwrap();
    assert!(
        table.contains("| `nofile.sh` | unreadable: there is no such file or preset"),
        "{table}"
    );
}

/// The table of standings, which the library, the JavaScript API and the page are held to as well: `check` says the same of
/// its jobs, and a search of each layout what `check` says of it.
#[test]
fn checks_and_searches_say_what_the_table_of_standings_says() {
    let table = include_str!("../standings.jsonl");
    let rows: Vec<Value> = table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let folder = scratch("standings");
    fs::create_dir_all(&folder).unwrap();
    let file = |name: String, job: &Value| {
        let path = folder.join(name);
        fs::write(&path, job.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let check = |paths: &[String]| {
        let mut arguments = vec!["check", "--json"];
        arguments.extend(paths.iter().map(String::as_str));
        let reports: Vec<Value> = serde_json::from_str(&run(&arguments, "").output).unwrap();
        reports
    };
    let jobs = rows.iter().enumerate();
    let paths: Vec<String> = jobs.map(|(at, row)| file(format!("{at}.json"), &row["job"])).collect();
    for (report, row) in check(&paths).iter().zip(&rows) {
        let verdict = row["verdict"].as_str().unwrap_or("unknown");
        assert_eq!(report["verdict"], verdict, "{row}");
        assert_eq!(report["refused_by"], row["refused_by"], "{row}");
    }
    let mut layouts = Vec::new();
    for (row, path) in rows.iter().zip(&paths).step_by(6) {
        let ended = run(
            &["search", "--json", "--all", "--vary", "tp,pp", "--limit", "4", path],
            "",
        );
        let Ok(found) = serde_json::from_str::<Value>(&ended.output) else {
            assert_eq!(row["refused_by"], "rules", "{row}");
            continue;
        };
        for layout in found["layouts"].as_array().unwrap() {
            let mut job = row["job"].clone();
            for (name, value) in layout["settings"].as_object().unwrap() {
                job[name] = value.clone();
            }
            let name = format!("layout-{}.json", layouts.len());
            layouts.push((file(name, &job), layout["verdict"].clone()));
        }
    }
    assert!(layouts.len() > 20, "{}", layouts.len());
    let paths: Vec<String> = layouts.iter().map(|(path, _)| path.clone()).collect();
    for (report, (path, verdict)) in check(&paths).iter().zip(&layouts) {
        assert_eq!(report["verdict"], verdict.as_str().unwrap_or("unknown"), "{path}");
    }
}

/// Ctrl-C ends a long search with what it has found by then.
#[cfg(unix)]
#[test]
fn an_interrupted_search_prints_what_it_has_found() {
    let vary = "pp,vpp,tp,cp,ep,etp,mbs,recompute";
    let mut child = Command::new(env!("CARGO_BIN_EXE_megatron-memory"))
        .args(["search", "deepseek-v3", "--all", "--limit", "3", "--vary", vary])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert!(
        child
            .try_wait()
            .unwrap()
            .is_none_or(|status| status.code() == Some(130))
    );
    let ended = child.wait_with_output().unwrap();
    let (output, errors) = (
        String::from_utf8(ended.stdout).unwrap(),
        String::from_utf8(ended.stderr).unwrap(),
    );
    assert_eq!(ended.status.code(), Some(130), "{errors}");
    assert!(errors.starts_with("Interrupted: "), "{errors}");
    assert!(errors.contains("of 131,383,296 combinations looked at"), "{errors}");
    assert!(output.contains("GiB"), "{output}");
}
