//! Where the number of a line comes from. Text only once somebody reads it: a stage has hundreds of lines.

use core::fmt::Write;
use std::borrow::Cow;

use crate::config::field::Decimal;
use crate::model::tensor::{Factor, Shape};

/// A formula: the same product once in symbols and once in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula(pub(super) Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Product(Box<Product>),
    /// So many times so many bytes that have no shape of their own.
    Sum {
        each: u64,
        times: u64,
    },
    /// The padding of a buffer whose elements ranks split.
    Padding {
        elements: u64,
        padded: u64,
        ranks: u64,
        bytes: u64,
    },
    /// A formula in words, where it is no product.
    Words {
        symbols: &'static str,
        values: &'static str,
    },
}

/// The elements of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Product {
    /// How many of the shape there are, and what they are called.
    pub(super) times: (Cow<'static, str>, u64),
    pub(super) shape: Shape,
    /// Ranks that share them, and what their number is called.
    pub(super) shard: (&'static str, u64),
    /// The part that stays on the GPU.
    pub(super) on_gpu: Decimal,
    /// Further conditions, in words.
    pub(super) note: &'static str,
    /// Bytes of an element.
    pub(super) bytes: u64,
    /// How the product is rounded, in words.
    pub(super) rounding: &'static str,
}

impl Product {
    /// The elements of one shape.
    pub(super) const fn of(shape: Shape, bytes: u64) -> Self {
        Self {
            times: (Cow::Borrowed(""), 1),
            shape,
            shard: ("", 1),
            on_gpu: Decimal::ONE,
            note: "",
            bytes,
            rounding: "",
        }
    }
}

impl Formula {
    /// In symbols.
    #[must_use]
    pub fn symbols(&self) -> String {
        let mut out = String::new();
        match &self.0 {
            Kind::Product(product) => {
                let Product { times, shard, .. } = &**product;
                if times.1 > 1 {
                    out += &times.0;
                    out += " · ";
                }
                out += &product.shape.to_string();
                if shard.1 > 1 {
                    out += " / ";
                    out += shard.0;
                }
                if product.on_gpu < Decimal::ONE {
                    out += " · part on GPU";
                }
                out += product.note;
                elements_of(&mut out, product.bytes);
                out += product.rounding;
            }
            Kind::Sum { times: 1, .. } => out += "bytes",
            Kind::Sum { .. } => out += "alive · bytes",
            Kind::Padding { ranks, bytes, .. } => {
                out += "(padded − elements)";
                if *ranks > 1 {
                    out += " / ranks";
                }
                elements_of(&mut out, *bytes);
            }
            Kind::Words { symbols, .. } => out += symbols,
        }
        out
    }

    /// With values in their place.
    #[must_use]
    pub fn values(&self) -> String {
        let mut out = String::new();
        match &self.0 {
            Kind::Product(product) => {
                times(&mut out, product.times.1);
                out += &product.shape.substituted();
                over(&mut out, product.shard.1);
                if product.on_gpu < Decimal::ONE {
                    out += " · ";
                    out += &product.on_gpu.to_string();
                }
                elements_of(&mut out, product.bytes);
                out += product.rounding;
            }
            Kind::Sum { each, times: n } => {
                times(&mut out, *n);
                out += &each.to_string();
                out += " B";
            }
            Kind::Padding {
                elements,
                padded,
                ranks,
                bytes,
            } => {
                // Writing to a string cannot fail.
                let _ = write!(out, "({padded} − {elements})");
                over(&mut out, *ranks);
                elements_of(&mut out, *bytes);
            }
            Kind::Words { values, .. } => out += values,
        }
        out
    }

    /// Every symbol with its value, in order of appearance.
    #[must_use]
    pub fn legend(&self) -> Vec<(&str, u64)> {
        match &self.0 {
            Kind::Product(product) => {
                let Product {
                    times, shape, shard, ..
                } = &**product;
                let factors = shape.factors().chain(shape.divisors());
                let factors = factors.filter(Factor::is_written);
                let factors = factors.map(|factor| (factor.symbol, factor.value));
                let times = Some((&*times.0, times.1)).filter(|(_, count)| *count > 1);
                let shard = Some(*shard).filter(|(_, ranks)| *ranks > 1);
                times.into_iter().chain(factors).chain(shard).collect()
            }
            Kind::Sum { each, times: 1 } => vec![("bytes", *each)],
            Kind::Sum { each, times } => vec![("alive", *times), ("bytes", *each)],
            Kind::Padding {
                elements,
                padded,
                ranks,
                ..
            } => {
                let mut legend = vec![("padded", *padded), ("elements", *elements)];
                if *ranks > 1 {
                    legend.push(("ranks", *ranks));
                }
                legend
            }
            Kind::Words { .. } => Vec::new(),
        }
    }
}

fn times(out: &mut String, times: u64) {
    if times > 1 {
        *out += &times.to_string();
        *out += " · ";
    }
}

fn over(out: &mut String, ranks: u64) {
    if ranks > 1 {
        *out += " / ";
        *out += &ranks.to_string();
    }
}

fn elements_of(out: &mut String, bytes: u64) {
    *out += " · ";
    *out += &bytes.to_string();
    *out += " B";
}
