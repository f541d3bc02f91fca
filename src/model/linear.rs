//! Linear layers: what they keep, and what sequence parallelism gathers around them.

use super::adapter::{self, AdapterInput};
use super::norm;
use super::norm::NormNames;
use super::quantization::{Fp8, quantizes_parameters};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Product, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, Shape};
use crate::config::choices::SoftwareFact;
use crate::config::fields::Args;

/// A linear layer with its input, its output and its parameters.
#[derive(Clone, Copy)]
pub(crate) struct Linear {
    pub(crate) name: &'static str,
    pub(crate) input: TensorId,
    /// Columns of the input.
    pub(crate) width: Factor,
    pub(crate) output: TensorId,
    pub(crate) weight: ParamTensor,
    pub(crate) bias: Option<ParamTensor>,
}

/// The fact of software that keeps no stand-in for the gradient of a linear layer's weight.
pub(crate) fn without_stand_in(args: &Args, of: Component) -> SoftwareFact {
    match of {
        Component::OutputLayer => SoftwareFact::NoOutputStandIn,
        Component::RoutedExperts if args.moe_grouped_gemm => SoftwareFact::NoExpertStandIns,
        _ => SoftwareFact::NoLinearStandIns,
    }
}

/// The name of the tensor that each backward pass makes for the gradient of a weight; `None` where it makes none. Without
/// gradient accumulation fusion that is the gradient itself. With fusion it is added to the main gradients at once, and
/// the tensor only stands in for it in PyTorch's graph, where the software keeps no such tensor.
fn separate_gradient(args: &Args, of: Component) -> Option<&'static str> {
    if !args.gradient_accumulation_fusion {
        Some("weight gradient")
    } else if without_stand_in(args, of).holds(args) {
        Some("stand-in for the weight gradient")
    } else {
        None
    }
}

/// The gradient of a weight, if it is a tensor; frozen weights have none. With PyTorch's FSDP2 the gradients of a whole
/// layer count while it runs, and are no tensors of its operations.
pub(crate) fn weight_gradient(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    weight: Shape,
    of: Component,
) -> Option<TensorId> {
    let args = &sizes.m.args;
    let what = separate_gradient(args, of).filter(|_| !sizes.m.is_frozen() && !args.use_torch_fsdp2)?;
    Some(tape.tensor(what, weight, sizes.width()))
}

/// The tensor of the output layer's weight gradient, which counts among its operations with FSDP2 too.
pub(crate) fn weight_gradient_of_output(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    weight: Shape,
    is_trained: bool,
) -> Option<TensorId> {
    let what = separate_gradient(&sizes.m.args, Component::OutputLayer).filter(|_| is_trained)?;
    Some(tape.tensor(what, weight, sizes.width()))
}

/// The weight gradient of one matrix of an adapter.
pub(crate) fn weight_gradient_of_adapter(sizes: &Sizes<'_>, tape: &mut AutogradTape, weight: Shape) {
    let args = &sizes.m.args;
    let separate = !args.gradient_accumulation_fusion && !args.use_torch_fsdp2;
    let gradient = tape.tensor_if(separate, "adapter: weight gradient", weight, sizes.width());
    tape.backward(gradient.as_slice());
}

/// The latest operation has the tensors around a linear layer's matrix products, besides its output and the gradient
/// of its input. The output's gradient has this shape when it is multiplied. `gathered` is the shape of the input that
/// ranks gather in both passes, if they do.
pub(crate) fn products(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    linear: &Linear,
    gathered: Option<Shape>,
    gradient: Shape,
) {
    let delays = delays(sizes, linear);
    if let Some(fp8) = sizes.fp8 {
        products_in_fp8(sizes, tape, fp8, linear, gathered, gradient);
    } else {
        if !sizes.m.is_frozen() {
            tape.saves(&[linear.input]);
        }
        let mut input = linear.input;
        if let Some(whole) = gathered {
            let width = sizes.width();
            let once = tape.tensor("gathered input", whole, width);
            // Only the weight's gradient needs it again.
            let trains = !sizes.m.is_frozen();
            let again = tape.tensor_if(trains, "input gathered again", whole, width);
            tape.forward(&[once]).backward(again.as_slice());
            input = again.unwrap_or(input);
        }
        if delays {
            tape.delays(&[input]);
        }
    }
    let component = linear.weight.component;
    // A weight gradient that is made later has no stand-in.
    let is_made = !delays || !sizes.m.args.gradient_accumulation_fusion;
    let gradient = is_made.then(|| weight_gradient(sizes, tape, linear.weight.shape, component));
    match gradient.flatten().as_slice() {
        // `_GroupedLinear.backward` has memory for it before its product is delayed.
        gradient if delays && component == Component::RoutedExperts => tape.backward(gradient).delays(gradient),
        gradient if delays => tape.weight_gradient(gradient),
        gradient => tape.backward(gradient),
    };
}

