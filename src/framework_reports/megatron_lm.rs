//! The report of Megatron-LM's `megatron/training/theoretical_memory_usage.py`.
//!
//! Known to be off as a prediction, which is why it is only ever shown beside the estimate: it takes
//! the average pipeline stage for the fullest one, ignores context parallelism and counts activations
//! for the first stage alone.

mod activations;
mod layer;
mod model;
mod pattern;
mod weights;

use super::python::{Namespace, Py, PythonError, has_raised, is_none, raise, run};
use super::{BILLION, MEGABYTE};
use crate::value::Value;

/// What Megatron-LM's estimator computes and prints for one job.
#[derive(Clone, Debug, PartialEq)]
pub struct MegatronLmReport {
    /// Weights, gradients and optimizer state on the fullest rank, in bytes.
    pub weight_and_optimizer_bytes: Result<f64, PythonError>,
    /// Activations with sequence parallelism and selective recomputation, in bytes.
    pub activation_bytes: Result<f64, PythonError>,
    /// Activations without sequence parallelism, in bytes.
    pub activation_bytes_without_sp: Result<f64, PythonError>,
    /// What the report returns: weights and optimizer, activations and their sum, in units of 1024²
    /// bytes. `None` for hybrid models, which the estimator refuses.
    pub report_mb: Result<Option<[f64; 3]>, PythonError>,
    /// What the verbose report prints, up to its exception where it raises one.
    pub report_verbose_stdout: String,
}

/// The report for `args`, a map with Megatron-LM's argument names, at `num_microbatches`, a number
/// or null or nothing for "not given".
///
/// A missing name is no default but an `AttributeError` in every field whose formula reaches it; a
/// null is Python's `None`. These names are read:
///
/// - everywhere: `hidden_size`, `num_layers`, `padded_vocab_size`, `tensor_model_parallel_size`,
///   `pipeline_model_parallel_size`;
/// - for weights: `num_attention_heads`, `kv_channels`, `group_query_attention`, `num_query_groups`
///   (only with `group_query_attention`), `ffn_hidden_size`, `swiglu`, `normalization`,
///   `add_bias_linear`, `untie_embeddings_and_output_weights`, `num_experts` (null for dense
///   models), `moe_layer_freq` (a number or a list; only with experts), `moe_ffn_hidden_size` and
///   `moe_router_topk` (only with experts), `moe_shared_expert_intermediate_size` and
///   `moe_latent_size` (null for none), `moe_shared_expert_gate` (false when missing, the only
///   default), `mtp_num_layers` (null for none), `multi_latent_attention` and with it `q_lora_rank`
///   (null for none), `kv_lora_rank`, `qk_head_dim`, `qk_pos_emb_head_dim` and `v_head_dim`,
///   `world_size`, `expert_model_parallel_size`, `expert_tensor_parallel_size`,
///   `data_parallel_size` (with context parallelism inside), `use_distributed_optimizer`;
/// - for activations: `seq_length`, `micro_batch_size`, `virtual_pipeline_model_parallel_size` (null
///   for none), and `ffn_hidden_size` with sequence parallelism;
/// - for the report alone: `hybrid_layer_pattern` (null unless hybrid), `sequence_parallel`,
///   `recompute_granularity`.
#[must_use]
pub fn report(args: &Value, num_microbatches: Option<&Value>) -> MegatronLmReport {
    let job = || Job::new(args, num_microbatches);
    let run_once = |formula: Formula| {
        let mut stdout = Stdout::verbose();
        let verbose = run(|| formula(job(), &mut stdout).float());
        Once {
            // What a verbose run comes to without an exception is what a quiet one comes to.
            quiet: verbose
                .clone()
                .or_else(|_| run(|| formula(job(), &mut Stdout::quiet()).float())),
            verbose,
            text: stdout.text,
        }
    };
    let weights = run_once(weights::compute);
    let with_sp = run_once(activations::with_sequence_parallelism);
    let without_sp = run_once(activations::without_sequence_parallelism);
    let mut stdout = Stdout::verbose();
    let report_mb = run(|| {
        print_report(
            Namespace(args),
            [&weights, &with_sp, &without_sp],
            &mut stdout,
        )
    });
    MegatronLmReport {
        weight_and_optimizer_bytes: weights.quiet,
        activation_bytes: with_sp.quiet,
        activation_bytes_without_sp: without_sp.quiet,
        report_mb,
        report_verbose_stdout: stdout.text,
    }
}

