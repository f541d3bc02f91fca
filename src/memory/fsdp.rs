//! Megatron FSDP: parameters, gradients and optimizer states in flat buffers that data-parallel ranks split, and the
//! buffers that are there while a layer's parameters are gathered and its gradients wait to be reduced.

mod buffers;
mod group;
pub(crate) mod in_flight;
mod layout;
mod model;
pub(super) mod parameter;
mod pools;
mod states;

pub(crate) use buffers::{StageFsdp, buffers, padding, unsplit};
pub use group::{FsdpGroup, Unit};
pub(crate) use model::FsdpModel;
pub use model::stage_groups;
pub use parameter::place_in_layer;
pub(crate) use states::{gradient_copy, state_rules};

use crate::config::choices::{FsdpDtype, OuterShardingStrategy, ShardingStrategy};
use crate::config::job::{Module, Precision};
use crate::model::quantization::Fp8;
use crate::parallel::groups::View;

/// How Megatron FSDP splits a module, and in which dtypes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fsdp {
    strategy: ShardingStrategy,
    /// Ranks of one optimizer instance, of dense parameters and of routed experts.
    instance: [u64; 2],
    /// Ranks that split main parameters and moments.
    optimizer: [u64; 2],
    precision: Precision,
    main_params: FsdpDtype,
    main_grads: FsdpDtype,
    grad_comm: FsdpDtype,
    /// Whether the optimizer takes gradients in another dtype than its parameters.
    decoupled_grad: bool,
}

impl Fsdp {
    /// The settings of a module; `None` without Megatron FSDP.
    pub(crate) fn of(m: &Module) -> Option<Self> {
        let a = &m.args;
        let instance = [m.dense_shard(), m.expert_shard()];
        let outer = a.outer_dp_sharding_strategy != OuterShardingStrategy::NoShard;
        a.use_megatron_fsdp.then(|| Self {
            strategy: a.data_parallel_sharding_strategy,
            instance,
            optimizer: if outer { [m.dp * m.cp, m.edp] } else { instance },
            precision: m.precision,
            main_params: a.megatron_fsdp_main_params_dtype,
            main_grads: a.megatron_fsdp_main_grads_dtype,
            grad_comm: a.megatron_fsdp_grad_comm_dtype,
            decoupled_grad: a.use_precision_aware_optimizer,
        })
    }

    /// Ranks that split the parameters themselves.
    fn weight_ranks(&self, view: View) -> u64 {
        self.ranks(ShardingStrategy::OptimGradsParams, &self.instance, view)
    }

    /// Ranks that split main gradients.
    fn grad_ranks(&self, view: View) -> u64 {
        self.ranks(ShardingStrategy::OptimGrads, &self.instance, view)
    }

    /// Ranks that split main parameters and moments. Every buffer is padded to a multiple of them.
    fn optimizer_ranks(&self, view: View) -> u64 {
        self.ranks(ShardingStrategy::Optim, &self.optimizer, view)
    }

    /// The ranks of a view where the strategy splits what `least` and the strategies above it split, and otherwise 1.
    fn ranks(&self, least: ShardingStrategy, ranks: &[u64; 2], view: View) -> u64 {
        if self.strategy >= least {
            ranks.get(view as usize).copied().unwrap_or(1).max(1)
        } else {
            1
        }
    }

    /// Bytes of a parameter, which may be stored in fp8.
    fn weight_bytes(&self, fp8: bool) -> u64 {
        if fp8 { 1 } else { self.precision.bytes() }
    }

    /// The dtype of main gradients (`ParamAndGradBuffer._resolve_group_grad_dtype`).
    fn main_grads_dtype(&self, fp8: bool) -> FsdpDtype {
        match (self.main_grads, self.precision) {
            (FsdpDtype::Auto, _) if fp8 => FsdpDtype::Bf16,
            (FsdpDtype::Auto, Precision::Fp32) => FsdpDtype::Fp32,
            (FsdpDtype::Auto, Precision::Fp16) => FsdpDtype::Fp16,
            (FsdpDtype::Auto, Precision::Bf16) => FsdpDtype::Bf16,
            (given, _) => given,
        }
    }

    /// Bytes of an element of a gradient that was not reduced yet.
    fn unreduced_bytes(&self, fp8: bool) -> u64 {
        match self.grad_comm {
            FsdpDtype::Auto => self.main_grads_dtype(fp8).bytes(),
            given => given.bytes(),
        }
    }
}

impl FsdpDtype {
    /// Bytes of an element; 0 for `auto`, which stands for no buffer or another one's dtype.
    const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 => 4,
            Self::Bf16 | Self::Fp16 => 2,
            Self::Auto => 0,
        }
    }
}

/// Whether parameters in fp8 have a second buffer, which is gathered for the backward pass: where rows and columns are
/// scaled separately.
fn transposed(m: &Module) -> bool {
    Fp8::of(m).is_some_and(|fp8| fp8.block == 32)
}
