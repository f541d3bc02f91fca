//! Texts with what a user says about them: answers, a model, and the current job, which they change.

use megatron_memory::config::canonical::normalize_job;
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::{ExportFormat, ExportOptions, export_text};
use megatron_memory::formats::import::{Question, Row};
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::formats::share_url::decode;
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::presets::PRESETS;
use megatron_memory::value::Value;

/// Qwen3-235B-A22B's, without what decides nothing here.
const QWEN: &str = r#"{"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "num_attention_heads": 64,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_experts": 128,
    "num_experts_per_tok": 8, "vocab_size": 151936, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}"#;

fn read(text: &str, options: &ImportOptions) -> ImportedText {
    import_text(text, options).unwrap_or_else(|error| panic!("{error}"))
}

fn alone() -> ImportOptions {
    ImportOptions::default()
}

/// Answers to questions about variables.
fn variables(answers: &[(&str, &str)]) -> ImportOptions {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    ImportOptions {
        variables: answers.iter().map(own).collect(),
        ..ImportOptions::default()
    }
}

/// The job of a link as the current job.
fn onto(link: &str) -> ImportOptions {
    let (state, notices) = decode(link);
    assert_eq!(notices, []);
    onto_setup(state.setup)
}

fn onto_job(json: &str) -> ImportOptions {
    onto_setup(Setup {
        preset: None,
        job: RawJob::from_value(&serde_json::from_str(json).unwrap()),
    })
}

fn onto_setup(setup: Setup) -> ImportOptions {
    ImportOptions {
        onto: Some(setup),
        ..ImportOptions::default()
    }
}

/// The job in canonical form: what means the default is left out.
fn job(imported: &ImportedText) -> RawJob {
    normalize_job(&imported.import.state.setup.job, &RawJob::default())
}

#[track_caller]
fn has(job: &RawJob, field: FieldId, value: impl Into<Option<i128>>) {
    let value = value.into().map(Value::Int);
    assert_eq!(job.shared.get(field), value.as_ref(), "{}", field.field().name);
}

#[track_caller]
fn is_on(job: &RawJob, field: FieldId) {
    assert_eq!(job.shared.get(field), Some(&Value::Bool(true)));
}

fn row<'i>(imported: &'i ImportedText, key: &str) -> &'i Row {
    let mut rows = imported.import.report.iter();
    let found = rows.find(|row| row.key == key);
    found.unwrap_or_else(|| panic!("no row for {key}: {:?}", imported.import.report))
}

/// The variables that are asked for, each with the keys that wait for it.
fn asked(imported: &ImportedText) -> Vec<(&str, Vec<&str>)> {
    let questions = imported.import.questions.iter();
    let variables = questions.filter_map(|question| match question {
        Question::Variable { name, keys, .. } => Some((name.as_str(), keys.iter().map(String::as_str).collect())),
        _ => None,
    });
    variables.collect()
}

#[track_caller]
fn runs(job: &RawJob) {
    let checked = check(job);
    let problems: Vec<_> = checked.errors().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new(), "{job:?}");
}

const SCRIPT: &str = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --vocab-size 32000 --micro-batch-size $MBS --global-batch-size ${GBS} --num-experts $E --log-interval $LOG";

#[test]
fn a_key_whose_variable_nobody_sets_says_what_stands_in() {
    let import = read(SCRIPT, &alone());
    for (key, field, note) in [
        (
            "--micro-batch-size",
            FieldId::micro_batch_size,
            "its value is missing: $MBS is not set; the default stands in: 1",
        ),
        (
            "--global-batch-size",
            FieldId::global_batch_size,
            "its value is missing: $GBS is not set; the default stands in: micro batch · DP",
        ),
    ] {
        let row = row(&import, key);
        assert_eq!(row.status, KeyStatus::Missing);
        assert_eq!((row.field, &*row.note), (Some(field), note));
    }
    assert_eq!(
        asked(&import),
        [
            ("MBS", vec!["--micro-batch-size"]),
            ("GBS", vec!["--global-batch-size"]),
            ("E", vec!["--num-experts"]),
        ]
    );
    // An answer that is none leaves the question.
    let import = read(SCRIPT, &variables(&[("MBS", "2"), ("GBS", "lots"), ("E", "8")]));
    assert_eq!(
        row(&import, "--global-batch-size").note,
        "“lots” is no value for it; the job cannot run with it"
    );
    assert_eq!(asked(&import), [("GBS", vec!["--global-batch-size"])]);
    let import = read(SCRIPT, &variables(&[("MBS", "2"), ("GBS", "64"), ("E", "8")]));
    assert_eq!(import.import.questions, []);
    has(&job(&import), FieldId::global_batch_size, 64);
}

