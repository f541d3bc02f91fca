//! Keys that ask for something that Megatron-Core does not build.

use super::error::{HfProblem, HfProblemKind};
use super::family::Is;
use super::source::Source;
use crate::formats::node::Data;
use crate::formats::report::KeyStatus;

/// The first key of the file, or default of its class, that the family cannot be estimated with.
pub(super) fn find(source: &mut Source<'_>) -> Option<HfProblem> {
    for (key, is, what) in source.family.unsupported {
        let Some(found) = source.find(key) else {
            continue;
        };
        if *found.data == Data::Bool(*is == Is::On) {
            source.problem(&found, HfProblemKind::Unsupported { what });
            return source.problems.pop();
        }
        if found.in_file() {
            source.row(&found, KeyStatus::Ignored, None, "as in Megatron-Core");
        }
    }
    None
}

/// Parts of keys that no model like Llama has.
const FOREIGN: &[&str] = &[
    "alibi",
    "conv_",
    "cross_attention",
    "delta",
    "dense_layers",
    "engram",
    "hybrid",
    "hyper_connection",
    "index_",
    "kda",
    "kv_shared",
    "lightning",
    "linear_attn",
    "linear_key",
    "linear_num",
    "lora_rank",
    "mamba",
    "mla",
    "parallel_attn",
    "parallel_residual",
    "per_layer",
    "post_norm",
    "recurrent",
    "shared_kv",
    "ssm",
    "zero_expert",
];

/// The first key without a meaning for a model like Llama in the file of an unknown family that says that it is not
/// like Llama.
pub(super) fn unlike_llama(source: &Source<'_>) -> Option<HfProblem> {
    let unread = source
        .report
        .iter()
        .filter(|row| row.status == KeyStatus::Unknown && !matches!(row.value.as_str(), "0" | "false" | "[]"));
    let mut foreign = unread.filter(|row| FOREIGN.iter().any(|part| row.key.contains(part)));
    foreign.next().map(|row| HfProblem {
        key: row.key.to_string(),
        line: row.line,
        kind: HfProblemKind::NotLikeLlama,
    })
}
