//! `hybrid_layer_pattern`: the layers of a `HybridModel`, one letter a layer (`parse_hybrid_pattern` in
//! `hybrid_layer_allocation.py`).
//!
//! `|` ends a pipeline segment, `/` begins an MTP depth: `M-M-|M-M*-/MM/MM` has two segments of four layers and two
//! depths of two layers. Repetition may be written as Python does it, with quoted parts: `"M-M*-" * 4 + "M"`.

mod expression;
mod known;
mod ratios;

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

pub(super) use known::KnownPatterns;

/// The most letters that a pattern may have.
const LONGEST: usize = 10_000;

/// A layer of a hybrid model (`Symbols`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LayerSymbol {
    /// `M`: a Mamba-2 mixer.
    Mamba,
    /// `G`: a gated delta net.
    #[strum(serialize = "gdn")]
    GatedDeltaNet,
    /// `*`: attention.
    Attention,
    /// `D`: multi-latent attention over the tokens that an indexer picks.
    #[strum(serialize = "dsa")]
    SparseAttention,
    /// `+`: multi-latent attention.
    #[strum(serialize = "mla")]
    MultiLatentAttention,
    /// `-`: a dense MLP.
    Mlp,
    /// `E`: a router with experts.
    Moe,
}

impl LayerSymbol {
    /// Every symbol, in the order in which messages list them.
    pub const ALL: [Self; 7] = [
        Self::Mamba,
        Self::Attention,
        Self::Mlp,
        Self::Moe,
        Self::GatedDeltaNet,
        Self::MultiLatentAttention,
        Self::SparseAttention,
    ];

    /// Its letter in a pattern.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Mamba => 'M',
            Self::GatedDeltaNet => 'G',
            Self::Attention => '*',
            Self::SparseAttention => 'D',
            Self::MultiLatentAttention => '+',
            Self::Mlp => '-',
            Self::Moe => 'E',
        }
    }

    /// Its name in identifiers, such as `mamba`.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// What the layer is, in a few words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Mamba => "Mamba",
            Self::GatedDeltaNet => "gated delta net",
            Self::Attention => "attention",
            Self::SparseAttention => "sparse attention",
            Self::MultiLatentAttention => "MLA",
            Self::Mlp => "MLP",
            Self::Moe => "MoE",
        }
    }

    /// The symbol with this letter.
    #[must_use]
    pub fn of(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.letter() == letter)
    }

    /// A set with this kind alone.
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A pattern: the layers of the decoder by pipeline segment, and those of each MTP depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HybridPattern {
    /// Shared by all jobs of a search with this pattern.
    segments: Arc<[Vec<LayerSymbol>]>,
    mtp: Arc<[LayerSymbol]>,
    depths: u64,
    /// The layers of all segments, one behind the other.
    decoder: Arc<[LayerSymbol]>,
    /// The kinds of layers that are anywhere, each as the bit of its number.
    kinds: u32,
}

/// Why a text is no pattern. Places are counted in characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HybridPatternError {
    /// No layer at all.
    #[error("has no layer; write letters such as M-M*-")]
    Empty,
    /// A letter that stands for no layer.
    #[error("has “{letter}” at character {place}, which is no layer; use {}", letters())]
    UnknownSymbol {
        /// The letter.
        letter: char,
        /// Where it is.
        place: usize,
    },
    /// `|` within an MTP depth, which is never split over stages.
    #[error("has “|” at character {place}, within an MTP depth; only the part before the first / is split into stages")]
    SegmentInMtp {
        /// Where it is.
        place: usize,
    },
    /// Two MTP depths that differ.
    #[error("has an MTP depth “{second}” at character {place} that differs from “{first}”; all depths must be alike")]
    UnequalDepths {
        /// The first depth.
        first: String,
        /// The one that differs.
        second: String,
        /// Where it begins.
        place: usize,
    },
    /// `*` together with `+` or `D`.
    #[error("has both * and {letter}: one model cannot mix attention with MLA (character {place})")]
    MixedAttention {
        /// The letter of multi-latent attention.
        letter: char,
        /// Where it is.
        place: usize,
    },
    /// Quotes, but no Python expression of quoted parts, `+`, `*` and parentheses.
    #[error("cannot be read at character {place}; write letters, or quoted parts such as \"M-M*-\" * 4 + \"M\"")]
    Expression {
        /// Where reading stopped.
        place: usize,
    },
    /// More letters than any model has layers.
    #[error("has more than {LONGEST} letters")]
    TooLong,
}

