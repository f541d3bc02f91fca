//! What norms keep.

use crate::config::choices::Normalization;
use crate::model::kernels::NormKernel;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, TensorId};
use crate::model::tensor::{Factor, Shape};

/// What a norm is called, its output and its statistics.
#[derive(Clone, Copy)]
pub(crate) struct NormNames {
    pub(crate) op: &'static str,
    pub(crate) output: &'static str,
    pub(crate) statistics: &'static str,
}

const fn names(op: &'static str, output: &'static str, statistics: &'static str) -> NormNames {
    NormNames {
        op,
        output,
        statistics,
    }
}

/// The norm before attention.
pub(crate) const INPUT: NormNames = names(
    "input_layernorm",
    "input norm output",
    "input norm statistics",
);
/// The norm before the MLP.
pub(crate) const PRE_MLP: NormNames = names(
    "pre_mlp_layernorm",
    "pre-MLP norm output",
    "pre-MLP norm statistics",
);
/// The norm on compressed queries.
pub(crate) const QUERY: NormNames =
    names("q_layernorm", "query norm output", "query norm statistics");
/// The norm on compressed keys and values.
pub(crate) const KEY_VALUE: NormNames = names(
    "kv_layernorm",
    "key and value norm output",
    "key and value norm statistics",
);
/// The norm after the last layer.
pub(crate) const FINAL: NormNames = names(
    "final_layernorm",
    "final norm output",
    "final norm statistics",
);
/// A vision encoder's norm before its layers.
pub(crate) const BEFORE_LAYERS: NormNames =
    names("ln_pre", "output of ln_pre", "statistics of ln_pre");
/// A vision encoder's norm after its layers.
pub(crate) const AFTER_LAYERS: NormNames =
    names("ln_post", "output of ln_post", "statistics of ln_post");
/// The norm in a projector.
pub(crate) const PROJECTOR_NORM: NormNames =
    names("norm", "projector norm output", "projector norm statistics");
/// MTP: the norm of the embedding.
pub(crate) const ENORM: NormNames = names(
    "enorm",
    "MTP: normed embedding",
    "MTP: embedding norm statistics",
);
/// MTP: the norm of the hidden states.
pub(crate) const HNORM: NormNames = names(
    "hnorm",
    "MTP: normed hidden states",
    "MTP: hidden states norm statistics",
);
/// MTP: the norm after its layer.
pub(crate) const MTP_FINAL: NormNames = names(
    "MTP final_layernorm",
    "MTP: final norm output",
    "MTP: final norm statistics",
);

/// What a norm keeps of its input.
#[derive(Clone, Copy)]
pub(crate) struct Saved {
    /// The input, or a copy of it.
    pub(crate) input: TensorId,
    /// A second copy.
    pub(crate) copy: Option<TensorId>,
    pub(crate) statistics: TensorId,
}

impl Saved {
    /// The latest operation keeps it.
    pub(crate) fn by(self, tape: &mut AutogradTape) {
        tape.saves(&[self.input]);
        self.rest_by(tape);
    }

    /// The latest operation keeps what follows the input.
    pub(crate) fn rest_by(self, tape: &mut AutogradTape) {
        let copy = self.copy.as_slice();
        tape.saves(copy).saves(&[self.statistics]);
    }
}

/// What a norm over rows of this shape keeps of its input: the input itself with statistics in fp32.
///
/// PyTorch's `RMSNorm` is a chain of operations in fp32 and keeps two fp32 copies of its input instead.
pub(crate) fn saved(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    norm: NormNames,
    input: TensorId,
    rows: &dyn Fn(&[Factor]) -> Shape,
    width: Factor,
) -> Saved {
    let statistics = rows(&[sizes.norm_stats()]);
    let mut saved = Saved {
        input,
        copy: None,
        statistics: tape.tensor(norm.statistics, statistics, sizes.stats_width()),
    };
    if sizes.kernels.norm == NormKernel::Torch
        && sizes.m.args.normalization == Normalization::RmsNorm
    {
        saved.input = tape.tensor("norm input in fp32", rows(&[width]), 4);
        saved.copy = Some(tape.tensor("normalized input in fp32", rows(&[width]), 4));
    }
    saved
}

/// A norm of its own on the residual stream; returns its output.
pub(crate) fn residual_norm(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    norm: NormNames,
    input: TensorId,
) -> TensorId {
    token_norm(sizes, tape, norm, input, super::super::hidden(sizes.m))
}

/// A norm of its own on this rank's tokens, so wide; returns its output.
pub(crate) fn token_norm(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    norm: NormNames,
    input: TensorId,
    width: Factor,
) -> TensorId {
    let output = tape.tensor(norm.output, sizes.own_tokens(&[width]), sizes.width());
    let saved = saved(sizes, tape, norm, input, &|w| sizes.own_tokens(w), width);
    saved.by(tape.op(norm.op, &[input], &[output]));
    output
}
