//! How much longer than nominal each kind of work takes, and what a host and a pipeline add.

use strum::EnumCount;

use super::cost::Cost;

/// The coefficients of the time of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Seconds in practice over nominal seconds, by [`Cost`].
    pub factors: [f64; Cost::COUNT],
    /// Seconds that the host needs to launch the kernels of a layer for one micro batch, in both passes together.
    pub host: f64,
    /// The part by which each pass takes longer in a pipeline.
    pub pipeline: f64,
    /// Seconds in practice over nominal ones of messages between pipeline stages.
    pub messages: f64,
    /// Seconds in practice over nominal ones of gradients and parameters between data-parallel ranks.
    pub data: f64,
    /// Seconds in practice over nominal ones of the optimizer's step.
    pub optimizer: f64,
}

impl Coefficients {
    /// What is known of the coefficients before any job is looked at: from measured tables of single operators and of
    /// NCCL's collectives; that of kernels which read and write memory is measured (`src/evidence/step_times`), and stands
    /// here for what a fit begins with. Fitted coefficients are drawn towards them. A collective is taken to wait for its last rank
    /// three times as long as NCCL itself needs to start.
    pub const PRIOR: Self = Self {
        factors: [
            1.05, 1.0, 1.4, 1.5, 1.0, 1.6, 1.7, 1.63, 1.0, 2.0, 1.4, 2.0, 1.5, 1.5, 2.0, 4.0,
        ],
        host: 1.5e-3,
        pipeline: 0.03,
        messages: 1.4,
        data: 2.0,
        optimizer: 1.5,
    };

    /// One set for every GPU of a generation, made by `cargo xtask fit-time` from the measured runs of `src/evidence/step_times`.
    pub const SHIPPED: Self = Self {
        factors: [
            1.05, 1.0, 1.5601, 1.7838, 1.0219, 1.635, 2.2046, 1.4987, 1.0671, 2.2776, 1.3119, 2.0, 1.5328, 1.5, 2.0,
            24.1466,
        ],
        host: 0.0015,
        pipeline: 0.0745,
        messages: 0.7801,
        data: 1.7563,
        optimizer: 2.0314,
    };

    /// The coefficients as one list, for a fit.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        let rest = [
            &mut self.host,
            &mut self.pipeline,
            &mut self.messages,
            &mut self.data,
            &mut self.optimizer,
        ];
        self.factors.iter_mut().chain(rest)
    }
}
