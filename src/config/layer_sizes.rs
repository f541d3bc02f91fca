//! `layer_sizes`: the sizes of layers that are not those of their module, as models from an architecture search have
//! them.
//!
//! The text lists all layers of the decoder, separated by commas, and behind `/` those of one MTP depth. A layer is a
//! list of sizes with dots between them: a key and a number, such as `nkv8.f14336`, `noattn` for a layer without
//! attention, `nomlp` for one without an MLP, `sink` for one with attention sinks, `window` for one whose attention has a
//! window, `sharedkv` for one that attends to keys and values of an earlier layer, or `-` for the sizes of the module.
//! `*3` repeats a layer, or several layers in parentheses: `nkv8.f14336*3,(noattn,-)*2`.

mod read;
mod size;

use core::fmt::{self, Write};

pub use read::LayerSizesError;
pub use size::LayerSize;

/// The longest list of layers in parentheses that [`LayerSizesList`] writes.
const LONGEST_GROUP: usize = 16;

/// Declares [`LayerSizes`], a size each row: its field, its key in texts, its symbol, and what it is.
macro_rules! layer_sizes {
    ($($name:ident, $key:literal, $symbol:literal, $doc:literal;)+) => {
        /// The sizes of a layer that are not those of its module.
        #[allow(
            clippy::struct_excessive_bools,
            reason = "independent facts about a layer, each a word of its own in texts"
        )]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct LayerSizes {
            /// Whether it has no attention.
            pub no_attention: bool,
            /// Whether it has no MLP.
            pub no_mlp: bool,
            /// Whether its attention has sinks, one learned logit a head (`softmax_type` learnable).
            pub sinks: bool,
            /// Whether its attention sees a window of the tokens before each one.
            pub window: bool,
            /// Whether it attends to the keys and values of the last layer with a window, or without one, that has its own.
            pub shared_kv: bool,
            $(#[doc = $doc] pub $name: Option<LayerSize>,)+
        }

        impl LayerSizes {
            /// The keys of all sizes, in the order in which they are written.
            const KEYS: &[&str] = &[$($key),+];

            /// The sizes with their keys and symbols.
            fn all(&self) -> impl Iterator<Item = (&'static str, &'static str, Option<LayerSize>)> {
                [$(($key, $symbol, self.$name)),+].into_iter()
            }

            /// The size with this key.
            fn size_mut(&mut self, key: &str) -> Option<&mut Option<LayerSize>> {
                match key {
                    $($key => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

layer_sizes! {
    num_attention_heads, "nq", "n_q", "Query heads.";
    num_query_groups, "nkv", "n_kv", "Key and value heads.";
    kv_channels, "d", "d", "Width of one head.";
    ffn_hidden_size, "f", "f", "Inner width of the dense MLP.";
    num_experts, "e", "E", "Routed experts.";
    moe_router_topk, "k", "k", "Experts that each token visits.";
    moe_ffn_hidden_size, "fe", "f_e", "Inner width of one routed expert.";
    moe_shared_expert_intermediate_size, "fs", "f_s", "Inner width of all shared experts together; 0 for none.";
}

/// A layer without attention.
const NO_ATTENTION: &str = "noattn";
/// A layer without an MLP.
const NO_MLP: &str = "nomlp";
/// A layer whose attention has sinks.
const SINKS: &str = "sink";
/// A layer whose attention has a window.
const WINDOW: &str = "window";
/// A layer that attends to keys and values of an earlier one.
const SHARED_KV: &str = "sharedkv";
/// A layer with the sizes of its module.
const SAME: &str = "-";

impl LayerSizes {
    /// Whether the layer is like its module says.
    #[must_use]
    pub fn is_of_module(&self) -> bool {
        *self == Self::default()
    }

    /// The sizes alone, once it is known which halves the layer has.
    #[must_use]
    pub(super) const fn without_halves(self) -> Self {
        Self {
            no_attention: false,
            no_mlp: false,
            ..self
        }
    }

    /// The sizes with their symbols, such as `n_kv 8, f 14336`; empty where they are the module's.
    #[must_use]
    pub fn in_symbols(&self) -> String {
        let sizes = self.all().filter_map(|(_, symbol, size)| Some((symbol, size?)));
        let sizes = sizes.map(|(symbol, size)| format!("{symbol} {size}"));
        let facts = [
            (self.sinks, "attention sinks"),
            (self.window, "a window"),
            (self.shared_kv, "shared keys and values"),
        ];
        let facts = facts.into_iter().filter(|(holds, _)| *holds);
        sizes
            .chain(facts.map(|(_, fact)| fact.to_owned()))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// The layer as the text has it, such as `nkv8.f14336`.
impl fmt::Display for LayerSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let halves = [(self.no_attention, NO_ATTENTION), (self.no_mlp, NO_MLP)];
        let halves = halves.into_iter().filter(|(is_missing, _)| *is_missing);
        let mut words: Vec<String> = halves.map(|(_, word)| word.to_owned()).collect();
        let sizes = self.all().filter_map(|(key, _, size)| Some((key, size?)));
        words.extend(sizes.map(|(key, size)| format!("{key}{size}")));
        let facts = [(self.sinks, SINKS), (self.window, WINDOW), (self.shared_kv, SHARED_KV)];
        let facts = facts.into_iter().filter(|(holds, _)| *holds);
        words.extend(facts.map(|(_, word)| word.to_owned()));
        if words.is_empty() {
            words.push(SAME.to_owned());
        }
        f.write_str(&words.join("."))
    }
}

/// The sizes of all layers of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerSizesList {
    /// Those of the decoder's layers, first to last.
    pub decoder: Vec<LayerSizes>,
    /// Those of the layers of one MTP depth; empty where they are like the decoder's last.
    pub mtp: Vec<LayerSizes>,
}

impl LayerSizesList {
    /// Whether every layer is like its module says.
    #[must_use]
    pub fn is_of_module(&self) -> bool {
        self.decoder.iter().chain(&self.mtp).all(LayerSizes::is_of_module)
    }
}

/// The text, with layers that repeat written once.
impl fmt::Display for LayerSizesList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_layers(f, &self.decoder)?;
        if !self.mtp.is_empty() {
            f.write_char('/')?;
            write_layers(f, &self.mtp)?;
        }
        Ok(())
    }
}

/// How many layers at the start of `layers` are like the first `period` over and over, in whole repetitions.
fn repeated(layers: &[LayerSizes], period: usize) -> usize {
    let of_period = layers.get(..period).unwrap_or_default();
    let repetitions = layers.chunks_exact(period.max(1)).take_while(|next| *next == of_period);
    repetitions.count() * period
}

fn write_layers(f: &mut fmt::Formatter<'_>, layers: &[LayerSizes]) -> fmt::Result {
    let mut rest = layers;
    let mut separator = "";
    while let Some(first) = rest.first() {
        f.write_str(separator)?;
        separator = ",";
        let run = repeated(rest, 1);
        let groups = (2..=LONGEST_GROUP).map(|period| (repeated(rest, period), period));
        let groups = groups.filter(|(covered, period)| *covered > *period && *covered > run);
        // Of groups that cover as many layers, the shortest.
        let group = groups.max_by_key(|(covered, period)| (*covered, LONGEST_GROUP - period));
        let (covered, times) = if let Some((covered, period)) = group {
            f.write_char('(')?;
            write_runs(f, rest.get(..period).unwrap_or_default())?;
            f.write_char(')')?;
            (covered, covered / period)
        } else {
            write!(f, "{first}")?;
            (run, run)
        };
        if times > 1 {
            write!(f, "*{times}")?;
        }
        rest = rest.get(covered..).unwrap_or_default();
    }
    Ok(())
}

fn write_runs(f: &mut fmt::Formatter<'_>, layers: &[LayerSizes]) -> fmt::Result {
    for (index, run) in layers.chunk_by(|one, next| one == next).enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        if let Some(first) = run.first() {
            write!(f, "{first}")?;
        }
        if run.len() > 1 {
            write!(f, "*{}", run.len())?;
        }
    }
    Ok(())
}
