//! What the JavaScript API returns: the core's results, field by field.

use super::peaks::{self, Request};
use super::reports;
use super::text::Writer;
use crate::config::Checked;
use crate::config::job::{Config, Module};
use crate::config::problem::{Problem, Severity};
use crate::config::raw::RawJob;
use crate::memory::bucket::Bucket;
use crate::memory::parameters::Parameters;
use crate::memory::{self, ChunkEstimate, ModuleEstimate, StageEstimate, StageRef};
use crate::model::tensor::Sharding;
use crate::parallel::mimo::{Change, Repair};
use crate::units::Bytes;
use crate::value::Value;

/// All that the result of `estimate` is made of.
#[derive(Clone, Copy)]
pub(super) struct Estimate<'a> {
    pub(super) job: &'a RawJob,
    pub(super) config: &'a Config,
    pub(super) result: &'a memory::Estimate,
    pub(super) checked: &'a Checked,
    pub(super) request: Request,
}

/// The result of `estimate`.
pub(super) fn estimate(w: &mut Writer, all: &Estimate<'_>) {
    let (config, result) = (all.config, all.result);
    let worst = result.worst;
    let rank = all.request.rank;
    let rank = rank.and_then(|rank| memory::rank_memory(config, result, rank));
    w.object(|w| {
        w.key("worst_stage").index(worst.pp_rank);
        w.key("worst_module").index(worst.module);
        w.key("worst_rank");
        worst_rank(w, config, &result.worst_rank);
        w.key("rank");
        match &rank {
            Some(rank) => of_rank(w, all, rank),
            None => w.null(),
        }
        w.key("ledger");
        if all.request.ledger {
            let at = rank.as_ref().and_then(|rank| rank.stages.first());
            peaks::savings(w, all.job, *at.unwrap_or(&worst));
        } else {
            w.null();
        }
        w.key("modules").list(|w| {
            let modules = config.modules().iter().zip(&result.modules);
            for (index, (m, estimate)) in modules.enumerate() {
                module(w, all, index, (m, estimate));
            }
        });
        w.key("warnings").list(|w| {
            for problem in all.checked.warnings() {
                w.text(&problem.message);
            }
        });
        w.key("assumptions").list(|w| {
            let freezing = memory::freezing(config, result);
            for text in memory::assumptions(config).into_iter().chain(freezing) {
                w.text(&text);
            }
        });
    });
}

fn module(
    w: &mut Writer,
    all: &Estimate<'_>,
    module: usize,
    (m, estimate): (&Module, &ModuleEstimate),
) {
    w.object(|w| {
        w.key("name").text(m.name());
        w.key("rank_offset").number(m.rank_offset());
        w.key("ranks").number(m.ranks());
        w.key("derived");
        derived(w, all.config, m);
        w.key("parameters");
        parameters(w, &estimate.parameters, Some(estimate.active_parameters));
        w.key("stages").list(|w| {
            for (pp_rank, held) in estimate.stages.iter().enumerate() {
                w.object(|w| {
                    w.key("pp_rank").index(pp_rank);
                    w.key("chunks").list(|w| {
                        for (vp_stage, of) in held.chunks.iter().enumerate() {
                            chunk(w, vp_stage, of);
                        }
                    });
                    w.key("memory");
                    buckets(w, &held.memory, held.total);
                    // Timelines are of the chosen rank's stages alone, if one is chosen.
                    let timelines = match all.request.rank {
                        Some(_) => 0,
                        None => all.result.modules.iter().map(|m| m.stages.len()).sum(),
                    };
                    let at = StageRef { module, pp_rank };
                    peaks::peak(w, all, (at, held), timelines);
                });
            }
        });
        w.key("reports");
        reports::of_module(w, m, estimate);
    });
}

fn derived(w: &mut Writer, config: &Config, m: &Module) {
    let d = m.derived();
    w.object(|w| {
        w.key("world_size").number(config.world_size());
        w.key("data_parallel_size").number(d.data_parallel_size);
        w.key("expert_data_parallel_size")
            .number(d.expert_data_parallel_size);
        w.key("expert_tensor_parallel_size")
            .number(d.expert_tensor_parallel_size);
        w.key("virtual_pipeline_model_parallel_size")
            .number(d.virtual_pipeline_model_parallel_size);
        w.key("padded_vocab_size").number(d.padded_vocab_size);
        w.key("num_microbatches").number(d.num_microbatches);
        w.key("global_batch_size").number(d.global_batch_size);
        w.key("ffn_hidden_size").number(d.ffn_hidden_size);
        w.key("kv_channels").number(d.kv_channels);
        w.key("experts_per_rank").number(d.experts_per_rank);
        w.key("sequence_parallel").bool(d.sequence_parallel);
    });
}

