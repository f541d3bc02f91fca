//! A checked job: every value typed, every default filled in, every derived size computed.

mod module;

pub(super) use module::mamba_num_heads;
pub use module::{Boundary, Derived, FirstStage, Module};

use super::field::Decimal;
use super::gpus::GpuMemory;
use super::not_modelled::NotModelled;
use super::problem::Refusal;
use crate::units::Bytes;

/// A checked job. It can only come from [`check`](super::check), and nothing below it fails.
#[derive(Clone, Debug)]
pub struct Config {
    /// GPUs of the job.
    pub(crate) world_size: u64,
    /// Usable memory of one GPU, when one was chosen or typed.
    pub(crate) gpu_memory: Option<GpuMemory>,
    /// The modules in order; at least one.
    pub(crate) modules: Vec<Module>,
    /// What changes the job's memory and is not modelled, in the order of the keys.
    pub(crate) not_modelled: Vec<NotModelled>,
    /// Who refuses the job.
    pub(crate) refused_by: Option<Refusal>,
    /// Why it is refused when it is launched.
    pub(crate) refused_at_launch: Vec<String>,
}

impl Config {
    /// The job's modules; at least one.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// GPUs of the job.
    #[must_use]
    pub fn world_size(&self) -> u64 {
        self.world_size
    }

    /// Usable memory of one GPU, when known: the least that such GPUs report.
    #[must_use]
    pub fn gpu_memory(&self) -> Option<Bytes> {
        Some(self.gpu_memory?.least)
    }

    /// The least and the most memory that drivers report for the chosen GPU; verdicts compare a job's need with both.
    #[must_use]
    pub fn reported_gpu_memory(&self) -> Option<GpuMemory> {
        self.gpu_memory
    }

    /// The same job with average micro batches of packed samples in place of the fullest; `None` where samples are not
    /// packed or the average sample is not known.
    #[must_use]
    pub fn with_average_batch(&self) -> Option<Self> {
        let average = |module: &Module| module.packing.as_ref().and_then(|packing| packing.average);
        // Most jobs are not packed: a copy would be in vain.
        self.modules.iter().find_map(average)?;
        let mut job = self.clone();
        for module in &mut job.modules {
            if let Some(packing) = &mut module.packing
                && let Some(average) = packing.average.take()
            {
                packing.batch = average;
                module.args.seq_length = average.tokens;
            }
        }
        Some(job)
    }

    /// The same job with a fullest micro batch of so many packed tokens, over all context-parallel ranks; `None` where
    /// samples are not packed, so that no micro batch is longer than the sequence.
    #[must_use]
    pub fn with_packed_tokens(&self, tokens: u64) -> Option<Self> {
        let mut job = self.clone();
        let batches = job.modules.iter_mut().filter_map(|module| {
            module.packing.as_mut()?.batch.tokens = tokens;
            module.args.seq_length = tokens;
            Some(())
        });
        (batches.count() > 0).then_some(job)
    }

    /// What changes the job's memory and is not modelled, in the order of the keys.
    #[must_use]
    pub fn not_modelled(&self) -> &[NotModelled] {
        &self.not_modelled
    }

    /// Who refuses the job although it can be estimated: its launcher, or Megatron's schedule when training starts. `None`
    /// where it trains.
    #[must_use]
    pub fn refused_by(&self) -> Option<Refusal> {
        self.refused_by
    }

    /// Why the job is refused when it is launched, a sentence each; empty where it trains. It can be estimated all the
    /// same, while it is planned.
    #[must_use]
    pub fn refused_at_launch(&self) -> &[String] {
        &self.refused_at_launch
    }
}

/// The routed experts of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct Moe {
    /// Routed experts of a layer.
    pub(crate) num_experts: u64,
    /// Experts that each token visits.
    pub(crate) topk: u64,
    /// Inner width of one expert.
    pub(crate) ffn_hidden_size: u64,
    /// Inner width of the shared experts; 0 when there are none.
    pub(crate) shared: u64,
    /// Tokens on the busiest rank over the mean.
    pub(crate) load_imbalance: Decimal,
}

/// The activation function of an MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// GELU, not gated.
    Gelu,
    /// SiLU, gated.
    SwiGlu,
    /// GELU, gated.
    GeGlu,
    /// Quick GELU, gated.
    QuickGeGlu,
    /// Squared ReLU, not gated.
    SquaredRelu,
    /// SiTU of Kimi K3, gated: SiLU whose gate and other half a tanh bounds.
    SiTu,
}

impl Activation {
    /// Whether fc1 is twice as wide, for value and gate.
    #[must_use]
    pub const fn gated(self) -> bool {
        matches!(self, Self::SwiGlu | Self::GeGlu | Self::QuickGeGlu | Self::SiTu)
    }
}

/// The precision of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Everything in fp32.
    Fp32,
    /// Parameters and activations in fp16.
    Fp16,
    /// Parameters and activations in bf16.
    Bf16,
}

impl Precision {
    /// Bytes of one parameter or activation element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 => 4,
            Self::Fp16 | Self::Bf16 => 2,
        }
    }
}
