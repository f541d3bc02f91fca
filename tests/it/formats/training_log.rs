//! Training logs: the arguments that Megatron-LM prints are the job of its flags, however the log looks.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::evidence::{self, Reason};
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::formats::training_log;
use megatron_memory::memory::{JobMoment, estimate, estimate_at};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use serde_json::Value as Json;

use crate::oracle;

/// A job: its name, flags, GPUs and the arguments that Megatron-LM prints for it, as pairs of name and value.
type Job = (String, String, u64, Vec<(String, String)>);

/// Every job whose arguments are known.
fn jobs() -> Vec<Job> {
    let oracle = oracle::json("printed_arguments.json");
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let jobs = oracle["jobs"].as_object().unwrap().iter();
    jobs.map(|(name, job)| {
        let mut arguments: Vec<(String, String)> = oracle["defaults"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), text(job["args"].get(name).unwrap_or(value))))
            .collect();
        arguments.sort_by_key(|(name, _)| name.to_lowercase());
        let flags: Vec<String> = job["argv"].as_array().unwrap().iter().map(text).collect();
        let flags = flags.iter().map(|word| match word.as_str() {
            word if word.starts_with("--") => word.to_owned(),
            word => format!("'{word}'"),
        });
        let flags = flags.collect::<Vec<_>>().join(" ");
        (name.clone(), flags, job["world_size"].as_u64().unwrap(), arguments)
    })
    .collect()
}

/// The arguments as Megatron-LM prints them.
fn printed(arguments: &[(String, String)]) -> Vec<String> {
    let mut lines = vec!["------------------------ arguments ------------------------".to_owned()];
    lines.extend(arguments.iter().map(|(name, value)| {
        let dots = ".".repeat(48_usize.saturating_sub(name.len()));
        format!("  {name} {dots} {value}")
    }));
    lines.push("-------------------- end of arguments ---------------------".to_owned());
    lines
}

/// What Megatron would run: with a vocabulary, which most of these jobs leave to their tokenizer.
fn checked(settings: &Settings) -> String {
    let mut shared = settings.clone();
    let sizes = [FieldId::vocab_size, FieldId::padded_vocab_size];
    if sizes
        .iter()
        .all(|id| matches!(shared.get(*id), None | Some(Value::Null)))
    {
        shared.set(FieldId::vocab_size, Value::Int(50_257));
    }
    let checked = check(&RawJob {
        shared,
        ..RawJob::default()
    });
    match checked.config {
        Some(config) => format!("{:?}", estimate(&config)),
        None => format!("{:?}", checked.errors().map(|p| p.message.clone()).collect::<Vec<_>>()),
    }
}

#[track_caller]
fn read(text: &str) -> Import {
    let found = detect(text).unwrap();
    assert_eq!(found.format, Format::TrainingLog, "{}", found.reason);
    import(text, &Options::default()).unwrap()
}

/// A way in which a launcher changes the lines of a log, given each line and its number.
type Prefix = (&'static str, fn(usize, &str) -> String);

/// Ways in which launchers change the lines of a log.
fn prefixes() -> [Prefix; 8] {
    [
        ("none", |_, line| line.to_owned()),
        ("torchrun", |_, line| format!("[rank0]: {line}")),
        ("srun", |_, line| format!("0: {line}")),
        ("times", |at, line| {
            format!("[2026-08-22 10:{:02}:17,{:03}] {line}", at / 60, at % 1000)
        }),
        ("nodes", |_, line| format!("gpu-node-17: 0: {line}")),
        ("Ray", |_, line| {
            format!("\u{1b}[36m(TrainActor pid=4711, ip=10.0.0.1)\u{1b}[0m {line}")
        }),
        ("logging", |_, line| format!("INFO:megatron.training.arguments:{line}")),
        ("carriage returns", |_, line| format!("{line}\r")),
    ]
}

/// What a run prints around its arguments, with lines that look like arguments and are none.
const BEFORE: &str = "\
+ TP=2
+ torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 999 --hidden-size 64
using world size: 8, data-parallel size: 4, context-parallel size: 1
  num_layers ...................................... 998
W0822 10:00:00.000000 140 torch/distributed/run.py:792] Setting OMP_NUM_THREADS
";
const AFTER: &str = "\
> building GPT2BPETokenizer tokenizer ...
  num_layers ...................................... 997
make: Entering directory '/megatron/core/datasets' ...
";

