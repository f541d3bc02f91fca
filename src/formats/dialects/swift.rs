//! Arguments of `megatron pt`, `megatron sft` and `megatron rlhf` of ms-swift, and the Megatron-LM fields
//! behind them.
//!
//! After ms-swift's `swift/megatron/arguments` and `swift/arguments`. Names have underscores, truth values are
//! written out, and several defaults are its own.

mod training;
mod tuner;

use super::framework::{Defaults, Framework, Release};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Opposite, Role};
use super::meaning::{Decides, KeyRole, look_up, same_field};
use super::megatron_lm;
use crate::config::fields::FieldId;
use crate::formats::derivations::environment::listed_variable;
use crate::formats::derivations::nested::NESTED;
use crate::formats::derivations::{adapters, hybrid, lengths, model, packing, precision};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::{Import, Question};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::tower::{Frozen, Outcome, Recompute, Tower};
use crate::formats::import::towers::{has_adapters, is_on, said};
use crate::formats::import::values::{truth, word};
use crate::formats::megatron_args::{self, Known};
use crate::formats::report::KeyStatus;
use crate::value::Value;
use training::{NUM_LABELS, RLHF_TYPE, TASK_TYPE};

/// ms-swift's `megatron` commands.
pub static SWIFT: Framework = Framework {
    name: "ms-swift",
    find,
    defaults: &[DEFAULTS],
    releases: RELEASES,
    // Its sections only group what flags say as well.
    name_of: |path| path.rsplit('.').next().unwrap_or_default().to_owned(),
    special,
    unknown_value: recompute_nothing,
    derivations: &[
        checkpoint,
        tuner::of_tuner,
        tuner::modules_to_save,
        training::head,
        training::algorithm,
        hybrid::layers,
        without_padding,
        training::response,
        lengths::of_samples,
        pack,
    ],
    mtp_only_where_asked: true,
    after_model,
    tower: |import, tower, _| self::tower(import, tower),
    // It has no use for what speaks (`Qwen3Omni_Vit.prepare_model` of mcore-bridge).
    never_built: &["talker_config", "code2wav_config"],
    ..Framework::PLAIN
};

/// Why settings of adapters change nothing by themselves.
const OF_ADAPTERS: &str = "only with adapters, which tuner_type asks for";

/// The checkpoint that training starts from; without `model` it has the architecture as well.
const LOADED: KeyRole = KeyRole::kept("load", Decides::Nothing);

/// Asks for the model of the checkpoint where the text names no other.
fn checkpoint(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(LOADED).cloned() else { return };
    let names_model = |asked: &Question| matches!(asked, Question::Model { .. });
    let has_model = draft.questions.iter().any(names_model) || draft.has(FieldId::num_layers);
    if let Value::Text(name) = item.value.clone()
        && !has_model
    {
        draft.questions.push(Question::Model { name });
    }
    draft.row(&item, KeyStatus::Ignored, None, "does not change memory");
}

