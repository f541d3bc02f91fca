//! What layouts of one model have in common, for a search through many of them: parameters, tapes, and the memory
//! between iterations. Each is worked out once for all layouts that agree in what it depends on.

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::blocks::BlockTapes;
use super::bucket::ByBucket;
use super::buffers::graphs::KnownInFlight;
use super::buffers::{BufferRules, embedding_on_two_stages};
use super::chunk_shape::ChunkShapes;
use super::graph_phase::GraphPhase;
use super::job_moment::JobMoment;
use super::largest_states::states_of_stages;
use super::parameters::PartTable;
use super::peak::{ComparedStage, KnownBaselines, KnownParameters, KnownStates, StageBaseline, Stages};
use super::plain_tapes::{KnownOperations, LayoutPlainTapes, PlainTapes};
use super::ranks_apart::HeaviestOfEncoders;
use super::{StageBytes, peak};
use crate::config::choices::CudaGraphImpl;
use crate::config::job::Module;
use crate::config::layers::Layers;
use crate::model::Architecture;
use crate::model::quantization::Fp8;
use crate::units::Bytes;

/// Parameters of so many combinations of sizes are kept at once; those of one have some 20 KB.
const MOST_PARAMETERS: usize = 256;
/// Tapes of so many combinations of sizes are kept at once. A worker takes shares one after another that differ in their
/// pipelines alone, and seldom have more.
const MOST_TAPES: usize = 4096;
/// Tapes of so many combinations are kept with their operations; those of one have some 100 KB.
const MOST_PLAIN_TAPES: usize = 128;

/// The sizes and settings of a layout that parameters on a rank depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ParameterKey {
    tp: u64,
    cp: u64,
    ep: u64,
    etp: u64,
    sequence_parallel: bool,
    /// Whether the first and the last of several pipeline stages have the same embedding, which then has buckets of its
    /// own.
    embedding_on_two_stages: bool,
    /// The place of the module's layers among all that were met.
    layers: usize,
}

/// The sizes and settings that activations depend on besides those of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TapeKey {
    parameters: ParameterKey,
    micro_batch_size: u64,
    seq_length: u64,
    /// Bytes that the first stage receives from encoders.
    received: u64,
    saved: SavedKey,
}

impl TapeKey {
    fn of(m: &Module, parameters: ParameterKey) -> Self {
        let a = &m.args;
        Self {
            parameters,
            micro_batch_size: a.micro_batch_size,
            seq_length: a.seq_length,
            received: m.boundary.received,
            saved: SavedKey {
                recompute_granularity: a.recompute_granularity.map(|of| of as u8),
                recompute_method: a.recompute_method.map(|of| of as u8),
                recompute_num_layers: a.recompute_num_layers,
                recompute_modules: a.recompute_modules.bits(),
                distribute_saved_activations: a.distribute_saved_activations,
                fine_grained_activation_offloading: a.fine_grained_activation_offloading,
                offload_modules: a.offload_modules.bits(),
                cpu_offloading_num_layers: a.cpu_offloading_num_layers,
            },
        }
    }

    /// The sizes that the tapes of a module depend on before anything is recomputed.
    fn of_plain(self, m: &Module) -> Self {
        // Linear layers in fp8 keep other inputs where a module is recomputed (`Sizes::sharing_with`).
        match Fp8::of(m) {
            Some(_) => self,
            None => Self {
                saved: SavedKey::default(),
                ..self
            },
        }
    }
}

/// The settings of recomputation and offloading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SavedKey {
    recompute_granularity: Option<u8>,
    recompute_method: Option<u8>,
    recompute_num_layers: Option<u64>,
    recompute_modules: u32,
    distribute_saved_activations: bool,
    fine_grained_activation_offloading: bool,
    offload_modules: u32,
    cpu_offloading_num_layers: u64,
}

/// The sizes that states depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StatesKey {
    parameters: ParameterKey,
    pp: u64,
    vpp: Option<u32>,
    dp: u64,
    edp: u64,
}

