//! Changes of a pattern, one at a time.

use core::fmt;

use megatron_memory::config::hybrid_pattern::{HybridPattern, HybridPatternError, LayerSymbol};

/// The decoder's layers, or those of an MTP depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PatternPart {
    Decoder,
    Mtp,
}

/// A layer by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LayerPosition {
    pub(super) part: PatternPart,
    /// Its number in its part, from 0.
    pub(super) index: usize,
}

impl LayerPosition {
    pub(super) const FIRST: Self = Self {
        part: PatternPart::Decoder,
        index: 0,
    };

    fn at(self, index: usize) -> Self {
        Self { index, ..self }
    }
}

/// Such as `Layer 4` or `MTP layer 0`.
impl fmt::Display for LayerPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self.part {
            PatternPart::Decoder => "Layer",
            PatternPart::Mtp => "MTP layer",
        };
        write!(f, "{noun} {}", self.index)
    }
}

/// A change of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Makes a layer one of another kind.
    SetKind(LayerPosition, LayerSymbol),
    /// Puts a copy of a layer before it.
    InsertBefore(LayerPosition),
    /// Puts a copy of a layer after it.
    InsertAfter(LayerPosition),
    /// Removes a layer; what comes after it takes its place.
    Remove(LayerPosition),
    /// Begins or ends a pipeline segment after a layer of the decoder: puts `|` there, or takes it away.
    ToggleBorder(LayerPosition),
    /// Splits the decoder into so many segments of equal length, the first ones a layer longer where they cannot be.
    SplitInto(usize),
    /// Takes every `|` away.
    RemoveBorders,
    /// Sets the number of MTP depths. The first depth gets the last two layers of the decoder.
    SetDepths(u64),
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) pattern: HybridPattern,
    /// The layer that the next edit is about; `None` for the same as before.
    pub(super) current: Option<LayerPosition>,
    /// The change, in words.
    pub(super) message: String,
}

/// Why an edit is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("A pattern has at least one layer.")]
    LastLayer,
    #[error("A stage ends after the last layer anyway.")]
    BorderAtEnd,
    #[error("MTP depths are never split over stages.")]
    BorderInMtp,
    #[error("There is no such layer.")]
    NoSuchLayer,
    #[error("hybrid_layer_pattern {0}")]
    NoPattern(#[from] HybridPatternError),
}

impl Edit {
    /// Makes the change.
    pub(super) fn apply(self, pattern: &HybridPattern) -> Result<Edited, Refusal> {
        let mut parts = Parts::of(pattern);
        let mut current = None;
        let message = match self {
            Self::SetKind(layer, symbol) => {
                *parts.symbol(layer)? = symbol;
                current = Some(layer);
                format!("{layer} is {}.", symbol.label())
            }
            Self::InsertBefore(layer) => {
                current = Some(layer);
                parts.insert(layer, 0)?
            }
            Self::InsertAfter(layer) => {
                current = Some(layer.at(layer.index + 1));
                parts.insert(layer, 1)?
            }
            Self::Remove(layer) => {
                current = Some(layer);
                parts.remove(layer)?
            }
            Self::ToggleBorder(layer) => {
                current = Some(layer);
                parts.toggle_border(layer)?
            }
            Self::SplitInto(count) => {
                parts = Parts::of(&pattern.in_segments(count));
                format!("{} stages of {} layers.", count, pattern.layers().count())
            }
            Self::RemoveBorders => {
                parts = Parts::of(&pattern.in_segments(1));
                String::from("No stage borders.")
            }
            Self::SetDepths(depths) => {
                parts.set_depths(depths);
                match depths {
                    1 => String::from("1 MTP depth."),
                    depths => format!("{depths} MTP depths."),
                }
            }
        };
        let pattern = parts.into_pattern();
        // Letters that no model has together are refused.
        pattern.to_string().parse::<HybridPattern>()?;
        Ok(Edited {
            pattern,
            current,
            message,
        })
    }
}

