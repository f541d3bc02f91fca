//! Jobs in and out as plain data, and the dialogs on top of that.

mod search;
mod upon;

use megatron_memory::config::canonical::normalize_job;
use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::exchange::{decode_link, encode_link, export_text, import_text, presets, svg};
use megatron_memory::export::EXPORTS;
use megatron_memory::export::pictures;
use megatron_memory::value::Value;

const PAGE: &str = "https://calculator.example/";

fn data(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        other => panic!("{other} is no text"),
    }
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        other => panic!("{other} is no list"),
    }
}

/// A job in the one form that equal jobs share.
fn canonical(job: &Value) -> RawJob {
    normalize_job(&RawJob::from_value(job), &RawJob::default())
}

/// Every preset's job with its name, modules included.
fn jobs() -> Vec<(String, Value)> {
    let named = |preset: &Value| {
        let name = format!(
            "{}@{}",
            text(preset.get("id").unwrap()),
            preset.get("version").unwrap()
        );
        (name, preset.get("job").unwrap().clone())
    };
    list(&presets()).iter().map(named).collect()
}

#[test]
fn a_preset_can_be_told_from_its_name_and_its_whole_job() {
    let all = presets();
    let find = |id: &str| {
        let found = list(&all)
            .iter()
            .find(|preset| text(preset.get("id").unwrap()) == id);
        found.unwrap().clone()
    };
    let llama = find("llama3-8b");
    assert_eq!(llama.get("parameters"), Some(&Value::Int(8_030_261_248)));
    assert_eq!(llama.get("active_parameters"), Some(&Value::Null));
    assert_eq!(
        llama.get("job").unwrap().get("num_layers"),
        Some(&Value::Int(32))
    );
    let modules = find("llava-7b");
    assert_eq!(text(modules.get("kind").unwrap()), "modules");
    assert!(list(modules.get("job").unwrap().get("modules").unwrap()).len() > 1);
    assert!(list(&all).len() > 40);
}

#[test]
fn every_job_comes_back_from_its_link_and_from_json() {
    let none = Value::Null;
    for (name, job) in jobs() {
        let link = encode_link(&job, &none).unwrap();
        let back = decode_link(text(&link)).unwrap();
        assert_eq!(
            canonical(back.get("job").unwrap()),
            canonical(&job),
            "{name}"
        );
        assert_eq!(list(back.get("notices").unwrap()), [], "{name}");
        assert_eq!(
            encode_link(back.get("job").unwrap(), &back).unwrap(),
            link,
            "{name}"
        );
        let file = export_text(&job, "json", &none).unwrap();
        let import = import_text(text(&file), &none).unwrap();
        assert_eq!(text(import.get("format").unwrap()), "json");
        assert_eq!(
            canonical(import.get("job").unwrap()),
            canonical(&job),
            "{name}"
        );
        assert_eq!(import.get("link"), Some(&link), "{name}");
    }
}