/// Parameters of a chunk on one rank, or of the whole model, of which some are active.
fn parameters(w: &mut Writer, p: &Parameters, active: Option<u64>) {
    w.object(|w| {
        w.key("total").number(p.total());
        if let Some(active) = active {
            w.key("active").number(active);
        }
        w.key("tp_sharded").number(p.held(Sharding::TpSharded));
        w.key("replicated").number(p.held(Sharding::Replicated));
        w.key("expert").number(p.held(Sharding::Expert));
        w.key("components").object(|w| {
            for (component, mtp, elements) in p.components() {
                w.key(component.id(mtp)).number(elements);
            }
        });
    });
}

fn chunk(w: &mut Writer, vp_stage: usize, chunk: &ChunkEstimate) {
    w.object(|w| {
        w.key("vp_stage").index(vp_stage);
        w.key("layers").list(|w| {
            for layer in chunk.layers.clone() {
                w.number(layer.into());
            }
        });
        w.key("parameters");
        parameters(w, &chunk.parameters, None);
        w.key("kept_bytes").number(chunk.kept.0);
    });
}

/// The rank that was asked for: what it has in all, and each of its stages.
fn of_rank(w: &mut Writer, all: &Estimate<'_>, rank: &memory::RankMemory) {
    let stages: Vec<(StageRef, &StageEstimate)> = rank
        .stages
        .iter()
        .filter_map(|at| Some((*at, all.result.stage(*at)?)))
        .collect();
    w.object(|w| {
        w.key("rank").number(rank.rank);
        w.key("memory");
        buckets(w, &rank.memory, rank.total);
        let steady: Bytes = stages.iter().map(|(_, stage)| stage.steady).sum();
        w.key("steady_bytes").number(steady.0);
        w.key("peak_bytes").number(rank.total.0);
        w.key("stages").list(|w| {
            for (at, held) in stages {
                let Some(m) = all.config.modules().get(at.module) else {
                    continue;
                };
                w.object(|w| {
                    w.key("module").text(m.name());
                    w.key("pp_rank").index(at.pp_rank);
                    w.key("memory");
                    buckets(w, &held.memory, held.total);
                    peaks::peak(w, all, (at, held), all.result.modules.len());
                });
            }
        });
    });
}

/// Bytes by bucket, and their total.
pub(super) fn buckets(w: &mut Writer, memory: &[Bytes; Bucket::COUNT], total: Bytes) {
    w.object(|w| {
        for (bucket, Bytes(bytes)) in Bucket::ALL.iter().zip(memory) {
            w.key(bucket.id()).number(*bytes);
        }
        w.key("total").number(total.0);
    });
}

/// The rank that needs most.
fn worst_rank(w: &mut Writer, config: &Config, worst: &memory::RankMemory) {
    w.object(|w| {
        w.key("rank").number(worst.rank);
        w.key("modules").list(|w| {
            for at in &worst.stages {
                if let Some(m) = config.modules().get(at.module) {
                    w.text(m.name());
                }
            }
        });
        w.key("memory");
        buckets(w, &worst.memory, worst.total);
    });
}

/// Everything that is wrong with a job.
pub(super) fn problems(w: &mut Writer, problems: &[Problem]) {
    w.list(|w| {
        for of in problems {
            problem(w, of);
        }
    });
}

fn problem(w: &mut Writer, problem: &Problem) {
    w.object(|w| {
        w.key("module").index(problem.module);
        w.key("fields").list(|w| {
            for field in &problem.fields {
                w.text(field.field().name);
            }
        });
        w.key("severity").text(match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        });
        w.key("rule").text(problem.rule);
        w.key("message").text(&problem.message);
        w.key("fixes").list(|w| {
            for fix in &problem.fixes {
                w.object(|w| {
                    w.key("field").text(fix.field.field().name);
                    w.key("value").plain(&fix.value);
                });
            }
        });
        w.key("repair");
        match &problem.repair {
            Some(repair) => changes(w, repair),
            None => w.null(),
        }
    });
}

/// Changes over several modules that belong together.
fn changes(w: &mut Writer, repair: &Repair) {
    w.object(|w| {
        w.key("label").text(&repair.label);
        w.key("changes").list(|w| {
            for change in &repair.changes {
                let (module, field, value) = match change {
                    Change::Set {
                        module,
                        field,
                        value,
                    } => (Some(*module), field.name(), Value::Int(*value)),
                    Change::Rename { module, name } => {
                        (Some(*module), "name", Value::Text(name.clone()))
                    }
                    Change::WorldSize(ranks) => (None, "world_size", Value::Int(*ranks)),
                };
                w.object(|w| {
                    w.key("module");
                    match module {
                        Some(module) => w.index(module),
                        None => w.null(),
                    }
                    w.key("field").text(field);
                    w.key("value").plain(&value);
                });
            }
        });
    });
}
