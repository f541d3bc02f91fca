//! What the JavaScript API returns, in its own types: the core's stay free of serialization.

use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};

use super::peaks::{Ledger, Peak, Request};
use super::reports::Reports;
use crate::config::Checked;
use crate::config::job::{Config, Module};
use crate::config::problem;
use crate::config::raw::RawJob;
use crate::memory::bucket::Bucket;
use crate::memory::parameters::Parameters;
use crate::memory::{self, ChunkEstimate, ModuleEstimate, StageEstimate, StageRef};
use crate::model::tensor::Holding;
use crate::parallel::mimo;
use crate::units::Bytes;
use crate::value::Value;

/// The largest whole number that JavaScript's numbers hold exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// A whole number: a JavaScript number where that is exact, a `BigInt` beyond.
pub(super) struct Exact(pub(super) u64);

impl Exact {
    /// A place in a list.
    fn index(index: usize) -> Self {
        Self(u64::try_from(index).unwrap_or(u64::MAX))
    }
}

impl Serialize for Exact {
    #[allow(
        clippy::cast_precision_loss,
        reason = "exact up to the largest safe integer"
    )]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 <= MAX_SAFE_INTEGER {
            serializer.serialize_f64(self.0 as f64)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

/// A list made of an iterator, without collecting it.
pub(super) struct List<F>(pub(super) F);

impl<T: Serialize, I: Iterator<Item = T>, F: Fn() -> I> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for item in (self.0)() {
            list.serialize_element(&item)?;
        }
        list.end()
    }
}

/// The result of `estimate`.
#[derive(Clone, Copy)]
pub(super) struct Estimate<'a> {
    pub(super) job: &'a RawJob,
    pub(super) config: &'a Config,
    pub(super) result: &'a memory::Estimate,
    pub(super) checked: &'a Checked,
    pub(super) request: Request,
}

impl Serialize for Estimate<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (config, result) = (self.config, self.result);
        let worst = result.worst;
        let rank = self.request.rank;
        let rank = rank.and_then(|rank| memory::rank_memory(config, result, rank));
        object!(serializer, {
            "worst_stage": Exact::index(worst.pp_rank),
            "worst_module": Exact::index(worst.module),
            "worst_rank": WorstRank(config, &result.worst_rank),
            "rank": rank.as_ref().map(|rank| Rank(self, rank)),
            "ledger": self.request.ledger.then(|| {
                let at = rank.as_ref().and_then(|rank| rank.stages.first());
                Ledger(self.job, *at.unwrap_or(&worst))
            }),
            "modules": List(|| (0..config.modules().len()).map(|index| ModuleResult(self, index))),
            "warnings": List(|| self.checked.warnings().map(|p| p.message.as_str())),
            "assumptions": List(|| {
                let freezing = memory::freezing(config, result);
                memory::assumptions(config).into_iter().chain(freezing)
            }),
        })
    }
}

struct ModuleResult<'a>(&'a Estimate<'a>, usize);

impl Serialize for ModuleResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(all, index) = *self;
        let module = all.config.modules().get(index);
        let Some((m, estimate)) = module.zip(all.result.modules.get(index)) else {
            return serializer.serialize_unit();
        };
        let stages = || {
            (0..estimate.stages.len()).filter_map(|pp_rank| {
                Stage::new(
                    all,
                    StageRef {
                        module: index,
                        pp_rank,
                    },
                    false,
                )
            })
        };
        object!(serializer, {
            "name": m.name(),
            "rank_offset": Exact(m.rank_offset()),
            "ranks": Exact(m.ranks()),
            "derived": Derived(all.config, m),
            "parameters": ModelParameters(estimate),
            "stages": List(stages),
            "reports": Reports(m, estimate),
        })
    }
}

struct Derived<'a>(&'a Config, &'a Module);

impl Serialize for Derived<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let d = self.1.derived();
        object!(serializer, {
            "world_size": Exact(self.0.world_size()),
            "data_parallel_size": Exact(d.data_parallel_size),
            "expert_data_parallel_size": Exact(d.expert_data_parallel_size),
            "expert_tensor_parallel_size": Exact(d.expert_tensor_parallel_size),
            "virtual_pipeline_model_parallel_size": Exact(d.virtual_pipeline_model_parallel_size),
            "padded_vocab_size": Exact(d.padded_vocab_size),
            "num_microbatches": Exact(d.num_microbatches),
            "global_batch_size": Exact(d.global_batch_size),
            "ffn_hidden_size": Exact(d.ffn_hidden_size),
            "kv_channels": Exact(d.kv_channels),
            "experts_per_rank": Exact(d.experts_per_rank),
            "sequence_parallel": d.sequence_parallel,
        })
    }
}

