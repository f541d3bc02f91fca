//! How much longer than nominal each kind of work takes, and what a host and a pipeline add.

use strum::{EnumCount, IntoEnumIterator, IntoStaticStr};

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

/// What is known of a coefficient before any job is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
pub enum KnownFrom {
    /// NVIDIA's aiconfigurator (`095f58a5`, `systems/data`): its measured tables of matrix products.
    #[strum(serialize = "measured matrix products")]
    ProductTables,
    /// `SimuMax` (`4dcaae51`): its measured tables of the products of experts and of attention.
    #[strum(serialize = "measured products of experts and attention")]
    OperatorTables,
    /// NVIDIA's aiconfigurator: its measured tables of NCCL's collectives.
    #[strum(serialize = "measured collectives")]
    CollectiveTables,
    /// Kernels that were measured on one H100 (`src/evidence/step_times/operations.json`).
    #[strum(serialize = "kernels measured on one H100")]
    Kernels,
    /// Nothing was measured alone: a guess that the runs correct.
    #[strum(serialize = "the runs alone")]
    Runs,
}

/// A coefficient, with where it comes from and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Described {
    /// What takes the time, such as `matrix products`.
    pub name: &'static str,
    /// The GPUs that it is for: `all`, or those of some generations.
    pub gpus: &'static str,
    /// The unit, such as `times the data sheet's`.
    pub unit: &'static str,
    /// What is known of it beside the runs.
    pub known_from: KnownFrom,
    /// The shipped value.
    pub value: f64,
    /// The least and the most that the runs leave open.
    pub interval: [f64; 2],
}

/// The unit of a factor.
const FACTOR: &str = "times the nominal time";

impl Coefficients {
    /// Every shipped coefficient, in the order of [`each_mut`](Self::each_mut). The parts of their peaks that matrix products
    /// reach, by GPU and dtype, are a table of their own (`src/time/hardware.rs`).
    pub fn described() -> impl Iterator<Item = Described> {
        use KnownFrom::Runs;
        let of_costs = Cost::iter().map(|cost| (cost.name(), cost.gpus(), FACTOR, cost.known_from()));
        let rest = [
            (
                "launches of a layer by the host",
                "all",
                "s a layer and micro batch",
                Runs,
            ),
            ("passes in a pipeline, longer by", "all", "of the passes", Runs),
            (
                "messages between pipeline stages",
                "all",
                FACTOR,
                KnownFrom::CollectiveTables,
            ),
            (
                "data-parallel gradients and parameters",
                "all",
                FACTOR,
                KnownFrom::CollectiveTables,
            ),
            ("optimizer step", "all", FACTOR, Runs),
        ];
        let (mut value, [mut low, mut high]) = (Self::SHIPPED, Self::INTERVALS);
        let values: Vec<f64> = value.each_mut().map(|one| *one).collect();
        let ends: Vec<[f64; 2]> = low
            .each_mut()
            .zip(high.each_mut())
            .map(|(low, high)| [*low, *high])
            .collect();
        let described = of_costs.chain(rest).zip(values.into_iter().zip(ends));
        described.map(|((name, gpus, unit, known_from), (value, interval))| Described {
            name,
            gpus,
            unit,
            known_from,
            value,
            interval,
        })
    }

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
            1.05, 1.0, 1.5601, 1.6716, 1.0219, 1.783, 2.1574, 1.4987, 1.0671, 2.2288, 1.3119, 2.0, 1.5664, 1.4679, 2.0,
            23.6292,
        ],
        host: 0.0015,
        pipeline: 0.0761,
        messages: 0.731,
        data: 1.7947,
        optimizer: 2.0314,
    };

    /// How far the runs leave each coefficient of [`SHIPPED`](Self::SHIPPED) open: the least and the most, made by the same
    /// program (`src/bin/xtask/fit_time/intervals.rs`). Coefficients make up for each other, so that the times of jobs are
    /// known better than these: [`interval`](super::interval) says how well.
    pub const INTERVALS: [Self; 2] = [
        Self {
            factors: [
                0.9524, 0.2204, 0.4837, 0.4061, 0.2252, 0.5015, 0.9413, 0.4426, 0.2352, 1.3683, 0.3347, 0.4407, 0.3996,
                0.3566, 0.4407, 9.3098,
            ],
            host: 0.0003,
            pipeline: 0.03,
            messages: 0.3877,
            data: 1.1018,
            optimizer: 0.4476,
        },
        Self {
            factors: [
                1.1576, 4.3219, 2.9419, 4.224, 4.6374, 3.5303, 3.5142, 2.9674, 5.3391, 3.2929, 4.0296, 9.0761, 3.2565,
                5.2192, 9.0761, 36.6567,
            ],
            host: 0.0059,
            pipeline: 0.1302,
            messages: 1.2502,
            data: 2.2906,
            optimizer: 7.5841,
        },
    ];

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
