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

/// The family that a value of `model_type` names.
pub(super) fn by_model_type(model_type: &str) -> Option<&'static Family> {
    all().find(|family| family.model_types.contains(&model_type))
}

/// The family that a value of `architectures` names.
pub(super) fn by_architecture(architecture: &str) -> Option<&'static Family> {
    all().find(|family| family.architectures.contains(&architecture))
}

/// Every family.
pub(super) fn all() -> impl Iterator<Item = &'static Family> {
    ALL.iter().flat_map(|group| group.iter())
}
