//! Adapters: small matrices that are trained beside linear layers whose weights are frozen, as Megatron-Bridge's
//! `LoRA`, `CanonicalLoRA` and `DoRA` add them (`megatron/bridge/peft`).

mod map;
mod modules;
mod targets;

pub use map::{PeftSetting, read_peft, read_setting};
pub use modules::{AdapterNames, LinearModule, LinearModules};
pub(crate) use targets::{Target, Targets, present};

use super::choices::{AdapterDropout, AdapterType, ModuleToSave};
use super::fields::Args;
use super::layers::Layers;
use crate::parallel::stages::Chunk;

/// The adapters of one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapters {
    /// The type of the adapters.
    pub kind: AdapterType,
    /// Their rank.
    pub dim: u64,
    /// The values that dropout sets to zero; `None` without dropout.
    pub dropout: Option<AdapterDropout>,
    /// Whether they may keep this rank's part of a gathered input and gather it again in the backward pass.
    pub regathers_input: bool,
    /// Whether those of row-parallel layers exchange their output instead of gathering it.
    pub exchanges_output: bool,
    /// The modules with adapters in each decoder layer.
    layers: Vec<LinearModules>,
    /// The adapted modules among the output layer, the projection of MTP depths and an encoder's projectors.
    outside: LinearModules,
    /// The adapted modules of the layers of MTP depths.
    mtp: LinearModules,
}

impl Adapters {
    /// The adapters that the arguments ask for; `None` without.
    pub(super) fn of(a: &Args, layers: &Layers, chunks: &[Chunk]) -> Option<Self> {
        let targets = Targets::of(a)?;
        let mut out = Self {
            kind: a.peft_type,
            dim: a.peft_dim,
            dropout: (a.peft_dropout.0 > 0).then_some(a.peft_dropout_position),
            regathers_input: a.peft_sequence_parallel_input_regather
                && a.peft_type == AdapterType::Lora
                && !a.peft_a2a_experimental,
            exchanges_output: a.peft_a2a_experimental && a.peft_type == AdapterType::Lora,
            layers: vec![LinearModules::default(); layers.decoder().len()],
            outside: LinearModules::default(),
            mtp: LinearModules::default(),
        };
        if a.peft_dim > 0 {
            out.place(a, &targets, layers, chunks);
        }
        Some(out)
    }

    /// Puts adapters where the targets want them.
    fn place(&mut self, a: &Args, targets: &Targets, layers: &Layers, chunks: &[Chunk]) {
        let grouped = a.moe_grouped_gemm;
        // Layers are numbered from 0 in every chunk (`TransformerBlock._build_layers`).
        let mut by_number: Vec<LinearModules> = Vec::new();
        for chunk in chunks {
            for (number, index) in chunk.layers.clone().enumerate() {
                let index = index as usize;
                let (Some(into), Some(layer)) = (self.layers.get_mut(index), layers.decoder().get(index)) else {
                    continue;
                };
                let same = if targets.same_in_all_layers() { 0 } else { number };
                while by_number.len() <= same {
                    let prefix = ["decoder.layers.", &by_number.len().to_string(), "."];
                    by_number.push(targets.modules(&prefix.concat(), grouped));
                }
                let named = by_number.get(same).copied().unwrap_or_default();
                *into = named.both(LinearModules::of_layer(*layer, a));
            }
        }
        let inner = if a.hybrid_layer_pattern.is_some() {
            "mtp.layers.0.mtp_model_layer.layers.0."
        } else {
            "mtp.layers.0.mtp_model_layer."
        };
        self.mtp = targets.modules(inner, grouped);
        let of_depth = targets.modules("mtp.layers.0.", grouped);
        let outside = targets.modules("", grouped);
        // A module that is trained as a whole has no adapters.
        let of_output = if a.peft_modules_to_save.contains(ModuleToSave::OutputLayer) {
            LinearModules::default()
        } else {
            outside.only(LinearModule::OutputLayer)
        };
        self.outside = of_output
            .or(of_depth.only(LinearModule::EhProj))
            .or(outside.both(LinearModules::of_projectors(a)));
    }

    /// The modules of decoder layer `index` (from 0) that have adapters.
    #[must_use]
    pub fn in_layer(&self, index: usize) -> LinearModules {
        self.layers.get(index).copied().unwrap_or_default()
    }

    /// The adapted modules of the layers of an MTP depth.
    #[must_use]
    pub fn in_mtp(&self) -> LinearModules {
        self.mtp
    }

    /// The modules outside of layers that have adapters: the output layer, the projection of MTP depths, and those of an
    /// encoder's projectors.
    #[must_use]
    pub fn outside_of_layers(&self) -> LinearModules {
        self.outside
    }
}
