//! A parameter group: parameters of one dtype that lie in one buffer.

use core::fmt;

use super::Fsdp;
use super::layout::Layout;
use super::parameter::Attributes;
use crate::parallel::groups::View;

/// The parameters of one buffer of Megatron FSDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsdpGroup {
    /// The layer whose parameters are gathered and dropped together; `None` for parameters outside of layers, which
    /// stay gathered.
    pub unit: Option<Unit>,
    /// The index of that layer among those of its chunk, in the order in which they run.
    pub unit_index: Option<u32>,
    /// Whether these are routed experts, which other ranks split than the dense parameters.
    pub view: View,
    /// Whether they are stored in fp8.
    pub fp8: bool,
    /// Whether they are trained.
    pub trained: bool,
    /// Number of parameters.
    pub parameters: u64,
    /// Their elements.
    pub elements: u64,
    /// Elements of a chunk: no rank gets a part of a chunk.
    pub chunk_size_factor: u64,
    /// Elements of the buffer with its padding.
    pub padded_elements: u64,
    /// Elements of one rank's part of a buffer that is split. Without splitting, all of them.
    pub shard_elements: u64,
}

/// A layer that Megatron FSDP gathers as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A layer of the decoder or encoder, by its index in the whole model.
    Layer(u32),
    /// A layer of an MTP depth: the depth and the layer's index in it.
    Mtp(u32, u32),
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer(layer) => write!(f, "decoder.layers.{layer}"),
            Self::Mtp(depth, 0) => write!(f, "mtp.layers.{depth}.mtp_model_layer"),
            Self::Mtp(depth, layer) => {
                write!(f, "mtp.layers.{depth}.mtp_model_layer, layer {layer}")
            }
        }
    }
}

impl FsdpGroup {
    pub(super) fn new(fsdp: &Fsdp, unit: Option<(u32, Unit)>, attributes: Attributes, layout: Layout) -> Self {
        let Attributes { view, fp8, trained } = attributes;
        Self {
            unit: unit.map(|(_, unit)| unit),
            unit_index: unit.map(|(index, _)| index),
            view,
            fp8,
            trained,
            parameters: layout.parameters,
            elements: layout.elements,
            chunk_size_factor: layout.chunk,
            padded_elements: layout.padded,
            shard_elements: layout.padded / fsdp.optimizer_ranks(view),
        }
    }
}

/// The name of the group, such as `decoder.layers.3, experts`.
impl fmt::Display for FsdpGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unit {
            Some(unit) => unit.fmt(f)?,
            None => f.write_str("outside of layers")?,
        }
        if self.view == View::Expert {
            f.write_str(", experts")?;
        }
        if self.fp8 {
            f.write_str(", fp8")?;
        }
        if !self.trained {
            f.write_str(", frozen")?;
        }
        Ok(())
    }
}