/// The matrix product of a linear layer, whose output's gradient has this shape when it is multiplied.
pub(crate) fn product(
    sizes: &Sizes<'_>,
    tape: &AutogradTape,
    linear: &Linear,
    gathered: Option<Shape>,
    output: Shape,
) -> Product {
    let input = gathered.unwrap_or_else(|| shape_of(tape, linear.input));
    let experts = (linear.weight.component == Component::RoutedExperts).then(|| {
        sizes
            .m
            .moe
            .as_ref()
            .map_or(1, |moe| moe.num_experts / sizes.m.ep.max(1))
    });
    Product {
        quantized: sizes.fp8.is_some(),
        trained: !sizes.m.is_frozen(),
        ..Product::of(
            (input.elements(), output.elements()),
            linear.weight.shape.elements(),
            experts,
        )
    }
}

/// Whether the weight gradient is computed later than the backward pass (`backward_dw`): Transformer Engine's linear
/// layers have one. The output layer keeps its own in the backward pass.
fn delays(sizes: &Sizes<'_>, linear: &Linear) -> bool {
    sizes.m.args.delay_wgrad_compute && !sizes.m.is_frozen() && linear.weight.component != Component::OutputLayer
}

/// A delayed weight gradient needs the gradient of the output, unless that is quantized or gathered.
fn delays_gradient(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear) {
    if delays(sizes, linear) && sizes.fp8.is_none() {
        tape.delays_gradient(linear.output);
    }
}

fn products_in_fp8(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    fp8: Fp8,
    linear: &Linear,
    gathered: Option<Shape>,
    gradient: Shape,
) {
    let (a, frozen) = (&sizes.m.args, sizes.m.is_frozen());
    let mut delayed = Vec::new();
    let own = tape.get(linear.input).map_or(gradient, |input| input.shape);
    // What is kept by rows to be gathered serves both passes.
    let rows = gathered.is_some() && fp8.gathers_rows;
    if fp8.original || frozen {
        if !frozen {
            tape.saves(&[linear.input]);
        }
        let quantized = tape.tensor("input in fp8", fp8.data(own), 1);
        tape.forward(&[quantized]);
    } else {
        let what = if rows || fp8.both == 1 {
            "input in fp8"
        } else {
            "input in fp8, by columns"
        };
        let kept = fp8.input(tape, what, own);
        tape.saves(&kept);
        delayed.extend(kept);
        let by_rows = tape.tensor_if(!rows && fp8.both > 1, "input in fp8, by rows", fp8.data(own), 1);
        tape.forward(by_rows.as_slice());
    }
    if let Some(whole) = gathered {
        let once = tape.tensor("gathered input in fp8", fp8.data(whole), 1);
        let copies = if rows { fp8.both } else { 1 + u64::from(fp8.reorders()) };
        let again = tape.tensor_if(!frozen, "input in fp8 gathered again", fp8.data(whole), copies);
        tape.forward(&[once]).backward(again.as_slice());
        delayed.clear();
        delayed.extend(again);
    } else if fp8.original {
        let copies = if fp8.gathers_rows { fp8.both } else { 1 };
        let again = tape.tensor("input in fp8 for its weight", fp8.data(own), copies);
        tape.backward(&[again]);
        delayed.push(again);
    }
    let quantized = tape.tensor("output gradient in fp8", fp8.data(gradient), fp8.both);
    tape.backward(&[quantized]);
    delayed.push(quantized);
    if delays(sizes, linear) {
        tape.delays(&delayed);
    }
    let transposed = tape.tensor_if(
        fp8.transposes_weights_anew(a),
        "weight in fp8, transposed",
        fp8.data(linear.weight.shape),
        1,
    );
    tape.backward(transposed.as_slice());
    // The output layer's weight is never stored in fp8.
    let of_output = linear.weight.component == Component::OutputLayer;
    if a.disable_parameter_transpose_cache && (of_output || !quantizes_parameters(sizes.m)) {
        let scales = fp8.weight_scales(linear.weight.shape);
        let weight = tape.tensor("weight in fp8", fp8.data(linear.weight.shape), fp8.weight_copies(a));
        let scales = tape.tensor("scales of the weight", scales, fp8.scale * fp8.both);
        tape.saves(&[weight, scales]);
    }
}

