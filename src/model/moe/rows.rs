//! How many rows of tokens there are on the way to the experts and back.

use crate::config::choices::{FlexBackend, TokenDispatcher};
use crate::config::job::Module;
use crate::model::layer_spec::Experts;
use crate::model::quantization::expert_alignment;
use crate::model::tensor::{Factor, Shape, factor};
use crate::units::multiply;

/// Tokens that NCCL-EP sends at once: a rank's tokens are rounded up to a multiple
/// (`_NCCLEPManager._ensure_bootstrap`).
const NCCL_EP_CHUNK: u64 = 64;

/// How many rows of tokens exist at each point on the way to the experts and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    /// Copies of this rank's tokens, one for each chosen expert: N.
    pub(crate) sent: Factor,
    /// Rows that arrive from the expert-parallel ranks.
    pub(crate) received: Factor,
    /// Rows that the experts of this rank work on, after the gather over expert-tensor-parallel ranks: R.
    pub(crate) routed: Factor,
    /// Rows that the experts work on, with every expert's rows filled up to what fp8 needs.
    pub(crate) aligned: Factor,
    /// All tokens of the expert-parallel ranks, with the all-gather dispatcher.
    pub(crate) all: Factor,
    /// Whether the dispatcher makes tensors of a fixed size, in which every expert's rows are filled up already.
    pub(crate) fixed: bool,
}

impl Rows {
    /// The rows of a layer on the rank that gets most. Padded to capacity, every rank gets the same number.
    pub(crate) fn new(m: &Module, moe: Experts) -> Self {
        let a = &m.args;
        let tokens = multiply(a.seq_length, a.micro_batch_size) / m.cp.max(1);
        let tokens = if m.sequence_parallel {
            tokens / m.tp.max(1)
        } else {
            tokens
        };
        let mean = multiply(tokens, moe.topk);
        if let Some(rows) = fixed(m, tokens, moe.topk) {
            let rows = factor("rows of the rank's capacity", rows);
            return Self {
                sent: factor("N (tokens · k)", mean),
                received: rows,
                routed: rows,
                aligned: rows,
                all: rows,
                fixed: true,
            };
        }
        let capacity = a.moe_expert_capacity_factor.map(|capacity| {
            // ceil(T·k / E · factor) for each expert, in whole millionths.
            let slots = u128::from(mean) * u128::from(capacity.0);
            let each = slots.div_ceil(u128::from(moe.num_experts) * 1_000_000);
            multiply(u64::try_from(each).unwrap_or(u64::MAX), moe.num_experts)
        });
        let sent = match capacity {
            Some(capacity) if a.moe_pad_expert_input_to_capacity => capacity,
            Some(capacity) => mean.min(capacity),
            None => mean,
        };
        let scaled = |rows: u64| {
            let busiest = u128::from(rows) * u128::from(moe.load_imbalance.0) / 1_000_000;
            let busiest = u64::try_from(busiest).unwrap_or(u64::MAX);
            // Dropping keeps every expert below its capacity.
            match capacity {
                Some(capacity) if a.moe_pad_expert_input_to_capacity => capacity,
                Some(capacity) => busiest.min(capacity.max(1)),
                None => busiest,
            }
        };
        let received = scaled(sent);
        let routed = multiply(received, m.etp);
        let experts = (moe.num_experts / m.ep.max(1)).max(1);
        let each = routed.div_ceil(experts).next_multiple_of(expert_alignment(m));
        let aligned = if expert_alignment(m) > 1 {
            multiply(each, experts)
        } else {
            routed
        };
        let rank_tokens = multiply(multiply(tokens, m.ep), m.etp);
        Self {
            sent: factor("N (tokens · k)", sent),
            received: factor("N · imbalance", received),
            routed: factor("R (rows at the experts)", routed),
            aligned: factor("R (rows at the experts)", aligned),
            all: factor("tokens of all expert-parallel ranks", rank_tokens),
            fixed: false,
        }
    }
}

/// Rows of this width.
pub(crate) fn rows(count: Factor, width: Factor) -> Shape {
    Shape::of(&[count, width])
}

/// The rows of every tensor that `HybridEP` or NCCL-EP hands the experts of this rank, where
/// `moe_expert_rank_capacity_factor` fixes them.
fn fixed(m: &Module, tokens: u64, topk: u64) -> Option<u64> {
    let a = &m.args;
    if a.moe_token_dispatcher_type != TokenDispatcher::Flex {
        return None;
    }
    let capacity = a.moe_expert_rank_capacity_factor?;
    let tokens = match a.moe_flex_dispatcher_backend {
        FlexBackend::DeepEp => return None,
        FlexBackend::HybridEp => tokens,
        // Tensor-parallel ranks of experts count as further experts of each token.
        FlexBackend::NcclEp => {
            let chunks = tokens.div_ceil(NCCL_EP_CHUNK);
            multiply(multiply(chunks, NCCL_EP_CHUNK), m.etp)
        }
    };
    let rows = u128::from(multiply(tokens, topk)) * u128::from(capacity.0) / 1_000_000;
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    let alignment = expert_alignment(m);
    Some(multiply(rows.div_ceil(alignment), alignment))
}
