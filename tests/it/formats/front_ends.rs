//! Launch scripts in the style of verl's, ms-swift's and slime's examples: every key explained, and the job behind
//! them.

use megatron_memory::config::canonical::{Meaning, meaning};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::parse::Parsed;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::{Import, Options, Question, import};
use megatron_memory::formats::report::KeyStatus;

#[track_caller]
fn read(text: &str) -> Import {
    let import = import(text, &Options::default());
    let import = import.unwrap_or_else(|error| panic!("{error}\n{text}"));
    for row in &import.report {
        assert_ne!(row.status, KeyStatus::Unknown, "{}: {}", row.key, row.note);
    }
    import
}

fn number(import: &Import, id: FieldId) -> Option<u64> {
    match meaning(id, import.state.setup.job.shared.get(id)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    }
}

#[track_caller]
fn status(import: &Import, key: &str) -> KeyStatus {
    let row = import.report.iter().find(|row| row.key == key);
    row.unwrap_or_else(|| panic!("{key}")).status
}

const VERL: &str = "\
set -x
export CUDA_DEVICE_MAX_CONNECTIONS=1
NODES=${NODES:-4}
tp=4
train_files=\"['/data/a.parquet', '/data/b.parquet']\"

python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer' \\
    algorithm.adv_estimator=grpo \\
    data.train_files=\"$train_files\" \\
    data.train_batch_size=512 \\
    data.max_prompt_length=1024 \\
    data.max_response_length=3072 \\
    actor_rollout_ref.model.path=/models/some-7b \\
    actor_rollout_ref.actor.optim.lr=1e-6 \\
    actor_rollout_ref.actor.kl_loss_coef=0.001 \\
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=${tp} \\
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 \\
    +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=0.5 \\
    actor_rollout_ref.ref.megatron.tensor_model_parallel_size=${tp} \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \\
    actor_rollout_ref.rollout.n=8 \\
    trainer.logger='[\"console\",\"wandb\"]' \\
    trainer.n_gpus_per_node=8 \\
    trainer.nnodes=\"${NODES}\" \\
    trainer.total_epochs=1 $@
";

#[test]
fn a_verl_script_is_read_as_a_script_with_its_variables() {
    let found = detect(VERL).unwrap();
    assert_eq!(found.format, Format::Script, "{}", found.reason);
    let import = read(VERL);
    assert_eq!(import.dialect, "verl");
    for (id, expected) in [
        (FieldId::tensor_model_parallel_size, 4),
        (FieldId::pipeline_model_parallel_size, 2),
        (FieldId::micro_batch_size, 2),
        (FieldId::global_batch_size, 64 * 8),
        (FieldId::seq_length, 4096),
        (FieldId::world_size, 32),
    ] {
        assert_eq!(number(&import, id), Some(expected), "{id:?}");
    }
    for (key, expected) in [
        ("data.train_batch_size", KeyStatus::Ignored),
        ("trainer.logger", KeyStatus::Ignored),
        ("actor_rollout_ref.rollout.name", KeyStatus::Ignored),
        (
            "actor_rollout_ref.rollout.gpu_memory_utilization",
            KeyStatus::NotModelled,
        ),
        (
            "actor_rollout_ref.ref.megatron.tensor_model_parallel_size",
            KeyStatus::NotModelled,
        ),
    ] {
        assert_eq!(status(&import, key), expected, "{key}");
    }
}

#[test]
fn verl_fine_tunes_with_the_loaders_batch() {
    let import = read(
        "torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer data.train_batch_size=96 data.max_length=2048 \
         data.micro_batch_size_per_gpu=3 data.pad_mode=no_padding model.path=org/model engine=megatron \
         engine.tensor_model_parallel_size=2 optim.lr=1e-5 checkpoint.save_contents=[model] trainer.nnodes=1 \
         trainer.n_gpus_per_node=8",
    );
    for (id, expected) in [
        (FieldId::global_batch_size, 96),
        (FieldId::micro_batch_size, 3),
        (FieldId::seq_length, 2048),
        (FieldId::tensor_model_parallel_size, 2),
    ] {
        assert_eq!(number(&import, id), Some(expected), "{id:?}");
    }
}