/// Keeps its input as it is, on every rank the whole of it.
pub(crate) fn plain(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear) {
    adapter::beside(sizes, tape, linear, |tape, linear| {
        let gradient = shape_of(tape, linear.output);
        linear.op(tape, product(sizes, tape, linear, None, gradient));
        products(sizes, tape, linear, None, gradient);
        delays_gradient(sizes, tape, linear);
        AdapterInput {
            tensor: linear.input,
            in_parts: false,
        }
    });
}

/// Column-parallel: with sequence parallelism it gathers its input, keeps only this rank's part and
/// gathers once more in the backward pass.
pub(crate) fn column(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear) {
    column_of(sizes, tape, linear, sizes.tokens(&[linear.width]));
}

/// The same with an input that has this shape on all tensor-parallel ranks together.
pub(crate) fn column_of(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear, whole: Shape) {
    adapter::beside(sizes, tape, linear, |tape, linear| {
        let gathered = sizes.m.sequence_parallel.then_some(whole);
        let gradient = shape_of(tape, linear.output);
        linear.op(tape, product(sizes, tape, linear, gathered, gradient));
        products(sizes, tape, linear, gathered, gradient);
        delays_gradient(sizes, tape, linear);
        input_gradient(sizes, tape, whole);
        AdapterInput {
            tensor: linear.input,
            in_parts: sizes.m.sequence_parallel,
        }
    });
}

/// With sequence parallelism the gradient of a gathered input is whole before it is scattered.
pub(crate) fn input_gradient(sizes: &Sizes<'_>, tape: &mut AutogradTape, whole: Shape) {
    let what = "input gradient before reduce-scatter";
    let sum = tape.tensor_if(sizes.m.sequence_parallel, what, whole, sizes.width());
    tape.backward(sum.as_slice());
}

/// A norm with a column-parallel layer after it. Transformer Engine has both in one module, which
/// keeps the norm's input, statistics and output; else they are two. Returns the norm's output.
pub(crate) fn norm_column(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (names, weight): (NormNames, ParamTensor),
    linear: &Linear,
    normed: Factor,
) -> TensorId {
    tape.declare([weight]);
    let output = tape.tensor(names.output, sizes.own_tokens(&[normed]), sizes.width());
    let of_tokens = |width: Factor| sizes.own_tokens(&[width]);
    let saved = norm::saved(sizes, tape, names, linear.input, &of_tokens, normed);
    let of_norm = Linear {
        input: output,
        width: normed,
        ..*linear
    };
    if !sizes.kernels.norm_in_linear {
        saved.by(tape.op(names.op, Work::MemoryBound, &[linear.input], &[output]));
        column(sizes, tape, &of_norm);
        return output;
    }
    let whole = sizes.tokens(&[normed]);
    let gathered = sizes.m.sequence_parallel.then_some(whole);
    adapter::beside(sizes, tape, &of_norm, |tape, of_norm| {
        let gradient = shape_of(tape, of_norm.output);
        let for_adapter = adapter::has(sizes, of_norm).then(|| {
            let in_parts = gathered.is_some() && adapter::asks_for_parts(sizes);
            let whole = gathered.filter(|_| !in_parts);
            // What goes to the adapter is gathered already (`return_layernorm_output_gathered`).
            let what = "gathered norm output for an adapter";
            let tensor = whole.map_or(output, |whole| tape.tensor(what, whole, sizes.width()));
            AdapterInput { tensor, in_parts }
        });
        let base = Linear {
            input: linear.input,
            ..*of_norm
        };
        let outputs = for_adapter.map(|input| input.tensor);
        let product = product(sizes, tape, of_norm, gathered, gradient);
        base.op_with(
            tape,
            Product {
                normed: true,
                ..product
            },
            outputs,
        );
        tape.saves(&[saved.input]);
        if for_adapter.is_some() {
            keep_norm_output(sizes, tape, output);
        }
        // Unless it is quantized, the gathered input is the same tensor.
        let returned = for_adapter.is_some_and(|input| !input.in_parts) && sizes.fp8.is_none();
        products(sizes, tape, of_norm, gathered.filter(|_| !returned), gradient);
        delays_gradient(sizes, tape, of_norm);
        saved.rest_by(tape);
        let sum = tape.tensor("gradient of the norm's output", whole, sizes.width());
        tape.backward(&[sum]);
        for_adapter.unwrap_or(AdapterInput {
            tensor: output,
            in_parts: gathered.is_some(),
        })
    });
    output
}

