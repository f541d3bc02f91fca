//! Linear layers: what they keep, and what sequence parallelism gathers around them.

use super::norm;
use super::norm::ops::NormNames;
use super::sizes::Sizes;
use super::tape::{Tape, TensorId};
use super::tensor::{Factor, Shape};

/// A linear layer: its name, its input and output, and its weight for the gradient.
#[derive(Clone, Copy)]
pub(crate) struct Linear {
    pub(crate) name: &'static str,
    pub(crate) input: TensorId,
    /// Columns of the input.
    pub(crate) width: Factor,
    pub(crate) output: TensorId,
    /// Elements of the weight on this rank.
    pub(crate) weight: Shape,
}

/// Without gradient accumulation fusion the weight's gradient is a tensor before it is added up; frozen weights
/// have none.
pub(crate) fn weight_gradient(sizes: &Sizes<'_>, tape: &mut Tape, weight: Shape) -> Vec<TensorId> {
    let separate = !sizes.m.args.gradient_accumulation_fusion && !sizes.m.args.frozen;
    tape.tensor_if(separate, "weight gradient", weight, sizes.width())
}

/// What a linear layer keeps for its weight's gradient: nothing when the weight is frozen.
fn for_weight<'t>(sizes: &Sizes<'_>, kept: &'t [TensorId]) -> &'t [TensorId] {
    if sizes.m.args.frozen { &[] } else { kept }
}

/// Keeps its input as it is, on every rank the whole of it.
pub(crate) fn plain(sizes: &Sizes<'_>, tape: &mut Tape, linear: Linear) {
    let gradient = weight_gradient(sizes, tape, linear.weight);
    tape.op(linear.name, &[linear.input], &[linear.output])
        .saves(for_weight(sizes, &[linear.input]))
        .backward(&gradient);
}

/// Column-parallel: with sequence parallelism it gathers its input, keeps only this rank's part and
/// gathers once more in the backward pass.
pub(crate) fn column(sizes: &Sizes<'_>, tape: &mut Tape, linear: Linear) {
    let kept = [linear.input];
    column_keeping(sizes, tape, linear, &kept);
}

/// Column-parallel, keeping these instead of its input.
pub(crate) fn column_keeping(
    sizes: &Sizes<'_>,
    tape: &mut Tape,
    linear: Linear,
    kept: &[TensorId],
) {
    let whole = sizes.tokens(&[linear.width]);
    let parallel = sizes.m.sequence_parallel;
    let gathered = tape.tensor_if(parallel, "gathered input", whole, sizes.width());
    let again = tape.tensor_if(parallel, "input gathered again", whole, sizes.width());
    let sum = tape.tensor_if(
        parallel,
        "input gradient before reduce-scatter",
        whole,
        sizes.width(),
    );
    let gradient = weight_gradient(sizes, tape, linear.weight);
    tape.op(linear.name, &[linear.input], &[linear.output])
        .saves(for_weight(sizes, kept))
        .forward(&gathered)
        .backward(&again)
        .backward(&sum)
        .backward(&gradient);
}

/// A norm and a column-parallel linear layer after it. Transformer Engine has both in one module, which
/// keeps the norm's input, statistics and output; else they are two. Returns the norm's operation.
pub(crate) fn norm_column(
    sizes: &Sizes<'_>,
    tape: &mut Tape,
    names: NormNames,
    linear: Linear,
    normed: Factor,
) -> TensorId {
    let output = tape.tensor(names.output, sizes.own_tokens(&[normed]), sizes.width());
    let mut saved = norm::ops::saved(
        sizes,
        tape,
        names,
        linear.input,
        |w| sizes.own_tokens(w),
        normed,
    );
    if !sizes.kernels.norm_in_linear {
        tape.op(names.op, &[linear.input], &[output]).saves(&saved);
        column(
            sizes,
            tape,
            Linear {
                input: output,
                width: normed,
                ..linear
            },
        );
        return output;
    }
    let (whole, own) = (sizes.tokens(&[normed]), sizes.own_tokens(&[normed]));
    let parallel = sizes.m.sequence_parallel;
    let gathered = tape.tensor_if(parallel, "gathered norm output", whole, sizes.width());
    let again = tape.tensor_if(parallel, "norm output gathered again", whole, sizes.width());
    let shape = if parallel { whole } else { own };
    let sum = tape.tensor("gradient of the norm's output", shape, sizes.width());
    let gradient = weight_gradient(sizes, tape, linear.weight);
    if let [_] = for_weight(sizes, &[output]) {
        saved.insert(1, output);
    }
    tape.op(linear.name, &[linear.input], &[linear.output])
        .saves(&saved)
        .forward(&gathered)
        .backward(&again)
        .backward(&[sum])
        .backward(&gradient);
    output
}

/// Row-parallel: ranks sum up their results; with sequence parallelism each has the whole before it is scattered,
/// and the backward pass gathers the gradient.
pub(crate) fn row(sizes: &Sizes<'_>, tape: &mut Tape, linear: Linear) {
    let parallel = sizes.m.sequence_parallel;
    let whole = sizes.gathered();
    let sum = tape.tensor_if(
        parallel,
        "output before reduce-scatter",
        whole,
        sizes.width(),
    );
    let gathered = tape.tensor_if(parallel, "gathered output gradient", whole, sizes.width());
    let gradient = weight_gradient(sizes, tape, linear.weight);
    tape.op(linear.name, &[linear.input], &[linear.output])
        .saves(for_weight(sizes, &[linear.input]))
        .forward(&sum)
        .backward(&gathered)
        .backward(&gradient);
}

/// Bias, dropout and residual in one operation. Without dropout it keeps nothing, and both inputs' gradients are
/// the output's; with dropout a mask of one byte an element, and the branch gets a gradient of its own.
pub(crate) fn bias_dropout_add(
    sizes: &Sizes<'_>,
    tape: &mut Tape,
    name: &'static str,
    branch: TensorId,
    residual: TensorId,
) -> TensorId {
    use super::tape::Gradient::{New, Shared};
    let output = tape.tensor("residual stream", sizes.residual(), sizes.width());
    let mask = tape.tensor_if(sizes.hidden_dropout(), "dropout mask", sizes.residual(), 1);
    let of_branch = if sizes.hidden_dropout() { New } else { Shared };
    tape.op(name, &[branch, residual], &[output])
        .saves(&mask)
        .gradients(&[of_branch, Shared]);
    output
}
