//! The model families, one file for each group of related families.

mod dense;
mod gemma;
mod hybrid;
mod latent;
mod moe;
mod refused;
mod special;

use super::family::Family;

/// The one list of all families.
pub(super) const ALL: &[&[Family]] = &[
    dense::FAMILIES,
    moe::FAMILIES,
    latent::FAMILIES,
    gemma::FAMILIES,
    special::FAMILIES,
    hybrid::FAMILIES,
    refused::FAMILIES,
];
