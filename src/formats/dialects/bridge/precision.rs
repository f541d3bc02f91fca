//! Megatron-Bridge's precision presets, such as `bf16_mixed`, after `training/mixed_precision.py`.

/// Fields with their values.
type Fields = &'static [(&'static str, &'static str)];

/// One precision preset: the fields it sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecisionPreset {
    /// The name, with underscores.
    pub name: &'static str,
    /// Groups of fields that presets have in common.
    groups: &'static [Fields],
}

impl PrecisionPreset {
    /// The fields that the preset sets, with their values.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        self.groups.iter().copied().flatten().copied()
    }
}

const BF16: Fields = &[("bf16", "True"), ("accumulate_allreduce_grads_in_fp32", "True")];
const FP16: Fields = &[("fp16", "True"), ("accumulate_allreduce_grads_in_fp32", "False")];
const FP8_DELAYED: Fields = &[
    ("fp8", "hybrid"),
    ("fp8_recipe", "delayed"),
    ("fp8_amax_history_len", "1024"),
];
const FP8_TENSORWISE: Fields = &[("fp8", "hybrid"), ("fp8_recipe", "tensorwise")];
const FP8_BLOCKWISE: Fields = &[("fp8", "hybrid"), ("fp8_recipe", "blockwise")];
const FP8_PARAM_GATHER: Fields = &[("fp8_param_gather", "True")];
const MXFP8: Fields = &[
    ("fp8", "e4m3"),
    ("fp8_recipe", "mxfp8"),
    ("fp8_param_gather", "True"),
    ("reuse_grad_buf_for_mxfp8_param_ag", "True"),
];
const NVFP4: Fields = &[("fp4", "e2m1"), ("fp4_recipe", "nvfp4"), ("fp4_param_gather", "True")];
/// The first and the last layer stay in bf16.
const FIRST_AND_LAST_IN_BF16: Fields = &[
    ("first_last_layers_bf16", "True"),
    ("num_layers_at_start_in_bf16", "1"),
    ("num_layers_at_end_in_bf16", "1"),
];
/// The first two and the last two layers stay in bf16.
const FIRST_AND_LAST_2_IN_BF16: Fields = &[
    ("first_last_layers_bf16", "True"),
    ("num_layers_at_start_in_bf16", "2"),
    ("num_layers_at_end_in_bf16", "2"),
];
/// The last 14 layers stay in bf16.
const LAST_14_IN_BF16: Fields = &[("first_last_layers_bf16", "True"), ("num_layers_at_end_in_bf16", "14")];

const fn preset(name: &'static str, groups: &'static [Fields]) -> PrecisionPreset {
    PrecisionPreset { name, groups }
}

/// The presets of `mixed_precision`; hyphens in a name count as underscores.
pub const PRESETS: &[PrecisionPreset] = &[
    preset("bf16_mixed", &[BF16]),
    preset("fp16_mixed", &[FP16]),
    preset(
        "bf16_with_fp8_delayed_scaling_mixed",
        &[BF16, FP8_DELAYED, FP8_PARAM_GATHER],
    ),
    preset(
        "fp16_with_fp8_delayed_scaling_mixed",
        &[FP16, FP8_DELAYED, FP8_PARAM_GATHER],
    ),
    preset("bf16_with_mxfp8_mixed", &[BF16, MXFP8]),
    preset("fp16_with_mxfp8_mixed", &[FP16, MXFP8]),
    preset(
        "bf16_with_fp8_current_scaling_mixed",
        &[BF16, FP8_TENSORWISE, FIRST_AND_LAST_IN_BF16, FP8_PARAM_GATHER],
    ),
    preset(
        "fp16_with_fp8_current_scaling_mixed",
        &[FP16, FP8_TENSORWISE, FIRST_AND_LAST_IN_BF16, FP8_PARAM_GATHER],
    ),
    preset(
        "nemotron_h_bf16_with_fp8_current_scaling_mixed",
        &[BF16, FP8_TENSORWISE, FIRST_AND_LAST_2_IN_BF16, FP8_PARAM_GATHER],
    ),
    preset(
        "nanov2_bf16_with_fp8_current_scaling_mixed",
        &[BF16, FP8_BLOCKWISE, FIRST_AND_LAST_2_IN_BF16, FP8_PARAM_GATHER],
    ),
    preset("bf16_with_fp8_subchannel_scaling_mixed", &[BF16, FP8_BLOCKWISE]),
    preset("fp16_with_fp8_subchannel_scaling_mixed", &[FP16, FP8_BLOCKWISE]),
    preset("bf16_with_nvfp4_mixed", &[BF16, NVFP4]),
    preset(
        "nemotron_3_super_bf16_with_nvfp4_mixed",
        &[BF16, NVFP4, LAST_14_IN_BF16],
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
