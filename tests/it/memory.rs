//! Steady state and peak of whole stages.

mod activations;
mod jobs;
mod laws;
mod ledger;