#[test]
fn printed_arguments_are_the_job_of_their_flags() {
    let jobs = jobs();
    assert!(jobs.len() > 80, "{}", jobs.len());
    for (at, (name, flags, gpus, arguments)) in jobs.into_iter().enumerate() {
        let options = ImportOptions {
            gpus: Some(gpus),
            ..ImportOptions::default()
        };
        let of_flags = import_text(&flags, &options).unwrap().import;
        let expected = checked(&of_flags.state.setup.job.shared);
        let lines = printed(&arguments);
        let job = read(&lines.join("\n")).state.setup.job;
        assert_eq!(checked(&job.shared), expected, "{name}");
        // Every form with many jobs; all forms with all jobs would take minutes.
        let forms = prefixes();
        let (launcher, prefix) = forms[at % forms.len()];
        let lines = lines.iter().enumerate();
        let lines: Vec<_> = lines.map(|(at, line)| prefix(at, line)).collect();
        let plain = lines.join("\n");
        let inside = format!("{BEFORE}{plain}\n{AFTER}");
        for text in [plain, inside] {
            let import = read(&text);
            assert_eq!(import.state.setup.job, job, "{name}, {launcher}");
            let unknown: Vec<_> = import
                .report
                .iter()
                .filter(|row| matches!(row.status, KeyStatus::Unknown | KeyStatus::Missing))
                .collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
            assert_eq!(import.questions, [], "{name}");
        }
    }
}

/// The same arguments, as programs write them down.
#[test]
fn written_arguments_are_the_job_of_printed_ones() {
    let quoted = |value: &str| match value {
        "None" | "True" | "False" => value.to_owned(),
        value if value.parse::<f64>().is_ok() || value.starts_with("torch.") => value.to_owned(),
        value if value.starts_with('[') && !value.contains("]*") => value.to_owned(),
        "AttnBackend.auto" => "<AttnBackend.auto: 5>".to_owned(),
        value => format!("'{value}'"),
    };
    let yaml = |value: &str| match value {
        "None" => "null".to_owned(),
        "True" | "False" => value.to_lowercase(),
        value if value.starts_with("[<") => {
            let names = value.split('.').skip(1).filter_map(|rest| rest.split(':').next());
            format!("[{}]", names.collect::<Vec<_>>().join(", "))
        }
        value if value.starts_with(['[', '<', '*']) && !value.contains("]*") => value.to_owned(),
        value => format!("\"{value}\""),
    };
    for (at, (name, _, _, arguments)) in jobs().into_iter().enumerate() {
        let expected = read(&printed(&arguments).join("\n")).state.setup.job;
        let with = |pair: &dyn Fn(&str, &str) -> String, between: &str| {
            let pairs = arguments.iter().map(|(name, value)| pair(name, value));
            pairs.collect::<Vec<_>>().join(between)
        };
        let namespace = with(&|name, value| format!("{name}={}", quoted(value)), ", ");
        let dict = with(&|name, value| format!("'{name}': {}", quoted(value)), ",\n ");
        let flat = with(&|name, value| format!("{name}: {}", yaml(value)), "\n");
        let wandb = with(
            &|name, value| format!("{name}:\n  desc: null\n  value: {}", yaml(value)),
            "\n",
        );
        let forms = [
            format!("Namespace({namespace})"),
            format!("args:\nNamespace({namespace})\n"),
            format!("{{{dict}}}"),
            flat,
            format!("wandb_version: 1\n\n{wandb}\n_wandb:\n  desc: null\n  value:\n    cli_version: 0.18\n"),
        ];
        let text = &forms[at % forms.len()];
        let found = detect(text).unwrap();
        assert_eq!(found.format, Format::Arguments, "{}", found.reason);
        let import = import(text, &Options::default()).unwrap();
        assert_eq!(import.dialect, "Megatron-LM");
        assert_eq!(import.state.setup.job, expected, "{name}: {text}");
    }
}

#[test]
fn the_last_run_of_a_log_counts() {
    let jobs = jobs();
    let [first, .., last] = jobs.as_slice() else {
        panic!("no jobs")
    };
    let log = [printed(&first.3), printed(&last.3)].concat().join("\n");
    assert_eq!(
        read(&log).state.setup.job,
        read(&printed(&last.3).join("\n")).state.setup.job
    );
}