#[test]
fn what_front_ends_take_for_a_missing_value_is_named() {
    let swift = "megatron pt --num_layers 4 --hidden_size 512 --num_attention_heads 8 --global_batch_size $GBS";
    let import = read(swift, &alone());
    assert_eq!(
        row(&import, "--global_batch_size").note,
        "its value is missing: $GBS is not set; 16 stands in"
    );
    let verl = "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=$TP \
        data.max_prompt_length=1024 data.max_response_length=1024";
    let key = "actor_rollout_ref.actor.megatron.tensor_model_parallel_size";
    assert_eq!(row(&read(verl, &alone()), key).status, KeyStatus::Missing);
    let import = read(verl, &variables(&[("TP", "4")]));
    assert_eq!(row(&import, key).status, KeyStatus::Mapped);
}

#[test]
fn a_launch_on_an_unknown_number_of_nodes_has_no_number_of_gpus() {
    let script = SCRIPT.replace("--nproc_per_node 8", "--nproc_per_node 8 --nnodes $NNODES");
    let mut options = variables(&[("MBS", "2"), ("GBS", "64"), ("E", "8")]);
    let import = read(&script, &options);
    assert_eq!(row(&import, "GPUs").status, KeyStatus::Missing);
    options.gpus = Some(64);
    let import = read(&script, &options);
    assert_eq!(asked(&import), [("NNODES", vec![])]);
    assert_eq!(import.import.questions.len(), 1);
    has(&job(&import), FieldId::world_size, 64);
}

#[test]
fn questions_are_answered_by_options() {
    let script = "TP=${TP_SIZE}\nif [[ $FAST == 1 ]]; then\n  MORE=\"--recompute-activations\"\nfi\n\
        torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --tensor-model-parallel-size $TP $MORE\n";
    let open = read(script, &alone());
    assert!(!asked(&open).is_empty());
    assert!(open.import.questions.contains(&Question::Gpus));
    let mut options = variables(&[("TP_SIZE", "4"), ("FAST", "1")]);
    options.gpus = Some(16);
    options.fields = vec![
        (FieldId::vocab_size, Value::Int(1_000)),
        (FieldId::seq_length, Value::Int(1_024)),
    ];
    let closed = read(script, &options);
    assert_eq!(closed.import.questions, []);
    let job = job(&closed);
    has(&job, FieldId::tensor_model_parallel_size, 4);
    has(&job, FieldId::world_size, 16);
    let selective = Value::Text("selective".to_owned());
    assert_eq!(job.shared.get(FieldId::recompute_granularity), Some(&selective));
}

#[test]
fn a_model_that_is_only_named_is_given_as_a_preset_or_as_its_file() {
    let command = "megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 --nproc_per_node 8";
    let model = |model: &str| ImportOptions {
        model: Some(model.to_owned()),
        gpus: Some(8),
        fields: vec![(FieldId::seq_length, Value::Int(1_024))],
        ..ImportOptions::default()
    };
    let open = read(command, &alone());
    let name = "Qwen/Qwen3-8B".to_owned();
    assert!(open.import.questions.contains(&Question::Model { name }));
    let preset = read(command, &model("qwen3-8b"));
    assert_eq!(preset.import.questions, []);
    let of_preset = job(&preset);
    has(&of_preset, FieldId::num_layers, 36);
    is_on(&of_preset, FieldId::qk_layernorm);
    has(&of_preset, FieldId::tensor_model_parallel_size, 2);
    let file = r#"{"model_type": "llama", "num_hidden_layers": 7, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 1000}"#;
    has(&job(&read(command, &model(file))), FieldId::num_layers, 7);
    let error = import_text(command, &model("no model")).unwrap_err();
    assert!(error.to_string().starts_with("The model: "), "{error}");
}

