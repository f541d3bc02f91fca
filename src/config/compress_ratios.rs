//! `csa_compress_ratios`: how many tokens each layer of compressed attention makes one key of.
//!
//! Megatron-LM's dev branch takes a Python list, with the ratios of MTP depths behind those of the decoder's layers. Here
//! it is a closed grammar and never an evaluator: lists of ratios, `+`, and `* n`, with parentheses.

use core::fmt;
use core::str::FromStr;

use super::number_lists::{self, ListError};

/// The tokens that a layer of compressed attention makes one key of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompressRatio {
    /// 0: it attends to the tokens of a window alone.
    Window,
    /// 4: compressed sparse attention. An indexer picks groups of tokens besides the window.
    Sparse,
    /// 128: heavily compressed attention, to all groups of tokens besides the window.
    Heavy,
}

impl CompressRatio {
    /// Tokens of a group; 0 for a layer without groups.
    #[must_use]
    pub const fn tokens(self) -> u64 {
        match self {
            Self::Window => 0,
            Self::Sparse => 4,
            Self::Heavy => 128,
        }
    }

    /// Whether each key is made of two groups (`Compressor.overlap`).
    #[must_use]
    pub const fn overlaps(self) -> bool {
        matches!(self, Self::Sparse)
    }

    fn of(tokens: usize) -> Option<Self> {
        match tokens {
            0 => Some(Self::Window),
            4 => Some(Self::Sparse),
            128 => Some(Self::Heavy),
            _ => None,
        }
    }
}

/// The ratios of all layers: those of the decoder, and behind them one for each MTP depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressRatios(pub Vec<CompressRatio>);

/// Why a text does not list compress ratios.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompressRatiosError {
    /// A number that is no ratio.
    #[error("has {0}: Megatron-LM's compress ratios are 0, 4 and 128")]
    NoRatio(usize),
    /// The text does not follow the grammar.
    #[error("cannot be read at character {place}; write a list like [0,0,4,128], or [0]*2+[4,128]*20")]
    Syntax {
        /// Position in characters, from 1.
        place: usize,
    },
    /// More entries than any model has layers.
    #[error("has more than {} entries", number_lists::LONGEST)]
    TooLong,
}

impl FromStr for CompressRatios {
    type Err = CompressRatiosError;

    fn from_str(text: &str) -> Result<Self, CompressRatiosError> {
        let numbers = number_lists::read(text).map_err(|error| match error {
            ListError::Syntax { place } => CompressRatiosError::Syntax { place },
            ListError::TooLong => CompressRatiosError::TooLong,
        })?;
        let ratios = numbers.into_iter().map(|number| {
            let ratio = CompressRatio::of(number);
            ratio.ok_or(CompressRatiosError::NoRatio(number))
        });
        Ok(Self(ratios.collect::<Result<_, _>>()?))
    }
}

/// The text, with ratios that repeat written once, such as `[0]*2+[4,128]*20+[4,0]`.
impl fmt::Display for CompressRatios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("[]");
        }
        let mut rest = self.0.as_slice();
        let mut single: Vec<u64> = Vec::new();
        let mut separator = "";
        let flush = |f: &mut fmt::Formatter<'_>, single: &mut Vec<u64>, separator: &mut &str| {
            if single.is_empty() {
                return Ok(());
            }
            let numbers: Vec<String> = single.iter().map(u64::to_string).collect();
            write!(f, "{separator}[{}]", numbers.join(","))?;
            *separator = "+";
            single.clear();
            Ok(())
        };
        while let Some(first) = rest.first() {
            let (period, times) = repeated(rest);
            if times < 2 {
                single.push(first.tokens());
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            flush(f, &mut single, &mut separator)?;
            let group = rest.get(..period).unwrap_or_default().iter();
            let mut group: Vec<u64> = group.map(|ratio| ratio.tokens()).collect();
            flush(f, &mut group, &mut separator)?;
            write!(f, "*{times}")?;
            rest = rest.get(period * times..).unwrap_or_default();
        }
        flush(f, &mut single, &mut separator)
    }
}

/// The longest start of a list that is one ratio or two over and over: how many they are, and how often they come.
fn repeated(list: &[CompressRatio]) -> (usize, usize) {
    let times = |period: usize| {
        let first = list.get(..period).unwrap_or_default();
        let same = list.chunks_exact(period).take_while(|next| *next == first);
        same.count()
    };
    let (one, two) = (times(1), times(2));
    if two > 1 && 2 * two > one { (2, two) } else { (1, one) }
}
