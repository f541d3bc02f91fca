//! The features that change memory by 2 % or more and are not modelled. Without its entry here, a feature marks no job.

use super::Feature;
use crate::source::Citation;

const TRANSFORMER: &str = "megatron/core/transformer/transformer_config.py";
const ARGUMENTS: &str = "megatron/training/arguments.py";
const PARALLEL: &str = "megatron/core/model_parallel_config.py";

/// Declares `FEATURES`, a row each: `ID: [KEYS] unless [VALUES WITH WHICH IT IS OFF TOO], REASON, SOURCE;`.
macro_rules! features {
    ($($id:literal: [$($key:literal),*] $(unless [$($off:literal),+])?, $reason:literal, $source:expr;)+) => {
        pub(super) const FEATURES: &[Feature] = &[$(Feature {
            id: $id,
            keys: &[$($key),*],
            off: &[$($($off),+)?],
            reason: $reason,
            source: $source,
        }),+];
    };
}

const fn of_transformer(symbol: &'static str) -> Citation {
    Citation::megatron(TRANSFORMER, symbol)
}

const fn of_arguments(symbol: &'static str) -> Citation {
    Citation::megatron(ARGUMENTS, symbol)
}

features! {
    "mfsdp2": ["megatron_fsdp_version"] unless ["1"],
        "the second version of Megatron FSDP has other buffers than the first",
        Citation::megatron("megatron/core/distributed/fsdp/src/megatron_fsdp/experimental/parameter_group.py", "ParameterGroup");
    "lora": ["lora_rank", "lora_dim", "lora", "use_lora", "tuner_type", "train_type", "adapters"] unless ["full"],
        "only adapters are trained: all other weights need no gradients and no optimizer states",
        Citation::megatron_bridge("src/megatron/bridge/peft/lora.py", "LoRA");
    "gtp": ["gtp_weight_remat_size", "expert_gtp_weight_remat_size", "tensor_parallel_num_weight_shards",
        "expert_tensor_parallel_num_weight_shards"] unless ["1"],
        "generalized tensor parallelism splits weights over more ranks and gathers them for each layer",
        Citation::megatron(PARALLEL, "ModelParallelConfig.tensor_parallel_num_weight_shards");
    "rl": ["perform_rl_step", "train_rl"],
        "reinforcement learning has an inference engine, its key-value cache and reference log probabilities on the same GPUs",
        Citation::megatron("megatron/rl/rl_utils.py", "get_environment_rollouts");
    "ckptargs": ["use_checkpoint_args", "use_mp_args_from_checkpoint_args"],
        "arguments in the checkpoint replace those of the job",
        Citation::megatron("megatron/training/checkpointing.py", "load_args_from_checkpoint");
    "yaml": ["yaml_cfg", "extends", "bases", "includes", "_base_"],
        "the settings of the job are in another file", of_arguments("parse_args");
    "hetero": ["heterogeneous_layers_config_path"],
        "layers have different sizes",
        Citation::megatron("megatron/core/transformer/heterogeneous/heterogeneous_config.py", "HeterogeneousTransformerConfig");
    "teprec": ["te_precision_config_file"],
        "a file gives each layer a precision of its own", of_arguments("--te-precision-config-file");
    "kitchen": ["use_kitchen", "use_kitchen_attention", "kitchen_config_file", "kitchen_recipe_number"],
        "Kitchen's kernels save other tensors for the backward pass", of_transformer("TransformerConfig.use_kitchen");
    "mlpchunks": ["mlp_chunks_for_training"] unless ["1"],
        "MLPs run over parts of the sequence", of_transformer("TransformerConfig.mlp_chunks_for_training");
    "logits": ["fp16_lm_cross_entropy", "output_logit_dtype", "logit_dtype"],
        "the loss is counted with logits in fp32", of_arguments("--fp16-lm-cross-entropy");
    "fp32acc": ["ddp_param_name_patterns_for_fp32_local_accumulation"],
        "some gradients are accumulated in fp32",
        Citation::megatron("megatron/core/distributed/distributed_data_parallel_config.py", "DistributedDataParallelConfig.param_name_patterns_for_fp32_local_accumulation");
    "dispatch8": ["moe_dispatch_fwd_dtype", "moe_combine_bwd_dtype"] unless ["bf16"],
        "tokens of routed experts are sent in another precision",
        of_transformer("TransformerConfig.moe_dispatch_fwd_dtype");
    "offloadpart": ["activation_offload_fraction"] unless ["1", "1.0"],
        "a part of the activations is offloaded", of_transformer("TransformerConfig.activation_offload_fraction");
    "offloaddelta": ["delta_offload_bytes_across_pp_ranks"],
        "pipeline ranks offload different amounts",
        of_transformer("TransformerConfig.delta_offload_bytes_across_pp_ranks");
    "muonscalar": ["muon_scalar_optimizer"] unless ["adam"],
        "embeddings and norms have the states of another optimizer", of_arguments("--muon-scalar-optimizer");
    "flextron": ["flextron", "enable_router"],
        "Flextron's routers and masks are not counted",
        Citation::megatron("megatron/elastification/arguments.py", "add_flextron_args");
    "teacher": ["export_kd_teacher_load", "teacher_model", "opd_teacher_load"],
        "teacher models are not counted",
        Citation::megatron("megatron/post_training/arguments.py", "add_modelopt_args");
    "modelopt": ["export_quant_cfg", "export_real_quant_cfg"],
        "what ModelOpt changes in a model is not counted",
        Citation::megatron("megatron/post_training/arguments.py", "add_modelopt_args");
    "encoder": ["vision_model_type", "sound_model_type"],
        "encoders beside the language model are not counted: add them as modules",
        Citation::megatron("examples/multimodal/multimodal_args.py", "add_multimodal_extra_args");
    "mimo": ["llm_tp", "encoder_tp"],
        "the ranks of modules, whose encoder stands in the program and in no flag: add the modules, each with its own sizes",
        Citation::megatron("examples/mimo/training/args.py", "add_mimo_args");
    "frozen": ["freeze_lm", "freeze_model", "freeze_base_for_mtp"],
        "frozen parameters need no gradients and no optimizer states",
        Citation::megatron("examples/multimodal/multimodal_args.py", "add_multimodal_extra_args");
    "t5": ["decoder_seq_length", "decoder_num_layers"],
        "models with an encoder and a decoder have a second stack of layers", of_arguments("--decoder-seq-length");
    "program": ["pretrain_t5", "pretrain_bert", "pretrain_ict", "pretrain_retro", "pretrain_vlm",
        "pretrain_vision_classify", "pretrain_vision_dino", "pretrain_vision_inpaint"],
        "the program trains another kind of model than a GPT", Citation::megatron("pretrain_vlm.py", "model_provider");
    "family": [],
        "not a known family: read like Llama; check normalization, activation, biases and experts",
        Citation::megatron_bridge("src/megatron/bridge/models/conversion/auto_bridge.py", "AutoBridge.supports");
}
