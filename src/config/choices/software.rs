//! The launcher of a job, and the versions of the software that trains it.

use serde::{Deserialize, Serialize};
use strum::{FromRepr, IntoStaticStr, VariantArray, VariantNames};

use crate::config::from_field::{Choice, FromField};
use crate::config::parse::Parsed;

choices! {
    /// `software_stack`: versions of the software that trains, whose memory differs.
    SoftwareStack {
        /// Megatron-LM d98e8a64 of 2026-08-22 with Transformer Engine 2.10 to 2.17: all else here is read from it.
        MegatronMain = "megatron_main",
        /// Transformer Engine 2.18 and later.
        Te218 = "te_2_18",
        /// Megatron-LM's own scripts of Megatron-Core 0.18, and of the main branch from 2026-05-21 to 2026-07-05.
        MegatronLm018 = "megatron_lm_0_18",
        /// Megatron-Core 0.15 to 0.17 with Transformer Engine 2.10 to 2.15.
        Core015Te210 = "core_0_15_te_2_10",
        /// Megatron-Core 0.14 and later with Transformer Engine 2.3 to 2.9.
        Core014Te23 = "core_0_14_te_2_3",
        /// Megatron-Core 0.12 and 0.13 with Transformer Engine 2.3 to 2.9.
        Core012Te23 = "core_0_12_te_2_3",
        /// Megatron-Core 0.9 to 0.12 with Transformer Engine 1.13 to 2.2.
        Core09Te113 = "core_0_9_te_1_13",
        /// Megatron-Core 0.10 to 0.12 with Transformer Engine 1.9 to 1.12.
        Core010Te19 = "core_0_10_te_1_9",
        /// Megatron-Core 0.8 and 0.9 with Transformer Engine before 1.9.
        Core08Te1 = "core_0_8_te_1",
        /// Megatron-LM before Megatron-Core 0.8 with Transformer Engine before 1.13.
        MegatronLm2023 = "megatron_lm_2023",
        /// Megatron-Core as PyPI has it, with neither Transformer Engine nor Apex.
        TorchOnly = "torch_only",
        /// Megatron-Core as PyPI has it, on AMD GPUs.
        RocmTorchOnly = "rocm_torch_only",
        /// Megatron-LM's dev branch at d48bd6be of 2026-08-21, which builds layers that the pinned revision does not.
        MegatronDev = "megatron_dev",
    }

    /// `launcher`: what starts the job, where it refuses what others train.
    Launcher {
        /// Not known: what a single launcher refuses is only warned of.
        Any = "any",
        /// Megatron-LM's own: `pretrain_gpt.py` and `pretrain_hybrid.py`, with `validate_args`.
        MegatronLm = "megatron_lm",
    }

    /// `software_facts`: what differs between stacks of software.
    SoftwareFact {
        /// No cached stand-ins for weight gradients of Transformer Engine's linear layers.
        NoLinearStandIns = "no_linear_stand_ins",
        /// No cached stand-ins for weight gradients of grouped experts.
        NoExpertStandIns = "no_expert_stand_ins",
        /// No cached stand-in for the weight gradient of the output layer.
        NoOutputStandIn = "no_output_stand_in",
        /// Norms on queries and keys keep views of the fused projection instead of copies.
        QkNormViews = "qk_norm_views",
        /// The loss has one more fp32 copy of the logits.
        LogitsCopied = "logits_copied",
        /// Transformer Engine's fused loss keeps its gradient in fp32 instead of writing it over the logits.
        LossGradientInFp32 = "loss_gradient_in_fp32",
        /// Adam is PyTorch's, which needs 4 bytes more for each element of its shard while it steps.
        TorchAdamW = "torch_adamw",
        /// The all-to-all dispatcher refers to the chosen experts instead of maps over all experts.
        TopkDispatcher = "topk_dispatcher",
        /// Grouped experts run on the package grouped_gemm, without workspaces of Transformer Engine.
        GroupedGemmPackage = "grouped_gemm_package",
        /// hipBLASLt's workspaces in place of cuBLAS's.
        HipBlasLtWorkspaces = "hipblaslt_workspaces",
        /// Micro batches stay on the GPU until the next iteration, where the data iterator holds them.
        MicroBatchesStay = "micro_batches_stay",
        /// Megatron FSDP releases parameters outside of layers between iterations.
        FsdpReleasesOutsideLayers = "fsdp_releases_outside_layers",
    }
}
