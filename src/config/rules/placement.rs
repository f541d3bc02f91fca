//! Warnings of layouts that run, but wait for the network: groups of ranks that reach over nodes or `NVLink` domains
//! without need, and sequences that are split too finely. The advice is that of Megatron's guides
//! (`docs/user-guide/parallelism-guide.md`, `megatron/core/transformer/moe/README.md`).

use super::rule::FixValue::{Name, Number};
use super::rule::rules;
use crate::config::choices::TokenDispatcher;
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_matches, or_list};
use crate::config::nvlink_domain::NvlinkDomain;
use crate::config::problem::Problem;

rules! { |d, a|
    warning "tensor_groups_leave_node" by(tensor_groups);
    warning "expert_groups_leave_node" by(expert_tensor_groups);
    warning "expert_groups_leave_node" by(gathered_tokens);
    warning "short_context_parts" by(short_context_parts);
}

/// Tokens of a sequence on a context-parallel rank below which no published recipe goes: Qwen3 235B-A22B of
/// Megatron-Bridge is trained on 4096 tokens with CP 2.
const SHORTEST_PART: u64 = 2048;

/// The GPUs that are joined by more than the network, where groups of so many neighboring ranks leave them.
fn left_by(d: &Draft<'_>, span: u64) -> Option<NvlinkDomain> {
    // Asked first, since most groups stay within a node and a GPU is found by comparing words.
    let node = d.args.gpus_per_node;
    if span <= node && node.is_multiple_of(span.max(1)) {
        return None;
    }
    let domain = NvlinkDomain::of(&d.args);
    let has_more = d.rank_offset.saturating_add(d.world_size) > domain.gpus;
    (has_more && !domain.holds(span)).then_some(domain)
}

/// Tensor-parallel groups, dense ones first.
fn tensor_groups(d: &Draft<'_>) -> Option<Problem> {
    let dense = (d.tp, "TP", F::tensor_model_parallel_size);
    let experts = (d.etp, "ETP", F::expert_tensor_parallel_size);
    let groups = [(true, dense), (d.has_experts(), experts)];
    let mut groups = groups.into_iter().filter(|(has, _)| *has);
    groups.find_map(|(_, (size, symbol, field))| {
        let domain = left_by(d, size)?;
        let near = near_matches(size, size, 3, &|smaller| {
            size.is_multiple_of(smaller) && domain.holds(smaller)
        });
        let message = format!(
            "{symbol} {size} groups leave the {} GPUs of a node or NVLink domain, and every layer waits for the network; Megatron's guide keeps them within it, and scales over nodes with PP and DP: {symbol} {} would stay within it",
            domain.gpus,
            or_list(&near)
        );
        let fields = [field, F::gpus_per_node];
        Some(Problem::warning(&fields, message).fix_each(field, &near))
    })
}

/// Expert-parallel groups that would stay within the domain if experts were not split as well. Large ones leave it in
/// many published recipes, where each rank has a whole expert already.
fn expert_tensor_groups(d: &Draft<'_>) -> Option<Problem> {
    if !d.has_experts() || d.etp == 1 || d.ep == 1 {
        return None;
    }
    let span = d.etp.saturating_mul(d.ep);
    let domain = left_by(d, span).filter(|domain| domain.holds(d.ep) && domain.holds(d.etp))?;
    let message = format!(
        "ETP {} · EP {} = {span} ranks leave the {} GPUs of a node or NVLink domain, so that every expert layer sends tokens over the network; Megatron's guide prefers EP over ETP: ETP 1 would stay within it",
        d.etp, d.ep, domain.gpus
    );
    let fields = [
        F::expert_tensor_parallel_size,
        F::expert_model_parallel_size,
        F::gpus_per_node,
    ];
    Some(Problem::warning(&fields, message).fix(F::expert_tensor_parallel_size, Number(1)))
}

/// The allgather dispatcher sends every token to every rank of the group, the others only to the ranks of its experts.
fn gathered_tokens(d: &Draft<'_>) -> Option<Problem> {
    let gathers = d.args.moe_token_dispatcher_type == TokenDispatcher::AllGather;
    if !gathers || !d.has_experts() || d.ep == 1 {
        return None;
    }
    let domain = left_by(d, d.etp.saturating_mul(d.ep))?;
    let message = format!(
        "EP {} leaves the {} GPUs of a node or NVLink domain, and the allgather dispatcher sends every token to every rank; Megatron's guide has it for small EP: alltoall sends each token only to its experts",
        d.ep, domain.gpus
    );
    let fields = [F::moe_token_dispatcher_type, F::expert_model_parallel_size];
    Some(Problem::warning(&fields, message).fix(F::moe_token_dispatcher_type, Name("alltoall")))
}

/// The exchange of keys and values hides behind attention only where each rank has many tokens of a sequence.
fn short_context_parts(d: &Draft<'_>) -> Option<Problem> {
    let length = d.args.seq_length;
    let is_short = |cp: u64| cp > 1 && length / cp < SHORTEST_PART;
    if d.packing.is_some() || !d.io.is_language() || !is_short(d.cp) {
        return None;
    }
    let near = near_matches(d.cp, d.cp, 3, &|cp| d.cp.is_multiple_of(cp) && !is_short(cp));
    let message = format!(
        "CP {} leaves a rank {} tokens of a sequence, too few to hide the exchange of keys and values behind attention; Megatron's guide has CP for sequences of 8192 tokens or more: CP {} would be enough for {length}",
        d.cp,
        length / d.cp,
        or_list(&near)
    );
    let fields = [F::context_parallel_size, F::seq_length];
    Some(Problem::warning(&fields, message).fix_each(F::context_parallel_size, &near))
}
