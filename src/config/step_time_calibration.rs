//! Factors on predicted step times, from measured times of jobs of one model on one kind of GPU in one precision.

use core::fmt;
use core::str::FromStr;

use super::choices::Fp8Recipe;
use super::fields::Args;

/// What a field for them may hold, as an example.
pub const EXAMPLE: &str = "gpu=h100-80gb precision=bf16 model=32x4096 compute=1.08 host=1 network=1.2 within=9 runs=3";

/// What was measured, and the factors.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTimeCalibration {
    /// The GPU, the precision and the model of the runs.
    pub of: Calibrated,
    /// The factor of what the GPU computes, and of exchanges within a node.
    pub compute: f64,
    /// The factor of what the host launches.
    pub host: f64,
    /// The factor of messages over the network.
    pub network: f64,
    /// How far off times are after that, in percent.
    pub within_percent: f64,
    /// The number of measured runs.
    pub runs: u32,
}

/// What runs must share so that factors of one hold for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrated {
    gpu: String,
    /// `bf16`, `fp16`, `fp32`, `fp4`, or fp8 with its recipe, such as `fp8-mxfp8`.
    precision: String,
    /// Layers by hidden size, and the number of experts where there are some: `48x2048x128`.
    model: String,
}

impl Calibrated {
    /// That of a job with these arguments; `None` where no GPU is chosen.
    #[must_use]
    pub fn of(a: &Args) -> Option<Self> {
        let precision = if a.fp4_format.is_some() {
            "fp4".to_owned()
        } else if a.fp8_format.is_some() {
            let recipe = match a.fp8_recipe {
                Fp8Recipe::Delayed => "delayed",
                Fp8Recipe::Tensorwise => "tensorwise",
                Fp8Recipe::Blockwise => "blockwise",
                Fp8Recipe::Mxfp8 => "mxfp8",
            };
            format!("fp8-{recipe}")
        } else if a.bf16 {
            "bf16".to_owned()
        } else if a.fp16 {
            "fp16".to_owned()
        } else {
            "fp32".to_owned()
        };
        let experts = a.num_experts.filter(|experts| *experts > 0);
        let experts = experts.map_or_else(String::new, |experts| format!("x{experts}"));
        Some(Self {
            gpu: a.gpu.clone()?,
            precision,
            model: format!("{}x{}{experts}", a.num_layers, a.hidden_size),
        })
    }
}

impl StepTimeCalibration {
    /// The one of a job with these arguments; `None` without one, and where it is of another model, GPU or precision.
    #[must_use]
    pub fn of(a: &Args) -> Option<Self> {
        let given: Self = a.step_time_calibration.as_deref()?.parse().ok()?;
        (Some(&given.of) == Calibrated::of(a).as_ref()).then_some(given)
    }
}

impl fmt::Display for Calibrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gpu={} precision={} model={}", self.gpu, self.precision, self.model)
    }
}

impl fmt::Display for StepTimeCalibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            of,
            compute,
            host,
            network,
            within_percent,
            runs,
        } = self;
        write!(
            f,
            "{of} compute={compute:.3} host={host:.3} network={network:.3} within={within_percent:.0} runs={runs}"
        )
    }
}

/// A text that is no calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCalibration;

impl FromStr for StepTimeCalibration {
    type Err = NoCalibration;

    fn from_str(text: &str) -> Result<Self, NoCalibration> {
        let word = |key: &str| {
            let mut words = text.split_whitespace().filter_map(|word| word.split_once('='));
            words
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value)
                .ok_or(NoCalibration)
        };
        let number = |key: &str| {
            let number: f64 = word(key)?.parse().map_err(|_| NoCalibration)?;
            // A factor beyond that is of another job.
            if number > 0.0 && number < 1000.0 {
                Ok(number)
            } else {
                Err(NoCalibration)
            }
        };
        Ok(Self {
            of: Calibrated {
                gpu: word("gpu")?.to_owned(),
                precision: word("precision")?.to_owned(),
                model: word("model")?.to_owned(),
            },
            compute: number("compute")?,
            host: number("host")?,
            network: number("network")?,
            within_percent: number("within")?,
            runs: word("runs")?.parse().map_err(|_| NoCalibration)?,
        })
    }
}