/// Arguments that are not called like Megatron-LM's fields.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("model", Role(model::HUGGING_FACE)),
    ("load", Role(LOADED)),
    ("max_length", Field("seq_length")),
    // Of the section of training processes in a configuration for Ray.
    ("gpus", Field("world_size")),
    ("bias_activation_fusion", Field("bias_swiglu_fusion")),
    ("fp8_format", Field("fp8")),
    ("fp4_format", Field("fp4")),
    ("torch_dtype", Role(precision::DTYPE)),
    ("virtual_pipeline_model_parallel_size", Role(model::VIRTUAL_STAGES)),
    ("megatron_extra_kwargs", Role(NESTED)),
    ("tuner_type", Role(adapters::SETTING)),
    ("train_type", Role(adapters::SETTING)),
    ("lora_rank", Role(adapters::SETTING)),
    ("target_modules", Role(adapters::SETTING)),
    ("lora_alpha", Role(adapters::SETTING)),
    ("lora_dropout", Role(adapters::SETTING)),
    ("use_dora", Role(adapters::SETTING)),
    ("modules_to_save", Role(tuner::MODULES_TO_SAVE)),
    ("freeze_llm", KeyMeaning::more("frozen parameters have no gradients")),
    ("freeze_vit", KeyMeaning::more("the vision tower is not counted")),
    ("freeze_aligner", KeyMeaning::nothing("the vision tower is not counted")),
    (
        "freeze_parameters",
        KeyMeaning::more("frozen parameters have no gradients"),
    ),
    (
        "freeze_parameters_ratio",
        KeyMeaning::more("frozen parameters have no gradients"),
    ),
    ("rlhf_type", Role(RLHF_TYPE)),
    ("task_type", Role(TASK_TYPE)),
    ("num_labels", Role(NUM_LABELS)),
    ("max_completion_length", Role(lengths::RESPONSE)),
    (
        "ref_model",
        KeyMeaning::nothing("other weights for the reference model, which rlhf_type asks for"),
    ),
    ("teacher_model", KeyMeaning::more("teacher models are not counted")),
    (
        "use_vllm",
        KeyMeaning::nothing("rollout engines sleep while the model is trained"),
    ),
    (
        "vllm_mode",
        KeyMeaning::nothing("rollout engines sleep while the model is trained"),
    ),
    (
        "vllm_gpu_memory_utilization",
        KeyMeaning::nothing("rollout engines sleep while the model is trained"),
    ),
    (
        "offload_model",
        KeyMeaning::nothing("moves between phases, not during training"),
    ),
    (
        "offload_optimizer",
        KeyMeaning::nothing("moves between phases, not during training"),
    ),
    (
        "sleep_level",
        KeyMeaning::nothing("rollout engines sleep while the model is trained"),
    ),
    ("packing", Role(PACKING)),
    ("padding_free", Role(PADDING_FREE)),
    ("packing_length", Role(packing::PACKED)),
    ("mtp_shared_weights", Field("mtp_use_repeated_layer")),
];

