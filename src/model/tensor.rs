//! A parameter as data: its shape, who holds it, and what part of the model it belongs to.

mod component;
mod shape;

use strum::{EnumCount, VariantArray};

pub use component::Component;
pub use shape::{Factor, Shape, factor};

use crate::parallel::groups::View;
use crate::source::Source;
use crate::variants::all;

/// Who holds a parameter, which decides its divisor and its optimizer shard group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, VariantArray)]
pub enum Sharding {
    /// Split over the tensor-parallel ranks.
    TpSharded,
    /// In full on every tensor-parallel rank.
    Replicated,
    /// Split over expert-parallel and expert-tensor-parallel ranks.
    Expert,
}

impl Sharding {
    /// All shardings in order.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The view of the ranks whose groups share its states.
    #[must_use]
    pub const fn view(self) -> View {
        match self {
            Self::TpSharded | Self::Replicated => View::Dense,
            Self::Expert => View::Expert,
        }
    }
}

/// The size of one row of a parameter on a rank: of what one index of its first dimension has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// So many elements, whatever TP is: it splits the first dimension, if any.
    Elements(u64),
    /// One of so many rows of equal size: TP splits another dimension than the first, if any.
    OneOf(u64),
}

impl Row {
    /// A row as long as the last factor of a shape, whose factors before it are the first dimension.
    pub(crate) fn of_last(shape: &Shape) -> Self {
        Self::Elements(shape.factors().last().map_or(1, |factor| factor.value))
    }
}

/// One parameter of a layer or of a single part such as the embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamTensor {
    /// Component it is counted under.
    pub component: Component,
    /// Megatron's module path below the layer or the model.
    pub name: &'static str,
    /// Full shape, and what splits it.
    pub shape: Shape,
    /// Which ranks hold it, and how much of it each.
    pub sharding: Sharding,
    /// How many dimensions Megatron gives it; Muon treats matrices differently.
    pub dimensions: u8,
    /// The size of one of its rows, which FSDP keeps whole.
    pub row: Row,
    /// Whether it stays in fp32 where the model is trained in 16 bits (`mark_keep_in_fp32`).
    pub keep_in_fp32: bool,
    /// Where Megatron creates it.
    pub source: Source,
}

impl ParamTensor {
    /// The same parameter, which stays in fp32.
    pub(crate) const fn kept_in_fp32(self) -> Self {
        Self {
            keep_in_fp32: true,
            ..self
        }
    }

    /// The same parameter with so many rows, which TP does not split.
    pub(crate) const fn with_rows(self, rows: Factor) -> Self {
        Self {
            row: Row::OneOf(rows.value),
            ..self
        }
    }

    /// Whether it is the weight of one of Transformer Engine's linear layers in a transformer or MTP layer.
    #[must_use]
    pub fn linear_weight(&self) -> bool {
        let other = matches!(
            self.component,
            Component::Router
                | Component::SharedExpertGate
                | Component::Embedding
                | Component::PositionEmbedding
                | Component::FixedPositions
                | Component::OutputLayer
                | Component::HyperConnections
                | Component::AttentionResiduals
                | Component::Adapters
        );
        self.dimensions == 2 && !other && self.is_named("weight")
    }

    /// Whether its name ends with this, but for the star of a name that stands for several.
    #[must_use]
    pub(crate) fn is_named(&self, end: &str) -> bool {
        let name = self.name.strip_suffix('*').unwrap_or(self.name);
        name.ends_with(end)
    }

    /// Whether Muon updates it as a matrix; embeddings and the output layer are left to Adam
    /// (`_is_nonlinear_or_embedding` in `emerging_optimizers.py` of megatron-core).
    #[must_use]
    pub fn muon_matrix(&self) -> bool {
        let vocabulary = matches!(
            self.component,
            Component::Embedding | Component::PositionEmbedding | Component::OutputLayer
        );
        self.dimensions == 2 && !vocabulary
    }
}