/// Parameters of the whole model.
struct ModelParameters<'a>(&'a ModuleEstimate);

impl Serialize for ModelParameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(estimate) = self;
        let p = &estimate.parameters;
        object!(serializer, {
            "total": Exact(p.total()),
            "active": Exact(estimate.active_parameters),
            "tp_sharded": Exact(p.held(Holding::TpSharded)),
            "replicated": Exact(p.held(Holding::Replicated)),
            "expert": Exact(p.held(Holding::Expert)),
            "components": Components(p),
        })
    }
}

/// Parameters on one rank.
struct HeldParameters<'a>(&'a Parameters);

impl Serialize for HeldParameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(p) = self;
        object!(serializer, {
            "total": Exact(p.total()),
            "tp_sharded": Exact(p.held(Holding::TpSharded)),
            "replicated": Exact(p.held(Holding::Replicated)),
            "expert": Exact(p.held(Holding::Expert)),
            "components": Components(p),
        })
    }
}

struct Components<'a>(&'a Parameters);

impl Serialize for Components<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("", 0)?;
        for (component, mtp, elements) in self.0.components() {
            map.serialize_field(component.id(mtp), &Exact(elements))?;
        }
        map.end()
    }
}

/// One stage with its chunks and its peak.
struct Stage<'a> {
    pp_rank: usize,
    held: &'a StageEstimate,
    peak: Peak<'a>,
}

impl<'a> Stage<'a> {
    /// A stage of the result, `chosen` where its rank was asked for. Timelines are of the chosen stages alone if
    /// there are any.
    fn new(all: &Estimate<'a>, at: StageRef, chosen: bool) -> Option<Self> {
        let held = all.result.stage(at)?;
        let modules = all.result.modules.iter();
        let timelines = match (all.request.rank, chosen) {
            (None, _) => modules.map(|module| module.stages.len()).sum(),
            (Some(_), true) => modules.count(),
            (Some(_), false) => 0,
        };
        Some(Self {
            pp_rank: at.pp_rank,
            held,
            peak: Peak {
                config: all.config,
                request: all.request,
                at,
                stage: held,
                timelines,
            },
        })
    }
}

impl Serialize for Stage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let chunks = || {
            self.held
                .chunks
                .iter()
                .enumerate()
                .map(|(vp_stage, chunk)| Chunk { vp_stage, chunk })
        };
        let mut object = serializer.serialize_struct("", 0)?;
        object.serialize_field("pp_rank", &Exact::index(self.pp_rank))?;
        object.serialize_field("chunks", &List(chunks))?;
        object.serialize_field("memory", &Memory(self.held))?;
        self.peak.write(&mut object)?;
        object.end()
    }
}

/// The rank that was asked for: what it has in all, and each of its stages.
struct Rank<'a>(&'a Estimate<'a>, &'a memory::RankMemory);

impl Serialize for Rank<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(all, rank) = self;
        let stages = || {
            let found = rank.stages.iter();
            found.filter_map(|at| Some((*at, all.result.stage(*at)?)))
        };
        let steady: Bytes = stages().map(|(_, stage)| stage.steady).sum();
        object!(serializer, {
            "rank": Exact(rank.rank),
            "memory": Buckets(&rank.memory, rank.total),
            "steady_bytes": Exact(steady.0),
            "peak_bytes": Exact(rank.total.0),
            "stages": List(|| rank.stages.iter().filter_map(|at| {
                let name = all.config.modules().get(at.module)?.name();
                Some(StageOfRank(name, Stage::new(all, *at, true)?))
            })),
        })
    }
}

struct StageOfRank<'a>(&'a str, Stage<'a>);

impl Serialize for StageOfRank<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(
            name,
            Stage {
                pp_rank,
                held,
                peak,
            },
        ) = self;
        let mut object = serializer.serialize_struct("", 0)?;
        object.serialize_field("module", name)?;
        object.serialize_field("pp_rank", &Exact::index(*pp_rank))?;
        object.serialize_field("memory", &Memory(held))?;
        peak.write(&mut object)?;
        object.end()
    }
}

