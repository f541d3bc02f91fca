//! Imports: the job behind every kind of text, and a row for every key.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::export::megatron_args;
use megatron_memory::formats::detect::Format;
use megatron_memory::formats::import::{Import, ImportError, Options, Question, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::value::Value;
use proptest::prelude::*;

#[track_caller]
fn read(text: &str) -> Import {
    import(text, &Options::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The settings that are not what a missing field means.
fn meant(settings: &Settings) -> BTreeMap<String, String> {
    FieldId::ALL
        .iter()
        .map(|id| (*id, meaning(*id, settings.get(*id))))
        .filter(|(id, means)| *means != meaning(*id, None))
        .map(|(id, means)| (id.field().name.to_owned(), format!("{:?}", means.to_value(id))))
        .collect()
}

fn settings(import: &Import) -> &Settings {
    &import.state.setup.job.shared
}

fn status(import: &Import, key: &str) -> KeyStatus {
    let mut rows = import.report.iter();
    rows.find(|row| row.key == key)
        .unwrap_or_else(|| panic!("{key}: {:#?}", import.report))
        .status
}

fn measured() -> serde_json::Value {
    serde_json::from_str(include_str!("../../oracle/measured.json")).unwrap()
}

/// Every measured job, as a command line and as YAML.
fn measured_texts() -> Vec<(String, String, String)> {
    let data = measured();
    let jobs = data["megatron_args"].as_object().unwrap();
    let texts = jobs.iter().map(|(name, args)| {
        let (mut line, mut yaml) = (String::from("pretrain_gpt.py"), String::from("MODEL_ARGS:\n"));
        for (key, value) in args.as_object().unwrap() {
            if key.starts_with("env.") {
                continue;
            }
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match value.as_bool() {
                Some(true) => line += &format!(" --{key}"),
                Some(false) => {}
                None => match text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
                    Some(words) if !words.contains(['[', ']']) => {
                        line += &format!(" --{key} {words}");
                    }
                    _ => line += &format!(" --{key} '{text}'"),
                },
            }
            let quoted = if value.is_string() { format!("{text:?}") } else { text };
            yaml += &format!("  --{key}: {quoted}\n");
        }
        (name.clone(), line, yaml)
    });
    texts.collect()
}

#[test]
fn every_measured_job_is_the_same_as_a_command_and_as_yaml() {
    let texts = measured_texts();
    assert!(texts.len() > 90);
    for (name, line, yaml) in texts {
        let (mut line, yaml) = (read(&line), read(&yaml));
        // A command says what starts the job, which the other file does not.
        for field in [FieldId::launcher, FieldId::launcher_arguments] {
            line.state.setup.job.shared.unset(field);
        }
        assert_eq!(line.format, Format::MegatronFlags, "{name}");
        assert_eq!(yaml.format, Format::ModelArgsYaml, "{name}");
        assert_eq!(meant(settings(&line)), meant(settings(&yaml)), "{name}");
        for import in [&line, &yaml] {
            let unknown: Vec<_> = import
                .report
                .iter()
                .filter(|row| row.status == KeyStatus::Conflicting)
                .collect();
            assert!(unknown.is_empty(), "{name}: {unknown:#?}");
        }
    }
}

/// Fields for which a run's job says something else than its arguments: one that changes no sizes, and one to
/// which earlier versions added a token.
const OTHERWISE: [&str; 2] = ["apply_layernorm_1p", "vocab_size"];

#[test]
fn every_measured_job_is_what_its_run_says() {
    let data = measured();
    let runs: serde_json::Value =
        serde_json::from_str(include_str!("../../../src/evidence/runs/megatron_lm.json")).unwrap();
    let texts: BTreeMap<String, String> = measured_texts()
        .into_iter()
        .map(|(name, line, _)| (name, line))
        .collect();
    let mut compared = 0;
    for run in runs.as_array().unwrap() {
        let records = data["records"].as_array().unwrap();
        let record = records.iter().find(|record| record["id"] == run["id"]);
        let (Some(record), Some(job)) = (record, run.get("job")) else {
            continue;
        };
        let Some(line) = record["args_ref"].as_str().and_then(|name| texts.get(name)) else {
            continue;
        };
        let job: Value = serde_json::from_value(job.clone()).unwrap();
        let job = RawJob::from_value(&job);
        assert_eq!(job.unknown, []);
        // What the modules of multimodal tests are, their programs say and not their arguments.
        if !job.modules.is_empty() {
            continue;
        }
        let import = read(line);
        let (ours, theirs) = (meant(settings(&import)), meant(&job.shared));
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        for name in names {
            let given = import
                .report
                .iter()
                .any(|row| row.field.is_some_and(|id| id.field().name == name) && row.status != KeyStatus::Defaulted);
            if given && !OTHERWISE.contains(&name.as_str()) {
                assert_eq!(ours.get(name), theirs.get(name), "{name} of {}", record["id"]);
            }
        }
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn a_launch_script_gives_flags_gpus_and_questions() {
    let import = read(
        r#"#!/bin/bash
#SBATCH --nodes=4
TP=${TP:-2}
ARGS=(
    --num-layers 32 --hidden-size 4096   # the model
    --num-attention-heads 32
    --seq-length ${SEQ}
    --tensor-model-parallel-size $TP
    --disable-bias-linear
    --recompute-activations
    --use-megatron-fsdp
    --lr 1e-4
    --wrong-flag 3
    --num-layers 16
)
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py "${ARGS[@]}"
"#,
    );
    assert_eq!((import.format, import.dialect), (Format::Script, "Megatron-LM"));
    let meant = meant(settings(&import));
    for (field, value) in [
        ("num_layers", "Int(16)"),
        ("hidden_size", "Int(4096)"),
        ("tensor_model_parallel_size", "Int(2)"),
        ("add_bias_linear", "Bool(false)"),
        ("recompute_granularity", "Text(\"selective\")"),
        ("world_size", "Int(32)"),
    ] {
        assert_eq!(meant[field], value.to_string(), "{field}");
    }
    for (key, expected) in [
        ("--num-layers", KeyStatus::Conflicting),
        ("--hidden-size", KeyStatus::Mapped),
        ("--seq-length", KeyStatus::Missing),
        ("--recompute-activations", KeyStatus::Derived),
        ("--use-megatron-fsdp", KeyStatus::Mapped),
        ("--lr", KeyStatus::Ignored),
        ("--wrong-flag", KeyStatus::Unknown),
    ] {
        assert_eq!(status(&import, key), expected, "{key}");
    }
    let wrong = import.report.iter().find(|row| row.key == "--wrong-flag");
    assert_eq!(wrong.unwrap().note, "no setting of Megatron-LM in the modeled version");
    let hidden = import.report.iter().find(|row| row.key == "--hidden-size").unwrap();
    assert_eq!((hidden.value.as_str(), hidden.line), ("4096", Some(5)));
    assert!(import.questions.iter().any(|question| matches!(
        question,
        Question::Variable { name, default: None, .. } if name == "SEQ"
    )));
    assert!(!import.questions.contains(&Question::Gpus));
}

#[test]
fn an_answer_resolves_a_variable() {
    let text = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $N --hidden-size 64";
    let variables = [("N".to_owned(), "12".to_owned())];
    let options = Options {
        variables: &variables,
        ..Options::default()
    };
    let import = import(text, &options).unwrap();
    assert_eq!(settings(&import).get(FieldId::num_layers), Some(&Value::Int(12)));
    assert_eq!(import.questions, []);
}

#[test]
fn the_environment_says_how_pytorch_allocates() {
    let flags = "--num-layers 2 --hidden-size 64 --num-attention-heads 4";
    let read_fields = |text: &str| {
        let import = read(text);
        let value = |id| settings(&import).get(id).cloned();
        let said = (
            value(FieldId::expandable_segments),
            value(FieldId::max_split_size_mb),
            value(FieldId::cublas_workspace_kib),
        );
        (said, import)
    };
    let number = |number| Some(Value::Int(number));
    let on = || Some(Value::Bool(true));
    for (text, expected) in [
        (
            format!("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\ntorchrun x.py {flags}"),
            (on(), None, None),
        ),
        (
            format!("PYTORCH_ALLOC_CONF=max_split_size_mb:64,expandable_segments:true torchrun x.py {flags}"),
            (on(), number(64), None),
        ),
        (
            format!("export PYTORCH_ALLOC_CONF=max_split_size_mb:512\ntorchrun x.py {flags}"),
            (None, number(512), None),
        ),
        (
            format!("export CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8\ntorchrun x.py {flags}"),
            (None, None, number(8_320)),
        ),
        (
            format!(
                "export CUBLAS_WORKSPACE_CONFIG=4096\nPYTORCH_ALLOC_CONF=a:b,max_split_size_mb:x\ntorchrun x.py {flags}"
            ),
            (None, None, None),
        ),
        (
            "ENV_VARS:\n  CUBLAS_WORKSPACE_CONFIG: :4096:8\n  PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True\n  \
             NCCL_ALGO: Ring\nMODEL_ARGS:\n  --num-layers: 2\n"
                .to_owned(),
            (on(), None, number(32_768)),
        ),
    ] {
        let (said, _) = read_fields(&text);
        assert_eq!(said, expected, "{text}");
    }
    let (_, import) = read_fields("ENV_VARS:\n  NCCL_ALGO: Ring\nMODEL_ARGS:\n  --num-layers: 2\n");
    assert_eq!(status(&import, "NCCL_ALGO"), KeyStatus::Ignored);
}

#[test]
fn what_the_environment_says_comes_back_from_scripts_and_yaml() {
    for kib in [16, 4_096, 8_320, 32_768] {
        let mut job = RawJob::default();
        job.shared.set(FieldId::num_layers, Value::Int(2));
        job.shared.set(FieldId::expandable_segments, Value::Bool(true));
        job.shared.set(FieldId::max_split_size_mb, Value::Int(kib + 20));
        job.shared.set(FieldId::empty_unused_memory_level, Value::Int(kib % 3));
        job.shared.set(FieldId::cublas_workspace_kib, Value::Int(kib));
        for text in [megatron_args::script(&job), megatron_args::yaml(&job)] {
            let back = read(&text);
            for id in [
                FieldId::expandable_segments,
                FieldId::max_split_size_mb,
                FieldId::empty_unused_memory_level,
                FieldId::cublas_workspace_kib,
            ] {
                let means = |of: &Settings| meaning(id, of.get(id));
                assert_eq!(means(settings(&back)), means(&job.shared), "{text}");
            }
        }
    }
}

#[test]
fn a_text_that_only_names_a_model_asks_for_it() {
    let asking = read("megatron sft --model Qwen/Qwen3-8B --frobnicate 2");
    let name = "Qwen/Qwen3-8B".to_owned();
    assert!(asking.questions.contains(&Question::Model { name }));
}

#[test]
fn ms_swift_has_defaults_of_its_own() {
    let import = read(
        "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 4 --sequence_parallel true \
         --max_length 8192 --no_rope_fusion true --use_distributed_optimizer false",
    );
    assert_eq!(import.dialect, "ms-swift");
    let meant = meant(settings(&import));
    for (field, value) in [
        ("tensor_model_parallel_size", "Int(4)"),
        ("sequence_parallel", "Bool(true)"),
        ("seq_length", "Int(8192)"),
        ("expert_tensor_parallel_size", "Int(1)"),
        ("recompute_granularity", "Text(\"selective\")"),
        ("cross_entropy_loss_fusion", "Bool(true)"),
        ("global_batch_size", "Int(16)"),
        ("apply_rope_fusion", "Bool(false)"),
        ("world_size", "Int(8)"),
    ] {
        assert_eq!(meant[field], value.to_string(), "{field}");
    }
    assert!(!meant.contains_key("use_distributed_optimizer"));
    let row = import
        .report
        .iter()
        .find(|row| row.key == "expert_tensor_parallel_size")
        .unwrap();
    assert_eq!(
        (row.status, row.note.as_ref()),
        (KeyStatus::Defaulted, "default of ms-swift")
    );
    let model = Question::Model {
        name: "Qwen/Qwen3-8B".to_owned(),
    };
    assert!(import.questions.contains(&model));
}

#[test]
fn verl_counts_tokens_prompts_and_gpus() {
    let import = read(
        "python3 -m verl.trainer.main_ppo data.max_prompt_length=1024 data.max_response_length=3072 \
         actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \
         actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full \
         actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.rollout.n=8 \
         actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \
         trainer.nnodes=2 trainer.n_gpus_per_node=8 trainer.total_epochs=15",
    );
    assert_eq!(import.dialect, "verl");
    let meant = meant(settings(&import));
    for (field, value) in [
        ("tensor_model_parallel_size", "Int(4)"),
        ("seq_length", "Int(4096)"),
        ("global_batch_size", "Int(512)"),
        ("micro_batch_size", "Int(2)"),
        ("world_size", "Int(16)"),
        ("recompute_granularity", "Text(\"full\")"),
        ("sequence_parallel", "Bool(true)"),
        ("use_distributed_optimizer", "Bool(true)"),
    ] {
        assert_eq!(meant[field], value.to_string(), "{field}");
    }
    let dynamic = read(
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384 actor_rollout_ref.actor.use_dynamic_bsz=True \
         actor_rollout_ref.actor.megatron.context_parallel_size=2",
    );
    let dynamic = settings(&dynamic);
    let budget = FieldId::max_seqlen_per_dp_cp_rank;
    assert_eq!(dynamic.get(budget), Some(&Value::Int(16_384)));
    assert_eq!(dynamic.get(FieldId::seq_length), Some(&Value::Int(32_768)));
}

#[test]
fn slime_adds_flags_to_megatrons() {
    let import = read(
        "python3 train.py --actor-num-nodes 4 --actor-num-gpus-per-node 8 --num-layers 48 --hidden-size 2048 \
         --hf-checkpoint /models/llama --max-tokens-per-gpu 8192 --use-dynamic-batch-size \
         --context-parallel-size 4 --rollout-batch-size 32 --n-samples-per-prompt 8 --colocate",
    );
    assert_eq!(import.dialect, "slime");
    let meant = meant(settings(&import));
    for (field, value) in [
        ("num_layers", "Int(48)"),
        ("seq_length", "Int(32768)"),
        ("global_batch_size", "Int(256)"),
        ("world_size", "Int(32)"),
        ("bf16", "Bool(true)"),
    ] {
        assert_eq!(meant[field], value.to_string(), "{field}");
    }
    assert_eq!(status(&import, "--colocate"), KeyStatus::NotModelled);
}

#[test]
fn a_bridge_configuration_is_read_from_yaml_and_overrides() {
    let import = read(
        "model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 61
  hidden_size: 7168
  num_attention_heads: 128
  num_query_groups: 8
  gated_linear_unit: true
  activation_func:
    _target_: torch.nn.functional.silu
    _call_: false
  attention_backend:
    _target_: megatron.core.transformer.enums.AttnBackend
    _call_: true
    _args_: [1]
  vocab_size: 129280
  should_pad_vocab: true
  share_embeddings_and_output_weights: false
  num_moe_experts: 256
  moe_layer_freq: [0, 0, 0, 1]
  virtual_pipeline_model_parallel_size: 2
  pipeline_model_parallel_layout: [[embedding, decoder], [decoder, loss]]
  seq_length: 4096
dataset:
  sequence_length: 4096
train:
  micro_batch_size: 1
  global_batch_size: 4096
mixed_precision: bf16_with_fp8_current_scaling_mixed
optimizer:
  optimizer: adam
  use_precision_aware_optimizer: true
  main_grads_dtype:
    _target_: torch.bfloat16
    _call_: false
ddp:
  use_distributed_optimizer: true
logger:
  log_interval: 10
",
    );
    assert_eq!((import.format, import.dialect), (Format::BridgeYaml, "Megatron-Bridge"));
    let meant = meant(settings(&import));
    for (field, value) in [
        ("num_layers", "Int(61)"),
        ("group_query_attention", "Bool(true)"),
        ("num_query_groups", "Int(8)"),
        ("swiglu", "Bool(true)"),
        ("attention_backend", "Text(\"flash\")"),
        ("vocab_size", "Int(129280)"),
        ("untie_embeddings_and_output_weights", "Bool(true)"),
        ("num_experts", "Int(256)"),
        ("moe_layer_freq", "Text(\"([0]*3+[1])\")"),
        ("virtual_pipeline_model_parallel_size", "Int(2)"),
        ("pipeline_model_parallel_layout", "Text(\"Et|tL\")"),
        ("bf16", "Bool(true)"),
        ("fp8_format", "Text(\"hybrid\")"),
        ("fp8_recipe", "Text(\"tensorwise\")"),
        ("use_distributed_optimizer", "Bool(true)"),
        ("global_batch_size", "Int(4096)"),
    ] {
        assert_eq!(meant.get(field), Some(&value.to_string()), "{field}");
    }
    // The preset reduces in fp32, and nothing asks for this dtype.
    assert_eq!(status(&import, "optimizer.main_grads_dtype"), KeyStatus::Ignored);
    assert!(import.questions.contains(&Question::Gpus));

    let set = read("model.tensor_model_parallel_size=2 model.add_bias_linear=false train.global_batch_size=64");
    assert_eq!((set.format, set.dialect), (Format::Overrides, "Megatron-Bridge"));
    assert_eq!(
        settings(&set).get(FieldId::tensor_model_parallel_size),
        Some(&Value::Int(2))
    );
    assert_eq!(settings(&set).get(FieldId::add_bias_linear), Some(&Value::Bool(false)));
}

#[test]
fn models_jobs_and_links_are_recognized_too() {
    let model = read(
        r#"{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
            "intermediate_size": 8192, "vocab_size": 128256}"#,
    );
    assert_eq!(model.format, Format::HfConfig);
    assert_eq!(settings(&model).get(FieldId::num_layers), Some(&Value::Int(16)));
    let row = model.report.iter().find(|row| row.key == "hidden_size").unwrap();
    assert_eq!((row.value.as_str(), row.line), ("2048", Some(1)));
    assert_eq!(
        read("{\"num_layers\": 4, \"tensor_model_parallel_size\": 2}").format,
        Format::OwnJson
    );
    let link = read("https://host/page/#v1;m=llama3-8b@1;tp=2;zzz=1");
    assert_eq!(link.format, Format::ShareLink);
    assert!(check(&link.state.setup.job).config.is_some());
    assert_eq!(link.report[0].status, KeyStatus::Unknown);
}

#[test]
fn what_is_no_job_is_refused() {
    let refused = |text: &str| import(text, &Options::default()).unwrap_err();
    assert_eq!(refused(""), ImportError::NotRecognized);
    assert_eq!(refused("hello world"), ImportError::NotRecognized);
    assert_eq!(refused("--lr 3 --wrong"), ImportError::Nothing);
    assert_eq!(refused("megatron sft --frobnicate 2"), ImportError::Nothing);
    assert!(matches!(refused("{\"model_type\": \"llama\""), ImportError::Json(_)));
    assert!(matches!(refused("page#v9;x"), ImportError::Link(_)));
}

#[test]
fn garbage_is_refused_fast() {
    let patterns: [&str; 8] = [
        "x",
        "--a ",
        "{\"a\":[",
        "a: b\n",
        "$((",
        "a.b=c ",
        "#!/bin/bash\n\\",
        "%41;",
    ];
    for pattern in patterns {
        for size in [1_000_000, 5_100_000] {
            let text = pattern.repeat(size / pattern.len());
            let start = Instant::now();
            let _ = import(&text, &Options::default());
            // The limit for a release build is 200 ms; this is a build without optimization.
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{pattern} {:?}",
                start.elapsed()
            );
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_an_import_panic(text in "\\PC{0,300}") {
        let _ = import(&text, &Options::default());
    }

    #[test]
    fn no_words_make_an_import_panic(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "--num-layers", "--moe-layer-freq", "--bf16", "4", "[1]", "MODEL_ARGS:\n", "  --tp: ", "\n", "model:\n ",
                "  num_layers: ", "model.a=", "$X", "megatron sft", "--model", "{", "}", "\"", "actor_rollout_ref.",
                "mixed_precision=", "torchrun", "if", "fi", "then", ";", "--hf-checkpoint", "_target_: ", "- ", "[", "]",
            ]),
            0..40,
        ),
        blanks in any::<bool>(),
    ) {
        let text = words.join(if blanks { " " } else { "" });
        let _ = import(&text, &Options::default());
    }
}

#[test]
fn gathering_over_context_parallel_ranks_is_read_in_both_spellings() {
    for spelling in ["all_gather", "allgather"] {
        let read = read(&format!(
            "pretrain_gpt.py --num-layers 4 --hidden-size 1024 --context-parallel-size 2 --cp-comm-type {spelling}"
        ));
        let means = meant(settings(&read));
        assert_eq!(means["cp_comm_type"], "Text(\"all_gather\")");
        let written = megatron_args::script(&read.state.setup.job);
        assert!(written.contains("--cp-comm-type all_gather"), "{written}");
    }
}

#[test]
fn packed_samples_are_read_from_every_front_end() {
    /// A field with its value, if it has one.
    type Field = (&'static str, Option<&'static str>);
    let verl = "actor_rollout_ref.model.path=x data.max_prompt_length=1024 data.max_response_length=8192";
    let slime = "python3 train.py --hf-checkpoint /m --actor-num-nodes 1 --actor-num-gpus-per-node 8";
    let swift = "megatron sft --model Qwen/Qwen3-8B --max_length 4096";
    let bridge = "dataset.seq_length=4096 model.num_layers=4";
    let cases: &[(String, &[Field])] = &[
        // verl's default of 16384 tokens counts where nothing else is said.
        (
            format!("{verl} actor_rollout_ref.actor.use_dynamic_bsz=True"),
            &[
                ("max_seqlen_per_dp_cp_rank", Some("Int(16384)")),
                ("seq_length", Some("Int(9216)")),
            ],
        ),
        (
            format!("{verl} actor_rollout_ref.actor.use_dynamic_bsz=False"),
            &[("max_seqlen_per_dp_cp_rank", None), ("seq_length", Some("Int(9216)"))],
        ),
        // verl's fine-tuning fills micro batches up by itself.
        (
            "data.max_token_len_per_gpu=4096 data.max_length=2048 engine=megatron".to_owned(),
            &[
                ("max_seqlen_per_dp_cp_rank", Some("Int(4096)")),
                ("seq_length", Some("Int(2048)")),
            ],
        ),
        (
            format!("{slime} --max-tokens-per-gpu 9216 --use-dynamic-batch-size --rollout-max-response-len 32768"),
            &[
                ("max_seqlen_per_dp_cp_rank", Some("Int(9216)")),
                ("seq_length", Some("Int(32768)")),
            ],
        ),
        (
            format!("{swift} --packing true"),
            &[("sft", Some("Bool(true)")), ("seq_length", Some("Int(4096)"))],
        ),
        (
            format!("{swift} --packing true --packing_length 16384"),
            &[
                ("seq_length", Some("Int(16384)")),
                ("longest_sample_length", Some("Int(4096)")),
            ],
        ),
        (
            format!("{swift} --packing_length 16384 --padding_free false"),
            &[("sft", Some("Bool(false)")), ("seq_length", Some("Int(4096)"))],
        ),
        (
            format!("{bridge} dataset.packed_sequence_specs.packed_sequence_size=8192"),
            &[("sft", Some("Bool(true)")), ("seq_length", Some("Int(8192)"))],
        ),
        (
            format!("{bridge} dataset.enable_in_batch_packing=true"),
            &[("sft", Some("Bool(true)")), ("seq_length", Some("Int(4096)"))],
        ),
        (
            "python pretrain_gpt.py --num-layers 4 --sft --seq-length 4096".to_owned(),
            &[("sft", Some("Bool(true)"))],
        ),
    ];
    for (text, fields) in cases {
        let import = read(text);
        let settings = settings(&import);
        for (field, value) in *fields {
            let found = settings.get(FieldId::by_name(field).unwrap());
            let found = found.map(|value| format!("{value:?}"));
            assert_eq!(found.as_deref(), *value, "{field} of {text}");
        }
    }
}