#[test]
fn a_link_is_short_where_its_preset_is_named() {
    let link = "#v1;m=llama3-8b@1;tp=4;tab=table;stage=1;vs;tp=2";
    let said = decode_link(&format!("{PAGE}{link}")).unwrap();
    assert_eq!(text(said.get("preset").unwrap()), "llama3-8b@1");
    let job = said.get("job").unwrap();
    assert_eq!(job.get("num_layers"), Some(&Value::Int(32)));
    assert_eq!(job.get("tensor_model_parallel_size"), Some(&Value::Int(4)));
    assert_eq!(
        encode_link(job, &said).unwrap(),
        Value::Text(link.to_owned())
    );
    let other = encode_link(job, &data(r#"{"preset": "llama3-8b@1"}"#)).unwrap();
    assert_eq!(text(&other), "#v1;m=llama3-8b@1;tp=4");
}

#[test]
fn what_is_no_link_is_an_error_and_what_is_one_in_part_a_notice() {
    for link in ["", "hello", "#v2;x", "https://host/#top"] {
        assert_eq!(decode_link(link).unwrap_err().name, "LinkError", "{link}");
    }
    let said = decode_link("#v1;m=llama3-8b@1;tp=none;color=red").unwrap();
    assert_eq!(list(said.get("notices").unwrap()).len(), 2);
    for options in [
        r#"{"preset": "nothing@1"}"#,
        r#"{"preset": 3}"#,
        r#"{"compare": 3}"#,
    ] {
        assert!(
            encode_link(&data("{}"), &data(options)).is_err(),
            "{options}"
        );
    }
    assert_eq!(
        encode_link(&Value::Int(3), &Value::Null).unwrap_err().name,
        "TypeError"
    );
}

#[test]
fn every_format_says_every_plain_job_and_imports_back_what_it_can_say() {
    let none = Value::Null;
    let structured = [
        "megatron_args",
        "model_args",
        "bridge",
        "bridge_recipe",
        "one_gpu",
        "json",
    ];
    for (name, job) in jobs() {
        for export in EXPORTS {
            let several = job.get("modules").is_some();
            let written = export_text(&job, export.id, &none);
            if several && (export.is_of_one_model() || export.id == "one_gpu") {
                let failure = written.unwrap_err();
                assert_eq!(failure.name, "ExportError");
                assert!(failure.message.contains("language"), "{}", failure.message);
                continue;
            }
            let written =
                written.unwrap_or_else(|f| panic!("{name} as {}: {}", export.id, f.message));
            if structured.contains(&export.id) {
                let back = import_text(text(&written), &none).unwrap();
                let layers = |job: &Value| job.get("num_layers").map(ToString::to_string);
                assert_eq!(
                    layers(back.get("job").unwrap()),
                    layers(&job),
                    "{name} as {}",
                    export.id
                );
            }
        }
    }
}

#[test]
fn files_say_which_version_made_them_and_from_which_job() {
    let link = "#v1;m=llama3-8b@1;tp=2";
    let options = data(&format!(r#"{{"page": "{PAGE}?theme=dark#old"}}"#));
    let version = format!("Megatron Memory {}, after", env!("CARGO_PKG_VERSION"));
    for export in EXPORTS.iter().filter(|export| export.id != "csv") {
        let written = export_text(&Value::Text(link.to_owned()), export.id, &options).unwrap();
        let written = text(&written);
        assert!(written.contains(&version), "{}: {written}", export.id);
        // What JSON holds is the job itself.
        let linked = written.contains(&format!("{PAGE}{link}"));
        assert_eq!(linked, export.id != "json", "{}", export.id);
        if matches!(export.extension, "sh" | "py" | "yaml" | "txt") {
            assert!(written.starts_with("# Megatron Memory "), "{}", export.id);
        }
    }
    let picture = svg(&Value::Text(link.to_owned()), "buckets", &Value::Null).unwrap();
    let metadata = text(&picture).split("<metadata>").nth(1).unwrap();
    assert!(metadata.starts_with(&version) && metadata.contains(link));
    // No address of a page breaks out of the remark.
    let options = Value::Map(vec![(
        "page".to_owned(),
        Value::Text("https://host/\nrm -rf /\r".to_owned()),
    )]);
    let flags = export_text(&Value::Text(link.to_owned()), "megatron_args", &options).unwrap();
    assert!(
        text(&flags).contains("\n# https://host/rm -rf /#v1;"),
        "{}",
        text(&flags)
    );
}

#[test]
fn a_job_with_problems_is_exported_with_them() {
    let job = data(
        r#"{"num_layers": 7, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 128, "max_position_embeddings": 128,
        "vocab_size": 1000, "pipeline_model_parallel_size": 2, "position_embedding_type": "a\nrm -rf /\r# b\u2028c"}"#,
    );
    let checked = check(&RawJob::from_value(&job));
    assert!(checked.errors().count() >= 2, "{:?}", checked.problems);
    for format in ["megatron_args", "model_args", "bridge", "bridge_recipe"] {
        let written = export_text(&job, format, &Value::Null).unwrap();
        let written = text(&written);
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(
            lines[2], "# Megatron refuses this job as it is:",
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
    let fine = export_text(
        &Value::Text("#v1;m=llama3-8b@1".to_owned()),
        "megatron_args",
        &Value::Null,
    );
    assert!(!text(&fine.unwrap()).contains("refuses"));
}

#[test]
fn one_module_becomes_flags_on_its_own_ranks() {
    let (_, job) = jobs()
        .into_iter()
        .find(|(name, _)| name == "llava-7b@1")
        .unwrap();
    let flags = export_text(&job, "megatron_args", &data(r#"{"module": "language"}"#)).unwrap();
    assert!(
        text(&flags).contains("\n# Only language, one of 2 modules.\n"),
        "{}",
        text(&flags)
    );
    let back = import_text(text(&flags), &Value::Null).unwrap();
    let back = back.get("job").unwrap();
    assert_eq!(back.get("num_layers"), Some(&Value::Int(32)));
    assert_eq!(back.get("modules"), None);
    let failure = export_text(&job, "bridge", &data(r#"{"module": "smell"}"#)).unwrap_err();
    assert_eq!(failure.name, "ExportError");
}

#[test]
fn links_have_their_dressings() {
    let options = data(&format!(
        r#"{{"page": "{PAGE}?theme=dark#old", "view": "bar"}}"#
    ));
    let job = Value::Text("#v1;m=llama3-8b@1;tp=2".to_owned());
    let write = |format| text(&export_text(&job, format, &options).unwrap()).to_owned();
    assert_eq!(write("link"), format!("{PAGE}#v1;m=llama3-8b@1;tp=2\n"));
    assert_eq!(
        write("link_markdown"),
        format!("[GPU memory of Llama 3 8B]({PAGE}#v1;m=llama3-8b@1;tp=2)\n")
    );
    let summary = write("link_summary");
    assert!(
        summary.starts_with("GPU memory of Llama 3 8B: ") && summary.contains(" GiB on stage 0. "),
        "{summary}"
    );
    assert!(write("embed").contains(&format!(
        "src=\"{PAGE}embed.html?view=bar#v1;m=llama3-8b@1;tp=2\""
    )));
    assert!(write("element").contains(&format!("src=\"{PAGE}embed.js\"")));
    assert_eq!(
        export_text(&job, "poem", &options).unwrap_err().name,
        "ExportError"
    );
}

#[test]
fn a_job_with_problems_has_settings_but_no_result() {
    let job = Value::Text("#v1;m=llama3-8b@1;tp=3".to_owned());
    for format in ["csv", "markdown", "link_summary"] {
        let failure = export_text(&job, format, &Value::Null).unwrap_err();
        assert_eq!(failure.name, "ConfigError", "{format}");
        assert!(!list(&failure.problems).is_empty());
    }
    assert!(export_text(&job, "megatron_args", &Value::Null).is_ok());
    assert_eq!(
        svg(&job, "buckets", &Value::Null).unwrap_err().name,
        "ConfigError"
    );
}

#[test]
fn every_chart_becomes_a_picture_of_the_asked_width() {
    let job = Value::Text("#v1;m=llama3-8b@1;tp=2;pp=2".to_owned());
    for (chart, _) in pictures::names() {
        let options = data(r#"{"width": 500, "stage": {"pp_rank": 1}}"#);
        let drawn = svg(&job, chart, &options).unwrap();
        let drawn = text(&drawn);
        assert!(
            drawn.starts_with("<svg xmlns=") && drawn.contains(" width=\"500\""),
            "{chart}"
        );
        for element in drawn.lines().map(str::trim_start) {
            let shape = ["<polygon", "<path", "<line", "<text"];
            let Some((_, class)) = element.split_once(" class=\"") else {
                continue;
            };
            let mut names = class.split('"').next().unwrap().split(' ');
            // What has no color is black, whatever is behind it.
            let colored = names.any(|name| {
                name == "textured"
                    || drawn.contains(&format!(".{name}{{fill:"))
                    || drawn.contains(&format!(".{name}{{stroke:"))
            });
            assert!(
                colored || !shape.iter().any(|start| element.starts_with(start)),
                "{chart}: {element}"
            );
        }
    }
    for (chart, options) in [
        ("cake", "{}"),
        ("buckets", r#"{"width": 10}"#),
        ("buckets", r#"{"width": "wide"}"#),
        ("buckets", r#"{"unit": "bits"}"#),
        ("buckets", r#"{"stage": {"pp_rank": 2}}"#),
        ("rank_map", r#"{"color": "red"}"#),
    ] {
        assert!(
            svg(&job, chart, &data(options)).is_err(),
            "{chart} {options}"
        );
    }
}

#[test]
fn the_map_of_ranks_says_what_its_colors_mean() {
    let job = Value::Text("#v1;m=llama3-8b@1;tp=2;pp=4;gpus=16".to_owned());
    for (color, words) in [
        (r#"{"color": "stage"}"#, "stage 3, 4 ranks"),
        (r#"{"color": "module"}"#, "language, 16 ranks"),
        (r#"{"width": 200}"#, "GiB, 4 ranks"),
    ] {
        let drawn = svg(&job, "rank_map", &data(color)).unwrap();
        let drawn = text(&drawn);
        assert!(drawn.contains(words), "{color}");
    }
}

#[test]
fn questions_are_answered_by_options() {
    let script = "TP=${TP_SIZE}\nif [[ $FAST == 1 ]]; then\n  MORE=\"--recompute-activations\"\nfi\n\
        torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --tensor-model-parallel-size $TP $MORE\n";
    let open = import_text(script, &Value::Null).unwrap();
    let kinds: Vec<&str> = list(open.get("questions").unwrap())
        .iter()
        .map(|question| text(question.get("kind").unwrap()))
        .collect();
    assert!(
        kinds.contains(&"variable") && kinds.contains(&"gpus"),
        "{kinds:?}"
    );
    let options = data(r#"{"variables": {"TP_SIZE": "4", "FAST": 1}, "gpus": 16}"#);
    let closed = import_text(script, &options).unwrap();
    assert_eq!(list(closed.get("questions").unwrap()), []);
    let job = closed.get("job").unwrap();
    assert_eq!(job.get("tensor_model_parallel_size"), Some(&Value::Int(4)));
    assert_eq!(job.get("world_size"), Some(&Value::Int(16)));
    assert_eq!(
        job.get("recompute_granularity"),
        Some(&Value::Text("selective".to_owned()))
    );
}

#[test]
fn a_model_that_is_only_named_is_given_as_a_preset_or_as_its_file() {
    let command =
        "megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 --nproc_per_node 8";
    let open = import_text(command, &Value::Null).unwrap();
    let asked = list(open.get("questions").unwrap());
    assert!(
        asked
            .iter()
            .any(|q| text(q.get("kind").unwrap()) == "model"),
        "{asked:?}"
    );
    let preset = import_text(command, &data(r#"{"model": "qwen3-8b", "gpus": 8}"#)).unwrap();
    let job = preset.get("job").unwrap();
    assert_eq!(job.get("num_layers"), Some(&Value::Int(36)));
    assert_eq!(job.get("qk_layernorm"), Some(&Value::Bool(true)));
    assert_eq!(job.get("tensor_model_parallel_size"), Some(&Value::Int(2)));
    assert_eq!(list(preset.get("questions").unwrap()), []);
    let file = r#"{"model_type": "llama", "num_hidden_layers": 7, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 1000}"#;
    let options = Value::Map(vec![("model".to_owned(), Value::Text(file.to_owned()))]);
    let job = import_text(command, &options).unwrap();
    assert_eq!(
        job.get("job").unwrap().get("num_layers"),
        Some(&Value::Int(7))
    );
    assert!(import_text(command, &data(r#"{"model": "no model"}"#)).is_err());
}

#[test]
fn another_model_keeps_the_training() {
    let file = r#"{"model_type": "qwen3", "num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 1000, "torch_dtype": "float16"}"#;
    let onto = data(r##"{"onto": "#v1;m=deepseek-v3@1;tp=4;mbs=2"}"##);
    let import = import_text(file, &onto).unwrap();
    let job = import.get("job").unwrap();
    assert_eq!(job.get("num_layers"), Some(&Value::Int(12)));
    assert_eq!(job.get("num_experts"), None);
    assert_eq!(job.get("tensor_model_parallel_size"), Some(&Value::Int(4)));
    assert_eq!(job.get("micro_batch_size"), Some(&Value::Int(2)));
    assert_eq!(job.get("bf16"), Some(&Value::Bool(true)));
    assert_eq!(job.get("fp16"), None);
    assert_eq!(list(import.get("questions").unwrap()), []);
}

#[test]
fn other_experts_are_trained_as_those_of_the_job() {
    let experts = r#"{"model_type": "qwen3_moe", "num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 1000, "num_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 512}"#;
    let dense = r#"{"model_type": "qwen3", "num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 1000}"#;
    let onto = data(r##"{"onto": "#v1;m=deepseek-v3@2"}"##);
    let flex = Value::Text("flex".to_owned());
    for (file, dispatcher, grouped) in [
        (experts, Some(&flex), Some(&Value::Bool(true))),
        (dense, None, None),
    ] {
        let import = import_text(file, &onto).unwrap();
        let job = import.get("job").unwrap();
        assert_eq!(job.get("moe_token_dispatcher_type"), dispatcher);
        assert_eq!(job.get("moe_grouped_gemm"), grouped);
        // What the router adds to its scores is the model's own.
        assert_eq!(job.get("moe_router_enable_expert_bias"), None);
    }
}

#[test]
fn options_of_the_wrong_kind_are_named() {
    for options in [
        r#"{"format": "poem"}"#,
        r#"{"gpus": -1}"#,
        r#"{"gpus": 1.5}"#,
        r#"{"variables": 3}"#,
        r#"{"branches": {"x": 1}}"#,
    ] {
        let failure = import_text("--num-layers 4", &data(options)).unwrap_err();
        assert_eq!(failure.name, "TypeError", "{options}");
    }
}