#[test]
fn a_text_without_a_model_sets_single_settings() {
    for (source, changes) in [
        (
            "model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=8 train.micro_batch_size=2",
            vec![
                FieldId::tensor_model_parallel_size,
                FieldId::pipeline_model_parallel_size,
                FieldId::micro_batch_size,
            ],
        ),
        (
            "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 8",
            vec![
                FieldId::tensor_model_parallel_size,
                FieldId::pipeline_model_parallel_size,
            ],
        ),
    ] {
        let import = read(source, &onto("#v1;m=llama3-70b@1;tp=2;gpus=64"));
        assert_eq!(import.changes, Some(changes));
        let now = job(&import);
        has(&now, FieldId::num_layers, 80);
        has(&now, FieldId::world_size, 64);
        is_on(&now, FieldId::bf16);
        let preset = import.import.state.setup.preset.as_ref();
        assert_eq!(preset.unwrap().to_string(), "llama3-70b@1");
        assert_eq!(import.import.questions, []);
        runs(&now);
        // Without a job there is nothing to keep.
        let alone = read(source, &alone());
        assert_eq!(alone.changes, None);
        has(&job(&alone), FieldId::num_layers, None);
    }
}

/// The settings of a file that the text changes are not in the text, so that its job is marked.
#[test]
fn a_text_that_changes_another_file_marks_its_job() {
    let own = "num_layers: 36\nhidden_size: 4096\nffn_hidden_size: 12288\nnum_attention_heads: 32\nseq_length: 4096\n";
    for named in [
        "extends: [qwen2.5_base.yaml]",
        "extends:\n  - qwen2.5_base.yaml",
        "bases: base.yaml",
        "includes: [a.yaml]",
    ] {
        let marks = job(&read(&format!("{named}\n{own}"), &alone())).not_modelled;
        let key = named.split(':').next().unwrap_or_default();
        assert!(
            marks
                .iter()
                .any(|mark| mark.key == key && mark.reason.contains("in another file")),
            "{named}: {marks:?}"
        );
    }
}

/// The stages of the job spell out its old split, and 7 layers do not come out even on 4 of them.
#[test]
fn a_split_that_a_text_contradicts_is_dropped() {
    let current = r#"{"num_layers": 7, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 128,
        "vocab_size": 1000, "world_size": 8, "pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": "Etttt|tttL"}"#;
    let import = read("--pipeline-model-parallel-size 4", &onto_job(current));
    let now = job(&import);
    runs(&now);
    has(&now, FieldId::pipeline_model_parallel_size, 4);
    has(&now, FieldId::pipeline_model_parallel_layout, None);
    let layout = row(&import, "pipeline_model_parallel_layout");
    assert_eq!(layout.status, KeyStatus::Conflicting);
    assert!(layout.note.starts_with("of your job, left out: "), "{layout:?}");
}

#[test]
fn one_module_of_several_is_changed() {
    let import = read("--tensor-model-parallel-size 2", &onto("#v1;m=llava-7b@1"));
    let modules = job(&import).modules;
    assert_eq!(modules.len(), 2);
    let of = |name: &str| {
        let module = modules.iter().find(|module| module.name == name).unwrap();
        let size = module.settings.get(FieldId::tensor_model_parallel_size);
        size.cloned()
    };
    assert_eq!(of("language"), Some(Value::Int(2)));
    assert_ne!(of("images"), Some(Value::Int(2)));
}

#[test]
fn precision_of_a_text_replaces_the_jobs() {
    let import = read("--fp16", &onto("#v1;m=llama3-8b@1"));
    let now = job(&import);
    runs(&now);
    is_on(&now, FieldId::fp16);
    has(&now, FieldId::bf16, None);
}

#[test]
fn a_script_leaves_the_gpu_unless_it_names_one() {
    let current = onto("#v1;m=llama3-8b@1;gpu=a100-40gb;mem=39000;cp=2");
    let script = "--num-layers 4 --hidden-size 512 --num-attention-heads 8";
    let import = read(script, &current);
    assert_eq!(import.changes, None);
    let now = job(&import);
    let gpu = Value::Text("a100-40gb".to_owned());
    assert_eq!(now.shared.get(FieldId::gpu), Some(&gpu));
    has(&now, FieldId::gpu_memory_mib, 39_000);
    has(&now, FieldId::context_parallel_size, None);
    // A job of ours is complete, with a GPU or without.
    let state = ShareState {
        setup: read(script, &alone()).import.state.setup,
        ..ShareState::default()
    };
    let json = ExportFormat::by_id("json").unwrap();
    let file = export_text(&state, json, &ExportOptions::default()).unwrap();
    let import = read(&file, &current);
    has(&job(&import), FieldId::gpu, None);
}

