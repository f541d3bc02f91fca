//! Texts upon a job that is there, and what has no value.

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::exchange::{export_text, import_text, presets};
use megatron_memory::value::Value;

use super::{data, list, text};

/// Qwen3-235B-A22B's, without what decides nothing here.
const QWEN: &str = r#"{"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "num_attention_heads": 64,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_experts": 128,
    "num_experts_per_tok": 8, "vocab_size": 151936, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}"#;

fn read(source: &str, options: &str) -> Value {
    import_text(source, &data(options)).unwrap_or_else(|failure| panic!("{}", failure.message))
}

fn job(import: &Value) -> &Value {
    import.get("job").unwrap()
}

fn row<'v>(import: &'v Value, key: &str) -> &'v Value {
    let mut rows = list(import.get("report").unwrap()).iter();
    let found = rows.find(|row| text(row.get("key").unwrap()) == key);
    found.unwrap_or_else(|| panic!("no row for {key}: {import}"))
}

fn said<'v>(row: &'v Value, key: &str) -> &'v str {
    text(row.get(key).unwrap())
}

fn runs(job: &Value) {
    let checked = check(&RawJob::from_value(job));
    let problems: Vec<_> = checked.errors().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new(), "{job}");
}

const SCRIPT: &str = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --vocab-size 32000 --micro-batch-size $MBS --global-batch-size ${GBS} --num-experts $E --log-interval $LOG";

#[test]
fn a_key_whose_variable_nobody_sets_says_what_stands_in() {
    let import = read(SCRIPT, "{}");
    for (key, field, note) in [
        (
            "--micro-batch-size",
            "micro_batch_size",
            "its value is missing: $MBS is not set; the default stands in: 1",
        ),
        (
            "--global-batch-size",
            "global_batch_size",
            "its value is missing: $GBS is not set; the default stands in: micro batch · DP",
        ),
    ] {
        let row = row(&import, key);
        assert_eq!(said(row, "fate"), "missing");
        assert_eq!((said(row, "field"), said(row, "note")), (field, note));
    }
    let asked: Vec<(&str, Vec<&str>)> = list(import.get("questions").unwrap())
        .iter()
        .map(|question| {
            let keys = list(question.get("keys").unwrap());
            (said(question, "name"), keys.iter().map(text).collect())
        })
        .collect();
    assert_eq!(
        asked,
        [
            ("MBS", vec!["--micro-batch-size"]),
            ("GBS", vec!["--global-batch-size"]),
            ("E", vec!["--num-experts"]),
        ]
    );
    // An answer that is none leaves the question.
    let import = read(
        SCRIPT,
        r#"{"variables": {"MBS": "2", "GBS": "lots", "E": "8"}}"#,
    );
    assert_eq!(
        said(row(&import, "--global-batch-size"), "note"),
        "“lots” is no value for it; the default stands in: micro batch · DP"
    );
    let questions = list(import.get("questions").unwrap());
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert_eq!(said(&questions[0], "name"), "GBS");
    let import = read(
        SCRIPT,
        r#"{"variables": {"MBS": "2", "GBS": "64", "E": "8"}}"#,
    );
    assert_eq!(list(import.get("questions").unwrap()), []);
    assert_eq!(job(&import).get("global_batch_size"), Some(&Value::Int(64)));
}

