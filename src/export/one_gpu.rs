//! A script that checks the estimate on one GPU: Megatron-LM with `--fake-process-group` runs one rank of the job
//! alone. It ends in a record of the run ([`crate::evidence`]), to be sent to this project.
//!
//! The flag's requirements are in `megatron/training/arguments.py`, `initialize.py` and PyTorch's `FakeProcessGroup`;
//! the line that is printed is in `report_memory` of `megatron/training/utils/common_utils.py`.

use core::fmt::Write;

mod record;

use super::launcher_changes;
use super::megatron_args::{array, program};
use crate::config;
use crate::config::choices::{CrossEntropyFusion, TokenDispatcher};
use crate::config::fields::FieldId;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::memory::{Estimate, ModuleEstimate, estimate};
use crate::parallel::groups::{Dim, View};
use crate::units::Bytes;
use crate::value::Value;

/// The most stages that are listed.
const MOST_STAGES: usize = 64;

/// The flags of the check besides the job's own: mock data, no evaluation, and a report after the second iteration, the
/// first one that starts with optimizer states.
const CHECK: &str = "    --fake-process-group
    --mock-data
    --tokenizer-type NullTokenizer
    --lr 1e-4
    --train-iters 2
    --log-interval 1
    --eval-iters 0
";

/// Comments on how to read the result.
const HOW: &str = "\
# Measures on one GPU what one rank of the job needs. With --fake-process-group Megatron-LM behaves as rank RANK of
# WORLD_SIZE and skips all communication. It cannot make Gloo groups or check for NaN then, so both are off.
#
# RANK chooses the pipeline stage: only the first rank of a data-parallel group prints, so every rank listed below is the
# first of its stage. Compare with the line \"[Rank N] (after 2 iterations) memory (MB)\", whose MB are MiB:
#
";

/// Comments on what the result does not show.
const LIMITS: &str = "\
#
# Do not compare \"reserved\" or nvidia-smi: NCCL's buffers are missing, and the allocator leaves other gaps.
# Losses and times mean nothing: nothing arrives from other ranks, so their part is this rank's own data or old memory.
";

/// The script.
#[must_use]
pub fn script(job: &RawJob, config: &Config, estimated: &Estimate) -> String {
    let Some((module, stages)) = config.modules().first().zip(estimated.modules.first()) else {
        return String::new();
    };
    if let Some((id, value, comment)) = replacement(module) {
        let mut other = job.clone();
        other.shared.set(id, Value::Text(value.to_owned()));
        let checked = config::check(&other).config;
        let measurable = checked.as_ref().filter(|config| {
            let mut left = config.modules().iter().filter_map(replacement);
            left.all(|(left, ..)| left != id)
        });
        return match measurable {
            Some(config) => format!("{comment}{}", script(&other, config, &estimate(config))),
            None => format!("{comment}# This job is refused with that.\n"),
        };
    }
    let (accepted, changes) = launcher_changes::accepted(job);
    if !changes.is_empty() {
        let comment = launcher_changes::comment(job, &accepted, &changes);
        return match config::check(&accepted).config {
            Some(config) => {
                let numbers = "# So it is measured here, in the numbers too.\n";
                format!("{comment}{numbers}{}", script(&accepted, &config, &estimate(&config)))
            }
            None => format!("{comment}# This job is refused with that.\n"),
        };
    }
    let mut out = format!("{HOW}#   RANK  stage    allocated  max allocated\n");
    for (pp_rank, stage) in stages.stages.iter().enumerate().take(MOST_STAGES) {
        if let Some(rank) = first_rank(module, pp_rank) {
            let (steady, peak) = (mib(stage.steady), mib(stage.total));
            let _ = writeln!(out, "# {rank:>6} {pp_rank:>6} {steady:>12} {peak:>14}");
        }
    }
    out.push_str(LIMITS);
    let routed = module.args().num_experts.is_some();
    if routed {
        out.push_str("# Routing is forced to be even here, as far as chance allows.\n");
    }
    out.push('\n');
    out.push_str(&array(job));
    let _ = write!(out, "CHECK_ARGS=(\n{CHECK}");
    if routed {
        out.push_str("    --moe-router-force-load-balancing\n");
    }
    if module.args().vocab_size.is_none() {
        let rows = module.derived().padded_vocab_size;
        let _ = writeln!(out, "    --vocab-size {rows}");
    }
    let world = config.world_size();
    let rank = first_rank(module, worst(stages)).unwrap_or(0);
    let program = program(&job.shared);
    let _ = write!(
        out,
        ")\n\
         # Only RANK 0 would build these.\n\
         make -C megatron/core/datasets\n\
         export WORLD_SIZE={world} RANK=${{RANK:-{rank}}} LOCAL_RANK=0\n\
         python {program} \"${{MEGATRON_ARGS[@]}}\" \"${{CHECK_ARGS[@]}}\" 2>&1 | tee {}\n",
        record::LOG
    );
    let measured: Vec<_> = stages
        .stages
        .iter()
        .enumerate()
        .filter_map(|(pp_rank, stage)| Some((first_rank(module, pp_rank)?, stage)))
        .collect();
    out + &record::command(job, &measured)
}

/// A field whose value Megatron-LM refuses with `--fake-process-group`, the value to use instead, and a comment on it.
fn replacement(module: &Module) -> Option<(FieldId, &'static str, &'static str)> {
    let args = module.args();
    if args.moe_token_dispatcher_type == TokenDispatcher::Flex {
        return Some((
            FieldId::moe_token_dispatcher_type,
            "alltoall",
            "# Megatron-LM refuses --fake-process-group with the flex dispatcher: here it is alltoall, in the numbers too.\n",
        ));
    }
    let refused = args.cross_entropy_loss_fusion && args.cross_entropy_fusion_impl == CrossEntropyFusion::Te;
    refused.then_some((
        FieldId::cross_entropy_fusion_impl,
        "native",
        "# Megatron-LM refuses Transformer Engine's cross entropy: here it is its own, in the numbers too.\n",
    ))
}

/// The pipeline rank of the stage with the largest peak.
fn worst(module: &ModuleEstimate) -> usize {
    let stages = module.stages.iter().enumerate();
    let worst = stages.reduce(|worst, next| if next.1.total > worst.1.total { next } else { worst });
    worst.map_or(0, |(pp_rank, _)| pp_rank)
}

/// The first rank of a stage: position 0 along every other dimension.
fn first_rank(module: &Module, pp_rank: usize) -> Option<u64> {
    let grids = module.rank_grids().ok()?;
    let stage = u64::try_from(pp_rank).ok()?;
    grids.view(View::Dense).rank_at(&[(Dim::Pp, stage)])
}

/// Bytes as Megatron-LM prints them: MiB with two decimals.
fn mib(bytes: Bytes) -> String {
    let hundredths = (u128::from(bytes.0) * 100 + (1 << 19)) >> 20;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
