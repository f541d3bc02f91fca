//! Jobs as texts of every format.

use megatron_memory::config::canonical::normalize_job;
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::{
    ChartOptions, EXPORTS, EmbedView, ExportError, ExportFormat, ExportOptions, LinkForm, chart_file, export_text,
};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::presets::PRESETS;
use megatron_memory::presets::jobs::JOBS;
use megatron_memory::report::amount::Unit;

use super::state;

const PAGE: &str = "https://calculator.example/";

/// Every preset's job, without the name of the preset.
fn jobs() -> Vec<(&'static str, ShareState)> {
    let models = PRESETS.iter().map(|preset| (preset.id, Setup::of_preset(preset).job));
    let jobs = JOBS.iter();
    let jobs = jobs.map(|preset| (preset.id, preset.contents().unwrap().job));
    let alone = |(id, job)| {
        let setup = Setup { preset: None, job };
        let state = ShareState {
            setup,
            ..ShareState::default()
        };
        (id, state)
    };
    models.chain(jobs).map(alone).collect()
}

fn of_job(json: &str) -> ShareState {
    let job = RawJob::from_value(&serde_json::from_str(json).unwrap());
    ShareState {
        setup: Setup { preset: None, job },
        ..ShareState::default()
    }
}

fn file(id: &str) -> ExportFormat {
    let found = ExportFormat::by_id(id).unwrap();
    assert!(matches!(found, ExportFormat::File(_)), "{id}");
    found
}

/// The job of a text, in the one form that equal jobs share.
fn back(text: &str) -> RawJob {
    let import = import_text(text, &ImportOptions::default()).unwrap().import;
    normalize_job(&import.state.setup.job, &RawJob::default())
}

#[test]
fn every_format_has_a_name_of_its_own() {
    let mut ids: Vec<&str> = ExportFormat::all().map(ExportFormat::id).collect();
    assert_eq!(ids.len(), EXPORTS.len() + LinkForm::ALL.len());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ExportFormat::all().count());
    for format in ExportFormat::all() {
        assert!(!format.label().is_empty() && !format.extension().is_empty());
        assert_eq!(ExportFormat::by_id(format.id()).unwrap().id(), format.id());
    }
    assert!(ExportFormat::by_id("poem").is_none());
    for view in EmbedView::ALL {
        assert_eq!(EmbedView::by_id(view.id()), Some(view));
    }
}

#[test]
fn every_format_says_every_plain_job_and_imports_back_what_it_can_say() {
    let structured = [
        "megatron_args",
        "model_args",
        "bridge",
        "bridge_recipe",
        "one_gpu",
        "json",
    ];
    for (name, share) in jobs() {
        let several = !share.setup.job.modules.is_empty();
        for export in EXPORTS {
            let format = ExportFormat::File(export);
            let written = export_text(&share, format, &ExportOptions::default());
            if several && (export.is_of_one_model() || export.id == "one_gpu") {
                let error = written.unwrap_err();
                assert!(matches!(error, ExportError::Refused(_)));
                assert!(error.to_string().contains("language"), "{error}");
                continue;
            }
            let written = written.unwrap_or_else(|why| panic!("{name} as {}: {why}", export.id));
            if structured.contains(&export.id) {
                let layers = share.setup.job.shared.get(FieldId::num_layers);
                let layers = layers.map(ToString::to_string);
                let again = back(&written);
                let again = again.shared.get(FieldId::num_layers);
                let again = again.map(ToString::to_string);
                assert_eq!(again, layers, "{name} as {}", export.id);
            }
            if export.id == "json" {
                let job = normalize_job(&share.setup.job, &RawJob::default());
                assert_eq!(back(&written), job, "{name}");
            }
        }
    }
}

#[test]
fn files_say_which_version_made_them_and_from_which_job() {
    let link = "#v1;m=llama3-8b@1;tp=2";
    let share = state(link);
    let page = |page: &str| ExportOptions {
        page: page.to_owned(),
        ..ExportOptions::default()
    };
    let options = page(&format!("{PAGE}?theme=dark#old"));
    let version = format!("Megatron Memory {}, after", env!("CARGO_PKG_VERSION"));
    for export in EXPORTS {
        let written = export_text(&share, ExportFormat::File(export), &options).unwrap();
        assert!(written.contains(&version), "{}: {written}", export.id);
        // What JSON holds is the job itself.
        let linked = written.contains(&format!("{PAGE}{link}"));
        assert_eq!(linked, export.id != "json", "{}", export.id);
        if matches!(export.extension, "sh" | "py" | "yaml" | "txt") {
            assert!(written.starts_with("# Megatron Memory "), "{}", export.id);
        }
    }
    let picture = chart_file(&share, "buckets", &ChartOptions::default()).unwrap();
    let metadata = picture.split("<metadata>").nth(1).unwrap();
    assert!(metadata.starts_with(&version) && metadata.contains(link));
    // No address of a page breaks out of the remark.
    let options = page("https://host/\nrm -rf /\r");
    let flags = export_text(&share, file("megatron_args"), &options).unwrap();
    assert!(flags.contains("\n# https://host/rm -rf /#v1;"), "{flags}");
}