#[test]
fn what_front_ends_take_for_a_missing_value_is_named() {
    let swift = "megatron pt --num_layers 4 --hidden_size 512 --num_attention_heads 8 --global_batch_size $GBS";
    let import = read(swift, "{}");
    assert_eq!(
        said(row(&import, "--global_batch_size"), "note"),
        "its value is missing: $GBS is not set; 16 stands in"
    );
    let verl = "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=$TP \
        data.max_prompt_length=1024 data.max_response_length=1024";
    let import = read(verl, "{}");
    let key = "actor_rollout_ref.actor.megatron.tensor_model_parallel_size";
    assert_eq!(said(row(&import, key), "fate"), "missing");
    let import = read(verl, r#"{"variables": {"TP": "4"}}"#);
    assert_eq!(said(row(&import, key), "fate"), "mapped");
}

#[test]
fn a_launch_on_an_unknown_number_of_nodes_has_no_number_of_gpus() {
    let script = SCRIPT.replace("--nproc_per_node 8", "--nproc_per_node 8 --nnodes $NNODES");
    let answers = r#""variables": {"MBS": "2", "GBS": "64", "E": "8"}"#;
    let import = read(&script, &format!("{{{answers}}}"));
    assert_eq!(said(row(&import, "GPUs"), "fate"), "missing");
    let import = read(&script, &format!(r#"{{{answers}, "gpus": 64}}"#));
    let questions = list(import.get("questions").unwrap());
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert_eq!(list(questions[0].get("keys").unwrap()), []);
    assert_eq!(job(&import).get("world_size"), Some(&Value::Int(64)));
}

#[test]
fn a_text_without_a_model_sets_single_settings() {
    for (source, changes) in [
        (
            "model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=8 train.micro_batch_size=2",
            "tensor_model_parallel_size pipeline_model_parallel_size micro_batch_size",
        ),
        (
            "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 8",
            "tensor_model_parallel_size pipeline_model_parallel_size",
        ),
    ] {
        let import = read(source, r##"{"onto": "#v1;m=llama3-70b@1;tp=2;gpus=64"}"##);
        let changed: Vec<&str> = list(import.get("changes").unwrap())
            .iter()
            .map(text)
            .collect();
        assert_eq!(changed.join(" "), changes);
        let now = job(&import);
        assert_eq!(now.get("num_layers"), Some(&Value::Int(80)));
        assert_eq!(now.get("world_size"), Some(&Value::Int(64)));
        assert_eq!(now.get("bf16"), Some(&Value::Bool(true)));
        assert_eq!(said(&import, "preset"), "llama3-70b@1");
        assert_eq!(list(import.get("questions").unwrap()), []);
        runs(now);
        // Without a job there is nothing to keep.
        let alone = read(source, "{}");
        assert_eq!(alone.get("changes"), Some(&Value::Null));
        assert_eq!(job(&alone).get("num_layers"), None);
    }
}

/// The stages of the job spell out its old split, and 7 layers do not come out even on 4 of them.
#[test]
fn a_split_that_a_text_contradicts_gives_way() {
    let onto = r#"{"onto": {"num_layers": 7, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 128,
        "vocab_size": 1000, "world_size": 8, "pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": "Etttt|tttL"}}"#;
    let import = read("--pipeline-model-parallel-size 4", onto);
    let now = job(&import);
    runs(now);
    assert_eq!(
        now.get("pipeline_model_parallel_size"),
        Some(&Value::Int(4))
    );
    assert_eq!(now.get("pipeline_model_parallel_layout"), None);
    let layout = row(&import, "pipeline_model_parallel_layout");
    assert_eq!(said(layout, "fate"), "conflicting");
    assert!(
        said(layout, "note").starts_with("of your job, left out: "),
        "{layout}"
    );
}

#[test]
fn one_module_of_several_is_changed() {
    let import = read(
        "--tensor-model-parallel-size 2",
        r##"{"onto": "#v1;m=llava-7b@1"}"##,
    );
    let modules = list(job(&import).get("modules").unwrap());
    assert_eq!(modules.len(), 2);
    let of = |name: &str| {
        let module = modules
            .iter()
            .find(|m| said(m, "name") == name)
            .unwrap_or_else(|| panic!("{modules:?}"));
        module.get("tensor_model_parallel_size").cloned()
    };
    assert_eq!(of("language"), Some(Value::Int(2)));
    assert_ne!(of("images"), Some(Value::Int(2)));
}

#[test]
fn precision_of_a_text_replaces_the_jobs() {
    let import = read("--fp16", r##"{"onto": "#v1;m=llama3-8b@1"}"##);
    let now = job(&import);
    runs(now);
    assert_eq!(now.get("fp16"), Some(&Value::Bool(true)));
    assert_eq!(now.get("bf16"), None);
}

#[test]
fn a_script_leaves_the_gpu_unless_it_names_one() {
    let onto = r##"{"onto": "#v1;m=llama3-8b@1;gpu=a100-40gb;mem=39000;ga=3"}"##;
    let script = "--num-layers 4 --hidden-size 512 --num-attention-heads 8";
    let import = read(script, onto);
    assert_eq!(import.get("changes"), Some(&Value::Null));
    let now = job(&import);
    assert_eq!(
        now.get("gpu"),
        Some(&Value::Text("a100-40gb".to_owned())),
        "{now}"
    );
    assert_eq!(now.get("gpu_memory_mib"), Some(&Value::Int(39_000)));
    assert_eq!(now.get("context_parallel_size"), None);
    // A job of ours is complete, with a GPU or without.
    let file = export_text(
        &data(r#"{"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8}"#),
        "json",
        &Value::Null,
    );
    let import = read(text(&file.unwrap()), onto);
    assert_eq!(job(&import).get("gpu"), None);
}

#[test]
fn another_model_drops_what_was_of_the_old_one_alone() {
    let import = read(QWEN, r##"{"onto": "#v1;m=deepseek-v3@1"}"##);
    let now = job(&import);
    runs(now);
    // 94 layers on 16 stages.
    for (field, value) in [
        ("tensor_model_parallel_size", 2),
        ("pipeline_model_parallel_size", 16),
        ("expert_model_parallel_size", 64),
        ("world_size", 2_048),
        ("decoder_last_pipeline_num_layers", 4),
    ] {
        assert_eq!(now.get(field), Some(&Value::Int(value)), "{field}");
    }
    assert_eq!(now.get("pipeline_model_parallel_layout"), None);
    assert_eq!(now.get("recompute_modules"), Some(&data(r#"["mlp"]"#)));
    for (key, note) in [
        (
            "pipeline_model_parallel_layout",
            "of your job, left out: the layout has 61",
        ),
        (
            "recompute_modules",
            r#"of your job, now ["mlp"]: recompute module mla_up_proj"#,
        ),
        ("decoder_last_pipeline_num_layers", "of your job, now 4: "),
    ] {
        let row = row(&import, key);
        assert_eq!(said(row, "fate"), "conflicting");
        assert!(said(row, "note").starts_with(note), "{row}");
        assert_eq!(row.get("line"), Some(&Value::Null));
    }
}

/// What asks for stages of one size gives way where the layers of the model do not come out even.
#[test]
fn another_model_can_be_trained_on_the_stages_of_every_preset() {
    let presets = presets();
    let models = list(&presets).iter();
    for preset in models.filter(|preset| said(preset, "kind") == "model") {
        let onto = Value::Map(vec![(
            "onto".to_owned(),
            preset.get("job").unwrap().clone(),
        )]);
        let import = import_text(QWEN, &onto).unwrap();
        let now = job(&import);
        runs(now);
        let before = job(preset);
        for field in [
            "tensor_model_parallel_size",
            "pipeline_model_parallel_size",
            "context_parallel_size",
            "world_size",
        ] {
            let id = said(preset, "id");
            assert_eq!(now.get(field), before.get(field), "{id}: {field}");
        }
    }
}

#[test]
fn a_layout_stays_with_a_model_of_as_many_layers() {
    let file = r#"{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
        "intermediate_size": 2048, "vocab_size": 32000}"#;
    let onto = r#"{"onto": {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 128,
        "vocab_size": 1000, "pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": "Ettt|tL"}}"#;
    let import = read(file, onto);
    assert_eq!(
        job(&import).get("pipeline_model_parallel_layout"),
        Some(&Value::Text("Ettt|tL".to_owned()))
    );
    // With fewer layers its own problem is the only one, and the parallelism stays.
    let import = read(&file.replace(": 4,", ": 6,"), onto);
    let now = job(&import);
    runs(now);
    assert_eq!(now.get("pipeline_model_parallel_layout"), None);
    assert_eq!(
        now.get("pipeline_model_parallel_size"),
        Some(&Value::Int(2))
    );
}