/// Arguments of one meaning, separated by blanks.
const GROUPS: &[(KeyMeaning, &str)] = &[
    (
        KeyMeaning::nothing(OF_ADAPTERS),
        "\
            adalora_beta1 adalora_beta2 adalora_deltaT adalora_init_r adalora_orth_reg_weight adalora_target_r \
            adalora_tfinal adalora_tinit adapter_act adapter_length boft_block_num boft_block_size boft_dropout \
            boft_n_butterfly_factor fourier_n_frequency fourier_scaling init_weights llamapro_num_groups \
            llamapro_num_new_blocks lora_bias lora_dtype lora_ga_batch_size \
            lora_ga_direction lora_ga_iters lora_ga_max_length lora_ga_scale lora_ga_stable_gamma lorap_lr_ratio \
            reft_args reft_intervention_type reft_layer_key reft_layers reft_rank \
            target_parameters target_regex use_rslora vera_d_initial vera_dropout \
            vera_projection_prng_key vera_rank mcore_adapter adapters",
    ),
    (
        KeyMeaning::more("frozen parameters have no gradients"),
        "\
            freeze_parameters_regex trainable_parameters trainable_parameters_regex",
    ),
    (KeyMeaning::more("reward models are not counted"), "reward_model"),
    (
        KeyMeaning::nothing("about reference, reward and teacher models, which other arguments name"),
        "\
            mcore_ref_adapter mcore_ref_model offload_teacher_model ref_adapters ref_model_revision \
            ref_model_type reward_adapters reward_model_plugin reward_model_revision \
            reward_model_type teacher_adapters teacher_deepspeed teacher_kl_coef teacher_model_revision \
            teacher_model_server teacher_model_type teacher_tag_key",
    ),
    (
        KeyMeaning::more("quantized weights are not counted as such"),
        "quant_bits quant_method",
    ),
    (
        KeyMeaning::nothing("about quantized weights, which quant_method asks for"),
        "\
            bnb_4bit_compute_dtype bnb_4bit_quant_storage bnb_4bit_quant_type bnb_4bit_use_double_quant hqq_axis",
    ),
    (
        KeyMeaning::less("the vision tower is not counted"),
        "\
            aligner_lr vit_attn_impl vit_gradient_checkpointing vit_gradient_checkpointing_kwargs vit_lr",
    ),
    (
        KeyMeaning::more("kernels of sparse attention save other tensors for the backward pass"),
        "apply_dsa_kernel_fusion csa_dense_mode",
    ),
    (
        KeyMeaning::less("small tensors are saved otherwise"),
        "linear_decoupled_in_proj mtp_decoder_input_detach use_fused_mhc",
    ),
    (
        Irrelevant,
        "\
            add_non_thinking_prefix add_version advantage_estimator agent_template align_grad_reduce \
            align_param_gather async_generate attn_impl batch_p2p_comm beta bridge_backend cached_dataset \
            cached_val_dataset calculate_KL callbacks center_rewards_coefficient check_model cliprange \
            cliprange_value colocate_groups colocate_groups columns completion_length_limit_scope cosine_max_len cosine_max_len_value_correct \
            cosine_max_len_value_wrong cosine_min_len_value_correct cosine_min_len_value_wrong cp_partition_mode \
            cpo_alpha create_checkpoint_symlink custom_dataset_info custom_register_path data_seed data_sharding \
            dataloader_num_workers dataloader_persistent_workers dataloader_pin_memory \
            dataloader_prefetch_factor dataset dataset_num_proc dataset_shuffle ddp_backend ddp_timeout delta \
            desirable_weight device_map disable_auto_column_mapping disable_ignore_empty_think discopop_tau \
            download_mode dynamic_sample enable_channel_loss enable_dft_loss enable_npu_model_patch \
            enable_thinking epsilon epsilon_high eval_steps exist_ok experts_impl external_plugins \
            f_divergence_type fipo_clip_high_only fipo_clip_range fipo_decay_rate fipo_safety_threshold gamma \
            generation_batch_size gkd_logits_topk greater_is_better group_by_length gym_env hub_token \
            ignore_args_error importance_sampling_level init_strategy interleave_prob is_binary_loss_scale \
            kl_coef kl_in_reward label_smoothing lam language_model_only lazy_tokenize ld_alpha lmbda load_args \
            load_data_args load_from_cache_file local_repo_path local_rollout_forward_batch_size log_completions \
            log_entropy log_rollout_offpolicy_metrics logging_steps logprobs loss_type loss_weights \
            manual_gc_eval manual_gc_steps max_memory max_model_len max_new_tokens max_pixels max_resample_times \
            max_shard_size max_turns mcore_model merge_lora metric_for_best_model missing_eos_penalty \
            mlp_padding_free model_author model_kwargs model_name model_revision model_type move_model_batches \
            mrl_dims multi_turn_scheduler muon_use_nesterov nccl_comm_warmup new_special_tokens norm_bbox \
            num_beams num_generations num_generations_eval num_iterations num_mini_batches num_ppo_epochs \
            num_sample_generations num_train_epochs off_policy_sequence_mask_delta offload_bridge output_dir \
            overlong_filter packing_num_proc packing_strategy padding_side \
            perform_initialization preserve_thinking problem_type real_tau ref_model_mixup_alpha \
            ref_model_sync_steps reference_free remove_unused_columns repetition_max_penalty repetition_n_grams \
            repetition_penalty report_to response_length response_prefix reward_funcs reward_template \
            reward_weights rollout_importance_sampling_mode rollout_importance_sampling_threshold rope_scaling \
            router_replay_mode rpo_alpha save_missing_weights save_safetensors save_steps save_strategy \
            save_total_limit scale_rewards seq_kd sequence_packing_scheduler sequence_parallel_size sft_alpha \
            shuffle_buffer_size simpo_gamma skip_megatron_init soft_cache_length soft_max_length \
            split_dataset_ratio steps_per_generation stop_words stopping_strategy stream streaming strict \
            structured_outputs_regex swanlab_exp_name swanlab_project sync_ref_model system tau_neg tau_pos \
            temperature template template_backend test_convert_dtype test_convert_precision to_hf to_mcore \
            top_entropy_quantile top_k top_logprobs top_p train_dataloader_shuffle truncation_strategy \
            tuner_backend undesirable_weight use_chat_template use_gym_env use_hf use_ray use_swift_lora \
            val_dataset val_dataset_shuffle vf_coef vllm_disable_cascade_attn vllm_enable_lora \
            vllm_enable_prefix_caching vllm_enforce_eager vllm_engine_kwargs vllm_limit_mm_per_prompt \
            vllm_max_model_len vllm_max_num_seqs vllm_mm_processor_cache_gb vllm_server_base_url \
            vllm_server_group_port vllm_server_host vllm_server_pass_dataset vllm_server_port \
            vllm_server_timeout vllm_tensor_parallel_size wandb_log_unique_prompts whiten_rewards \
            load_safetensors train_epochs",
    ),
];

