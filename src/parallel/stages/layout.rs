//! A custom pipeline layout: a list of stages, each a list of layers.

mod parse;

use core::fmt;
use core::str::FromStr;

use strum::{EnumCount, VariantArray};

use crate::variants::all;

pub use parse::{LayoutError, LayoutErrorKind, MAX_LAYOUT_ITEMS, MAX_LAYOUT_LEN, nests};

/// A kind of layer in a layout. Megatron knows `encoder` too and refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, VariantArray)]
pub enum LayerType {
    /// `E`: the input embedding.
    Embedding,
    /// `t`: a decoder layer.
    Decoder,
    /// `m`: one depth of multi-token prediction.
    Mtp,
    /// `L`: the output layer with the loss.
    Loss,
}

impl LayerType {
    /// All kinds, in the order in which a microbatch meets them.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// Its letter in a layout string.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Embedding => 'E',
            Self::Decoder => 't',
            Self::Mtp => 'm',
            Self::Loss => 'L',
        }
    }

    /// Its name in a layout list.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Decoder => "decoder",
            Self::Mtp => "mtp",
            Self::Loss => "loss",
        }
    }
}

/// The name and the letter: `decoder (t)`.
impl fmt::Display for LayerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.letter())
    }
}

/// Stages in layer order: stage `i` is chunk `i / pp` of rank `i % pp`.
///
/// Written back by `Display` as a compact string that Megatron's own parser accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineLayout {
    stages: Vec<Vec<LayerType>>,
}

impl PipelineLayout {
    /// A layout of stages by name, as configuration files have it: `[["embedding", "decoder"], ["loss"]]`.
    ///
    /// Like Megatron, takes names in any case and with space around them.
    ///
    /// # Errors
    /// A name that is none, or more layers and stages than [`MAX_LAYOUT_ITEMS`].
    /// The position is that of the name, counted over all rows.
    pub fn from_names<R, S>(rows: impl IntoIterator<Item = R>) -> Result<Self, LayoutError>
    where
        R: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut stages = Vec::new();
        let (mut names, mut items) = (0, 0);
        for row in rows {
            let mut stage = Vec::new();
            items += 1;
            for name in row {
                let layer = parse::layer_named(name.as_ref(), names)?;
                stage.push(layer);
                names += 1;
                items += 1;
                if items > MAX_LAYOUT_ITEMS {
                    return Err(LayoutError::too_long(names));
                }
            }
            if items > MAX_LAYOUT_ITEMS {
                return Err(LayoutError::too_long(names));
            }
            stages.push(stage);
        }
        Ok(Self { stages })
    }

    /// The stages in layer order.
    #[must_use]
    pub fn stages(&self) -> &[Vec<LayerType>] {
        &self.stages
    }

    /// How many stages there are, PP times VPP.
    #[must_use]
    pub fn num_stages(&self) -> u32 {
        u32::try_from(self.stages.len()).unwrap_or(u32::MAX)
    }

    /// All layers in a row.
    pub fn layers(&self) -> impl Iterator<Item = LayerType> {
        self.stages.iter().flatten().copied()
    }

    /// How often a kind of layer occurs.
    #[must_use]
    pub fn count(&self, layer: LayerType) -> u32 {
        let n = self.layers().filter(|l| *l == layer).count();
        u32::try_from(n).unwrap_or(u32::MAX)
    }

    /// How often it occurs in one stage; 0 for a stage that does not exist.
    #[must_use]
    pub fn count_in_stage(&self, stage: usize, layer: LayerType) -> u32 {
        let stage = self.stages.get(stage).map_or(&[][..], Vec::as_slice);
        let n = stage.iter().filter(|l| **l == layer).count();
        u32::try_from(n).unwrap_or(u32::MAX)
    }
}

/// Reads a layout string.
impl FromStr for PipelineLayout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Ok(Self {
            stages: parse::stages(text)?,
        })
    }
}

/// The layout as a string: layers as `t*4`, equal neighbors as `(t*4|)*14`, never nested.
impl fmt::Display for PipelineLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.stages.as_slice();
        while let Some(stage) = rest.first() {
            let equal = rest.iter().take_while(|s| *s == stage).count();
            // The last stage of all has no bar after it, so it cannot be in a repeated group.
            let barred = if equal == rest.len() { equal - 1 } else { equal };
            let text = stage_text(stage);
            let group = format!("({text}|)*{barred}");
            if barred > 1 && group.len() < barred * (text.len() + 1) {
                f.write_str(&group)?;
                if rest.get(barred).is_some_and(|next| !next.is_empty()) {
                    f.write_str(",")?; // only for the eye
                }
                rest = rest.get(barred..).unwrap_or_default();
            } else {
                f.write_str(&text)?;
                if rest.len() > 1 {
                    f.write_str("|")?;
                }
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

fn stage_text(stage: &[LayerType]) -> String {
    let mut text = String::new();
    for run in stage.chunk_by(|a, b| a == b) {
        let Some(layer) = run.first() else { continue };
        let repeated = format!("{}*{}", layer.letter(), run.len());
        if repeated.len() < run.len() {
            text.push_str(&repeated);
        } else {
            text.extend(run.iter().map(|l| l.letter()));
        }
    }
    text
}
