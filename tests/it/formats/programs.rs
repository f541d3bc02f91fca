//! Commands and files as users paste them: programs of frameworks with overrides, and files that change others.

use megatron_memory::config::canonical::{Meaning, meaning};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::parse::Parsed;
use megatron_memory::formats::import::{Import, Question};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::value::Value;

fn try_read(text: &str, model: Option<&str>) -> Result<Import, String> {
    let options = ImportOptions {
        model: model.map(str::to_owned),
        ..ImportOptions::default()
    };
    let read = import_text(text, &options).map_err(|error| error.to_string())?;
    Ok(read.import)
}

fn read(text: &str, model: Option<&str>) -> Import {
    try_read(text, model).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn number(import: &Import, id: FieldId) -> Option<u64> {
    match meaning(id, import.state.setup.job.shared.get(id)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    }
}

fn is_on(import: &Import, id: FieldId) -> bool {
    meaning(id, import.state.setup.job.shared.get(id)) == Meaning::Is(Parsed::Flag(true))
}

fn text(import: &Import, id: FieldId) -> Option<String> {
    import.state.setup.job.shared.get(id).map(|value| match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    })
}

#[test]
fn programs_of_nemo_rl_change_its_own_files() {
    let grpo = read(
        "uv run python examples/run_grpo.py --config examples/configs/grpo_math_8B_megatron.yaml \\\n  \
         cluster.num_nodes=2 policy.max_total_sequence_length=8192 logger.wandb_enabled=True",
        None,
    );
    assert_eq!(grpo.dialect, "NeMo-RL");
    for (id, expected) in [
        (FieldId::seq_length, 8192),
        (FieldId::world_size, 16),
        (FieldId::num_layers, 32),
    ] {
        assert_eq!(number(&grpo, id), Some(expected), "{id:?}");
    }
    assert_eq!(grpo.questions, []);
    // The file of fine-tuning does not train with Megatron, unless an override says so.
    let sft = "uv run examples/run_sft.py policy.train_micro_batch_size=2";
    let refused = try_read(sft, None).unwrap_err();
    assert!(refused.contains("does not train with Megatron"), "{refused}");
    let sft = read(&format!("{sft} policy.megatron_cfg.enabled=True"), None);
    assert_eq!(number(&sft, FieldId::micro_batch_size), Some(2));
    assert_eq!(number(&sft, FieldId::global_batch_size), Some(32));
    // A file of one's own.
    let own = try_read(
        "python examples/run_grpo.py --config my/own.yaml cluster.num_nodes=2",
        None,
    )
    .unwrap_err();
    assert!(own.contains("changes another one"), "{own}");
}

#[test]
fn files_of_nemo_rl_have_what_their_parents_say() {
    let import = read(
        "defaults: ./grpo-qwen3-32b-4n4g.yaml\npolicy:\n  generation: {}\ncluster: {gpus_per_node: 4, num_nodes: 4}\n",
        None,
    );
    assert_eq!(import.dialect, "NeMo-RL");
    assert_eq!(number(&import, FieldId::world_size), Some(16));
    assert_eq!(number(&import, FieldId::num_layers), Some(64));
}

/// verl's own configurations say what is the default; what another file says is not in the text.
#[test]
fn files_of_verl_build_on_its_own_or_are_marked() {
    let marks = |parents: &str| -> Vec<String> {
        let text = format!(
            "hydra:\n  searchpath:\n    - file://verl/trainer/config\n\ndefaults:\n{parents}  - _self_\n\nactor_rollout_ref:\n  \
             actor:\n    megatron:\n      tensor_model_parallel_size: 2\n      use_mbridge: true\n"
        );
        let import = read(&text, None);
        assert_eq!(import.dialect, "verl");
        let marks = import.state.setup.job.not_modelled.iter();
        marks.map(|mark| mark.key.clone()).collect()
    };
    assert_eq!(marks("  - ppo_megatron_trainer\n"), [""; 0]);
    assert_eq!(
        marks("  - actor@actor_rollout_ref.actor: megatron_actor\n  - reward_manager@reward_manager\n"),
        [""; 0]
    );
    assert_eq!(marks("  - my_trainer\n"), ["defaults"]);
}

/// mbridge keeps the default of Megatron-Core's classes but for models with towers; Megatron-Bridge has one for each class.
#[test]
fn stages_of_verl_keep_the_outputs_that_they_send_where_its_builder_does() {
    let mbridge = "use_mbridge: true";
    let megatron_bridge = "use_mbridge: true\n      vanilla_mbridge: false";
    let said = "use_mbridge: true\n      override_transformer_config:\n        deallocate_pipeline_outputs: true";
    for (builder, model, deallocates) in [
        (mbridge, "qwen3-8b", false),
        (mbridge, "deepseek-v3", false),
        (mbridge, "qwen3.5-4b", true),
        (said, "qwen3-8b", true),
        (megatron_bridge, "qwen3-8b", true),
        (megatron_bridge, "deepseek-v3", false),
    ] {
        let text = format!(
            "hydra:\n  searchpath:\n    - file://verl/trainer/config\n\ndefaults:\n  - ppo_megatron_trainer\n  - _self_\n\n\
             actor_rollout_ref:\n  actor:\n    megatron:\n      pipeline_model_parallel_size: 2\n      {builder}\n"
        );
        let import = read(&text, Some(model));
        assert_eq!(
            is_on(&import, FieldId::deallocate_pipeline_outputs),
            deallocates,
            "{model}: {builder}"
        );
    }
}

