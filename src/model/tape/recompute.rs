//! Which tensors of a tape are kept after its forward pass when some modules are recomputed or offloaded.

use super::{ActivationTensor, AutogradTape, Section, TensorId, TensorUse, UseKind};
use crate::config::NameSet;
use crate::config::choices::{OffloadModule, RecomputeGranularity, RecomputeMethod, RecomputeModule};
use crate::config::job::Module;
use crate::model::quantization::fuses_experts;

/// The settings of what is recomputed or offloaded instead of kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecomputeOptions {
    /// Modules of selective recompute; `None` when nothing is chosen.
    pub recompute: Option<NameSet<RecomputeModule>>,
    /// Modules of fine-grained offloading.
    pub offload: Option<NameSet<OffloadModule>>,
    /// Elements of the smallest tensor that they move.
    pub least: u64,
    /// Whether what fused experts save goes to the pages of a stash on the GPU.
    pub stash: bool,
    /// First layers of a model that are offloaded as a whole.
    pub layers: u64,
    /// Whether MTP layers keep only their inputs, as full recompute with method uniform has it.
    pub mtp: bool,
}

impl RecomputeOptions {
    /// Nothing is recomputed or offloaded.
    pub const NONE: Self = Self {
        recompute: None,
        offload: None,
        least: 0,
        stash: false,
        layers: 0,
        mtp: false,
    };

    /// The settings that a module's arguments ask for.
    #[must_use]
    pub fn of(m: &Module) -> Self {
        let a = &m.args;
        let granularity = a.recompute_granularity;
        let full = granularity == Some(RecomputeGranularity::Full);
        let selective = granularity == Some(RecomputeGranularity::Selective);
        Self {
            recompute: selective.then_some(a.recompute_modules),
            offload: a.fine_grained_activation_offloading.then_some(a.offload_modules),
            least: a.min_offloaded_tensor_size,
            stash: a.moe_paged_stash && fuses_experts(m),
            layers: a.cpu_offloading_num_layers,
            mtp: full && a.recompute_method == Some(RecomputeMethod::Uniform),
        }
    }

    /// Whether fine-grained offloading moves what a module saves.
    pub(crate) fn offloads(&self, module: OffloadModule) -> bool {
        self.offload.is_some_and(|set| set.contains(module))
    }

    /// The settings as far as they matter to a tape: without modules that it has no sections of.
    pub(crate) fn on(mut self, tape: &AutogradTape) -> Self {
        let modules = || tape.sections.iter().map(|section| section.module);
        let of_tape = |set: NameSet<RecomputeModule>| {
            let chosen = modules().flatten().filter(|module| set.contains(*module));
            NameSet::of(&chosen.collect::<Vec<RecomputeModule>>())
        };
        self.recompute = self.recompute.map(of_tape).filter(|set| !set.is_empty());
        self.mtp &= modules().any(|module| module.is_none());
        self
    }
}

/// The tensors that each operation of a tape keeps, and those that have to come back before its backward pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The tensors that stay alive after forward passes, in the order of the operations.
    pub(crate) keeps: Vec<Kept>,
    /// Sections that run again, in their order.
    pub(crate) again: Vec<Section>,
    /// The tensors that are moved to the host, or to the pages of a stash.
    pub(crate) moved: Vec<Offloaded>,
}

/// A tensor that stays alive after the forward pass of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) tensor: TensorId,
    pub(crate) op: usize,
}

/// A tensor that an operation keeps on the host, or in the pages of a stash. What several operations keep is moved, and
/// comes back, once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offloaded {
    pub(crate) tensor: TensorId,
    /// The operation that keeps it.
    pub(crate) op: usize,
    /// The first operation of its offload module. Once that is done backwards, what the same module of the layer
    /// before has moved comes back.
    pub(crate) first: usize,
    /// Whether it is in the pages of a stash on the GPU.
    pub(crate) stashed: bool,
}

impl Plan {
    /// The plan of a tape with these options.
    pub(crate) fn new(tape: &AutogradTape, recompute_options: RecomputeOptions) -> Self {
        let mut plan = Self {
            again: recomputed(tape, recompute_options).into_iter().cloned().collect(),
            ..Self::default()
        };
        for op in 0..tape.ops.len() {
            if !plan.runs_again(op) {
                let saved = tape.of(op, UseKind::Saved);
                plan.keeps.extend(saved.map(|tensor| Kept { tensor, op }));
            }
            for section in plan.again.iter().filter(|s| s.ops.start == op) {
                let kept = section.keeps.iter();
                plan.keeps.extend(kept.map(|tensor| Kept { tensor: *tensor, op }));
            }
        }
        plan.moved = offloaded(tape, recompute_options, &plan.keeps);
        let (again, moved) = (&plan.again, &plan.moved);
        plan.keeps.retain(|kept| {
            let same = |id: TensorId| id == kept.tensor;
            let discarded = again.iter().flat_map(|s| &s.discards).any(|id| same(*id));
            !discarded && !tape.elsewhere.contains(&kept.tensor) && !moved.iter().any(|moved| same(moved.tensor))
        });
        plan
    }

