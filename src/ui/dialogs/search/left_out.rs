//! How many combinations a search left out, and why.

use leptos::prelude::*;

use super::state::SearchState;
use megatron_memory::report::amount::grouped;
use megatron_memory::search::Slice;

/// What rules that layouts meet ask for, by the rule's id. Other rules are shown by their ids.
const RULES: [(&str, &str); 26] = [
    ("not_modelled", "their settings are not modelled together"),
    ("fsdp_pipeline", "Megatron FSDP has no pipeline stages"),
    ("stages", "the layers do not fall into that many stages"),
    ("vpp_twice", "virtual stages are given another way"),
    ("microbatch_group", "the group of micro batches is smaller than PP"),
    ("heads_by_tp", "TP must divide the heads"),
    (
        "groups_by_tp",
        "TP must divide the query groups, or be a multiple of them",
    ),
    ("ffn_by_tp", "TP must divide the FFN size"),
    ("padded_vocabulary_by_tp", "TP must divide the padded vocabulary"),
    ("shared_width_by_tp", "TP must divide the width of the shared experts"),
    (
        "sequence_by_tp",
        "with sequence parallelism TP must divide a rank's sequence",
    ),
    ("sequence_by_cp", "2 · CP must divide the sequence"),
    (
        "linear_heads_by_ranks",
        "TP · CP must divide the heads of linear attention",
    ),
    ("world_holds_one_copy", "TP · PP · CP is more than the GPUs"),
    ("world_by_copy", "TP · PP · CP must divide the GPUs"),
    ("optimizer_instances", "the optimizer's instances must divide DP · CP"),
    (
        "optimizer_instances_experts",
        "the optimizer's instances must divide the experts' DP",
    ),
    ("ep_needs_experts", "EP needs experts"),
    ("experts_by_ep", "EP must divide the experts"),
    ("expert_width_by_etp", "ETP must divide the experts' width"),
    ("expert_bias_needs_etp_1", "biases of experts need ETP 1"),
    ("expert_grid", "ETP · EP must divide the GPUs of a stage"),
    (
        "global_batch",
        "the global batch must be a multiple of micro batch · DP",
    ),
    (
        "microbatches_fill_group",
        "too few micro batches for the interleaved schedule",
    ),
    ("last_group", "the last group of micro batches is smaller than PP"),
    ("modules", "the ranks cannot be divided among the modules"),
];

/// A line that opens into the reasons.
#[component]
pub(super) fn LeftOut() -> impl IntoView {
    let search: SearchState = expect_context();
    let reasons = Memo::new(move |_| reasons(search.table.read().counts()));
    let total = move || reasons.read().iter().map(|(combinations, _)| combinations).sum();
    let rows = move || {
        let reasons = reasons.get().into_iter();
        reasons
            .map(|(combinations, why)| view! { <li>{format!("{}: {why}", grouped(combinations))}</li> })
            .collect_view()
    };
    view! {
        <details class="layouts-left">
            <summary>{move || format!("Why {} were left out", grouped(total()))}</summary>
            <ul>{rows}</ul>
        </details>
    }
}

/// Reasons with how many combinations they left out, most first.
fn reasons(slice: &Slice) -> Vec<(u64, String)> {
    let rules = slice.refused.iter().map(|(rule, combinations)| {
        let words = RULES.iter().find(|(name, _)| name == rule);
        let words = words.map_or(rule.as_str(), |(_, words)| words);
        (*combinations, format!("Megatron: {words}"))
    });
    let bounds = slice.out_of_bounds.iter();
    let bounds = bounds.map(|(axis, combinations)| (*combinations, format!("your limit on {}", axis.symbol())));
    let too_large = (slice.too_large > 0).then(|| (slice.too_large, "more memory than the GPU has".to_owned()));
    let cannot_fit = (slice.cannot_fit > 0).then(|| {
        let why = "weights, gradients and optimizer states alone are more than the GPU has";
        (slice.cannot_fit, why.to_owned())
    });
    let of_memory = too_large.into_iter().chain(cannot_fit);
    let mut reasons: Vec<(u64, String)> = rules.chain(bounds).chain(of_memory).collect();
    reasons.sort_by_key(|(combinations, _)| core::cmp::Reverse(*combinations));
    reasons
}
