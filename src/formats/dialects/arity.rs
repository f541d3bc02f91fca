//! How many words flags take.

use super::{mindspeed, slime};
use crate::formats::megatron_args::{self, Arity};

/// How many words a flag of Megatron-LM, slime or `MindSpeed` takes; nothing for unknown flags.
pub(crate) fn arity(flag: &str) -> Option<Arity> {
    megatron_args::arity(flag)
        .or_else(|| slime::arity(flag))
        .or_else(|| mindspeed::arity(flag))
}
