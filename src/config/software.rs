//! Stacks of software that differ in the memory that they need: a closed list with dates, and the facts that tell each
//! from the Megatron-LM revision that everything else is read from.

use super::choices::{SoftwareFact, SoftwareStack};
use super::fields::Args;
use crate::source::Citation;

/// The versions of a stack, and its facts.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    /// The stack.
    pub stack: SoftwareStack,
    /// When such software was current, as years and months.
    pub dates: &'static str,
    /// NVIDIA's or AMD's containers with such software; empty where it is installed without one.
    pub containers: &'static str,
    /// Versions of `PyTorch`.
    pub pytorch: &'static str,
    /// Versions of Transformer Engine; empty where there is none.
    pub transformer_engine: &'static str,
    /// Versions of Megatron-Core.
    pub megatron_core: &'static str,
    /// Whether Apex is installed.
    pub apex: bool,
    /// What differs from [`SoftwareStack::MegatronMain`].
    pub facts: &'static [SoftwareFact],
}

/// A difference in words, with its source.
#[derive(Clone, Copy, Debug)]
pub struct FactText {
    /// The difference.
    pub fact: SoftwareFact,
    /// What it does to memory, one sentence.
    pub text: &'static str,
    /// The code that shows it.
    pub source: Citation,
}

/// Declares the stacks, newest first: dates and containers; versions of PyTorch, Transformer Engine and Megatron-Core;
/// and what is installed or different.
macro_rules! stacks {
    ($(
        $stack:ident: $dates:literal, $containers:literal;
        $pytorch:literal, $transformer_engine:literal, $megatron_core:literal; apex $apex:literal, $facts:expr;
    )+) => {
        /// All stacks, newest first.
        pub const STACKS: &[Versions] = {
            use SoftwareFact::{
                FsdpReleasesOutsideLayers, GroupedGemmPackage, HipBlasLtWorkspaces, LogitsCopied, LossGradientInFp32,
                MicroBatchesStay, NoExpertStandIns, NoLinearStandIns, NoOutputStandIn, QkNormViews, TopkDispatcher,
                TorchAdamW,
            };
            &[$(Versions {
                stack: SoftwareStack::$stack,
                dates: $dates,
                containers: $containers,
                pytorch: $pytorch,
                transformer_engine: $transformer_engine,
                megatron_core: $megatron_core,
                apex: $apex,
                facts: $facts,
            }),+]
        };
    };
}

