//! Coefficients of one model on one machine, from measured step times.

use super::coefficients::Coefficients;
use super::cost::Cost;
use super::layers::Software;
use super::pipeline::Replay;
use super::step::Nominal;
use super::timed;
use crate::config::job::{Config, Module};
use crate::config::step_time_calibration::{Calibrated, StepTimeCalibration};
use crate::memory::Estimate;

/// From so many runs of different layouts on, the factors of computing, host and network are told apart.
const SEVERAL: usize = 3;
/// How far off four of five times of a dense job are on a machine that was calibrated, in percent: as found on
/// public runs on A100 and B200 whose layout was held out of the fit.
const WITHIN_PERCENT: f64 = 9.0;
/// The same for jobs with experts, which are further off in the proportion of the intervals without calibration.
const MOE_WITHIN_PERCENT: f64 = 16.0;
/// The weight of the squared distance of a factor's logarithm from that of all runs together, beside the squared errors
/// of the runs: where runs do not tell factors apart, these stay together.
const TOGETHER: f64 = 1e-4;
/// The first step of the search for factors, which is halved this often.
const STEP: f64 = 0.4;
const HALVINGS: u32 = 8;
/// The most rounds with steps of one size.
const ROUNDS: u32 = 20;

impl Coefficients {
    /// With the factors of a calibration.
    #[must_use]
    pub fn calibrated(mut self, by: &StepTimeCalibration) -> Self {
        for (cost, factor) in <Cost as strum::IntoEnumIterator>::iter().zip(&mut self.factors) {
            *factor *= match cost {
                Cost::Products
                | Cost::ProductStarts
                | Cost::ExpertProducts
                | Cost::ExpertBytes
                | Cost::ExpertStarts
                | Cost::Attention
                | Cost::Elementwise
                | Cost::ElementwiseFromHopper
                | Cost::TensorNear
                | Cost::TensorNearFromHopper
                | Cost::ExpertNear => by.compute,
                Cost::TensorFar | Cost::ExpertFar | Cost::Context => by.network,
                Cost::KernelStarts | Cost::Collectives => by.host,
            };
        }
        self.host *= by.host;
        self.messages *= by.network;
        self.data *= by.network;
        self.optimizer *= by.compute;
        self
    }

    /// The shipped ones, with the calibration of a job with this module where it has one.
    #[must_use]
    pub fn of(m: &Module) -> Self {
        match StepTimeCalibration::of(m.args()) {
            Some(by) => Self::SHIPPED.calibrated(&by),
            None => Self::SHIPPED,
        }
    }
}

/// The factors of measured runs, each a job with its estimate and its seconds of a step: one factor for all that takes
/// time, or with three runs of different layouts and more one each for computing, host and network. `None` where no time
/// is predicted for a run, or runs are of different models, GPUs or precisions.
#[must_use]
pub fn calibrate(runs: &[(&Config, &Estimate, f64)]) -> Option<StepTimeCalibration> {
    let nominal = runs.iter().map(|(config, estimate, seconds)| {
        let (m, on) = timed(config).ok()?;
        let module = estimate.modules.first()?;
        Some((m, Nominal::new(m, module, &on, Software::default()), *seconds))
    });
    let nominal: Vec<(&Module, Nominal, f64)> = nominal.collect::<Option<_>>()?;
    let (first, ..) = nominal.first()?;
    let of = Calibrated::of(first.args())?;
    if nominal
        .iter()
        .any(|(m, ..)| Calibrated::of(m.args()).as_ref() != Some(&of))
    {
        return None;
    }
    let with = |[compute, host, network]: [f64; 3]| StepTimeCalibration {
        of: of.clone(),
        compute: compute.exp(),
        host: host.exp(),
        network: network.exp(),
        within_percent: WITHIN_PERCENT,
        runs: u32::try_from(nominal.len()).unwrap_or(u32::MAX),
    };
    let errors = |logarithms: [f64; 3]| {
        let coefficients = Coefficients::SHIPPED.calibrated(&with(logarithms));
        let error = |(m, nominal, seconds): &(&Module, Nominal, f64)| {
            (nominal.seconds(m, &coefficients, Replay::EveryPass) / seconds).ln()
        };
        nominal.iter().map(error).collect::<Vec<f64>>()
    };
    // One factor on everything is the median ratio.
    let mut ratios = errors([0.0; 3]);
    ratios.sort_by(f64::total_cmp);
    let together = -ratios.get(ratios.len() / 2)?;
    let mut best = [together; 3];
    if nominal.len() >= SEVERAL {
        let score = |logarithms: [f64; 3]| {
            let off: f64 = errors(logarithms).iter().map(|error| error * error).sum();
            off + TOGETHER * logarithms.iter().map(|one| (one - together).powi(2)).sum::<f64>()
        };
        let mut least = score(best);
        let mut step = STEP;
        for _ in 0..HALVINGS {
            for _ in 0..ROUNDS {
                let before = least;
                for place in 0..best.len() {
                    for change in [step, -step] {
                        let mut next = best;
                        if let Some(one) = next.get_mut(place) {
                            *one += change;
                        }
                        let of_next = score(next);
                        if of_next < least {
                            (best, least) = (next, of_next);
                        }
                    }
                }
                if least >= before {
                    break;
                }
            }
            step /= 2.0;
        }
    }
    let usual = if first.moe.is_some() {
        MOE_WITHIN_PERCENT
    } else {
        WITHIN_PERCENT
    };
    let worst = errors(best)
        .iter()
        .fold(0.0, |worst: f64, error| worst.max(error.abs()));
    Some(StepTimeCalibration {
        within_percent: usual.max(100.0 * worst.exp_m1()).ceil(),
        ..with(best)
    })
}