#[test]
fn the_tokenizer_of_a_log_says_the_vocabulary() {
    let mut checked = 0;
    for (name, _, _, arguments) in jobs() {
        let lines = printed(&arguments).join("\n");
        let given = arguments
            .iter()
            .any(|(name, value)| name == "vocab_size" && value != "None");
        let line = " > padded vocab (size: 128000) with 256 dummy tokens (new size: 128256)";
        let import = read(&format!("{lines}\n{line}\n"));
        let number = |id| import.state.setup.job.shared.get(id).cloned();
        assert_eq!(number(FieldId::padded_vocab_size), Some(Value::Int(128_256)), "{name}");
        if !given {
            assert_eq!(number(FieldId::vocab_size), Some(Value::Int(128_000)), "{name}");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}

const MEASURED: &str = "\
building GPT model ...
 > number of parameters on (tensor, pipeline) model parallel rank (1, 0): 1035906048
 > number of parameters on (tensor, gtp_weight_remat, pipeline) model parallel rank (0, 0, 1): 2071812096
 [2026-08-22 16:26:17.120000] iteration        1/      20 | consumed samples:          512 | elapsed time per iteration (ms): 20512.5 | throughput per GPU (TFLOP/s/GPU): 100.0 | learning rate: 1.500000E-04 | global batch size:   512 | lm loss: 1.1E+01 | loss scale: 1.0 | grad norm: 5.116 | number of skipped iterations:   0 | number of nan iterations:   0 |
Theoretical memory footprints: weight and optimizer=17781.38 MB, activation=3132.80 MB, total=20914.18 MB

[Rank 0] (after 1 iterations) memory (MB) | allocated: 17783.28 | max allocated: 21000.50 | reserved: 22000.00 | max reserved: 22000.00
[rank4]: [Rank 4] (after 2 iterations) memory (MB) | allocated: 19000.00 | max allocated: 23000.25 | reserved: 24000.00 | max reserved: 25000.00 | total device memory used: 26000.00
 iteration        2/      20 | consumed samples:         1024 | elapsed time per iteration (ms): 10512.5 | lm loss: 1.1E+01 | number of skipped iterations:   0 |
 iteration        3/      20 | consumed samples:         1536 | elapsed time per iteration (ms): 10312.5 | lm loss: 1.1E+01 | number of skipped iterations:   0 |
[Rank 0] (before save_checkpoint for iteration 3) memory (MB) | allocated: 17783.28 | max allocated: 21000.50 | reserved: 22000.00 | max reserved: 22000.00
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.10 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.84 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
";

#[test]
fn measurements_of_a_log_are_read() {
    let log = training_log::read(MEASURED).measured;
    let counts: Vec<_> = log
        .parameters
        .iter()
        .map(|c| (c.tp_rank, c.pp_rank, c.parameters))
        .collect();
    assert_eq!(counts, [(1, 0, 1_035_906_048), (0, 1, 2_071_812_096)]);
    let mib = |mib: u64, hundredths: u64| Bytes((mib * 100 + hundredths) * (1 << 20) / 100);
    let theoretical = log.theoretical.unwrap();
    assert_eq!(theoretical.total, mib(20_914, 18));
    let reports: Vec<_> = log
        .memory
        .iter()
        .map(|r| (r.rank, r.iteration, evidence::moment(r)))
        .collect();
    assert_eq!(
        reports,
        [
            (0, Some(1), Some(JobMoment::FirstIteration)),
            (4, Some(2), Some(JobMoment::LaterIteration)),
            (0, None, None)
        ]
    );
    assert_eq!(log.memory[1].max_allocated, mib(23_000, 25));
    assert_eq!(log.memory[1].device, Some(mib(26_000, 0)));
    assert_eq!(log.memory[2].words, "before save_checkpoint for iteration 3");
    let times = log.iterations.unwrap();
    assert_eq!((times.count, times.last_iteration), (3, 3));
    assert_eq!(times.median_tenth_ms, 105_125);
    let [error] = log.out_of_memory.as_slice() else {
        panic!("{:?}", log.out_of_memory)
    };
    assert_eq!((error.rank, error.gpu, error.iteration), (Some(3), Some(3), Some(4)));
    let gib = |hundredths: u64| Some(Bytes(hundredths * (1 << 30) / 100));
    assert_eq!(
        [
            error.tried,
            error.capacity,
            error.free,
            error.in_use,
            error.allocated,
            error.unallocated
        ],
        [gib(250), gib(7910), gib(125), gib(7784), gib(7000), gib(500)]
    );
}

#[test]
fn moments_of_reports_follow_from_the_iterations_before_them() {
    for (before, iteration, moment) in [
        ("", 1, JobMoment::FirstIteration),
        ("", 2, JobMoment::LaterIteration),
        (
            " successfully loaded checkpoint from /ckpt [ t 1/2, p 1/1 ] at iteration 100",
            101,
            JobMoment::FirstIterationAfterResume,
        ),
        (
            " successfully loaded checkpoint from /ckpt [ t 1/2, p 1/1 ] at iteration 100",
            102,
            JobMoment::LaterIteration,
        ),
        (
            " iteration 1/9 | elapsed time per iteration (ms): 1.0 | number of skipped iterations:   1 |",
            1,
            JobMoment::SkippedSteps,
        ),
    ] {
        let log = format!(
            "{before}\n[Rank 0] (after {iteration} iterations) memory (MB) | allocated: 1.00 | max allocated: 2.00"
        );
        let measured = training_log::read(&log).measured;
        assert_eq!(evidence::moment(&measured.memory[0]), Some(moment), "{log}");
    }
}

/// A log of two stages whose numbers are those of the estimate, but for its last stage's peak.
#[test]
fn measurements_stand_beside_the_prediction_of_their_stage() {
    let (_, _, _, arguments) = jobs()
        .into_iter()
        .find(|(name, ..)| name == "gpt/gpt3_7b_tp1_pp4_memory_speed")
        .unwrap();
    let text = printed(&arguments).join("\n");
    let mut job = read(&text).state.setup.job;
    if job.shared.get(FieldId::vocab_size).is_none() {
        job.shared.set(FieldId::vocab_size, Value::Int(50_257));
    }
    let config = check(&job).config.unwrap();
    let estimate = estimate(&config);
    let stages = &estimate.modules[0].stages;
    let per_stage = config.world_size() / stages.len() as u64;
    let log = (0_u64..).zip(stages).map(|(pp_rank, stage)| {
        let parameters: u64 = stage.chunks.iter().map(|c| c.parameters.total()).sum();
        let mib = |bytes: Bytes| bytes.0 / (1 << 20);
        let peak = mib(stage.total) + u64::from(pp_rank == 3) * 1_000;
        format!(
            " > number of parameters on (tensor, pipeline) model parallel rank (0, {pp_rank}): {parameters}\n\
                 [Rank {}] (after 2 iterations) memory (MB) | allocated: {}.00 | max allocated: {peak}.00\n",
            pp_rank * per_stage,
            mib(stage.steady)
        )
    });
    let measured = training_log::read(&log.collect::<String>()).measured;
    let compared = evidence::compare_log(&job, &measured).unwrap();
    assert_eq!(compared.stages.len(), 4);
    for stage in &compared.stages {
        assert_eq!(stage.parameters, Some(stage.predicted_parameters));
        assert_eq!(stage.reasons, [Reason::Software]);
        let off = stage.peak_error.unwrap().bytes;
        let expected = if stage.pp_rank == 3 { -1_000 << 20 } else { 0 };
        assert!((expected..expected + (1 << 20)).contains(&off), "{off}");
        assert!((0..1 << 20).contains(&stage.steady_error.unwrap().bytes));
    }
    let runs = evidence::submissions(&job, &measured);
    assert_eq!(runs.len(), 4);
    assert_eq!(
        runs[3].measured.peak_allocated,
        Some(Bytes((stages[3].total.0 / (1 << 20) + 1_000) << 20))
    );
}

/// Numbers that were printed after the first iteration are compared with those of the first iteration, whose passes ran
/// before the optimizer's states were there.
#[test]
fn measurements_are_compared_at_the_moment_at_which_they_were_printed() {
    let (_, _, _, arguments) = jobs()
        .into_iter()
        .find(|(name, ..)| name == "gpt/gpt3_7b_tp1_pp4_memory_speed")
        .unwrap();
    let mut job = read(&printed(&arguments).join("\n")).state.setup.job;
    if job.shared.get(FieldId::vocab_size).is_none() {
        job.shared.set(FieldId::vocab_size, Value::Int(50_257));
    }
    let config = check(&job).config.unwrap();
    let mut peaks = Vec::new();
    for (iterations, moment) in [(1, JobMoment::FirstIteration), (2, JobMoment::LaterIteration)] {
        let log = format!(
            "[Rank 0] (after {iterations} iterations) memory (MB) | allocated: 20000.00 | max allocated: 30000.00\n"
        );
        let compared = evidence::compare_log(&job, &training_log::read(&log).measured).unwrap();
        let [stage] = &compared.stages[..] else {
            panic!("one stage reported: {compared:?}");
        };
        let predicted = &estimate_at(&config, moment).modules[0].stages[0];
        assert_eq!((stage.moment, stage.predicted_peak), (moment, predicted.total));
        assert!(!stage.reasons.contains(&Reason::Moment), "{:?}", stage.reasons);
        peaks.push(stage.predicted_peak);
    }
    assert!(peaks[0] < peaks[1], "{peaks:?}");
    // A report at no known moment is compared with later iterations, and that is said.
    let log = "[Rank 0] (before training) memory (MB) | allocated: 20000.00 | max allocated: 30000.00\n";
    let compared = evidence::compare_log(&job, &training_log::read(log).measured).unwrap();
    assert_eq!(compared.stages[0].predicted_peak, peaks[1]);
    assert!(compared.stages[0].reasons.contains(&Reason::Moment));
}

/// Of every release the names of all its arguments, as its own parser has them, say which release it is.
#[test]
fn the_names_of_its_arguments_date_a_log() {
    let oracle = oracle::json("argument_names.json");
    let releases = oracle["releases"].as_array().unwrap();
    let mut dated = 0;
    for (index, release) in releases.iter().enumerate() {
        let has = |bits: &Json| bits.as_str().unwrap().as_bytes()[index] == b'1';
        let names = oracle["names"].as_object().unwrap().iter();
        let names: Vec<&str> = names
            .filter(|(_, bits)| has(bits))
            .map(|(name, _)| name.as_str())
            .collect();
        let found = training_log::release_of(&names.iter().copied().collect()).unwrap();
        // `core_v0.14.0` and its patches are 0.14.
        let version = match release.as_str().unwrap().strip_prefix("core_v") {
            Some(version) => version.rsplit_once('.').unwrap().0,
            None => "main",
        };
        assert_eq!(found.version, version);
        dated += 1;
        // A fork that leaves out a tenth of them, and a part of a log.
        let most = names
            .iter()
            .enumerate()
            .filter(|(n, _)| n % 10 > 0)
            .map(|(_, name)| *name);
        let of_fork = training_log::release_of(&most.collect());
        assert!(of_fork.is_none_or(|found| found.version == version), "{of_fork:?}");
        assert_eq!(
            training_log::release_of(&names.iter().copied().take(100).collect()),
            None
        );
    }
    assert_eq!(dated, 23);
}

/// The arguments of an older release set its software, which is a row of the report and can be changed.
/// The arguments that a release of Megatron-Core has, as a log of it prints them.
fn log_of(release: &str) -> String {
    let oracle = oracle::json("argument_names.json");
    let releases = oracle["releases"].as_array().unwrap();
    let index = releases.iter().position(|of| of == release).unwrap();
    let (_, _, _, arguments) = jobs().into_iter().next().unwrap();
    let known: std::collections::BTreeMap<_, _> = arguments.into_iter().collect();
    let names = oracle["names"].as_object().unwrap().iter();
    let old: Vec<(String, String)> = names
        .filter(|(_, bits)| bits.as_str().unwrap().as_bytes()[index] == b'1')
        .map(|(name, _)| (name.clone(), known.get(name).map_or("None", String::as_str).to_owned()))
        .collect();
    printed(&old).join("\n")
}

#[test]
fn an_older_log_sets_the_software_of_its_time() {
    let import = read(&log_of("core_v0.14.0"));
    assert_eq!(
        import.state.setup.job.shared.get(FieldId::software_stack),
        Some(&Value::Text("core_0_14_te_2_3".to_owned()))
    );
    let mut rows = import.report.iter();
    let row = rows.find(|row| row.field == Some(FieldId::software_stack)).unwrap();
    assert_eq!(
        (row.status, row.value.as_str()),
        (KeyStatus::Derived, "Megatron-Core 0.14")
    );
}

/// Only Megatron-LM's own scripts leave the micro batches of an iteration on the GPU; others print the same arguments.
#[test]
fn a_log_of_a_pretrain_script_is_told_from_others() {
    let log = log_of("core_v0.18.0");
    let stack = |text: &str| read(text).state.setup.job.shared.get(FieldId::software_stack).cloned();
    assert_eq!(stack(&log), None);
    let of_script = format!("{log}\n> building train, validation, and test datasets for GPT ...\n");
    assert_eq!(stack(&of_script), Some(Value::Text("megatron_lm_0_18".to_owned())));
}

#[test]
fn a_log_without_arguments_says_so() {
    let error = import(MEASURED, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("without the arguments"), "{error}");
}

/// Five megabytes of a log are read within 200 ms in the browser; here with room for slow machines and debug builds.
#[test]
fn arguments_are_found_in_the_middle_of_long_logs() {
    let (_, _, _, arguments) = jobs().swap_remove(0);
    let noise = "[rank7]:[W1113 16:25:49.051429812 ProcessGroupNCCL.cpp:5059] [PG ID 0] using GPU 7 as device ....... by this process\n";
    let half = noise.repeat(2_400_000 / noise.len());
    let log = format!("{half}{}\n{half}", printed(&arguments).join("\n"));
    let import = read(&log);
    assert!(import.state.setup.job.shared.get(FieldId::num_layers).is_some());
}