#[test]
fn recipes_of_megatron_bridge_are_named_with_gpus() {
    let import = read(
        "python scripts/performance/setup_experiment.py --account a --partition b --gpu gb200 \
         --model_family_name deepseek --model_recipe_name deepseek_v3 --num_gpus 256",
        None,
    );
    assert_eq!(import.dialect, "Megatron-Bridge");
    assert_eq!(number(&import, FieldId::world_size), Some(256));
    assert_eq!(number(&import, FieldId::num_layers), Some(61));
    assert!(text(&import, FieldId::gpu).is_some_and(|gpu| gpu.starts_with("gb200")));
    // The sizes in parallel are the recipe's, which is not in the text.
    assert_ne!(import.state.setup.job.not_modelled, []);
}

#[test]
fn a_checkpoint_names_the_model_where_nothing_else_does() {
    let asked = |arguments: &str| {
        let text = format!("NPROC_PER_NODE=4 megatron sft {arguments} --micro_batch_size 1 --global_batch_size 16");
        let questions = read(&text, None).questions;
        let names = questions.iter().filter_map(|asked| match asked {
            Question::Model { name } => Some(name.clone()),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let loaded = "--load /app/Qwen3-30B-A3B-Instruct-2507-mcore";
    assert_eq!(asked(loaded), ["/app/Qwen3-30B-A3B-Instruct-2507-mcore"]);
    assert_eq!(
        asked(&format!("{loaded} --model Qwen/Qwen3-30B-A3B")),
        ["Qwen/Qwen3-30B-A3B"]
    );
}

#[test]
fn a_system_prompt_is_no_section_of_flag_scale() {
    let import = read(
        "model: Qwen/Qwen3-8B\nsystem: You are helpful.\ntuner_type: full\ntensor_model_parallel_size: 2\n\
         max_length: 2048\n",
        None,
    );
    assert_eq!(import.dialect, "ms-swift");
    assert_eq!(number(&import, FieldId::tensor_model_parallel_size), Some(2));
}

#[test]
fn ms_swift_trains_what_its_own_code_trains() {
    let swift = "NPROC_PER_NODE=8 megatron";
    let rest = "--model Qwen/Qwen3-8B --micro_batch_size 2 --global_batch_size 32";
    // Without a type it is DPO: pairs, and a reference model.
    let dpo = read(&format!("{swift} rlhf {rest} --max_length 4096"), Some("qwen3-8b"));
    assert_eq!(number(&dpo, FieldId::micro_batch_size), Some(4));
    assert_eq!(number(&dpo, FieldId::global_batch_size), Some(64));
    assert!(is_on(&dpo, FieldId::ref_model));
    assert_eq!(dpo.state.setup.job.not_modelled, []);
    // Prompts of the model's own length, and responses of 512 tokens.
    let grpo = read(&format!("{swift} rlhf --rlhf_type grpo {rest}"), Some("qwen3-8b"));
    assert_eq!(number(&grpo, FieldId::seq_length), Some(40_960 + 512));
    assert_eq!(grpo.questions, []);
    // Rows without padding, unless the job says otherwise.
    let sft = format!("{swift} sft {rest} --max_length 4096");
    for (arguments, is_one_row) in [
        ("", true),
        ("--padding_free false", false),
        ("--padding_free false --packing true", true),
    ] {
        let import = read(&format!("{sft} {arguments}"), Some("qwen3-8b"));
        assert_eq!(is_on(&import, FieldId::sft), is_one_row, "{arguments}");
        let mask = FieldId::create_attention_mask_in_dataloader;
        let has_mask = meaning(mask, import.state.setup.job.shared.get(mask)) != Meaning::Is(Parsed::Flag(false));
        assert_eq!(has_mask, !is_one_row, "{arguments}");
    }
    // MTP layers of the model are trained only where they are asked for, and a dense model has no experts.
    let mtp = read(&sft.replace("Qwen3-8B", "own"), Some("deepseek-v3"));
    assert_eq!(number(&mtp, FieldId::mtp_num_layers), None);
    let dense = format!("{sft} --expert_model_parallel_size 8 --recompute_granularity none");
    let dense = read(&dense, Some("qwen3-8b"));
    assert_eq!(number(&dense, FieldId::expert_model_parallel_size), Some(1));
    assert_eq!(text(&dense, FieldId::recompute_granularity).as_deref(), Some("null"));
    assert!(
        !dense
            .questions
            .iter()
            .any(|asked| matches!(asked, Question::Model { .. }))
    );
}

/// Megatron-LM has no flag for the kernel of `quick_geglu` alone: that of GELU decides, and needs biases. Its own
/// launcher's job keeps the flags as they are.
#[test]
fn the_flag_of_gelu_says_whether_quick_geglu_is_fused() {
    let sizes = "--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --vocab-size 1024 \
                 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --bf16";
    let fused = |program: &str, more: &str| {
        let import = read(&format!("{program} {sizes} {more}"), None);
        let launcher = import.state.setup.job.shared.get(FieldId::launcher);
        [launcher.is_some(), is_on(&import, FieldId::bias_swiglu_fusion)]
    };
    for (more, expected) in [
        ("--quick-geglu", true),
        ("--quick-geglu --no-bias-swiglu-fusion", true),
        ("--quick-geglu --no-bias-gelu-fusion", false),
        ("--quick-geglu --disable-bias-linear", false),
        ("--swiglu --no-bias-gelu-fusion", true),
    ] {
        assert_eq!(fused("", more), [false, expected], "{more}");
    }
    let own = "torchrun pretrain_gpt.py";
    assert_eq!(fused(own, "--quick-geglu --no-bias-gelu-fusion"), [true, true]);
}