/// The sizes that states and buffers depend on. The way of recomputing is none of them, so that layouts that differ in
/// it alone share their states and buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BaselineKey {
    states: StatesKey,
    micro_batch_size: u64,
    seq_length: u64,
}

/// The tables that depend only on the parameters of a rank.
pub(crate) struct ParameterTables {
    /// The parts with their parameters, without tapes: those depend on more.
    pub(crate) architecture: Architecture,
    pub(crate) local: PartTable,
    pub(crate) buffers: Rc<BufferRules>,
    pub(crate) parameters: Rc<KnownParameters>,
    shapes: ChunkShapes,
}

/// The memory of a layout's stages between iterations.
#[derive(Default)]
pub(crate) struct BaselineTables {
    pub(crate) by_parts: Rc<KnownBaselines>,
    by_pp_rank: RefCell<Vec<(u32, StageBaseline)>>,
    /// The states, which layouts with other micro batches have too.
    pub(crate) states: Rc<KnownStates>,
    pub(crate) in_flight: Rc<KnownInFlight>,
}

impl BaselineTables {
    fn of(&self, stages: &Stages<'_>, pp_rank: u32) -> StageBaseline {
        self.known(pp_rank).unwrap_or_else(|| {
            let baseline = stages.baseline(pp_rank);
            self.by_pp_rank.borrow_mut().push((pp_rank, baseline));
            baseline
        })
    }

    /// The memory of a stage that was asked for before.
    fn known(&self, pp_rank: u32) -> Option<StageBaseline> {
        let known = self.by_pp_rank.borrow();
        let known = known.iter().find(|(of, _)| *of == pp_rank);
        known.map(|(_, baseline)| *baseline)
    }
}

/// What the time of a step depends on of the memory of a language model.
pub(crate) struct LanguageStages {
    /// The memory of all stages by bucket, with model states as between iterations: of stages that have the same states,
    /// at least one.
    pub(crate) memory: Vec<ByBucket>,
    /// The tapes of their blocks before anything is recomputed.
    pub(crate) tapes: LayoutPlainTapes,
}

/// With which micro batches a layout needs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooLarge {
    /// With its own; with a larger one fewer micro batches may be in flight.
    WithThisMicroBatch,
    /// With its own and all larger ones: states, buffers and the heaviest pass of one micro batch are too much already.
    WithLargerMicroBatches,
}

/// Whether every pass needs at least as much with a larger micro batch. Not so where large tensors go to the host.
fn grows_with_micro_batch(m: &Module) -> bool {
    m.args.cpu_offloading_num_layers == 0 && !m.args.fine_grained_activation_offloading
}

/// Tables that layouts of one model share. All layouts must be of jobs that differ only in parallel sizes, the number
/// of GPUs, micro batches, and in what is recomputed or offloaded.
#[derive(Default)]
pub(crate) struct SharedTables {
    layers: Vec<Layers>,
    parameters: BTreeMap<ParameterKey, Rc<ParameterTables>>,
    tapes: BTreeMap<TapeKey, Vec<(GraphPhase, Rc<BlockTapes>)>>,
    /// The tapes of blocks with experts before anything is recomputed, of the latest layouts.
    plain: Option<(TapeKey, Rc<PlainTapes>)>,
    /// The tapes of other blocks before anything is recomputed.
    plain_without_experts: BTreeMap<TapeKey, Rc<PlainTapes>>,
    /// The operations of all tapes.
    operations: Rc<KnownOperations>,
    /// Of the latest layouts, which differ only in what is recomputed.
    baseline: Option<(BaselineKey, Rc<BaselineTables>)>,
    /// The heaviest stages of modules beside the language model.
    pub(super) encoders: HeaviestOfEncoders,
}