struct Chunk<'a> {
    vp_stage: usize,
    chunk: &'a ChunkEstimate,
}

impl Serialize for Chunk<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(serializer, {
            "vp_stage": Exact::index(self.vp_stage),
            "layers": List(|| self.chunk.layers.clone()),
            "parameters": HeldParameters(&self.chunk.parameters),
            "kept_bytes": Exact(self.chunk.kept.0),
        })
    }
}

pub(super) struct Memory<'a>(pub(super) &'a StageEstimate);

impl Serialize for Memory<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("", 0)?;
        for bucket in Bucket::ALL {
            let Bytes(bytes) = self.0.bytes(bucket);
            map.serialize_field(bucket.id(), &Exact(bytes))?;
        }
        map.serialize_field("total", &Exact(self.0.total.0))?;
        map.end()
    }
}

/// Bytes by bucket, and their total.
pub(super) struct Buckets<'a>(pub(super) &'a [Bytes; Bucket::COUNT], pub(super) Bytes);

impl Serialize for Buckets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("", 0)?;
        for (bucket, Bytes(bytes)) in Bucket::ALL.iter().zip(self.0) {
            map.serialize_field(bucket.id(), &Exact(*bytes))?;
        }
        map.serialize_field("total", &Exact(self.1.0))?;
        map.end()
    }
}

/// The rank that needs most.
struct WorstRank<'a>(&'a Config, &'a memory::RankMemory);

impl Serialize for WorstRank<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(config, worst) = self;
        let names = || {
            let stages = worst.stages.iter();
            stages.filter_map(|at| config.modules().get(at.module).map(Module::name))
        };
        object!(serializer, {
            "rank": Exact(worst.rank),
            "modules": List(names),
            "memory": Buckets(&worst.memory, worst.total),
        })
    }
}

/// One problem with a job.
pub(super) struct Problem<'a>(&'a problem::Problem);

impl<'a> Problem<'a> {
    pub(super) fn new(problem: &'a problem::Problem) -> Self {
        Self(problem)
    }
}

impl Serialize for Problem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(problem) = self;
        object!(serializer, {
            "module": Exact::index(problem.module),
            "fields": List(|| problem.fields.iter().map(|f| f.field().name)),
            "severity": match problem.severity {
                problem::Severity::Error => "error",
                problem::Severity::Warning => "warning",
            },
            "rule": problem.rule,
            "message": problem.message.as_str(),
            "fixes": List(|| problem.fixes.iter().map(Fix)),
            "repair": problem.repair.as_ref().map(Repair),
        })
    }
}

/// Changes over several modules that belong together.
struct Repair<'a>(&'a mimo::Repair);

impl Serialize for Repair<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(repair) = self;
        object!(serializer, {
            "label": repair.label.as_str(),
            "changes": List(|| repair.changes.iter().map(Change)),
        })
    }
}

struct Change<'a>(&'a mimo::Change);

impl Serialize for Change<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = |module: &usize| Some(Exact::index(*module));
        let (module, field, value) = match self.0 {
            mimo::Change::Set {
                module,
                field,
                value,
            } => (index(module), field.name(), Value::Int(*value)),
            mimo::Change::Rename { module, name } => {
                (index(module), "name", Value::Text(name.clone()))
            }
            mimo::Change::WorldSize(ranks) => (None, "world_size", Value::Int(*ranks)),
        };
        object!(serializer, { "module": module, "field": field, "value": Plain(&value) })
    }
}

struct Fix<'a>(&'a problem::Fix);

impl Serialize for Fix<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(serializer, { "field": self.0.field.field().name, "value": Plain(&self.0.value) })
    }
}

/// Plain data as it is.
pub(super) struct Plain<'a>(pub(super) &'a Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Int(i) => match u64::try_from(*i) {
                Ok(i) => Exact(i).serialize(serializer),
                Err(_) => serializer.serialize_str(&i.to_string()),
            },
            Value::Float(x) => serializer.serialize_f64(*x),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items.iter().map(Plain)),
            Value::Map(entries) => {
                serializer.collect_map(entries.iter().map(|(k, v)| (k, Plain(v))))
            }
        }
    }
}
