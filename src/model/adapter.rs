//! Adapters beside linear layers, as Megatron-Bridge builds them (`ParallelLinearAdapter`): the input times a low
//! matrix A, times a matrix B, times alpha over the rank, added to the output of the frozen layer. Only A and B are
//! trained.

mod parameters;
mod passes;

use super::items::{merged_count, of_items};
use super::linear::Linear;
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId};
use super::tensor::{Factor, Shape, Sharding, factor};
use crate::config::adapters::{Adapters, LinearModule};
use crate::config::choices::AdapterType;

/// How tensor-parallel ranks split a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parallel {
    /// By columns of its output.
    Column,
    /// By rows of its input.
    Row,
    /// Not at all.
    Whole,
}

/// The input of a linear layer, as its adapter gets it.
#[derive(Clone, Copy)]
pub(crate) struct AdapterInput {
    /// The tensor.
    pub(crate) tensor: TensorId,
    /// Whether it has this rank's tokens alone, although the layer needs those of all tensor-parallel ranks.
    pub(crate) in_parts: bool,
}

/// The adapter of one linear layer.
struct Adapter<'a> {
    sizes: &'a Sizes<'a>,
    adapters: &'a Adapters,
    module: LinearModule,
    linear: &'a Linear,
    parallel: Parallel,
}

/// Whether a linear layer has an adapter.
pub(crate) fn has(sizes: &Sizes<'_>, linear: &Linear) -> bool {
    module_of(sizes, linear).is_some()
}

/// Whether the adapter of a linear layer gathers its input itself, so that it can keep this rank's part.
pub(crate) fn asks_for_parts(sizes: &Sizes<'_>) -> bool {
    let adapters = sizes.m.adapters();
    adapters.is_some_and(|adapters| adapters.regathers_input)
}

fn module_of(sizes: &Sizes<'_>, linear: &Linear) -> Option<LinearModule> {
    if sizes.adapted.is_empty() {
        return None;
    }
    LinearModule::of_weight(linear.weight.name).filter(|module| sizes.adapted.has(*module))
}

/// Builds a linear layer and its adapter, if it has one. `build` makes the layer itself and gives the adapter's input.
pub(crate) fn beside(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    linear: &Linear,
    build: impl FnOnce(&mut AutogradTape, &Linear) -> AdapterInput,
) {
    let Some(adapter) = Adapter::of(sizes, linear) else {
        build(tape, linear);
        return;
    };
    let what = "output of a linear layer before its adapter's is added";
    let output = tape.tensor(what, super::linear::shape_of(tape, linear.output), sizes.width());
    let base = Linear { output, ..*linear };
    let input = build(tape, &base);
    let (family, source) = tape.about();
    adapter.declare(tape);
    adapter.run(tape, input, output);
    tape.at(family, source);
}

/// The adapter of a linear layer whose operations are built elsewhere: only its parameters.
pub(crate) fn declare(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear) {
    if let Some(adapter) = Adapter::of(sizes, linear) {
        adapter.declare(tape);
    }
}

impl<'a> Adapter<'a> {
    fn of(sizes: &'a Sizes<'a>, linear: &'a Linear) -> Option<Self> {
        let module = module_of(sizes, linear)?;
        let parallel = if module.is_row_parallel() {
            Parallel::Row
        } else if linear.weight.sharding == Sharding::Replicated {
            Parallel::Whole
        } else {
            Parallel::Column
        };
        Some(Self {
            adapters: sizes.m.adapters()?,
            sizes,
            module,
            linear,
            parallel,
        })
    }

    fn is_expert(&self) -> bool {
        self.module.is_expert()
    }

    /// The ranks that split it: those that split routed experts, or all tensor-parallel ones.
    fn ranks(&self) -> Factor {
        let m = self.sizes.m;
        if self.is_expert() {
            factor("ETP", m.etp)
        } else {
            factor("TP", m.tp)
        }
    }

    /// So many columns for each token that the layer works on: in a projector, for each of the merged patches.
    fn tokens(&self, columns: Factor) -> Shape {
        let m = self.sizes.m;
        if self.module.is_in_projector() {
            let merged = factor("merged patches", merged_count(m));
            of_items(m, merged, [columns, Factor::NONE])
        } else {
            self.sizes.tokens(&[columns])
        }
    }

    /// Its rank. Adapters of experts may have less (`get_effective_lora_dim`, `align_expert_dim_for_tp`).
    fn rank(&self) -> Factor {
        let (m, dim) = (self.sizes.m, self.adapters.dim);
        if !self.is_expert() || !m.args.peft_normalize_moe_lora || self.adapters.kind == AdapterType::Dora {
            return factor("r", dim);
        }
        let topk = m.moe.as_ref().map_or(1, |moe| moe.topk.max(1));
        let each = dim / topk;
        factor(
            "(r / k)",
            match self.parallel {
                Parallel::Row => each,
                Parallel::Column | Parallel::Whole => each.next_multiple_of(m.etp.max(1)),
            },
        )
    }

    /// The family of its tensors.
    fn family(&self) -> Family {
        use LinearModule as L;
        match self.module {
            L::LinearFc1 | L::LinearFc2 => Family::Mlp,
            L::Router
            | L::ExpertsFc1
            | L::ExpertsFc2
            | L::SharedExpertsFc1
            | L::SharedExpertsFc2
            | L::Fc1LatentProj
            | L::Fc2LatentProj => Family::Experts,
            L::EhProj | L::OutputLayer | L::ProjectorFc1 | L::ProjectorFc2 | L::DeepstackFc1 | L::DeepstackFc2 => {
                Family::Output
            }
            L::LinearQkv
            | L::LinearProj
            | L::LinearQProj
            | L::LinearQDownProj
            | L::LinearQUpProj
            | L::LinearKvDownProj
            | L::LinearKvUpProj
            | L::LinearQkvDownProj
            | L::IndexerWqB
            | L::IndexerWk
            | L::IndexerWeightsProj
            | L::DeltaNetInProj
            | L::DeltaNetOutProj
            | L::MixerInProj
            | L::MixerOutProj => Family::Attention,
        }
    }

    /// The parts of which each has matrices of its own: queries, keys and values, or gate and up projection. None where
    /// one adapter serves the whole layer. Grouped experts have one for both (`_should_treat_linear_fc1_as_unfused`).
    fn parts(&self) -> Vec<usize> {
        let fused = match self.module {
            LinearModule::ExpertsFc1 => !self.sizes.m.args.moe_grouped_gemm,
            _ => true,
        };
        if self.adapters.kind != AdapterType::CanonicalLora || !fused {
            return Vec::new();
        }
        let all = 0..self.module.names().parts.len();
        all.filter(|part| self.sizes.adapted.has_part(self.module, *part))
            .collect()
    }
}
