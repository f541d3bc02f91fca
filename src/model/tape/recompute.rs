//! Which tensors of a tape are kept after its forward pass when some modules are recomputed or offloaded.

use super::{ActivationTensor, Section, Tape, TensorId};
use crate::config::NameSet;
use crate::config::choices::{
    OffloadModule, RecomputeGranularity, RecomputeMethod, RecomputeModule,
};
use crate::config::job::Module;
use crate::order::sort_by_key;

/// What is recomputed or offloaded instead of kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savers {
    /// Modules of selective recompute; `None` when nothing is chosen.
    pub recompute: Option<NameSet<RecomputeModule>>,
    /// Modules of fine-grained offloading.
    pub offload: Option<NameSet<OffloadModule>>,
    /// Elements of the smallest tensor that they move.
    pub least: u64,
    /// First layers of a model that are offloaded as a whole.
    pub layers: u64,
    /// Whether MTP layers keep only their inputs, as full recompute with method uniform has it.
    pub mtp: bool,
}

impl Savers {
    /// Nothing is recomputed or offloaded.
    pub const NONE: Self = Self {
        recompute: None,
        offload: None,
        least: 0,
        layers: 0,
        mtp: false,
    };

    /// What a module asks for.
    #[must_use]
    pub fn of(m: &Module) -> Self {
        let a = &m.args;
        let granularity = a.recompute_granularity;
        let full = granularity == Some(RecomputeGranularity::Full);
        let selective = granularity == Some(RecomputeGranularity::Selective);
        Self {
            recompute: selective.then_some(a.recompute_modules),
            offload: a
                .fine_grained_activation_offloading
                .then_some(a.offload_modules),
            least: a.min_offloaded_tensor_size,
            layers: a.cpu_offloading_num_layers,
            mtp: full && a.recompute_method == Some(RecomputeMethod::Uniform),
        }
    }
}

/// What each operation of a tape keeps, and what has to come back before its backward pass.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// For each operation, what stays alive after its forward pass.
    pub(crate) keeps: Vec<Vec<TensorId>>,
    /// For each operation, further tensors that stay until the end of its backward pass.
    pub(crate) ends: Vec<Vec<TensorId>>,
    /// Sections that run again, in their order.
    pub(crate) again: Vec<Section>,
    /// What is moved to the host.
    pub(crate) moved: Vec<Moved>,
}

/// A tensor that an operation keeps on the host. What several operations keep is moved, and comes back, once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) tensor: TensorId,
    /// The operation that keeps it.
    pub(crate) op: usize,
    /// The first operation of its offload module. Once that is done backwards, what the same module of the layer
    /// before has moved comes back.
    pub(crate) first: usize,
}

impl Plan {
    /// What these savers keep of a tape.
    pub(crate) fn new(tape: &Tape, savers: Savers) -> Self {
        let again = active(tape, savers);
        let inside = |op: usize| again.iter().any(|s| s.ops.contains(&op));
        let mut withheld = vec![false; tape.tensors.len()];
        let mut mark = |id: &TensorId| {
            if let Some(slot) = withheld.get_mut(id.0 as usize) {
                *slot = true;
            }
        };
        again.iter().flat_map(|s| &s.discards).for_each(&mut mark);
        let mut keeps: Vec<Vec<TensorId>> = Vec::with_capacity(tape.ops.len());
        let mut ends = vec![Vec::new(); tape.ops.len()];
        for (index, op) in tape.ops.iter().enumerate() {
            keeps.push(if inside(index) {
                Vec::new()
            } else {
                op.saves.clone()
            });
        }
        for section in &again {
            if let Some(kept) = keeps.get_mut(section.ops.start) {
                kept.extend_from_slice(&section.keeps);
            }
            if let Some(end) = ends.get_mut(section.ops.start) {
                end.extend_from_slice(&section.keeps);
            }
        }
        let moved = offloaded(tape, savers, &keeps);
        for moved in &moved {
            mark(&moved.tensor);
        }
        for kept in &mut keeps {
            kept.retain(|id| !withheld.get(id.0 as usize).copied().unwrap_or(false));
        }
        Self {
            keeps,
            ends,
            again,
            moved,
        }
    }

    /// Bytes of all that comes back from the host.
    pub(crate) fn moved_bytes(&self, tape: &Tape) -> u64 {
        let tensors = self.moved.iter().filter_map(|m| tape.get(m.tensor));
        let bytes = tensors.map(ActivationTensor::allocated);
        bytes.fold(0, u64::saturating_add)
    }

    /// What nothing keeps: a forward pass without autograd.
    pub(crate) fn without_autograd(tape: &Tape) -> Self {
        Self {
            keeps: vec![Vec::new(); tape.ops.len()],
            ends: vec![Vec::new(); tape.ops.len()],
            again: Vec::new(),
            moved: Vec::new(),
        }
    }

    /// Whether an operation runs again.
    pub(crate) fn runs_again(&self, op: usize) -> bool {
        self.again.iter().any(|s| s.ops.contains(&op))
    }
}

/// What stays alive between the passes of a tape, each tensor once.
#[must_use]
pub fn kept(tape: &Tape, savers: Savers) -> Vec<ActivationTensor> {
    let plan = Plan::new(tape, savers);
    let ids = super::replay::kept_tensors(&plan);
    ids.into_iter()
        .filter_map(|id| tape.get(id).copied())
        .collect()
}

/// What each offload module moves: tensors that are large enough, unless other operations keep them too and the module
/// does not take them as an input, whose memory it frees by force (`forced_released_tensors`).
fn offloaded(tape: &Tape, savers: Savers, keeps: &[Vec<TensorId>]) -> Vec<Moved> {
    let mut moved = Vec::new();
    let Some(modules) = savers.offload else {
        return moved;
    };
    let chosen = || {
        tape.offloads
            .iter()
            .filter(|(module, _)| modules.contains(*module))
    };
    let stays = |id: TensorId| {
        let mut keepers = keeps.iter().enumerate();
        keepers.any(|(op, ids)| ids.contains(&id) && chosen().all(|(_, other)| *other != op))
    };
    let mut group = None;
    for (module, op) in chosen() {
        let (Some(kept), Some(of)) = (keeps.get(*op), tape.ops.get(*op)) else {
            continue;
        };
        let first = match group {
            Some((same, first)) if same == *module => first,
            _ => *op,
        };
        group = Some((*module, first));
        for id in kept {
            let read = of.inputs.iter().any(|(input, _)| input == id);
            let elements = tape.get(*id).map_or(0, |tensor| tensor.shape.elements());
            if elements >= savers.least && (read || !stays(*id)) {
                moved.push(Moved {
                    tensor: *id,
                    op: *op,
                    first,
                });
            }
        }
    }
    moved
}

/// The sections that these savers run again. One that lies within another is left out: the outer one
/// keeps nothing of it either.
fn active(tape: &Tape, savers: Savers) -> Vec<Section> {
    let chosen = |section: &Section| match section.module {
        None => savers.mtp,
        Some(module) => savers.recompute.is_some_and(|set| set.contains(module)),
    };
    let mut sections: Vec<Section> = tape
        .sections
        .iter()
        .filter(|s| chosen(s))
        .cloned()
        .collect();
    let all = sections.clone();
    sections.retain(|s| {
        !all.iter().any(|outer| {
            outer.ops.start <= s.ops.start
                && s.ops.end <= outer.ops.end
                && outer.ops.len() > s.ops.len()
        })
    });
    sort_by_key(&mut sections, |s| s.ops.start);
    sections
}
