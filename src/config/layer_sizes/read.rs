//! Reads the text of `layer_sizes`.

use core::str::FromStr;

use super::{LayerSizes, LayerSizesList, NO_ATTENTION, NO_MLP, SAME, SHARED_KV, SINKS, WINDOW};

/// The most layers that a text may list.
const LONGEST: usize = 10_000;
/// The largest size of a layer.
const LARGEST: u64 = 10_000_000;
/// The key of the size that may be 0: layers may have no shared experts.
const MAY_BE_NONE: &str = "fs";
/// The deepest nesting of parentheses.
const DEEPEST: u32 = 8;

/// Why a text does not list the sizes of layers. Places are counted in characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerSizesError {
    /// A word that is no size.
    #[error(
        "has “{word}” at character {place}, which is no size; use {} with a number, {NO_ATTENTION}, {NO_MLP}, {SINKS}, {WINDOW}, {SHARED_KV} or {SAME}",
        LayerSizes::KEYS.join(", ")
    )]
    UnknownSize {
        /// The word.
        word: String,
        /// Where it begins.
        place: usize,
    },
    /// The text does not follow the grammar.
    #[error("cannot be read at character {place}; write layers such as nkv8.f14336*3,(noattn,-)*2")]
    Syntax {
        /// Where reading stopped.
        place: usize,
    },
    /// More layers than any model has.
    #[error("lists more than {LONGEST} layers")]
    TooLong,
}

impl FromStr for LayerSizesList {
    type Err = LayerSizesError;

    fn from_str(text: &str) -> Result<Self, LayerSizesError> {
        let mut reader = Reader {
            rest: text.trim(),
            place: 1,
            depth: 0,
        };
        let mut decoder = Vec::new();
        reader.layers(&mut decoder)?;
        let mut mtp = Vec::new();
        if reader.takes('/') {
            reader.layers(&mut mtp)?;
        }
        if reader.rest.is_empty() {
            Ok(Self { decoder, mtp })
        } else {
            Err(reader.syntax())
        }
    }
}

/// `layers = item ("," item)*`, `item = (layer | "(" layers ")") ["*" number]`, `layer = word ("." word)*`.
struct Reader<'t> {
    rest: &'t str,
    place: usize,
    depth: u32,
}

impl<'t> Reader<'t> {
    fn syntax(&self) -> LayerSizesError {
        LayerSizesError::Syntax { place: self.place }
    }

    fn takes(&mut self, c: char) -> bool {
        self.spaces();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                self.place += 1;
                true
            }
            None => false,
        }
    }

    fn spaces(&mut self) {
        let trimmed = self.rest.trim_start();
        self.place += self.rest.chars().count() - trimmed.chars().count();
        self.rest = trimmed;
    }

    /// The characters up to the first for which `is_part` does not hold.
    fn while_is(&mut self, is_part: fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.place += word.chars().count();
        self.rest = rest;
        word
    }

    /// Adds what the text lists to the end of `layers`.
    fn layers(&mut self, layers: &mut Vec<LayerSizes>) -> Result<(), LayerSizesError> {
        loop {
            self.item(layers)?;
            if layers.len() > LONGEST {
                return Err(LayerSizesError::TooLong);
            }
            if !self.takes(',') {
                return Ok(());
            }
        }
    }

    fn item(&mut self, layers: &mut Vec<LayerSizes>) -> Result<(), LayerSizesError> {
        let mut once = Vec::new();
        if self.takes('(') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.syntax());
            }
            self.layers(&mut once)?;
            self.depth -= 1;
            if !self.takes(')') {
                return Err(self.syntax());
            }
        } else {
            once.push(self.layer()?);
        }
        let mut times = 1;
        if self.takes('*') {
            self.spaces();
            let start = self.place;
            let number = self.while_is(|c| c.is_ascii_digit());
            times = number.parse().map_err(|_| LayerSizesError::Syntax { place: start })?;
        }
        if once.len().saturating_mul(times) > LONGEST {
            return Err(LayerSizesError::TooLong);
        }
        for _ in 0..times {
            layers.extend_from_slice(&once);
        }
        Ok(())
    }

    fn layer(&mut self) -> Result<LayerSizes, LayerSizesError> {
        let mut layer = LayerSizes::default();
        loop {
            self.spaces();
            let place = self.place;
            let word = self.while_is(|c| c.is_ascii_alphanumeric() || c == '-');
            if word.is_empty() {
                return Err(self.syntax());
            }
            add(&mut layer, word).ok_or_else(|| LayerSizesError::UnknownSize {
                word: word.to_owned(),
                place,
            })?;
            if !self.takes('.') {
                return Ok(layer);
            }
        }
    }
}

/// Adds what a word says to a layer; `None` where it says nothing.
fn add(layer: &mut LayerSizes, word: &str) -> Option<()> {
    match word {
        SAME => {}
        NO_ATTENTION => layer.no_attention = true,
        NO_MLP => layer.no_mlp = true,
        SINKS => layer.sinks = true,
        WINDOW => layer.window = true,
        SHARED_KV => layer.shared_kv = true,
        _ => {
            let (key, number) = word.split_at(word.find(|c: char| c.is_ascii_digit())?);
            let least = u64::from(key != MAY_BE_NONE);
            let number = number
                .parse()
                .ok()
                .filter(|number| (least..=LARGEST).contains(number))?;
            *layer.size_mut(key)? = Some(number.into());
        }
    }
    Some(())
}