#[test]
fn slime_scripts_leave_models_to_other_files_and_split_batches_into_steps() {
    let import = read(
        "#!/bin/bash\n\
         source \"${SCRIPT_DIR}/models/some-4B.sh\"\n\
         ARGS=(--hf-checkpoint ${ROOT}/some-4B --save ${ROOT}/out --rollout-batch-size 32 --n-samples-per-prompt 8\n\
           --num-steps-per-rollout 2 --rollout-max-response-len 8192 --use-dynamic-batch-size\n\
           --max-tokens-per-gpu 9216 --eval-prompt-data aime /data/aime.jsonl --eval-top-p 0.7 --use-tis\n\
           --sglang-mem-fraction-static 0.7 --rollout-stop-token-ids 1 2 3 --tensor-model-parallel-size 2)\n\
         python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate ${MODEL_ARGS[@]} ${ARGS[@]}\n",
    );
    assert_eq!(import.dialect, "slime");
    for (id, expected) in [
        (FieldId::global_batch_size, 32 * 8 / 2),
        (FieldId::seq_length, 9216),
        (FieldId::tensor_model_parallel_size, 2),
        (FieldId::world_size, 8),
    ] {
        assert_eq!(number(&import, id), Some(expected), "{id:?}");
    }
    // What follows a switch is not its value.
    assert_eq!(status(&import, "--colocate"), KeyStatus::NotModelled);
    let asked = |wanted: &str| {
        import
            .questions
            .iter()
            .any(|question| matches!(question, Question::Variable { name, .. } if name == wanted))
    };
    assert!(asked("MODEL_ARGS"));
}

#[test]
fn slime_fills_rows_up() {
    for (tokens, rest, padded) in [
        (9_000, "--tensor-model-parallel-size 2", 9_216),
        (9_216, "--tensor-model-parallel-size 2", 9_216),
        (
            9_216,
            "--tensor-model-parallel-size 4 --data-pad-size-multiplier 1024",
            12_288,
        ),
    ] {
        let import = read(&format!(
            "python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --rollout-batch-size 32 \
             --n-samples-per-prompt 8 --rollout-max-response-len 8192 --use-dynamic-batch-size --max-tokens-per-gpu {tokens} {rest}"
        ));
        let id = FieldId::max_seqlen_per_dp_cp_rank;
        assert_eq!(number(&import, id), Some(padded), "{tokens} {rest}");
        assert_eq!(number(&import, FieldId::seq_length), Some(tokens));
    }
}

#[test]
fn swift_generates_samples_of_prompt_and_response() {
    let job = |rest: &str| {
        read(&format!(
            "NPROC_PER_NODE=8 megatron rlhf --model org/model --max_length 6120 --max_completion_length 512 {rest}"
        ))
    };
    let lora = job("--rlhf_type grpo --tuner_type lora");
    assert_eq!(number(&lora, FieldId::seq_length), Some(6632));
    assert_eq!(lora.state.setup.job.not_modelled, []);
    // A model that is trained as a whole has a reference model beside it.
    let full = job("--rlhf_type grpo --tuner_type full");
    assert_eq!(full.state.setup.job.not_modelled, []);
    assert!(has_reference(&full));
    assert!(!has_reference(&lora));
    // Both samples of a pair go through the model.
    let pairs = job("--rlhf_type dpo --tuner_type full --micro_batch_size 2");
    assert_eq!(pairs.state.setup.job.not_modelled, []);
    assert_eq!(number(&pairs, FieldId::micro_batch_size), Some(4));
    assert!(has_reference(&pairs));
}

fn has_reference(import: &Import) -> bool {
    is_on(import, FieldId::ref_model)
}

fn is_on(import: &Import, id: FieldId) -> bool {
    let value = import.state.setup.job.shared.get(id);
    meaning(id, value) == Meaning::Is(Parsed::Flag(true))
}

