//! Activations of the first pipeline stage, by Table 2 of <https://arxiv.org/abs/2205.05198>.

use super::super::python::{PyValue, fixed, str};
use super::super::{Interleaving, MEGABYTE};
use super::{Arguments, Stdout};
use crate::python::PythonError;

/// `compute_activation_memory`: bytes with sequence parallelism and selective recomputation.
pub(super) fn with_sequence_parallelism<'a>(
    args: &Arguments<'a>,
    num_microbatches: PyValue<'a>,
    stdout: &mut Stdout,
) -> Result<PyValue<'a>, PythonError> {
    let mut memory = ((args.seq_length * args.micro_batch_size * args.hidden_size)
        * (18 + (4 * (args.ffn_hidden_size / args.hidden_size))))
        .value()?;
    if stdout.is_verbose {
        let per_layer = (memory / MEGABYTE / args.tensor_model_parallel_size).value()?;
        stdout.line(&format!(
            "Activation memory footprint per transformer layer: {} MB",
            fixed(per_layer.float()?, 1)
        ));
    }
    memory.mul_assign(args.num_layers)?;
    memory = through_the_pipeline(args, num_microbatches, memory, stdout)?;
    if args.pipeline_model_parallel_size.equals(1)? {
        memory.add_assign(
            args.seq_length
                * args.micro_batch_size
                * args.hidden_size
                * 4
                * (1 + (args.padded_vocab_size / args.hidden_size)),
        )?;
    }
    Ok((memory / args.tensor_model_parallel_size).value()?)
}

/// `compute_activation_memory_without_sp`: bytes without sequence parallelism.
pub(super) fn without_sequence_parallelism<'a>(
    args: &Arguments<'a>,
    num_microbatches: PyValue<'a>,
    stdout: &mut Stdout,
) -> Result<PyValue<'a>, PythonError> {
    let per_layer =
        (args.seq_length * args.micro_batch_size * args.hidden_size * (10 + (24 / args.tensor_model_parallel_size)))
            .value()?;
    if stdout.is_verbose {
        let per_layer = (per_layer / MEGABYTE).value()?;
        stdout.line(&format!(
            "Activation memory footprint per transformer layer (precise, without SP): {} MB",
            fixed(per_layer.float()?, 1)
        ));
    }
    let layers = (per_layer * args.num_layers).value()?;
    let mut memory = through_the_pipeline(args, num_microbatches, layers, stdout)?;
    if args.pipeline_model_parallel_size.equals(1)? {
        let mut logits = (args.seq_length * args.micro_batch_size * args.padded_vocab_size).value()?;
        logits.div_assign(args.tensor_model_parallel_size)?;
        let final_norm = (args.seq_length * args.micro_batch_size * args.hidden_size).value()?;
        memory.add_assign((logits + final_norm) * 2)?;
    }
    memory.mul_assign(1.05)?;
    Ok(memory)
}

/// What both formulas do to the layers' activations: add the embedding of every microbatch that the
/// pipeline's depth keeps in flight, then scale for the schedule.
fn through_the_pipeline<'a>(
    args: &Arguments<'a>,
    num_microbatches: PyValue<'a>,
    layers: PyValue<'a>,
    stdout: &mut Stdout,
) -> Result<PyValue<'a>, PythonError> {
    let pipeline_size = args.pipeline_model_parallel_size;
    let virtual_size = args.virtual_pipeline_model_parallel_size;
    let mut memory = layers;
    memory.add_assign(8 * args.seq_length * args.micro_batch_size * pipeline_size)?;
    memory.add_assign(args.seq_length * args.micro_batch_size * args.hidden_size * pipeline_size)?;

    let pipeline_size = pipeline_size.value()?;
    if !virtual_size.is_none()? {
        let interleaving = Interleaving::new(pipeline_size, virtual_size.value()?)?;
        if stdout.is_verbose {
            stdout.line(&format!(
                "Memory penalty from interleaved schedule: {}",
                fixed(interleaving.penalty, 2)
            ));
            stdout.line(&format!("Number of in-flight microbatches: {}", interleaving.in_flight));
        }
        memory.mul_assign(interleaving.penalty)?;
    } else if pipeline_size.exceeds(1)? {
        let in_flight = if num_microbatches.is_none() {
            pipeline_size
        } else {
            let filled = (num_microbatches / pipeline_size).value()?;
            memory.mul_assign(PyValue::from(1).min(filled)?)?;
            num_microbatches.min(pipeline_size)?
        };
        if stdout.is_verbose {
            stdout.line(&format!("Number of in-flight microbatches: {}", str(in_flight)));
        }
    }
    Ok(memory)
}