/// The letters of a pattern while they are changed.
struct Parts {
    segments: Vec<Vec<LayerSymbol>>,
    mtp: Vec<LayerSymbol>,
    depths: u64,
}

impl Parts {
    fn of(pattern: &HybridPattern) -> Self {
        Self {
            segments: pattern.segments().to_vec(),
            mtp: pattern.mtp().to_vec(),
            depths: pattern.depths(),
        }
    }

    /// MTP depths without layers are none.
    fn into_pattern(self) -> HybridPattern {
        let depths = if self.mtp.is_empty() { 0 } else { self.depths };
        HybridPattern::new(self.segments, self.mtp, depths)
    }

    /// The segment of a layer of the decoder, and the layer's place in it.
    fn place(&self, layer: LayerPosition) -> Option<(usize, usize)> {
        let mut index = layer.index;
        for (segment, layers) in self.segments.iter().enumerate() {
            if index < layers.len() {
                return Some((segment, index));
            }
            index -= layers.len();
        }
        None
    }

    /// The layers of the segment or MTP depth that a layer is in, and its place among them.
    fn siblings(&mut self, layer: LayerPosition) -> Result<(&mut Vec<LayerSymbol>, usize), Refusal> {
        let found = match layer.part {
            PatternPart::Mtp => Some((&mut self.mtp, layer.index)),
            PatternPart::Decoder => self.place(layer).and_then(|(segment, index)| {
                let layers = self.segments.get_mut(segment)?;
                Some((layers, index))
            }),
        };
        found
            .filter(|(layers, index)| *index < layers.len())
            .ok_or(Refusal::NoSuchLayer)
    }

    fn symbol(&mut self, layer: LayerPosition) -> Result<&mut LayerSymbol, Refusal> {
        let (layers, index) = self.siblings(layer)?;
        layers.get_mut(index).ok_or(Refusal::NoSuchLayer)
    }

    fn count(&self, part: PatternPart) -> usize {
        match part {
            PatternPart::Decoder => self.segments.iter().map(Vec::len).sum(),
            PatternPart::Mtp => self.mtp.len(),
        }
    }

    /// Puts a copy of a layer so many places behind where it is.
    fn insert(&mut self, layer: LayerPosition, behind: usize) -> Result<String, Refusal> {
        let symbol = *self.symbol(layer)?;
        let (layers, index) = self.siblings(layer)?;
        layers.insert(index + behind, symbol);
        let inserted = layer.at(layer.index + behind);
        let count = self.count(layer.part);
        Ok(format!("{inserted}, {}, is inserted; {count} layers.", symbol.label()))
    }

    /// A pipeline segment that loses its only layer goes with it.
    fn remove(&mut self, layer: LayerPosition) -> Result<String, Refusal> {
        if layer.part == PatternPart::Decoder && self.count(PatternPart::Decoder) == 1 {
            return Err(Refusal::LastLayer);
        }
        let segment = self.place(layer).filter(|_| layer.part == PatternPart::Decoder);
        let (layers, index) = self.siblings(layer)?;
        let symbol = layers.remove(index);
        let is_emptied = layers.is_empty();
        if let (true, Some((segment, _))) = (is_emptied, segment) {
            self.segments.remove(segment);
        }
        let count = self.count(layer.part);
        let noun = if count == 1 { "layer" } else { "layers" };
        Ok(format!("{layer}, {}, is removed; {count} {noun}.", symbol.label()))
    }

    fn toggle_border(&mut self, layer: LayerPosition) -> Result<String, Refusal> {
        if layer.part == PatternPart::Mtp {
            return Err(Refusal::BorderInMtp);
        }
        let (segment, index) = self.place(layer).ok_or(Refusal::NoSuchLayer)?;
        let layers = self.segments.get_mut(segment).ok_or(Refusal::NoSuchLayer)?;
        let behind = layers.split_off(index + 1);
        let begins = !behind.is_empty();
        if begins {
            self.segments.insert(segment + 1, behind);
        } else if segment + 1 < self.segments.len() {
            let next = self.segments.remove(segment + 1);
            let layers = self.segments.get_mut(segment).ok_or(Refusal::NoSuchLayer)?;
            layers.extend(next);
        } else {
            return Err(Refusal::BorderAtEnd);
        }
        let stages = match self.segments.len() {
            1 => String::from("no stage borders"),
            stages => format!("{stages} stages"),
        };
        let what = if begins { "A" } else { "No" };
        Ok(format!("{what} stage ends after layer {}; {stages}.", layer.index))
    }