stacks! {
    MegatronMain: "2026-05 to 2026-08", "NGC PyTorch 26.03 to 26.07";
        "2.9 and later", "2.10 to 2.17", "0.18 and later"; apex true, &[];
    MegatronDev: "2026-08", "NGC PyTorch 26.07";
        "2.9 and later", "2.10 to 2.17", "0.19, branch dev"; apex true, &[];
    Te218: "from 2026-08", "NGC PyTorch from 26.08";
        "2.12 and later", "2.18 and later", "0.19 and later"; apex true, &[LossGradientInFp32];
    MegatronLm018: "2026-05 to 2026-07", "NGC PyTorch 26.03 to 26.06";
        "2.9 and later", "2.10 to 2.17", "0.18, with its pretrain scripts"; apex true, &[MicroBatchesStay];
    Core015Te210: "2025-12 to 2026-05", "NGC PyTorch 25.12 to 26.03";
        "2.9 and later", "2.10 to 2.15", "0.15 to 0.17"; apex true, &[FsdpReleasesOutsideLayers];
    Core014Te23: "2025-08 to 2025-11", "NGC PyTorch 25.05 to 25.11";
        "2.8 to 2.9", "2.3 to 2.9", "0.14 and 0.15"; apex true, &[NoExpertStandIns];
    Core012Te23: "2025-05 to 2025-08", "NGC PyTorch 25.05 to 25.11";
        "2.8 to 2.9", "2.3 to 2.9", "0.12 and 0.13"; apex true, &[NoExpertStandIns, NoOutputStandIn];
    Core09Te113: "2024-12 to 2025-04", "NGC PyTorch 24.12 to 25.04";
        "2.6 and 2.7", "1.13 to 2.2.0", "0.9 to 0.12"; apex true, NO_STAND_INS;
    Core010Te19: "2024-08 to 2025-03", "NGC PyTorch 24.08 to 24.11";
        "2.4 to 2.6", "1.9 to 1.12", "0.10 to 0.12"; apex true,
        &[NoLinearStandIns, NoExpertStandIns, NoOutputStandIn, QkNormViews];
    Core08Te1: "2024-06 to 2024-11", "NGC PyTorch 23.12 to 24.07";
        "2.2 to 2.4", "1.0 to 1.8", "0.8 and 0.9"; apex true,
        &[NoLinearStandIns, NoExpertStandIns, NoOutputStandIn, QkNormViews, TopkDispatcher, GroupedGemmPackage];
    MegatronLm2023: "2022 to 2024-05", "NGC PyTorch up to 24.04";
        "1.13 to 2.3", "before 1.13, or none", "before 0.8, or none"; apex true,
        &[NoLinearStandIns, NoExpertStandIns, NoOutputStandIn, QkNormViews, TopkDispatcher, GroupedGemmPackage, LogitsCopied];
    TorchOnly: "from 2024-08", "";
        "2.4 and later", "", "0.8 and later, from PyPI"; apex false,
        &[NoLinearStandIns, NoExpertStandIns, NoOutputStandIn, TorchAdamW];
    RocmTorchOnly: "from 2024-11", "rocm/pytorch";
        "2.6 and later, for ROCm", "", "0.9 and later"; apex false,
        &[NoLinearStandIns, NoExpertStandIns, NoOutputStandIn, TorchAdamW, HipBlasLtWorkspaces];
}

/// No cached stand-ins for weight gradients at all.
const NO_STAND_INS: &[SoftwareFact] = &[
    SoftwareFact::NoLinearStandIns,
    SoftwareFact::NoExpertStandIns,
    SoftwareFact::NoOutputStandIn,
];

