//! The communication buffers of the fused token dispatchers, which allocate them beside PyTorch's allocator: the first
//! time that tokens are sent, and for the whole run.

use crate::config::choices::{FlexBackend, TokenDispatcher};
use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::source::Source;
use crate::units::{Bytes, multiply};

/// GPUs of a node, as `DeepEP` groups them (`NUM_MAX_NVL_PEERS`).
const DEEPEP_NODE: u64 = 8;
/// Multiprocessors that `DeepEP`'s kernels run on (`Buffer.num_sms`, `moe_deepep_num_sms`); two make a channel.
const DEEPEP_CHANNELS: u64 = 20 / 2;
/// Tokens that wait in each channel from each rank of the node, by the number of ranks (`Buffer.get_dispatch_config`
/// and `Buffer.get_combine_config`).
const DEEPEP_TOKENS: [(u64, u64); 10] = [
    (2, 256),
    (4, 256),
    (8, 256),
    (16, 288),
    (24, 288),
    (32, 288),
    (64, 288),
    (128, 560),
    (144, 720),
    (160, 720),
];
/// Tokens that wait in each channel from each node, before they are rounded up to what is sent at once (`Config`).
const DEEPEP_NODE_TOKENS: u64 = 128;
/// Bytes that are sent at once between nodes, for dispatch and combine, by the number of ranks.
const DEEPEP_NODE_SENDS: [(u64, [u64; 2]); 7] = [
    (16, [20, 12]),
    (24, [32, 8]),
    (32, [32, 8]),
    (64, [28, 20]),
    (128, [32, 12]),
    (144, [12, 8]),
    (160, [12, 8]),
];
/// Bytes beside a token's values: where it comes from, and the indices, probabilities and scales of up to 128 each.
const DEEPEP_BESIDE: u64 = 8 + 128 * 8 + 128 * 4 + 128 * 4;
/// `NUM_WORKSPACE_BYTES`.
const DEEPEP_WORKSPACE: u64 = 32 << 20;

/// The buffers of a module's dispatcher with their source; nothing where it has none, or where their sizes are not
/// known. `domain` is the number of GPUs of a node or of a larger `NVLink` domain.
pub(super) fn buffers(m: &Module, domain: u64) -> (Bytes, Source) {
    let ranks = multiply(m.ep, m.etp);
    let flex = m.args.moe_token_dispatcher_type == TokenDispatcher::Flex;
    let Some(moe) = m.moe.as_ref().filter(|_| flex && ranks > 1) else {
        return (Bytes::ZERO, Source::DeepepBuffers);
    };
    let hidden = m.args.moe_latent_size.unwrap_or(m.args.hidden_size);
    match m.args.moe_flex_dispatcher_backend {
        FlexBackend::DeepEp => {
            let width = m.precision.bytes().max(2);
            let bytes = deepep(multiply(hidden, width), ranks).unwrap_or_default();
            (Bytes(bytes), Source::DeepepBuffers)
        }
        FlexBackend::HybridEp => {
            let tokens = Sizes::new(m).own_tokens(&[]).elements();
            let experts = moe.num_experts / m.ep.max(1);
            let domain = domain.clamp(1, ranks);
            let bytes = hybrid_ep(tokens.next_multiple_of(16), hidden, experts, ranks, domain);
            (Bytes(bytes), Source::HybridEpBuffers)
        }
        FlexBackend::NcclEp => (Bytes::ZERO, Source::DeepepBuffers),
    }
}

/// `Config.get_nvl_buffer_size_hint` and `get_rdma_buffer_size_hint` of `DeepEP` 1.2.1, the larger of dispatch and
/// combine, and the workspace; `None` for numbers of ranks that it has no configuration for.
fn deepep(token_bytes: u64, ranks: u64) -> Option<u64> {
    let (_, waiting) = DEEPEP_TOKENS.iter().find(|(of, _)| *of == ranks)?;
    let nodes = (ranks / DEEPEP_NODE).max(1);
    let near = ranks.min(DEEPEP_NODE) * DEEPEP_CHANNELS;
    let token = token_bytes + DEEPEP_BESIDE;
    let nvlink = near * (2 * nodes + 3) * 4 + near * waiting * token;
    let rdma = DEEPEP_NODE_SENDS.iter().find(|(of, _)| *of == ranks);
    let rdma = rdma.map_or(0, |(_, sends)| {
        let waiting = sends.map(|at_once| DEEPEP_NODE_TOKENS.next_multiple_of(at_once));
        let waiting = waiting.into_iter().max().unwrap_or_default();
        let far = nodes * DEEPEP_CHANNELS;
        far * (DEEPEP_NODE * 2 + 2) * 2 * 4 + far * waiting * (token + 16) * 2
    });
    Some(nvlink.next_multiple_of(128) + rdma.next_multiple_of(128) + DEEPEP_WORKSPACE)
}

/// The buffers of `HybridEP`, with room for all tokens of all ranks in case they choose the same expert. Dispatch and
/// combine share those within the domain (`NVLCoordinator`); those between domains are their own (`RDMACoordinator`).
fn hybrid_ep(tokens: u64, hidden: u64, experts: u64, ranks: u64, domain: u64) -> u64 {
    let values = |tokens: u64| multiply(tokens, multiply(hidden, 2));
    let probabilities = |tokens: u64, experts: u64| multiply(tokens, multiply(experts, 4));
    let scales = |tokens: u64| multiply(tokens, hidden / 128 * 4);
    let of_domain = multiply(experts, domain);
    let all = multiply(tokens, ranks);
    let near = [values(all), probabilities(all, of_domain), scales(all)];
    let others = ranks.div_ceil(domain) - 1;
    let sent = multiply(tokens, others);
    let far = if others == 0 {
        0
    } else {
        let own = values(tokens) + probabilities(tokens, multiply(experts, ranks)) + scales(tokens);
        own + 3 * (values(sent) + probabilities(sent, of_domain)) + scales(sent)
    };
    near.into_iter().fold(far, u64::saturating_add)
}
