//! Changes with which a job fits, as rows of text.

use core::cmp::Ordering;

use super::amount::{Scale, grouped};
use crate::fit::{Cost, Offer};
use crate::units::Bytes;

/// One change, or a pair of changes, with which a job fits.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferRow {
    /// The changes with their settings.
    pub change: Offer,
    /// The changes in words.
    pub name: String,
    /// What they change at the peak of the fullest GPU, such as `−29.40 GiB`; `no change` only where it is the same to
    /// the byte.
    pub saves: String,
    /// The peak with them.
    pub peak: String,
    /// What they cost, such as `32 GPUs per replica, 16 now`.
    pub cost: String,
}

impl OfferRow {
    /// The row of a change of a job whose replica has `replica` GPUs.
    #[must_use]
    pub fn new(change: Offer, replica: u64, scale: Scale) -> Self {
        let saves = scale.amount(Bytes(change.saves.unsigned_abs()));
        let saves = match change.saves.cmp(&0) {
            Ordering::Less => format!("+{saves}"),
            Ordering::Equal => String::from("no change"),
            Ordering::Greater => format!("−{saves}"),
        };
        let costs = change.changes.iter().map(|part| cost(part.cost, replica));
        let costs: Vec<String> = costs.collect();
        let mut name = change.label();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Self {
            name,
            saves,
            peak: scale.amount(change.measured.total),
            cost: costs.join("; "),
            change,
        }
    }
}

/// A cost in words, for a job whose replica has `replica` GPUs.
fn cost(cost: Cost, replica: u64) -> String {
    match cost {
        Cost::Nothing => String::from("costs nothing"),
        Cost::MicroBatches(count) => format!("{} micro batches in a step", grouped(count)),
        Cost::OffloadedModules(0) => String::from("nothing copied to the host"),
        Cost::OffloadedModules(_) => String::from("nothing recomputed; copies to and from the host"),
        Cost::ReplicaGpus(gpus) if gpus == replica => {
            format!("{} GPUs per replica, as now", grouped(gpus))
        }
        Cost::ReplicaGpus(gpus) => {
            format!("{} GPUs per replica, {} now", grouped(gpus), grouped(replica))
        }
        Cost::Recomputed(0) => String::from("recomputes no matrix product"),
        Cost::Recomputed(ppm) => {
            let tenths = ppm / 1000;
            format!("{}.{} % of the forward pass recomputed", tenths / 10, tenths % 10)
        }
        Cost::Gathers => String::from("parameters gathered and gradients reduced for every micro batch"),
        Cost::LostBytes(bytes) => format!("{bytes} bytes less of gradient and moments"),
        Cost::OnHost(0) => String::from("all of the optimizer step runs on the GPU"),
        Cost::OnHost(percent) => format!("{percent} % of the optimizer step runs on the CPU"),
    }
}