#[test]
fn another_model_keeps_the_training() {
    let file = r#"{"model_type": "qwen3", "num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 1000, "torch_dtype": "float16"}"#;
    let import = read(file, &onto("#v1;m=deepseek-v3@1;tp=4;mbs=2"));
    let now = job(&import);
    has(&now, FieldId::num_layers, 12);
    has(&now, FieldId::num_experts, None);
    has(&now, FieldId::tensor_model_parallel_size, 4);
    has(&now, FieldId::micro_batch_size, 2);
    is_on(&now, FieldId::bf16);
    has(&now, FieldId::fp16, None);
    assert_eq!(import.import.questions, []);
}

#[test]
fn other_experts_are_trained_as_those_of_the_job() {
    let experts = r#"{"model_type": "qwen3_moe", "num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 1000, "num_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 512}"#;
    let dense = r#"{"model_type": "qwen3", "num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 1000}"#;
    let flex = Value::Text("flex".to_owned());
    for (file, dispatcher, grouped) in [(experts, Some(&flex), Some(&Value::Bool(true))), (dense, None, None)] {
        let now = job(&read(file, &onto("#v1;m=deepseek-v3@2")));
        let dispatched = now.shared.get(FieldId::moe_token_dispatcher_type);
        assert_eq!(dispatched, dispatcher);
        assert_eq!(now.shared.get(FieldId::moe_grouped_gemm), grouped);
        // What the router adds to its scores is the model's own.
        has(&now, FieldId::moe_router_enable_expert_bias, None);
    }
}

#[test]
fn another_model_drops_what_was_of_the_old_one_alone() {
    let import = read(QWEN, &onto("#v1;m=deepseek-v3@1"));
    let now = job(&import);
    runs(&now);
    // 94 layers on 16 stages.
    has(&now, FieldId::tensor_model_parallel_size, 2);
    has(&now, FieldId::pipeline_model_parallel_size, 16);
    has(&now, FieldId::expert_model_parallel_size, 64);
    has(&now, FieldId::world_size, 2_048);
    has(&now, FieldId::decoder_last_pipeline_num_layers, 4);
    has(&now, FieldId::pipeline_model_parallel_layout, None);
    let mlp = Value::List(vec![Value::Text("mlp".to_owned())]);
    assert_eq!(now.shared.get(FieldId::recompute_modules), Some(&mlp));
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
        assert_eq!(row.status, KeyStatus::Conflicting);
        assert!(row.note.starts_with(note), "{row:?}");
        assert_eq!(row.line, None);
    }
}

/// What asks for stages of one size is dropped where the layers of the model do not come out even.
#[test]
fn another_model_can_be_trained_on_the_stages_of_every_preset() {
    for preset in PRESETS {
        let setup = Setup::of_preset(preset);
        let before = setup.job.clone();
        let now = job(&read(QWEN, &onto_setup(setup)));
        runs(&now);
        for field in [
            FieldId::tensor_model_parallel_size,
            FieldId::pipeline_model_parallel_size,
            FieldId::context_parallel_size,
            FieldId::world_size,
        ] {
            let before = normalize_job(&before, &RawJob::default());
            let (id, name) = (preset.id, field.field().name);
            assert_eq!(now.shared.get(field), before.shared.get(field), "{id}: {name}");
        }
    }
}

#[test]
fn a_layout_stays_with_a_model_of_as_many_layers() {
    let file = r#"{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
        "intermediate_size": 2048, "vocab_size": 32000}"#;
    let current = onto_job(
        r#"{"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 128,
        "vocab_size": 1000, "pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": "Ettt|tL"}"#,
    );
    let layout = Value::Text("Ettt|tL".to_owned());
    let now = job(&read(file, &current));
    assert_eq!(now.shared.get(FieldId::pipeline_model_parallel_layout), Some(&layout));
    // With fewer layers its own problem is the only one, and the parallelism stays.
    let now = job(&read(&file.replace(": 4,", ": 6,"), &current));
    runs(&now);
    has(&now, FieldId::pipeline_model_parallel_layout, None);
    has(&now, FieldId::pipeline_model_parallel_size, 2);
}