fn letters() -> String {
    let all = LayerSymbol::ALL.map(|s| format!("{} ({})", s.letter(), s.label()));
    all.join(", ")
}

impl HybridPattern {
    /// A pattern of these segments, with so many MTP depths of these layers.
    #[must_use]
    pub fn new(segments: Vec<Vec<LayerSymbol>>, mtp: Vec<LayerSymbol>, depths: u64) -> Self {
        let decoder: Arc<[LayerSymbol]> = segments.iter().flatten().copied().collect();
        Self {
            kinds: decoder.iter().chain(&mtp).fold(0, |kinds, symbol| kinds | symbol.bit()),
            decoder,
            segments: segments.into(),
            mtp: mtp.into(),
            depths,
        }
    }

    /// The layers of each pipeline segment; one segment where there is no `|`.
    #[must_use]
    pub fn segments(&self) -> &[Vec<LayerSymbol>] {
        &self.segments
    }

    /// The layers of the decoder, first to last.
    pub fn layers(&self) -> impl Iterator<Item = LayerSymbol> + Clone {
        self.decoder.iter().copied()
    }

    /// The number of layers of the decoder.
    #[must_use]
    pub fn num_layers(&self) -> u64 {
        self.decoder.len() as u64
    }

    /// The layers of one MTP depth.
    #[must_use]
    pub fn mtp(&self) -> &[LayerSymbol] {
        &self.mtp
    }

    /// MTP depths.
    #[must_use]
    pub fn depths(&self) -> u64 {
        self.depths
    }

    /// Whether a layer of this kind is anywhere, in the decoder or in an MTP depth.
    #[must_use]
    pub fn has(&self, symbol: LayerSymbol) -> bool {
        self.kinds & symbol.bit() != 0
    }

    /// Whether another pattern has the same layers, in the decoder and in an MTP depth, however it is split.
    pub(in crate::config) fn has_layers_of(&self, other: &Self) -> bool {
        self.decoder == other.decoder && self.mtp == other.mtp
    }

    /// Whether `|` says where stages end.
    #[must_use]
    pub fn is_segmented(&self) -> bool {
        self.segments.len() > 1
    }

    /// The same layers in so many segments, the first ones a layer longer where they cannot be equal.
    #[must_use]
    pub fn in_segments(&self, count: usize) -> Self {
        let layers: Vec<LayerSymbol> = self.layers().collect();
        let count = count.max(1);
        let (each, longer) = (layers.len() / count, layers.len() % count);
        let mut rest = layers.into_iter();
        let segments = (0..count).map(|index| {
            let length = each + usize::from(index < longer);
            rest.by_ref().take(length).collect()
        });
        Self {
            segments: segments.collect(),
            ..self.clone()
        }
    }

    /// The same pattern with every layer of one kind replaced by one of another.
    #[must_use]
    pub fn replacing(&self, from: LayerSymbol, to: LayerSymbol) -> Self {
        let replaced = |layers: &[LayerSymbol]| -> Vec<LayerSymbol> {
            let layers = layers.iter().copied();
            layers.map(|s| if s == from { to } else { s }).collect()
        };
        let segments = self.segments.iter().map(|segment| replaced(segment));
        Self::new(segments.collect(), replaced(&self.mtp), self.depths)
    }