/// Transformer Engine keeps the norm's output although the weight is frozen, because an adapter gets it as well
/// (`_LayerNormLinear.forward`); in fp8 it is quantized.
fn keep_norm_output(sizes: &Sizes<'_>, tape: &mut AutogradTape, output: TensorId) {
    if sizes.fp8.is_none() {
        tape.saves(&[output]);
    } else {
        let shape = shape_of(tape, output);
        tape.keeps("norm output in fp8", shape, 1);
    }
}

/// Row-parallel: ranks sum up their results; with sequence parallelism each has the whole before it is scattered,
/// and the backward pass gathers the gradient.
pub(crate) fn row(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear) {
    adapter::beside(sizes, tape, linear, |tape, linear| {
        let parallel = sizes.m.sequence_parallel;
        let whole = sizes.gathered();
        let (what, width) = ("output before reduce-scatter", sizes.width());
        linear.op(tape, product(sizes, tape, linear, None, whole));
        let sum = tape.tensor_if(parallel, what, whole, width);
        let plain = parallel && sizes.fp8.is_none();
        let gathered = tape.tensor_if(plain, "gathered output gradient", whole, width);
        products(sizes, tape, linear, None, whole);
        if let Some(fp8) = sizes.fp8.filter(|_| parallel) {
            let copies = if fp8.gathers_rows { 1 } else { fp8.both };
            let own = "output gradient in fp8 before it is gathered";
            let own = tape.tensor(own, fp8.data(sizes.residual()), copies);
            let order = "columns of the output gradient before they are put into order";
            let order = tape.tensor_if(fp8.reorders(), order, fp8.data(whole), 1);
            tape.backward(&[own]).backward(order.as_slice());
        }
        tape.forward(sum.as_slice()).backward(gathered.as_slice());
        match gathered {
            Some(gathered) if delays(sizes, linear) => {
                tape.delays(&[gathered]);
            }
            _ => delays_gradient(sizes, tape, linear),
        }
        AdapterInput {
            tensor: linear.input,
            in_parts: false,
        }
    });
}

impl Linear {
    /// Its operation with its parameters, without the tensors that its products need.
    pub(crate) fn op(&self, tape: &mut AutogradTape, product: Product) {
        self.op_with(tape, product, None);
    }

    /// Writes the operation, which may put out another tensor as well.
    fn op_with(&self, tape: &mut AutogradTape, product: Product, other: Option<TensorId>) {
        tape.declare([self.weight].into_iter().chain(self.bias));
        let outputs = [Some(self.output), other];
        let outputs: Vec<TensorId> = outputs.into_iter().flatten().collect();
        tape.op(self.name, Work::Product(product), &[self.input], &outputs);
    }
}

/// The shape of a tensor.
pub(crate) fn shape_of(tape: &AutogradTape, id: TensorId) -> Shape {
    tape.get(id).map_or(Shape::of(&[]), |tensor| tensor.shape)
}

/// Bias, dropout and residual in one operation. Without dropout it keeps nothing, and both inputs' gradients are
/// the output's; with dropout a mask of one byte an element, and the branch gets a gradient of its own. A residual
/// stream in fp32 makes the sum one, and the branch is converted for it (`_bias_dropout_add_func`).
pub(crate) fn bias_dropout_add(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    name: &'static str,
    branch: TensorId,
    residual: TensorId,
) -> TensorId {
    use super::tape::Gradient::{New, Shared};
    let (stream, width) = (sizes.residual(), sizes.stream_width());
    let converts = width > sizes.width();
    let output = tape.tensor("residual stream", stream, width);
    let mask = tape.tensor_if(sizes.hidden_dropout(), "dropout mask", stream, 1);
    let unfused = converts && !sizes.m.args.bias_dropout_fusion;
    let converted = tape.tensor_if(unfused, "output of half a layer in fp32", stream, width);
    let of_branch = if sizes.hidden_dropout() || converts {
        New
    } else {
        Shared
    };
    tape.op(name, Work::MemoryBound, &[branch, residual], &[output])
        .forward(converted.as_slice())
        .saves(mask.as_slice())
        .gradients(&[of_branch, Shared]);
    output
}
