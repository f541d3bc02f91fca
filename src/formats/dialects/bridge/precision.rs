//! Megatron-Bridge's precision presets, such as `bf16_mixed`, after `training/mixed_precision.py`.

/// One precision preset: the fields it sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecisionPreset {
    /// The name, with underscores.
    pub name: &'static str,
    /// Fields with their values.
    pub fields: &'static [(&'static str, &'static str)],
}

const BF16: (&str, &str) = ("bf16", "True");
const FP16: (&str, &str) = ("fp16", "True");
const REDUCE_FP32: (&str, &str) = ("accumulate_allreduce_grads_in_fp32", "True");
const REDUCE_HALF: (&str, &str) = ("accumulate_allreduce_grads_in_fp32", "False");
const HYBRID: (&str, &str) = ("fp8", "hybrid");
const GATHER: (&str, &str) = ("fp8_param_gather", "True");
const ENDS: (&str, &str) = ("first_last_layers_bf16", "True");
const DELAYED: (&str, &str) = ("fp8_recipe", "delayed");
const TENSORWISE: (&str, &str) = ("fp8_recipe", "tensorwise");
const BLOCKWISE: (&str, &str) = ("fp8_recipe", "blockwise");
const HISTORY: (&str, &str) = ("fp8_amax_history_len", "1024");
const MXFP8: [(&str, &str); 4] = [
    ("fp8", "e4m3"),
    ("fp8_recipe", "mxfp8"),
    GATHER,
    ("reuse_grad_buf_for_mxfp8_param_ag", "True"),
];
const START_1: (&str, &str) = ("num_layers_at_start_in_bf16", "1");
const START_2: (&str, &str) = ("num_layers_at_start_in_bf16", "2");
const END_1: (&str, &str) = ("num_layers_at_end_in_bf16", "1");
const END_2: (&str, &str) = ("num_layers_at_end_in_bf16", "2");
const END_14: (&str, &str) = ("num_layers_at_end_in_bf16", "14");
const NVFP4: [(&str, &str); 3] = [
    ("fp4", "e2m1"),
    ("fp4_recipe", "nvfp4"),
    ("fp4_param_gather", "True"),
];

const fn preset(
    name: &'static str,
    fields: &'static [(&'static str, &'static str)],
) -> PrecisionPreset {
    PrecisionPreset { name, fields }
}

/// The presets of `mixed_precision`; hyphens in a name count as underscores.
pub const PRESETS: &[PrecisionPreset] = &[
    preset("bf16_mixed", &[BF16, REDUCE_FP32]),
    preset("fp16_mixed", &[FP16, REDUCE_HALF]),
    preset(
        "bf16_with_fp8_delayed_scaling_mixed",
        &[BF16, REDUCE_FP32, HYBRID, DELAYED, HISTORY, GATHER],
    ),
    preset(
        "fp16_with_fp8_delayed_scaling_mixed",
        &[FP16, REDUCE_HALF, HYBRID, DELAYED, HISTORY, GATHER],
    ),
    preset(
        "bf16_with_mxfp8_mixed",
        &[BF16, REDUCE_FP32, MXFP8[0], MXFP8[1], MXFP8[2], MXFP8[3]],
    ),
    preset(
        "fp16_with_mxfp8_mixed",
        &[FP16, REDUCE_HALF, MXFP8[0], MXFP8[1], MXFP8[2], MXFP8[3]],
    ),
    preset(
        "bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            REDUCE_FP32,
            HYBRID,
            TENSORWISE,
            ENDS,
            START_1,
            END_1,
            GATHER,
        ],
    ),
    preset(
        "fp16_with_fp8_current_scaling_mixed",
        &[
            FP16,
            REDUCE_HALF,
            HYBRID,
            TENSORWISE,
            ENDS,
            START_1,
            END_1,
            GATHER,
        ],
    ),
    preset(
        "nemotron_h_bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            REDUCE_FP32,
            HYBRID,
            TENSORWISE,
            ENDS,
            START_2,
            END_2,
            GATHER,
        ],
    ),
    preset(
        "nanov2_bf16_with_fp8_current_scaling_mixed",
        &[
            BF16,
            REDUCE_FP32,
            HYBRID,
            BLOCKWISE,
            ENDS,
            START_2,
            END_2,
            GATHER,
        ],
    ),
    preset(
        "bf16_with_fp8_subchannel_scaling_mixed",
        &[BF16, REDUCE_FP32, HYBRID, BLOCKWISE],
    ),
    preset(
        "fp16_with_fp8_subchannel_scaling_mixed",
        &[FP16, REDUCE_HALF, HYBRID, BLOCKWISE],
    ),
    preset(
        "bf16_with_nvfp4_mixed",
        &[BF16, REDUCE_FP32, NVFP4[0], NVFP4[1], NVFP4[2]],
    ),
    preset(
        "nemotron_3_super_bf16_with_nvfp4_mixed",
        &[
            BF16,
            REDUCE_FP32,
            NVFP4[0],
            NVFP4[1],
            NVFP4[2],
            ENDS,
            END_14,
        ],
    ),
];

/// The preset called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static PrecisionPreset> {
    let name = name.replace('-', "_");
    let name = match name.as_str() {
        // What the translation script of Megatron-Bridge writes.
        "16_mixed" => "fp16_mixed",
        name => name,
    };
    PRESETS.iter().find(|preset| preset.name == name)
}