impl SharedTables {
    /// Whether layouts of a module can share tables: FSDP, adapters and packed samples depend on more than the keys
    /// have, and local CUDA graphs, a paged stash and graphs with overlapping passes need the operations of the tapes.
    #[must_use]
    pub(crate) fn can_share(m: &Module) -> bool {
        let local = m.args.cuda_graph_impl == CudaGraphImpl::Local;
        (!peak::captures(m) || !local && !m.args.overlap_moe_expert_parallel_comm)
            && !m.args.moe_paged_stash
            && !m.args.use_megatron_fsdp
            && !m.args.use_torch_fsdp2
            && m.adapters().is_none()
            && m.packing.is_none()
    }

    /// The stage that needs most in later iterations, the first of several: its pipeline rank and its bytes, which are
    /// those of [`estimate`](super::estimate). Beside it all stages.
    ///
    /// # Errors
    /// Where a stage has a peak that is `too_large`.
    pub(crate) fn worst_stage(
        &mut self,
        m: &Module,
        too_large: impl Fn(Bytes) -> bool,
    ) -> Result<(u32, StageBytes, LanguageStages), TooLarge> {
        let key = self.key(m);
        let tables = self.tables(key, m);
        let baseline = self.baseline(key, m);
        let plain = self.plain(TapeKey::of(m, key).of_plain(m), &tables.architecture);
        let stages = self.stages(key, m, (&tables, plain.clone()), &baseline);
        let language = |memory| LanguageStages { memory, tapes: plain };
        let layout = tables.shapes.heaviest_stages(m, &stages);
        if m.args.overlap_moe_expert_parallel_comm {
            let mut worst: Option<(u32, StageBytes)> = None;
            let mut all = Vec::with_capacity(layout.stages.len());
            for pp_rank in layout.stages.iter().map(|stage| stage.pp_rank) {
                let stage = StageBytes::from(&stages.estimate(pp_rank, JobMoment::default()));
                if too_large(stage.total) {
                    return Err(TooLarge::WithThisMicroBatch);
                }
                all.push(stage.memory);
                // The first of several.
                if worst.is_none_or(|(_, worst)| stage.total > worst.total) {
                    worst = Some((pp_rank, stage));
                }
            }
            let (pp_rank, worst) = worst.ok_or(TooLarge::WithThisMicroBatch)?;
            return Ok((pp_rank, worst, language(all)));
        }
        let of_stages = layout.stages.iter().zip(stages.phases(&layout));
        let compared = of_stages.map(|(stage, phases)| ComparedStage {
            pp_rank: stage.pp_rank,
            baseline: baseline.of(&stages, stage.pp_rank),
            static_tensors: stages.static_tensors(&layout, stage),
            phases,
        });
        let compared: Vec<ComparedStage> = compared.collect();
        // With graphs these totals are of the iterations before the capture, which a job may not have.
        let mut bounds = compared.iter().filter(|_| !peak::captures(m));
        if bounds.any(|stage| too_large(stage.baseline.beside_passes(m) + stage.phases.plain.heaviest_pass())) {
            return Err(if grows_with_micro_batch(m) {
                TooLarge::WithLargerMicroBatches
            } else {
                TooLarge::WithThisMicroBatch
            });
        }
        let heaviest = stages.heaviest_stage(&compared, too_large);
        let (pp_rank, heaviest) = heaviest.ok_or(TooLarge::WithThisMicroBatch)?;
        let all = compared.iter().map(|stage| stage.baseline.memory()).collect();
        Ok((pp_rank, heaviest, language(all)))
    }

    /// The memory of a stage between iterations, by bucket.
    pub(crate) fn states(&mut self, m: &Module, pp_rank: u32) -> ByBucket {
        let key = self.key(m);
        let baseline = self.baseline(key, m);
        if let Some(known) = baseline.known(pp_rank) {
            return known.memory();
        }
        let tables = self.tables(key, m);
        let plain = self.plain(TapeKey::of(m, key).of_plain(m), &tables.architecture);
        let stages = self.stages(key, m, (&tables, plain), &baseline);
        baseline.of(&stages, pp_rank).memory()
    }

    /// The most bytes that the model states of a stage take.
    pub(crate) fn largest_states(&mut self, m: &Module) -> Bytes {
        let key = self.key(m);
        let tables = self.tables(key, m);
        states_of_stages(m, &tables.architecture, &tables.local)
    }