    fn set_depths(&mut self, depths: u64) {
        self.depths = depths;
        if depths == 0 {
            self.mtp.clear();
        } else if self.mtp.is_empty() {
            let decoder = self.segments.concat();
            let last = decoder.len().saturating_sub(2);
            self.mtp = decoder.get(last..).unwrap_or_default().to_vec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, LayerPosition, PatternPart, Refusal};
    use megatron_memory::config::hybrid_pattern::{HybridPattern, LayerSymbol};
    use wasm_bindgen_test::wasm_bindgen_test;

    fn decoder(index: usize) -> LayerPosition {
        LayerPosition {
            part: PatternPart::Decoder,
            index,
        }
    }

    fn mtp(index: usize) -> LayerPosition {
        LayerPosition {
            part: PatternPart::Mtp,
            index,
        }
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn a_change_leads_to_another_pattern() {
        use Edit::{InsertAfter, InsertBefore, Remove, RemoveBorders, SetDepths, SetKind, SplitInto, ToggleBorder};
        let cases = [
            (
                "M-|M-",
                SetKind(decoder(2), LayerSymbol::Moe),
                "M-|E-",
                Some(decoder(2)),
            ),
            ("M-/MM", SetKind(mtp(1), LayerSymbol::Mlp), "M-/M-", Some(mtp(1))),
            ("M-|M-", InsertBefore(decoder(2)), "M-|MM-", Some(decoder(2))),
            ("M-|M-", InsertAfter(decoder(1)), "M--|M-", Some(decoder(2))),
            ("M-/M/M", InsertAfter(mtp(0)), "M-/MM/MM", Some(mtp(1))),
            ("M-|M-", Remove(decoder(0)), "-|M-", Some(decoder(0))),
            ("M-|M|-", Remove(decoder(2)), "M-|-", Some(decoder(2))),
            ("M-/M/M", Remove(mtp(0)), "M-", Some(mtp(0))),
            ("M-M-", ToggleBorder(decoder(1)), "M-|M-", Some(decoder(1))),
            ("M-|M-", ToggleBorder(decoder(1)), "M-M-", Some(decoder(1))),
            ("M-M-M/M", SplitInto(2), "M-M|-M/M", None),
            ("M|-M|-", RemoveBorders, "M-M-", None),
            ("M-M*", SetDepths(2), "M-M*/M*/M*", None),
            ("M-/M-", SetDepths(0), "M-", None),
        ];
        for (before, edit, after, current) in cases {
            let edited = edit.apply(&before.parse().unwrap()).unwrap();
            assert_eq!(edited.pattern.to_string(), after, "{before} {edit:?}");
            assert_eq!(edited.current, current, "{before} {edit:?}");
        }
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn what_leads_to_no_pattern_is_refused() {
        let refused = |pattern: &str, edit: Edit| {
            let pattern: HybridPattern = pattern.parse().unwrap();
            edit.apply(&pattern).unwrap_err()
        };
        assert_eq!(refused("M", Edit::Remove(decoder(0))), Refusal::LastLayer);
        assert_eq!(refused("M-", Edit::ToggleBorder(decoder(1))), Refusal::BorderAtEnd);
        assert_eq!(refused("M-/M", Edit::ToggleBorder(mtp(0))), Refusal::BorderInMtp);
        assert_eq!(refused("M-", Edit::Remove(decoder(7))), Refusal::NoSuchLayer);
        let mixed = refused("M-*", Edit::SetKind(decoder(0), LayerSymbol::MultiLatentAttention));
        assert!(matches!(mixed, Refusal::NoPattern(_)), "{mixed}");
    }
}