    /// What sections that start with this operation keep until the end of its backward pass.
    pub(crate) fn ends(&self, op: usize) -> impl Iterator<Item = TensorId> {
        let sections = self.again.iter().filter(move |s| s.ops.start == op);
        sections.flat_map(|s| s.keeps.iter().copied())
    }

    /// Bytes of all that comes back from the host.
    pub(crate) fn offloaded_bytes(&self, tape: &AutogradTape) -> u64 {
        let tensors = self.moved.iter().filter_map(|m| tape.get(m.tensor));
        let bytes = tensors.map(ActivationTensor::allocated);
        bytes.fold(0, u64::saturating_add)
    }

    /// Whether an operation runs again.
    pub(crate) fn runs_again(&self, op: usize) -> bool {
        self.again.iter().any(|s| s.ops.contains(&op))
    }
}

/// The tensors that stay alive between the passes of a tape, each once.
#[must_use]
pub fn kept(tape: &AutogradTape, recompute_options: RecomputeOptions) -> Vec<ActivationTensor> {
    let plan = Plan::new(tape, recompute_options);
    let ids = super::liveness::kept_tensors(&plan);
    ids.into_iter().filter_map(|id| tape.get(id).copied()).collect()
}

/// What each offload module moves: tensors that are large enough, unless other operations keep them too and the module
/// does not take them as an input, whose memory it frees by force (`forced_released_tensors`).
fn offloaded(tape: &AutogradTape, recompute_options: RecomputeOptions, keeps: &[Kept]) -> Vec<Offloaded> {
    let mut moved = Vec::new();
    let (modules, stash) = (recompute_options.offload, recompute_options.stash);
    if modules.is_none() && !stash {
        return moved;
    }
    let stashed = |module: OffloadModule| stash && module == OffloadModule::FusedGroupMlp;
    let chosen = || {
        let offloads = tape.offloads.iter();
        offloads.filter(|(module, _)| stashed(*module) || modules.is_some_and(|modules| modules.contains(*module)))
    };
    let stays = |id: TensorId| {
        let mut keepers = keeps.iter().filter(|kept| kept.tensor == id);
        keepers.any(|kept| chosen().all(|(_, other)| *other != kept.op))
    };
    let mut group = None;
    for (module, op) in chosen() {
        let first = match group {
            Some((same, first)) if same == *module => first,
            _ => *op,
        };
        group = Some((*module, first));
        for Kept { tensor, .. } in keeps.iter().filter(|kept| kept.op == *op) {
            let is_input = |link: &TensorUse| matches!(link.role, UseKind::Input(_));
            let mut inputs = tape.links(*op).iter().filter(|link| is_input(link));
            let read = inputs.any(|link| link.tensor == *tensor);
            let elements = tape.get(*tensor).map_or(0, ActivationTensor::elements);
            let stashed = stashed(*module);
            let large = stashed || elements >= recompute_options.least;
            if large && (read || !stays(*tensor)) {
                moved.push(Offloaded {
                    tensor: *tensor,
                    op: *op,
                    first,
                    stashed,
                });
            }
        }
    }
    moved
}

/// The sections that these options run again. One that lies within another is left out: the outer one
/// keeps nothing of it either.
pub(crate) fn recomputed(tape: &AutogradTape, recompute_options: RecomputeOptions) -> Vec<&Section> {
    let chosen = |section: &Section| match section.module {
        None => recompute_options.mtp,
        Some(module) => recompute_options.recompute.is_some_and(|set| set.contains(module)),
    };
    let sections = || tape.sections.iter().filter(|s| chosen(s));
    let is_within = |s: &Section, outer: &Section| {
        outer.ops.start <= s.ops.start && s.ops.end <= outer.ops.end && outer.ops.len() > s.ops.len()
    };
    let outermost = sections().filter(|s| !sections().any(|outer| is_within(s, outer)));
    let mut outermost: Vec<&Section> = outermost.collect();
    outermost.sort_by_key(|s| s.ops.start);
    outermost
}
