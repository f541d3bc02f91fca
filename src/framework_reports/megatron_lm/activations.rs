//! Activations of the first pipeline stage, by Table 2 of <https://arxiv.org/abs/2205.05198>.

use super::super::python::{Py, PythonError};
use super::super::{Interleaving, MEGABYTE};
use super::{Job, Stdout};

/// `compute_activation_memory`: bytes with sequence parallelism and selective recomputation.
pub(super) fn with_sequence_parallelism(
    job: Job<'_>,
    stdout: &mut Stdout,
) -> Result<Py, PythonError> {
    let arg = |name| job.args.get(name);
    let mut memory = ((arg("seq_length") * arg("micro_batch_size") * arg("hidden_size"))
        * (18 + (4 * (arg("ffn_hidden_size") / arg("hidden_size")))))
    .now()?;
    if stdout.verbose {
        let per_layer = memory / MEGABYTE / arg("tensor_model_parallel_size");
        stdout.line(&format!(
            "Activation memory footprint per transformer layer: {} MB",
            per_layer.fixed(1)?
        ));
    }
    memory *= arg("num_layers");
    let mut memory = through_the_pipeline(job, memory.now()?, stdout)?;
    if arg("pipeline_model_parallel_size").equals(1)? {
        memory += arg("seq_length")
            * arg("micro_batch_size")
            * arg("hidden_size")
            * 4
            * (1 + (arg("padded_vocab_size") / arg("hidden_size")));
        memory.now()?;
    }
    Ok((memory / arg("tensor_model_parallel_size")).now()?)
}

/// `compute_activation_memory_without_sp`: bytes without sequence parallelism.
pub(super) fn without_sequence_parallelism(
    job: Job<'_>,
    stdout: &mut Stdout,
) -> Result<Py, PythonError> {
    let arg = |name| job.args.get(name);
    let per_layer = (arg("seq_length")
        * arg("micro_batch_size")
        * arg("hidden_size")
        * (10 + (24 / arg("tensor_model_parallel_size"))))
    .now()?;
    if stdout.verbose {
        stdout.line(&format!(
            "Activation memory footprint per transformer layer (precise, without SP): {} MB",
            (per_layer / MEGABYTE).fixed(1)?
        ));
    }
    let memory = (per_layer * arg("num_layers")).now()?;
    let mut memory = through_the_pipeline(job, memory, stdout)?;
    if arg("pipeline_model_parallel_size").equals(1)? {
        let logits =
            (arg("seq_length") * arg("micro_batch_size") * arg("padded_vocab_size")).now()?;
        let logits = logits
            .div_assigned(arg("tensor_model_parallel_size"))
            .now()?;
        let final_norm =
            (arg("seq_length") * arg("micro_batch_size") * arg("hidden_size")).now()?;
        memory += (logits + final_norm) * 2;
        memory.now()?;
    }
    memory *= 1.05;
    Ok(memory.now()?)
}

/// What both formulas do to the layers' activations: add the embedding of every microbatch that the
/// pipeline's depth keeps in flight, then scale for the schedule.
fn through_the_pipeline(job: Job<'_>, layers: Py, stdout: &mut Stdout) -> Result<Py, PythonError> {
    let arg = |name| job.args.get(name);
    let pipeline_size = arg("pipeline_model_parallel_size");
    let virtual_size = "virtual_pipeline_model_parallel_size";
    let mut memory = layers;
    memory += 8 * arg("seq_length") * arg("micro_batch_size") * pipeline_size;
    memory.now()?;
    memory += arg("seq_length") * arg("micro_batch_size") * arg("hidden_size") * pipeline_size;
    memory.now()?;

    if !job.args.is_none(virtual_size)? {
        let interleaving = Interleaving::new(pipeline_size, arg(virtual_size))?;
        if stdout.verbose {
            stdout.text.push_str(&interleaving.lines()?);
        }
        memory *= interleaving.penalty;
    } else if pipeline_size.exceeds(1)? {
        let in_flight = if let Some(microbatches) = job.num_microbatches {
            memory *= Py::from(1).min(microbatches / pipeline_size);
            memory.now()?;
            microbatches.min(pipeline_size)
        } else {
            pipeline_size
        };
        let in_flight = in_flight.text()?;
        if stdout.verbose {
            stdout.line(&format!("Number of in-flight microbatches: {in_flight}"));
        }
    }
    Ok(memory.now()?)
}