    /// Where a kind of layer is first, in characters of the pattern as it is written, from 1.
    #[must_use]
    pub fn place_of(&self, symbol: LayerSymbol) -> Option<usize> {
        // The characters between the layers are `None`.
        let segments = self.segments.iter().map(|segment| segment.iter().copied().map(Some));
        let decoder = segments.flat_map(|segment| segment.chain([None]));
        let mtp = self.mtp.iter().copied().map(Some).filter(|_| self.depths > 0);
        let place = decoder.chain(mtp).position(|layer| layer == Some(symbol));
        place.map(|index| index + 1)
    }
}

impl FromStr for HybridPattern {
    type Err = HybridPatternError;

    fn from_str(text: &str) -> Result<Self, HybridPatternError> {
        let text = text.trim();
        if text.contains(['"', '\'']) {
            let expanded = expression::expand(text)?;
            return parse(&expanded);
        }
        parse(text)
    }
}

fn parse(text: &str) -> Result<HybridPattern, HybridPatternError> {
    if text.len() > 4 * LONGEST {
        return Err(HybridPatternError::TooLong);
    }
    let mut parts = text.split('/');
    let main = parts.next().unwrap_or_default();
    let mut segments = vec![Vec::new()];
    for (place, letter) in (1..).zip(main.chars()) {
        if letter == '|' {
            segments.push(Vec::new());
        } else if let Some(segment) = segments.last_mut() {
            segment.push(symbol(letter, place)?);
        }
    }
    let mut place = main.chars().count() + 2;
    let mut depths: Vec<(usize, &str, Vec<LayerSymbol>)> = Vec::new();
    for part in parts {
        let symbols = (place..).zip(part.chars()).map(|(place, letter)| {
            if letter == '|' {
                Err(HybridPatternError::SegmentInMtp { place })
            } else {
                symbol(letter, place)
            }
        });
        depths.push((place, part, symbols.collect::<Result<_, _>>()?));
        place += part.chars().count() + 1;
    }
    // Separators with nothing behind any of them are no MTP.
    if depths.iter().all(|(_, part, _)| part.is_empty()) {
        depths.clear();
    }
    if let Some((_, first, _)) = depths.first()
        && let Some((place, second, _)) = depths.iter().find(|(_, part, _)| part != first)
    {
        return Err(HybridPatternError::UnequalDepths {
            first: (*first).to_owned(),
            second: (*second).to_owned(),
            place: *place,
        });
    }
    let count = depths.len() as u64;
    let mtp = depths.into_iter().next().map(|(_, _, symbols)| symbols);
    let pattern = HybridPattern::new(segments, mtp.unwrap_or_default(), count);
    if pattern.layers().next().is_none() {
        return Err(HybridPatternError::Empty);
    }
    if pattern.layers().count() + pattern.mtp.len() > LONGEST {
        return Err(HybridPatternError::TooLong);
    }
    for latent in [LayerSymbol::MultiLatentAttention, LayerSymbol::SparseAttention] {
        if let Some(place) = pattern.place_of(latent)
            && pattern.has(LayerSymbol::Attention)
        {
            return Err(HybridPatternError::MixedAttention {
                letter: latent.letter(),
                place,
            });
        }
    }
    Ok(pattern)
}

fn symbol(letter: char, place: usize) -> Result<LayerSymbol, HybridPatternError> {
    LayerSymbol::of(letter).ok_or(HybridPatternError::UnknownSymbol { letter, place })
}

/// The pattern as Megatron-LM's argument.
impl fmt::Display for HybridPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = |layers: &[LayerSymbol]| -> String { layers.iter().map(|symbol| symbol.letter()).collect() };
        let segments: Vec<String> = self.segments.iter().map(|s| letters(s)).collect();
        f.write_str(&segments.join("|"))?;
        for _ in 0..self.depths {
            write!(f, "/{}", letters(&self.mtp))?;
        }
        Ok(())
    }
}