type Formula = fn(Job<'_>, &mut Stdout) -> Py;

/// What a formula comes to when it prints and when it does not, which may raise another exception, and what it prints.
struct Once {
    quiet: Result<f64, PythonError>,
    verbose: Result<f64, PythonError>,
    text: String,
}

impl Once {
    /// The verbose run, as if it were run now.
    fn print(&self, stdout: &mut Stdout) -> Py {
        stdout.print(&self.text);
        match &self.verbose {
            Ok(bytes) => Py::from(*bytes),
            Err(error) => {
                raise(error.kind, &[&error.message]);
                0.into()
            }
        }
    }
}

/// The inputs of every formula.
#[derive(Clone, Copy)]
struct Job<'a> {
    args: Namespace<'a>,
    num_microbatches: Option<Py>,
}

impl<'a> Job<'a> {
    fn new(args: &'a Value, num_microbatches: Option<&Value>) -> Self {
        Self {
            args: Namespace(args),
            num_microbatches: num_microbatches
                .filter(|number| !is_none(number))
                .map(Py::from),
        }
    }
}

fn print_report(
    args: Namespace<'_>,
    [weights, with_sp, without_sp]: [&Once; 3],
    stdout: &mut Stdout,
) -> Option<[f64; 3]> {
    if !args.is_none("hybrid_layer_pattern") {
        stdout.line(&[
            "Theoretical memory footprints not yet supported for hybrid Mamba-Transformer models.",
        ]);
        return None;
    }
    let weights = weights.print(stdout) / MEGABYTE;
    let with_sequence_parallelism =
        args.truth("sequence_parallel") && args.is_text("recompute_granularity", "selective");
    let activations = if with_sequence_parallelism {
        stdout.line(&["compute_activation_memory with SP"]);
        with_sp.print(stdout)
    } else {
        stdout.line(&["compute_activation_memory_without_sp"]);
        without_sp.print(stdout)
    };
    let activations = activations / MEGABYTE;
    let amounts = [weights, activations, weights + activations];
    let [weights, activations, total] = amounts.map(|amount| amount.fixed(2));
    stdout.line(&[
        "Theoretical memory footprints: weight and optimizer=",
        &weights,
        " MB, activation=",
        &activations,
        " MB, total=",
        &total,
        " MB\n",
    ]);
    Some(amounts.map(Py::float))
}

/// What a run prints.
struct Stdout {
    verbose: bool,
    text: String,
}

impl Stdout {
    fn quiet() -> Self {
        Self {
            verbose: false,
            text: String::new(),
        }
    }

    fn verbose() -> Self {
        Self {
            verbose: true,
            ..Self::quiet()
        }
    }

    /// Prints text, unless an exception has been raised.
    fn print(&mut self, text: &str) {
        if !has_raised() {
            self.text += text;
        }
    }

    /// Prints a line, which comes in parts, unless an exception has been raised.
    fn line(&mut self, parts: &[&str]) {
        if !has_raised() {
            for part in parts {
                self.text += part;
            }
            self.text.push('\n');
        }
    }

    /// One of the verbose lines about parameters, counted in billions.
    fn billions(&mut self, what: &str, number: Py, style: Billions) {
        if !self.verbose {
            return;
        }
        let digits = if let Billions::Long = style { 4 } else { 2 };
        let text = (number / BILLION).fixed(digits);
        let is_spaced = matches!(style, Billions::Spaced) && !text.starts_with('-');
        let before = if is_spaced {
            " in billions:  "
        } else {
            " in billions: "
        };
        self.line(&[what, before, &text]);
    }
}

/// How a number of billions is printed.
#[derive(Clone, Copy)]
enum Billions {
    /// Two decimals, with a blank where a minus would stand.
    Spaced,
    /// Two decimals.
    Short,
    /// Four decimals.
    Long,
}
