//! The layers of a decoder or an encoder as data.

use core::fmt;

use crate::config::adapters::LinearModules;
use crate::config::attention_residuals::AttentionResiduals;
use crate::config::field::Decimal;
use crate::config::job::{Module, Moe};
use crate::config::layer_sizes::LayerSizes;
use crate::config::layers::Layer;
pub use crate::config::layers::{Mixer, MlpKind};

/// The mixer and the MLP of one layer. Each half reads the residual stream through a norm of its own and adds its
/// output to it; a layer of a hybrid model may have only one of the two halves.
///
/// The order of specs is the order in which the parts of a model are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerSpec {
    /// The precision of its linear layers.
    pub precision: LayerPrecision,
    /// The mixer, which mixes the tokens of a sequence; `None` for a layer that is only an MLP.
    pub mixer: Option<Mixer>,
    /// The MLP, which works on each token by itself; `None` for a layer that is only a mixer.
    pub mlp: Option<Mlp>,
    /// The sizes that are not those of its module.
    pub sizes: LayerSizes,
    /// The snapshots of the residual stream that it reads and takes; `None` in a model without attention residuals.
    pub residuals: Option<AttentionResiduals>,
    /// Its adapters, in a module whose own parameters are frozen.
    pub adapters: Option<LayerAdapters>,
}

/// The adapters of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerAdapters {
    /// The linear modules that have one.
    pub modules: LinearModules,
    /// Whether its input has a gradient: something that is trained comes before it, or another pipeline stage.
    pub input_has_gradient: bool,
}

/// The precision in which the linear layers of a layer compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerPrecision {
    /// The precision of the module: fp8 where it has a recipe.
    Module,
    /// bf16, while other layers of the module compute in fp8.
    Bf16,
}

/// An MLP, which works on each token by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mlp {
    /// One MLP for all tokens.
    Dense,
    /// A router with routed experts, and perhaps shared ones.
    Moe(Experts),
}

/// The experts of a `MoE` layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Experts {
    /// Routed experts.
    pub num_experts: u64,
    /// Experts that each token visits.
    pub topk: u64,
    /// Inner width of one routed expert.
    pub ffn_hidden_size: u64,
    /// Inner width of the shared experts; 0 when there are none.
    pub shared: u64,
    /// Tokens on the busiest rank over the mean.
    pub load_imbalance: Decimal,
}

impl From<&Moe> for Experts {
    fn from(moe: &Moe) -> Self {
        Self {
            num_experts: moe.num_experts,
            topk: moe.topk,
            ffn_hidden_size: moe.ffn_hidden_size,
            shared: moe.shared,
            load_imbalance: moe.load_imbalance,
        }
    }
}

impl LayerAdapters {
    /// The adapters of every decoder layer; none without adapters.
    ///
    /// Frozen embeddings have no gradient, so that on the first stage nothing has one before the first adapter. With
    /// full recompute Megatron-Bridge gives the input of the first layer one (`maybe_enable_recompute_inputs_grad`).
    fn all(m: &Module) -> Vec<Self> {
        let Some(adapters) = m.adapters() else {
            return Vec::new();
        };
        let mut chunks = m.stages().chunks().iter();
        let embedded = chunks.find(|chunk| chunk.embedding);
        let embedded = embedded.map_or(0..0, |chunk| chunk.layers.clone());
        let mut starts = m.embedding_has_gradient();
        let of_layer = |index: usize| {
            let modules = adapters.in_layer(index);
            let without = u32::try_from(index).is_ok_and(|index| embedded.contains(&index));
            let input_has_gradient = starts || !without;
            starts |= !modules.is_empty();
            Self {
                modules,
                input_has_gradient,
            }
        };
        (0..m.layers().decoder().len()).map(of_layer).collect()
    }

    /// What tells it apart in paths from layers in which gradients go all the way.
    fn id(self) -> Option<&'static str> {
        match (self.input_has_gradient, self.modules.is_empty()) {
            (true, _) => None,
            (false, false) => Some("first_adapters"),
            (false, true) => Some("before_adapters"),
        }
    }

    /// The words of a layer's name about its adapters and gradients; empty for one with adapters whose input has a
    /// gradient.
    fn remark(self) -> &'static str {
        match (self.input_has_gradient, self.modules.is_empty()) {
            (true, false) => "",
            (true, true) => " without adapters",
            (false, false) => " with the first adapters",
            (false, true) => " before the first adapters",
        }
    }
}

impl LayerSpec {
    /// The layers of a module, first to last.
    #[must_use]
    pub fn all(m: &Module) -> Vec<Self> {
        let layers = (0..).zip(m.layers().decoder());
        let mut adapters = LayerAdapters::all(m).into_iter();
        let specs = layers.map(|(index, layer)| {
            let precision = if m.is_bf16_layer(index) {
                LayerPrecision::Bf16
            } else {
                LayerPrecision::Module
            };
            Self {
                adapters: adapters.next(),
                ..Self::from_layer(m, *layer, precision)
            }
        });
        specs.collect()
    }

    /// The layers of a module, each once, as they are in its precision and without adapters.
    pub(crate) fn kinds(m: &Module) -> impl Iterator<Item = Self> {
        let layers = m.layers().distinct().iter();
        layers.map(|layer| Self::from_layer(m, *layer, LayerPrecision::Module))
    }