    fn key(&mut self, m: &Module) -> ParameterKey {
        let known = self.layers.iter().position(|layers| *layers == m.layers);
        let layers = known.unwrap_or_else(|| {
            self.layers.push(m.layers.clone());
            self.layers.len() - 1
        });
        ParameterKey {
            tp: m.tp,
            cp: m.cp,
            ep: m.ep,
            etp: m.etp,
            sequence_parallel: m.sequence_parallel,
            embedding_on_two_stages: embedding_on_two_stages(m),
            layers,
        }
    }

    fn tables(&mut self, key: ParameterKey, m: &Module) -> Rc<ParameterTables> {
        if self.parameters.len() >= MOST_PARAMETERS && !self.parameters.contains_key(&key) {
            self.parameters.clear();
            // The totals of chunks have the numbers that these tables gave to their shapes.
            self.tapes.clear();
            self.plain = None;
        }
        let known = self.parameters.entry(key).or_insert_with(|| {
            let architecture = Architecture::new(m);
            Rc::new(ParameterTables {
                local: PartTable::local(&architecture),
                buffers: Rc::new(BufferRules::new(m, &architecture)),
                parameters: Rc::default(),
                shapes: ChunkShapes::default(),
                architecture: architecture.without_tapes(),
            })
        });
        known.clone()
    }

    /// The stages of a module with these tables and these `plain` tapes.
    fn stages<'a>(
        &mut self,
        parameters: ParameterKey,
        m: &'a Module,
        (tables, plain): (&'a ParameterTables, LayoutPlainTapes),
        baseline: &BaselineTables,
    ) -> Stages<'a> {
        let key = TapeKey::of(m, parameters);
        if self.tapes.len() >= MOST_TAPES && !self.tapes.contains_key(&key) {
            self.tapes.clear();
        }
        let known = self.tapes.entry(key).or_default();
        let tapes = |graph_phase| {
            if let Some((_, tapes)) = known.iter().find(|(of, _)| *of == graph_phase) {
                return tapes.clone();
            }
            let tapes = Rc::new(BlockTapes::new(&tables.architecture));
            known.push((graph_phase, tapes.clone()));
            tapes
        };
        Stages::shared(m, tables, (tapes, plain), baseline)
    }

    /// The tapes of layouts before anything is recomputed.
    fn plain(&mut self, key: TapeKey, architecture: &Architecture) -> LayoutPlainTapes {
        let new = || Rc::new(PlainTapes::new(architecture));
        let with_experts = match &self.plain {
            Some((of, known)) if *of == key => known.clone(),
            _ => self.plain.insert((key, new())).1.clone(),
        };
        if self.plain_without_experts.len() >= MOST_PLAIN_TAPES {
            self.plain_without_experts.clear();
        }
        let parameters = ParameterKey {
            ep: 1,
            etp: 1,
            ..key.parameters
        };
        let known = self.plain_without_experts.entry(TapeKey { parameters, ..key });
        LayoutPlainTapes {
            with_experts,
            without_experts: known.or_insert_with(new).clone(),
            operations: self.operations.clone(),
        }
    }

    fn baseline(&mut self, parameters: ParameterKey, m: &Module) -> Rc<BaselineTables> {
        let key = BaselineKey {
            states: StatesKey {
                parameters,
                pp: m.pp,
                vpp: m.stages.vpp(),
                dp: m.dp,
                edp: m.edp,
            },
            micro_batch_size: m.args.micro_batch_size,
            seq_length: m.args.seq_length,
        };
        let states = match &self.baseline {
            Some((of, known)) if *of == key => return known.clone(),
            Some((of, known)) if of.states == key.states => known.states.clone(),
            _ => Rc::default(),
        };
        let tables = Rc::new(BaselineTables {
            states,
            ..BaselineTables::default()
        });
        self.baseline.insert((key, tables)).1.clone()
    }
}
