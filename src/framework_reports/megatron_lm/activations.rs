//! Activations of the first pipeline stage, by Table 2 of <https://arxiv.org/abs/2205.05198>.

use super::super::python::Py;
use super::super::{Interleaving, MEGABYTE};
use super::{Job, Stdout};

/// `compute_activation_memory`: bytes with sequence parallelism and selective recomputation.
pub(super) fn with_sequence_parallelism(job: Job<'_>, stdout: &mut Stdout) -> Py {
    let arg = |name| job.args.get(name);
    let mut memory = (arg("seq_length") * arg("micro_batch_size") * arg("hidden_size"))
        * (18 + (4 * (arg("ffn_hidden_size") / arg("hidden_size"))));
    if stdout.verbose {
        let per_layer = memory / MEGABYTE / arg("tensor_model_parallel_size");
        stdout.line(&[
            "Activation memory footprint per transformer layer: ",
            &per_layer.fixed(1),
            " MB",
        ]);
    }
    memory *= arg("num_layers");
    memory = through_the_pipeline(job, memory, stdout);
    if arg("pipeline_model_parallel_size").equals(1) {
        memory += arg("seq_length")
            * arg("micro_batch_size")
            * arg("hidden_size")
            * 4
            * (1 + (arg("padded_vocab_size") / arg("hidden_size")));
    }
    memory / arg("tensor_model_parallel_size")
}

/// `compute_activation_memory_without_sp`: bytes without sequence parallelism.
pub(super) fn without_sequence_parallelism(job: Job<'_>, stdout: &mut Stdout) -> Py {
    let arg = |name| job.args.get(name);
    let per_layer = arg("seq_length")
        * arg("micro_batch_size")
        * arg("hidden_size")
        * (10 + (24 / arg("tensor_model_parallel_size")));
    if stdout.verbose {
        stdout.line(&[
            "Activation memory footprint per transformer layer (precise, without SP): ",
            &(per_layer / MEGABYTE).fixed(1),
            " MB",
        ]);
    }
    let mut memory = through_the_pipeline(job, per_layer * arg("num_layers"), stdout);
    if arg("pipeline_model_parallel_size").equals(1) {
        let logits = arg("seq_length") * arg("micro_batch_size") * arg("padded_vocab_size");
        let logits = logits.div_assigned(arg("tensor_model_parallel_size"));
        let final_norm = arg("seq_length") * arg("micro_batch_size") * arg("hidden_size");
        memory += (logits + final_norm) * 2;
    }
    memory *= 1.05;
    memory
}

/// What both formulas do to the layers' activations: add the embedding of every microbatch that the
/// pipeline's depth keeps in flight, then scale for the schedule.
fn through_the_pipeline(job: Job<'_>, layers: Py, stdout: &mut Stdout) -> Py {
    let arg = |name| job.args.get(name);
    let pipeline_size = || arg("pipeline_model_parallel_size");
    let virtual_size = "virtual_pipeline_model_parallel_size";
    let mut memory = layers;
    memory += 8 * arg("seq_length") * arg("micro_batch_size") * pipeline_size();
    memory += arg("seq_length") * arg("micro_batch_size") * arg("hidden_size") * pipeline_size();

    if !job.args.is_none(virtual_size) {
        let interleaving = Interleaving::new(pipeline_size(), arg(virtual_size));
        if stdout.verbose {
            stdout.print(&interleaving.lines());
        }
        memory *= interleaving.penalty;
    } else if pipeline_size().exceeds(1) {
        let in_flight = if let Some(microbatches) = job.num_microbatches {
            memory *= Py::from(1).min(microbatches / pipeline_size());
            microbatches.min(pipeline_size())
        } else {
            pipeline_size()
        };
        let in_flight = in_flight.text();
        if stdout.verbose {
            stdout.line(&["Number of in-flight microbatches: ", &in_flight]);
        }
    }
    memory
}