/// The meaning of an argument (no leading dashes); none when it is unknown.
#[must_use]
pub fn find(name: &str) -> Option<KeyMeaning> {
    // `--no-masked-softmax-fusion` and the like; `masked_softmax_fusion` itself is an argument with a value.
    if let Some(Opposite(field)) = megatron_lm::find(name)
        && name.replace('-', "_") != field
    {
        return Some(Opposite(field));
    }
    let holds = |names: &str| names.split_ascii_whitespace().any(|one| one == name);
    let group = || GROUPS.iter().find(|(_, names)| holds(names));
    look_up(KEYS, name)
        .or_else(|| hybrid::find(&name.replace('-', "_")))
        .or_else(|| same_field(name))
        .or_else(|| group().map(|(meaning, _)| *meaning))
        .or_else(|| {
            // Also under the name of Megatron-LM's flag.
            match megatron_args::find(name)? {
                Known::Irrelevant(_) => Some(Irrelevant),
                Known::Relevant(spec) => Some(Field(&spec.dest)),
                Known::Retired { .. } | Known::Elsewhere { .. } => None,
            }
        })
}

/// Fields whose default differs from that of Megatron-LM's command line.
pub const DEFAULTS: Defaults = &[
    // In one row without padding and without a mask.
    ("sft", "True"),
    ("create_attention_mask_in_dataloader", "False"),
    ("make_vocab_size_divisible_by", "1"),
    ("apply_rope_fusion", "False"),
    ("micro_batch_size", "1"),
    ("global_batch_size", "16"),
    ("recompute_granularity", "selective"),
    ("recompute_modules", "core_attn"),
    ("use_distributed_optimizer", "True"),
    ("expert_tensor_parallel_size", "1"),
    ("cross_entropy_loss_fusion", "True"),
    ("attention_backend", "flash"),
    ("attention_softmax_in_fp32", "True"),
    ("moe_token_dispatcher_type", "alltoall"),
    ("moe_grouped_gemm", "True"),
    ("moe_router_dtype", "fp32"),
    ("muon_tp_mode", "blockwise"),
    ("fp8_amax_history_len", "1024"),
];

/// `swift/megatron/arguments/megatron_args.py` of the releases: the fused loss is off before 4.0, and from 4.0.1 (2026-03)
/// to 4.3.0 (2026-06) it is Transformer Engine's.
const RELEASES: &[Release] = &[
    Release {
        since: (0, 0, 0),
        before: (4, 0, 0),
        defaults: &[("cross_entropy_loss_fusion", "False")],
    },
    Release {
        since: (4, 0, 1),
        before: (4, 3, 1),
        defaults: &[("cross_entropy_fusion_impl", "te")],
    },
];

/// Reads the sections of a configuration for Ray that are no arguments of training.
fn special(draft: &mut JobDraft, _: &mut Keys<'_>, item: &KeyValue, _: &str) -> bool {
    let (section, _) = item.key.split_once('.').unwrap_or((&item.key, ""));
    match section {
        "ENV" => listed_variable(draft, item),
        "rollout" | "teacher" => draft.row(item, KeyStatus::Ignored, None, "not of the training processes"),
        _ => return false,
    }
    true
}

/// `packing`: samples are put into rows of one length before training.
const PACKING: KeyRole = KeyRole::kept("packing", Decides::field(FieldId::sft));
/// `padding_free`: the samples of a micro batch are put into one row.
const PADDING_FREE: KeyRole = KeyRole::kept("padding_free", Decides::field(FieldId::sft));

fn packs(keys: &Keys<'_>) -> bool {
    let packing = keys.get(PACKING).and_then(|item| truth(&item.value));
    packing == Some(true)
}

/// The samples of a micro batch are one row without a mask, unless `padding_free` is off and `packing` too, which needs
/// it (`MegatronArguments.__post_init__`).
fn without_padding(draft: &mut JobDraft, keys: &Keys<'_>) {
    let (id, mask) = (FieldId::sft, FieldId::create_attention_mask_in_dataloader);
    let given = keys.get(PADDING_FREE).and_then(|item| truth(&item.value));
    let on = packs(keys) || given.unwrap_or(true);
    for item in [PADDING_FREE, PACKING].into_iter().filter_map(|role| keys.get(role)) {
        draft.row(item, KeyStatus::Derived, Some(id), "");
        draft.settings.set(id, Value::Bool(on));
    }
    if !on {
        draft.settings.set(id, Value::Bool(false));
        if !draft.has(mask) {
            draft.settings.set(mask, Value::Bool(true));
        }
    }
}