    /// The distinct layers of a module in their order, and for each of its layers the place among them.
    pub(crate) fn distinct(m: &Module) -> (Vec<Self>, Vec<usize>) {
        let layers = Self::all(m);
        let mut specs: Vec<Self> = Vec::new();
        // Most layers are like the one before.
        let runs = || layers.chunk_by(|one, next| one == next);
        for spec in runs().filter_map(<[Self]>::first) {
            if let Err(place) = specs.binary_search(spec) {
                specs.insert(place, *spec);
            }
        }
        let mut places = Vec::with_capacity(layers.len());
        for run in runs() {
            let place = run
                .first()
                .map_or(0, |spec| specs.partition_point(|other| other < spec));
            places.resize(places.len() + run.len(), place);
        }
        (specs, places)
    }

    /// The layers of one MTP depth, first to last, in the precision of the module.
    #[must_use]
    pub fn of_mtp(m: &Module) -> Vec<Self> {
        let layers = m.layers().mtp().iter();
        let adapters = m.adapters().map(|adapters| LayerAdapters {
            modules: adapters.in_mtp(),
            input_has_gradient: true,
        });
        let specs = layers.map(|layer| Self {
            adapters,
            ..Self::from_layer(m, *layer, LayerPrecision::Module)
        });
        specs.collect()
    }

    /// A layer with the sizes of its module. Layers have no experts in a module without experts, which the check
    /// refuses for the letter `E`.
    fn from_layer(m: &Module, layer: Layer, precision: LayerPrecision) -> Self {
        let of_layer = m.of_layer(layer.sizes);
        Self {
            precision,
            mixer: layer.mixer,
            mlp: layer.mlp.map(|mlp| match (mlp, &of_layer.moe) {
                (MlpKind::Moe, Some(moe)) => Mlp::Moe(Experts::from(moe)),
                (MlpKind::Moe, None) | (MlpKind::Dense, _) => Mlp::Dense,
            }),
            sizes: layer.sizes,
            residuals: layer.residuals,
            adapters: None,
        }
    }

    /// Its routed and shared experts, for a `MoE` layer.
    #[must_use]
    pub const fn experts(&self) -> Option<Experts> {
        match self.mlp {
            Some(Mlp::Moe(experts)) => Some(experts),
            Some(Mlp::Dense) | None => None,
        }
    }

    /// Its name in paths, such as `bf16_linear_moe`.
    #[must_use]
    pub fn id(&self) -> String {
        let precision = match self.precision {
            LayerPrecision::Module => None,
            LayerPrecision::Bf16 => Some("bf16"),
        };
        let names = self.mixer.map(Mixer::names);
        let mixer = names.map(|names| match self.mlp {
            Some(_) => names.id_beside_mlp,
            None => names.id,
        });
        let mixer = mixer.filter(|id| !id.is_empty());
        let mlp = self.mlp.map(|mlp| match (mlp, self.mixer) {
            (Mlp::Dense, Some(_)) => "dense",
            (Mlp::Dense, None) => "mlp",
            (Mlp::Moe(_), _) => "moe",
        });
        let own = self.sizes.to_string().replace('.', "_");
        let own = (!self.sizes.is_of_module()).then_some(own.as_str());
        let residuals = self.residuals.map(residuals_id);
        let words = [precision, mixer, mlp, own, residuals.as_deref()].into_iter().flatten();
        let words: Vec<&str> = words.chain(self.adapters.and_then(LayerAdapters::id)).collect();
        words.join("_")
    }

    /// Several such layers in words, such as `MoE layers with linear attention`.
    #[must_use]
    pub fn plural(&self) -> String {
        self.words("layers")
    }

    fn words(&self, noun: &str) -> String {
        let names = self.mixer.map(Mixer::names);
        let kind = match (self.mlp, names) {
            (Some(Mlp::Moe(_)), _) => "MoE",
            (Some(Mlp::Dense), Some(_)) => "dense",
            (Some(Mlp::Dense), None) => "MLP",
            (None, Some(names)) => names.label,
            (None, None) => "empty",
        };
        let with = names.filter(|_| self.mlp.is_some());
        let with = with.map_or("", |names| names.with);
        let remark = names.map_or("", |names| names.remark);
        let precision = match self.precision {
            LayerPrecision::Module => "",
            LayerPrecision::Bf16 => " in bf16",
        };
        let adapters = self.adapters.map_or("", LayerAdapters::remark);
        let own = match self.sizes.in_symbols() {
            none if none.is_empty() => none,
            sizes => format!(" ({sizes})"),
        };
        let residuals = self.residuals.map(residuals_remark).unwrap_or_default();
        [kind, " ", noun, with, remark, &residuals, precision, adapters, &own].concat()
    }
}

/// The part of a layer's name in paths about snapshots of the residual stream.
fn residuals_id(residuals: AttentionResiduals) -> String {
    let place = if residuals.last {
        "_last"
    } else if residuals.takes {
        "_takes"
    } else {
        ""
    };
    format!("snapshots{}{place}", residuals.before)
}

/// The words of a layer's name about snapshots of the residual stream.
fn residuals_remark(residuals: AttentionResiduals) -> String {
    let read = match residuals.before {
        0 => String::new(),
        1 => String::from(" after 1 snapshot"),
        count => format!(" after {count} snapshots"),
    };
    let takes = if residuals.takes { ", taking one" } else { "" };
    let last = if residuals.last { ", the last" } else { "" };
    [&read, takes, last].concat()
}

/// One such layer in words, such as `MoE layer with linear attention`.
impl fmt::Display for LayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words("layer"))
    }
}
