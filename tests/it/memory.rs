//! Steady state and peak of whole stages.

mod jobs;
mod laws;
mod measured;