#[test]
fn a_job_with_problems_is_exported_with_them() {
    let share = of_job(
        r#"{"num_layers": 7, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 128, "max_position_embeddings": 128,
        "vocab_size": 1000, "pipeline_model_parallel_size": 2, "position_embedding_type": "a\nrm -rf /\r# b\u2028c"}"#,
    );
    let checked = check(&share.setup.job);
    assert!(checked.errors().count() >= 2, "{:?}", checked.problems);
    let options = ExportOptions::default();
    for format in ["megatron_args", "model_args", "bridge", "bridge_recipe"] {
        let written = export_text(&share, file(format), &options).unwrap();
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(
            lines[2], "# Cannot run: Megatron refuses this job as it is:",
            "{format}"
        );
        for (line, problem) in lines[3..].iter().zip(checked.errors()) {
            let words: String = problem
                .message
                .chars()
                .filter(|c| !c.is_control() && *c != '\u{2028}')
                .collect();
            assert_eq!(*line, format!("# - {words}"), "{format}");
        }
        assert!(!written.contains("\nrm"), "{format}: {written}");
    }
    let fine = export_text(&state("#v1;m=llama3-8b@1"), file("megatron_args"), &options);
    assert!(!fine.unwrap().contains("refuses"));
}

#[test]
fn one_module_becomes_flags_on_its_own_ranks() {
    let share = state("#v1;m=llava-7b@1");
    let module = |name: &str| ExportOptions {
        module: Some(name.to_owned()),
        ..ExportOptions::default()
    };
    let flags = export_text(&share, file("megatron_args"), &module("language")).unwrap();
    assert!(flags.contains("\n# Only language, one of 2 modules.\n"), "{flags}");
    let job = back(&flags);
    let layers = job.shared.get(FieldId::num_layers).unwrap();
    assert_eq!(layers.to_string(), "32");
    assert_eq!(job.modules.len(), 0);
    let error = export_text(&share, file("bridge"), &module("smell")).unwrap_err();
    assert_eq!(error, ExportError::UnknownModule("smell".to_owned()));
}

#[test]
fn links_have_their_forms() {
    let share = state("#v1;m=llama3-8b@1;tp=2");
    let options = ExportOptions {
        page: format!("{PAGE}?theme=dark#old"),
        view: EmbedView::Bar,
        ..ExportOptions::default()
    };
    let write = |form| export_text(&share, ExportFormat::Link(form), &options).unwrap();
    let link = format!("{PAGE}#v1;m=llama3-8b@1;tp=2");
    assert_eq!(write(LinkForm::Plain), format!("{link}\n"));
    assert_eq!(
        write(LinkForm::Markdown),
        format!("[GPU memory of Llama 3 8B]({link})\n")
    );
    let summary = write(LinkForm::Summary);
    assert!(
        summary.starts_with("GPU memory of Llama 3 8B, stage 0. ")
            && summary.contains(" GiB allocated, ")
            && summary.contains(" on the device, of 79.1 GiB."),
        "{summary}"
    );
    let gb = ExportOptions {
        unit: Unit::Gb,
        ..options.clone()
    };
    let summary = export_text(&share, ExportFormat::Link(LinkForm::Summary), &gb).unwrap();
    assert!(summary.contains(" GB ") && !summary.contains("GiB"), "{summary}");
    let frame = format!("src=\"{PAGE}embed.html?view=bar#v1;m=llama3-8b@1;tp=2\"");
    assert!(write(LinkForm::Frame).contains(&frame));
    assert!(write(LinkForm::Element).contains(&format!("src=\"{PAGE}embed.js\"")));
}

#[test]
fn a_job_with_problems_has_settings_but_no_result() {
    let share = state("#v1;m=llama3-8b@1;tp=3");
    let options = ExportOptions::default();
    let summary = ExportFormat::Link(LinkForm::Summary);
    for format in [file("csv"), file("markdown"), summary] {
        match export_text(&share, format, &options) {
            Err(ExportError::Invalid(problems)) => assert!(!problems.is_empty()),
            other => panic!("{}: {other:?}", format.id()),
        }
    }
    assert!(export_text(&share, file("megatron_args"), &options).is_ok());
}
