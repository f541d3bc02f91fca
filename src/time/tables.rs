//! The times of many layouts of one model, for a search: what layouts have in common is worked out once.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::coefficients::Coefficients;
use super::contents::{PipelineContents, recomputed_layers};
use super::cost::Seconds;
use super::hardware::Hardware;
use super::layers::{BlockTapes, Blocks, LayerTimes, Software};
use super::step::Beside;
use super::timed;
use crate::config::job::{Config, Module};
use crate::config::layers::Layers;
use crate::memory::LayoutPlainTapes;
use crate::memory::bucket::ByBucket;
use crate::model::LayerSpec;
use crate::model::quantization::Fp8;
use crate::parallel::stages::StageLayout;

/// The times of so many combinations of sizes are kept at once; those of one have less than 1 KB.
const MOST: usize = 4096;

/// The settings of recomputation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct RecomputeKey {
    granularity: Option<u8>,
    method: Option<u8>,
    num_layers: Option<u64>,
    modules: u32,
}

/// The sizes and settings of a layout that the times of its layers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The place of the module's layers among all that were met.
    layers: usize,
    tp: u64,
    cp: u64,
    ep: u64,
    etp: u64,
    sequence_parallel: bool,
    micro_batch_size: u64,
    seq_length: u64,
    recompute: RecomputeKey,
}

impl Key {
    fn of(m: &Module, layers: usize) -> Self {
        let a = &m.args;
        Self {
            layers,
            tp: m.tp,
            cp: m.cp,
            ep: m.ep,
            etp: m.etp,
            sequence_parallel: m.sequence_parallel,
            micro_batch_size: a.micro_batch_size,
            seq_length: a.seq_length,
            recompute: RecomputeKey {
                granularity: a.recompute_granularity.map(|of| of as u8),
                method: a.recompute_method.map(|of| of as u8),
                num_layers: a.recompute_num_layers,
                modules: a.recompute_modules.bits(),
            },
        }
    }

    /// The sizes that the blocks of a module depend on before anything is recomputed.
    fn of_blocks(self, m: &Module) -> Self {
        // Linear layers in fp8 keep other inputs where a module is recomputed (`Sizes::sharing_with`).
        match Fp8::of(m) {
            Some(_) => self,
            None => Self {
                recompute: RecomputeKey::default(),
                ..self
            },
        }
    }
}

/// PP, VPP, and the first layers of each chunk that run again as a whole.
type PipelineKey = (u32, Option<u32>, u64);

/// The layers of a module and the pipelines that they were split into.
#[derive(Debug)]
struct Model {
    layers: Layers,
    /// The distinct layers, in their order.
    specs: Vec<LayerSpec>,
    /// For every layer, its place in `specs`.
    places: Vec<usize>,
    pipelines: BTreeMap<PipelineKey, Vec<(StageLayout, Rc<PipelineContents>)>>,
}

impl Model {
    fn new(m: &Module) -> Self {
        let (specs, places) = LayerSpec::distinct(m);
        Self {
            layers: m.layers().clone(),
            specs,
            places,
            pipelines: BTreeMap::new(),
        }
    }

    fn pipeline(&mut self, m: &Module) -> Rc<PipelineContents> {
        let stages = m.stages();
        let key = (stages.pp(), stages.vpp(), recomputed_layers(m));
        let known = self.pipelines.entry(key).or_default();
        if let Some((_, contents)) = known.iter().find(|(layout, _)| layout == stages) {
            return contents.clone();
        }
        let contents = Rc::new(PipelineContents::new(m, &self.places, self.specs.len()));
        known.push((stages.clone(), contents.clone()));
        contents
    }

    fn blocks(
        &self,
        m: &Module,
        plain: Option<&LayoutPlainTapes>,
        (on, with): (&Hardware, &Coefficients),
    ) -> Blocks<f64> {
        let sum = |seconds: Seconds| seconds.total(with);
        let tapes = BlockTapes::new(m, &self.specs, plain);
        Blocks::new(m, (tapes, &self.places), (on, Software::default()), sum)
    }
}

/// The times of the layers of many layouts.
#[derive(Debug, Default)]
struct KnownLayers {
    times: BTreeMap<Key, Rc<LayerTimes<f64>>>,
    /// The blocks of the latest layouts, which differ only in what is recomputed.
    blocks: Option<(Key, Blocks<f64>)>,
}

impl KnownLayers {
    fn of(
        &mut self,
        key: Key,
        (m, plain): (&Module, Option<&LayoutPlainTapes>),
        model: &Model,
        by: (&Hardware, &Coefficients),
    ) -> Rc<LayerTimes<f64>> {
        if let Some(known) = self.times.get(&key) {
            return known.clone();
        }
        if self.times.len() >= MOST {
            self.times.clear();
        }
        let of_blocks = key.of_blocks(m);
        let blocks = match &self.blocks {
            Some((of, blocks)) if *of == of_blocks => blocks,
            _ => &self.blocks.insert((of_blocks, model.blocks(m, plain, by))).1,
        };
        let times = Rc::new(LayerTimes::new(m, blocks));
        self.times.insert(key, times.clone());
        times
    }
}

/// The times of layouts. All layouts must be of jobs that differ only in parallel sizes, the number of GPUs, micro
/// batches, in what is recomputed, and in the way to train.
#[derive(Debug, Default)]
pub struct TimeTables {
    /// The modules with different layers that were met.
    models: Vec<Model>,
    layers: KnownLayers,
}

impl TimeTables {
    /// Nanoseconds of a step of a layout whose stages have this memory by bucket, with the closed form of its pipeline;
    /// `None` where the prediction does not follow the job. Of stages with the same model states one is enough.
    pub fn step_nanoseconds(&mut self, config: &Config, stages: impl IntoIterator<Item = ByBucket>) -> Option<u64> {
        self.step_nanoseconds_of(config, stages, None)
    }

    /// The same for a layout that shares its `plain` tapes with others, where it does.
    pub(crate) fn step_nanoseconds_of(
        &mut self,
        config: &Config,
        stages: impl IntoIterator<Item = ByBucket>,
        plain: Option<&LayoutPlainTapes>,
    ) -> Option<u64> {
        let (m, on) = timed(config).ok()?;
        let with = Coefficients::of(m);
        let beside = Beside::new(m, stages, &on);
        if m.adapters().is_some() {
            // Which layers have adapters depends on the stages.
            let mut model = Model::new(m);
            let layers = LayerTimes::new(m, &model.blocks(m, None, (&on, &with)));
            return Some(nanoseconds(beside.seconds(m, (&model.pipeline(m), &layers), &with)));
        }
        let known = self.models.iter().position(|model| model.layers == *m.layers());
        let place = known.unwrap_or_else(|| {
            self.models.push(Model::new(m));
            self.models.len() - 1
        });
        let model = self.models.get_mut(place)?;
        let layers = self.layers.of(Key::of(m, place), (m, plain), model, (&on, &with));
        Some(nanoseconds(beside.seconds(m, (&model.pipeline(m), &layers), &with)))
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a step takes less than 2^63 ns"
)]
pub(super) fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
