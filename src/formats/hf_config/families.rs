//! The model families, one file for each group of related families.

mod classic;
mod dense;
mod gemma;
mod hybrid;
mod latent;
mod moe;
mod open_dense;
mod open_moe;
mod refused;
mod special;

use super::family::Family;

/// The one list of all families.
pub(super) const ALL: &[&[Family]] = &[
    dense::FAMILIES,
    open_dense::FAMILIES,
    classic::FAMILIES,
    moe::FAMILIES,
    open_moe::FAMILIES,
    latent::FAMILIES,
    gemma::FAMILIES,
    special::FAMILIES,
    hybrid::FAMILIES,
    refused::FAMILIES,
];
