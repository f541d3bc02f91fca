//! The predicted time of an optimizer step.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use megatron_memory::config::job::Config;
use megatron_memory::memory;
use megatron_memory::report;
use megatron_memory::time::{self, NoTime, step_time};

/// The names of what a step spends its time on.
#[wasm_bindgen(typescript_custom_section)]
const STEP_TIME_PART: &str = r#"
/** What a step spends its time on. */
export type StepTimePart =
  | "compute" | "attention" | "tensor_parallel" | "expert_parallel" | "context_parallel" | "pipeline" | "data_parallel"
  | "optimizer" | "host";
"#;

/// The predicted time of an optimizer step.
#[derive(Debug, Serialize, Tsify)]
pub struct StepTime {
    step_seconds: f64,
    /// The step of four of five runs takes at least so many seconds.
    low_seconds: f64,
    /// The step of four of five runs takes at most so many seconds.
    high_seconds: f64,
    /// Tokens that the job trains on in a second, for each GPU.
    tokens_per_second_per_gpu: f64,
    /// Operations of matrix products, causal attention and the scans of linear attention in a second for each GPU, in
    /// TFLOP/s, without what is recomputed: as Megatron's own logs count them.
    tflops_per_gpu: f64,
    /// Model FLOPs utilization: `tflops_per_gpu` over the dense bf16 peak of the GPU, from 0 to 1.
    mfu: f64,
    /// Seconds by what they are spent on. Their sum is `step_seconds`.
    #[tsify(type = "Record<StepTimePart, number>")]
    parts: Parts,
    /// The part to look at first: what takes most time besides computing, where that is 5 % of the step or more, and
    /// otherwise the larger part of computing.
    #[tsify(type = "StepTimePart")]
    bottleneck: &'static str,
    /// The share of that part, and what would shorten it, as a sentence.
    bottleneck_reason: String,
}

/// Seconds by part. They serialize as a struct, since the serializer keeps the names of fields and makes those of maps
/// anew.
#[derive(Clone, Debug)]
struct Parts(Vec<(&'static str, f64)>);

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Parts", self.0.len())?;
        for (part, seconds) in &self.0 {
            fields.serialize_field(part, seconds)?;
        }
        fields.end()
    }
}

impl StepTime {
    /// That of a job with this estimate.
    pub(super) fn new(config: &Config, estimate: &memory::Estimate) -> Result<Self, NoTime> {
        let time: time::StepTime = step_time(config, estimate)?;
        let [low_seconds, high_seconds] = time.interval;
        Ok(Self {
            step_seconds: time.seconds,
            low_seconds,
            high_seconds,
            tokens_per_second_per_gpu: time.tokens_per_second_per_gpu,
            tflops_per_gpu: time.tflops_per_gpu(),
            mfu: time.mfu,
            parts: Parts(time.by_part().map(|(part, seconds)| (part.id(), seconds)).collect()),
            bottleneck: time.bottleneck().id(),
            bottleneck_reason: report::time::bottleneck(config, &time),
        })
    }
}
