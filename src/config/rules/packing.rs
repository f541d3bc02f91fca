//! Packed samples: what their budgets must hold, and what Megatron excludes (`validate_args`, `BalancedCPScheduler`,
//! `DotProductAttention.forward`, `MLASelfAttention`).

use super::rule::FixValue::{Default, Number, Off};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{CudaGraphImpl, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::packing::longest_sample;

pub(super) const RULES: &[Rule] = &[
    rule("sample_lengths", mean_exceeds_longest),
    warning("token_budget", sample_exceeds_budget),
    rule("dynamic_context_parallel", needs_budget),
    rule("dynamic_context_parallel", sample_exceeds_all_ranks),
    rule("dynamic_context_parallel", excludes),
    rule("packed_attention", needs_transformer_engine),
];

const BUDGET: F = F::max_seqlen_per_dp_cp_rank;
const DYNAMIC: F = F::hybrid_context_parallel;

fn mean_exceeds_longest(d: &Draft<'_>) -> Option<Violation> {
    d.packing?;
    let (mean, longest) = (d.args.mean_sample_length?, longest_sample(&d.args));
    (mean > longest).then(|| {
        let message = format!("mean_sample_length {mean} is more than the longest sample, {longest}");
        let fields = [F::mean_sample_length, F::longest_sample_length, F::seq_length];
        Violation::error(&fields, message)
            .fix(F::mean_sample_length, Number(longest))
            .fix(F::mean_sample_length, Default)
    })
}

fn sample_exceeds_budget(d: &Draft<'_>) -> Option<Violation> {
    d.packing?;
    let budget = d.args.max_seqlen_per_dp_cp_rank?;
    let (all, longest) = (budget.saturating_mul(d.cp), longest_sample(&d.args));
    (!d.args.hybrid_context_parallel && longest > all).then(|| {
        let message = format!(
            "a sample of {longest} tokens is longer than max_seqlen_per_dp_cp_rank {budget} · CP {} = {all}: it is a micro \
             batch of its own, which verl refuses to run",
            d.cp
        );
        Violation::warning(&[BUDGET, F::seq_length, F::context_parallel_size], message)
            .fix(BUDGET, Number(longest.div_ceil(d.cp)))
            .fix(F::seq_length, Number(all))
    })
}

fn needs_budget(d: &Draft<'_>) -> Option<Violation> {
    (d.args.hybrid_context_parallel && d.args.max_seqlen_per_dp_cp_rank.is_none()).then(|| {
        let ranks = d.cp.saturating_mul(d.dp);
        let budget = d.args.seq_length.div_ceil(ranks);
        let message = format!(
            "hybrid_context_parallel needs max_seqlen_per_dp_cp_rank, the tokens that a GPU can hold: at least seq_length {} \
             over DP · CP {ranks} = {budget}",
            d.args.seq_length
        );
        Violation::error(&[DYNAMIC, BUDGET], message)
            .fix(BUDGET, Number(budget))
            .fix(DYNAMIC, Off)
    })
}

/// A sample runs on the next power of two of ranks (`BalancedCPScheduler.gpus_needed`), and there are DP · CP of them.
fn sample_exceeds_all_ranks(d: &Draft<'_>) -> Option<Violation> {
    d.packing?;
    let budget = d.args.max_seqlen_per_dp_cp_rank?;
    let (ranks, longest) = (d.cp.saturating_mul(d.dp), longest_sample(&d.args));
    let needed = longest.div_ceil(budget).next_power_of_two();
    (d.args.hybrid_context_parallel && needed > ranks).then(|| {
        let largest = 1 << ranks.max(1).ilog2();
        let message = format!(
            "a sample of {longest} tokens needs {needed} ranks of max_seqlen_per_dp_cp_rank {budget}, and DP · CP is {ranks}"
        );
        Violation::error(&[BUDGET, F::seq_length, F::world_size], message)
            .fix(BUDGET, Number(longest.div_ceil(largest)))
            .fix(F::seq_length, Number(budget.saturating_mul(largest)))
    })
}

fn excludes(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let (field, what, value) = if d.pp > 1 {
        let field = F::pipeline_model_parallel_size;
        (field, "pipeline stages", Number(1))
    } else if a.use_megatron_fsdp {
        (F::use_megatron_fsdp, "Megatron FSDP", Off)
    } else if a.cuda_graph_impl != CudaGraphImpl::None {
        (F::cuda_graph_impl, "CUDA graphs", Default)
    } else if a.multi_latent_attention {
        (F::multi_latent_attention, "multi_latent_attention", Off)
    } else {
        return None;
    };
    a.hybrid_context_parallel.then(|| {
        let message = format!("hybrid_context_parallel does not support {what}");
        let violation = Violation::error(&[DYNAMIC, field], message).fix(DYNAMIC, Off);
        if field == F::multi_latent_attention {
            violation
        } else {
            violation.fix(field, value)
        }
    })
}

fn needs_transformer_engine(d: &Draft<'_>) -> Option<Violation> {
    let local = d.args.transformer_impl == TransformerImpl::Local;
    (local && d.packing.is_some()).then(|| {
        let message = "transformer_impl local does not support packed samples: its attention knows one sample a row";
        let asked = if d.args.sft { F::sft } else { BUDGET };
        Violation::error(&[F::transformer_impl, asked], message)
            .fix(F::transformer_impl, Default)
            .fix(asked, Default)
    })
}