/// What each fact does to memory, and where it is to be seen.
pub const FACTS: &[FactText] = &[
    FactText {
        fact: SoftwareFact::NoLinearStandIns,
        text: "Transformer Engine before 2.2.1 has no get_dummy_wgrad: linear layers cache no stand-ins for weight gradients.",
        source: Citation::page(
            "https://github.com/NVIDIA/TransformerEngine/commit/ba5dc5dde",
            "Enable reuse of dummy wgrad tensor, 2025-04-08",
        ),
    },
    FactText {
        fact: SoftwareFact::NoExpertStandIns,
        text: "Transformer Engine before 2.10 caches no stand-ins for weight gradients of grouped experts.",
        source: Citation::page(
            "https://github.com/NVIDIA/TransformerEngine/commit/d2945c6a5",
            "Use dummy wgrad in GroupedLinear, 2025-10-27",
        ),
    },
    FactText {
        fact: SoftwareFact::NoOutputStandIn,
        text: "Megatron-Core before 0.14 makes a new stand-in for the weight gradient of the output layer each time, and keeps none.",
        source: Citation::page(
            "https://github.com/NVIDIA/Megatron-LM/commit/e7c55de99e",
            "megatron/core/tensor_parallel/layers.py, 2025-08-01",
        ),
    },
    FactText {
        fact: SoftwareFact::QkNormViews,
        text: "Norms of Transformer Engine before 1.13 keep views of queries and keys, not contiguous copies.",
        source: Citation::page(
            "https://github.com/NVIDIA/TransformerEngine/commit/77c37d49f",
            "Normalization ops, 2024-11-05",
        ),
    },
    FactText {
        fact: SoftwareFact::LogitsCopied,
        text: "Cross-entropy of Megatron-Core before 0.8 subtracts the maximum in a new tensor: one more fp32 copy of the logits.",
        source: Citation::page(
            "https://github.com/NVIDIA/Megatron-LM/commit/9634c0e4a3",
            "Reduce logit memory pressure by using in-place operation, 2024-06-13",
        ),
    },
    FactText {
        fact: SoftwareFact::LossGradientInFp32,
        text: "The fused loss of Transformer Engine from 2.18 on keeps an fp32 gradient of the logits instead of writing over them.",
        source: Citation::page(
            "https://github.com/NVIDIA/TransformerEngine/commit/01bbe3eea",
            "Fix the numerical issue with the Fused CE loss, 2026-07-09",
        ),
    },
    FactText {
        fact: SoftwareFact::TorchAdamW,
        text: "Without Transformer Engine and Apex the optimizer is torch.optim.AdamW, whose foreach step holds the square roots of \
               all second moments: 4 bytes for each element of the shard.",
        source: Citation::megatron("megatron/core/optimizer/__init__.py", "FusedAdam"),
    },
    FactText {
        fact: SoftwareFact::TopkDispatcher,
        text: "The all-to-all dispatcher of Megatron-Core before 0.10 refers to the chosen experts of each token, not to maps \
               over all experts.",
        source: Citation::page(
            "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.9.0/megatron/core/transformer/moe/token_dispatcher.py",
            "MoEAlltoAllTokenDispatcher.token_permutation",
        ),
    },
    FactText {
        fact: SoftwareFact::GroupedGemmPackage,
        text: "Before Transformer Engine 1.9 grouped experts run on the package grouped_gemm, which has no workspaces of \
               Transformer Engine.",
        source: Citation::page(
            "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.9.0/megatron/core/extensions/transformer_engine.py",
            "TEGroupedLinear",
        ),
    },
    FactText {
        fact: SoftwareFact::HipBlasLtWorkspaces,
        text: "PyTorch for ROCm holds a workspace of 76 MiB of hipBLASLt for the forward and for the backward thread, and none \
               of cuBLAS.",
        source: Citation::page(
            "https://github.com/pytorch/pytorch/pull/139300",
            "Increase hipBLASLt default workspace size",
        ),
    },
    FactText {
        fact: SoftwareFact::MicroBatchesStay,
        text: "pretrain_gpt.py and pretrain_hybrid.py of Megatron-Core 0.18 move a micro batch to the GPU inside the dictionary \
               that the data iterator keeps for a rerun: on the first and the last stage, the first rank of each tensor-parallel \
               group holds the masks, tokens and labels of all micro batches until the next iteration, unless --rerun-mode is \
               disabled.",
        source: Citation::page(
            "https://github.com/NVIDIA/Megatron-LM/commit/bf32f4415e",
            "RerunDataIterator.__next__, mended 2026-07-06; since 5e4fc931ba of 2026-05-21",
        ),
    },
    FactText {
        fact: SoftwareFact::FsdpReleasesOutsideLayers,
        text: "Megatron FSDP of Megatron-Core 0.15 to 0.17 releases what it gathers of parameters outside of layers between \
               iterations.",
        source: Citation::page(
            "https://github.com/NVIDIA/Megatron-LM/commit/378d81fbd3",
            "AllGatherPipeline.reset, 2026-05-30",
        ),
    },
];

impl SoftwareStack {
    /// The stack's versions and facts.
    #[must_use]
    pub fn versions(self) -> Option<&'static Versions> {
        STACKS.iter().find(|versions| versions.stack == self)
    }

    /// The stack of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stack| stack.name() == name)
    }
}

impl SoftwareFact {
    /// The fact in words, with its source.
    #[must_use]
    pub fn explained(self) -> Option<&'static FactText> {
        FACTS.iter().find(|text| text.fact == self)
    }

    /// Whether a fact holds for a job: as one of its stack, or as one that the job adds.
    #[must_use]
    pub fn holds(self, a: &Args) -> bool {
        let versions = a.software_stack.versions();
        versions.is_some_and(|versions| versions.facts.contains(&self)) || a.software_facts.contains(self)
    }
}