/// Packs samples to `packing_length` where `packing` is on; without one it is `max_length`.
fn pack(draft: &mut JobDraft, keys: &Keys<'_>) {
    if packs(keys) {
        packing::to_length(draft, keys);
    } else if let Some(item) = keys.get(packing::PACKED) {
        draft.row(item, KeyStatus::Ignored, None, "samples are not packed");
    }
}

/// Reads the granularity of recomputation that ms-swift calls `none`.
fn recompute_nothing(draft: &mut JobDraft, item: &KeyValue, id: FieldId) -> bool {
    let is_none = id == FieldId::recompute_granularity && word(&item.value) == "none";
    if is_none {
        draft.set(item, id, Value::Null, KeyStatus::Mapped, "nothing is recomputed");
    }
    is_none
}

/// What follows from the model: rotary positions of images, the longest sample where `max_length` is not given
/// (`_init_max_length` in `base_args.py`), and no experts' parallelism in a dense model (`model/utils.py`).
fn after_model(import: &mut Import) {
    let images = import.towers.iter().find(|tower| !tower.is_audio());
    let has_sections = images.is_some_and(|tower| !tower.has_deepstack());
    let response = training::tokens_of_response(import);
    let shared = &mut import.state.setup.job.shared;
    if has_sections {
        shared.set(FieldId::position_embedding_type, Value::Text("mrope".to_owned()));
    }
    let length = FieldId::seq_length;
    let longest = shared
        .get(FieldId::max_position_embeddings)
        .and_then(|longest| word(longest).parse::<u64>().ok());
    if let Some(longest) = longest
        && shared.get(length).is_none()
    {
        shared.set(length, Value::Int(longest.saturating_add(response).into()));
    }
    tuner::all_linear(shared);
    let is_dense = shared.get(FieldId::hidden_size).is_some() && shared.get(FieldId::num_experts).is_none();
    for id in [
        FieldId::expert_model_parallel_size,
        FieldId::expert_tensor_parallel_size,
    ] {
        if is_dense && shared.get(id).is_some() {
            shared.unset(id);
            for row in import.report.iter_mut().filter(|row| row.field == Some(id)) {
                row.status = KeyStatus::Ignored;
                row.note = "the model has no experts".into();
            }
        }
    }
}

/// ms-swift wraps the towers of Hugging Face (`HuggingFaceVit` of mcore-bridge). Training in full freezes the parts
/// that `freeze_vit`, `freeze_aligner` and `freeze_llm` name (`_init_multimodal_full`); adapters go into the parts that
/// they do not name (`get_multimodal_target_regex`), and `lora_llm` puts them into the language model alone and trains
/// the tower in full (`_prepare_full_vit`). Checkpointing follows `freeze_vit` in all cases.
fn tower(import: &Import, mut tower: Tower) -> Outcome {
    const KEYS: &[&str] = &[
        "tuner_type",
        "train_type",
        "freeze_vit",
        "freeze_aligner",
        "freeze_llm",
        "vit_gradient_checkpointing",
    ];
    if is_on(import, "language_model_only", false) {
        return Outcome::LeftOut;
    }
    let [vit, aligner] = ["freeze_vit", "freeze_aligner"].map(|key| is_on(import, key, true));
    let recompute = if is_on(import, "vit_gradient_checkpointing", !vit) {
        Recompute::Full
    } else {
        Recompute::Nothing
    };
    tower.is_of_hugging_face(recompute);
    let tuner = said(import, "tuner_type").or_else(|| said(import, "train_type"));
    let targets = said(import, "target_modules");
    match tuner.as_deref() {
        Some(adapters::LANGUAGE_ALONE) => tower.freeze(Frozen::NOTHING),
        _ if has_adapters(import) => {
            let of_language = targets.is_none_or(|names| names.contains("all-linear"));
            if !(vit && aligner && of_language) {
                return Outcome::NotFollowed;
            }
            tower.freeze(Frozen::WHOLE);
        }
        _ => {
            tower.freeze(Frozen {
                layers: vit,
                projector: aligner,
            });
            tower.language_frozen = is_on(import, "freeze_llm", false);
        }
    }
    tower.honoured = KEYS;
    Outcome::Built(tower)
}