#[test]
fn verl_keeps_its_other_models_unless_they_are_offloaded() {
    let job = |rest: &str| {
        let script = VERL.replace("    trainer.total_epochs=1 $@", rest);
        read(&script)
    };
    let keys = |import: &Import| -> Vec<String> {
        let marks = import.state.setup.job.not_modelled.iter();
        marks.map(|mark| mark.key.clone()).collect()
    };
    let loss = "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.ref.megatron.pipeline_model_parallel_size=2";
    for (rest, reference, marks) in [
        ("actor_rollout_ref.actor.use_kl_loss=False", false, [].as_slice()),
        (loss, true, &[]),
        ("algorithm.use_kl_in_reward=True", true, &[]),
        // The reference model is the actor without its adapters.
        (
            "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.model.lora.rank=16",
            false,
            &[],
        ),
        // By default it is where the actor's parameters are.
        (
            "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.megatron.param_offload=True",
            false,
            &[],
        ),
        (
            "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.ref.megatron.param_offload=True",
            false,
            &[],
        ),
        (
            "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.ref.megatron.context_parallel_size=2",
            false,
            &["actor_rollout_ref.actor.use_kl_loss"],
        ),
        ("critic.enable=True", false, &["critic.enable"]),
        (
            "critic.enable=True critic.megatron.param_offload=True critic.megatron.grad_offload=True \
             critic.megatron.optimizer_offload=True",
            false,
            &[],
        ),
    ] {
        let import = job(rest);
        assert_eq!(has_reference(&import), reference, "{rest}");
        assert_eq!(keys(&import), marks, "{rest}");
    }
}

#[test]
fn a_critic_like_the_actor_is_counted() {
    let alike = "critic.enable=True critic.model.path=/models/some-7b critic.ppo_micro_batch_size_per_gpu=2 \
        critic.megatron.tensor_model_parallel_size=4 critic.megatron.pipeline_model_parallel_size=2 \
        +critic.optim.override_optimizer_config.optimizer_offload_fraction=0.5";
    let job = |rest: &str| read(&VERL.replace("    trainer.total_epochs=1 $@", rest));
    let like = job(alike);
    assert!(is_on(&like, FieldId::critic));
    assert_eq!(like.state.setup.job.not_modelled, []);
    assert_eq!(status(&like, "critic.enable"), KeyStatus::Derived);
    for (of_actor, other) in [
        ("some-7b", "other-13b"),
        ("parallel_size=4", "parallel_size=2"),
        ("per_gpu=2", "per_gpu=4"),
        ("fraction=0.5", "fraction=1.0"),
        (
            "critic.enable=True",
            "critic.enable=True critic.megatron.param_offload=True",
        ),
        ("critic.enable=True", "critic.enable=True critic.model.lora.rank=16"),
    ] {
        let unlike = job(&alike.replace(of_actor, other));
        assert!(!is_on(&unlike, FieldId::critic), "{other}");
        let marks = &unlike.state.setup.job.not_modelled;
        let keys: Vec<&str> = marks.iter().map(|mark| mark.key.as_str()).collect();
        assert_eq!(keys, ["critic.enable"], "{other}");
    }
}

#[test]
fn swift_takes_commands_and_configurations() {
    let command = read(
        "NPROC_PER_NODE=8 megatron rlhf --rlhf_type dpo --model org/model --dataset a b --load_from_cache_file true \
         --tuner_type full --tensor_model_parallel_size 2 --max_length 4096 --micro_batch_size 1 --beta 0.1 \
         --loss_type sigmoid --system 'You are helpful.' --report_to wandb",
    );
    let file = read(
        "model: org/model\ntuner_type: full\ndataset:\n  - a\n  - b\nsplit_dataset_ratio: 0.01\n\
         max_length: 4096\nmicro_batch_size: 1\ntrain:\n  gpus: 8\n  tensor_model_parallel_size: 2\n\
         rollout:\n  gpus: 4\n  vllm_tensor_parallel_size: 4\nENV:\n  MAX_PIXELS: 1003520\n  \
         PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True\n",
    );
    assert_eq!(command.format, Format::SwiftCommand);
    assert_eq!(file.format, Format::SwiftYaml);
    for import in [&command, &file] {
        assert_eq!(import.dialect, "ms-swift");
        for (id, expected) in [
            (FieldId::seq_length, 4096),
            (FieldId::tensor_model_parallel_size, 2),
            (FieldId::world_size, 8),
        ] {
            assert_eq!(number(import, id), Some(expected), "{id:?}");
        }
    }
    assert_eq!(status(&command, "--tuner_type"), KeyStatus::Ignored);
    for (key, expected) in [
        ("rollout.vllm_tensor_parallel_size", KeyStatus::Ignored),
        ("ENV.MAX_PIXELS", KeyStatus::Ignored),
        ("ENV.PYTORCH_CUDA_ALLOC_CONF", KeyStatus::Mapped),
    ] {
        assert_eq!(status(&file, key), expected, "{key}");
    }
}
