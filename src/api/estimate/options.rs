//! The options of `estimate`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::arguments;
use megatron_memory::config::choices::SoftwareStack;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::JobMoment;
use megatron_memory::value::Value;

/// The most points that all timelines of one result may have together. More would fill the page's memory.
const MOST_POINTS: u64 = 1 << 16;
/// The most points of a timeline for `timeline: true`.
const POINTS: u64 = 4096;

/// Further results of `estimate`, besides the memory of every stage. These keys may also stand in the job; an option
/// wins over the job's key.
#[derive(Clone, Copy, Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct EstimateOptions {
    /// The global rank whose memory is reported, counted from 0.
    pub(super) rank: Option<u64>,
    /// Whether stages have timelines: `true` for timelines of at most 4096 points, a number for another limit.
    timeline: Option<Timelines>,
    /// Whether to report what each way of recomputing would save: on the first stage of `rank`, or without a rank on
    /// the stage with the largest peak.
    pub(super) ledger: Option<bool>,
    /// Whether to replay PyTorch's allocator and report what it reserves, which takes up to a second.
    pub(super) reserved: Option<bool>,
    /// Whether to report what the job needs trained in full, with adapters, and with Megatron FSDP, and what adapters
    /// save.
    pub(super) methods: Option<bool>,
    /// The moment whose memory `peak_bytes`, `steady_bytes`, `memory` and all that follows from them report; without
    /// it, `later_iteration`. Give `first_iteration` to compare with a line that a job printed after its first
    /// iteration.
    #[tsify(type = "JobMoment | null")]
    pub(super) moment: Option<JobMoment>,
    /// The versions of the software that trains; without it, the job's `software_stack`, which is `megatron_main` by
    /// default.
    #[serde(deserialize_with = "stack")]
    #[tsify(type = "SoftwareStack | null")]
    stack: Option<SoftwareStack>,
}

/// Reads the name of a software stack.
fn stack<'d, D: Deserializer<'d>>(name: D) -> Result<Option<SoftwareStack>, D::Error> {
    let Some(name) = Option::<String>::deserialize(name)? else {
        return Ok(None);
    };
    let found = SoftwareStack::named(&name);
    found.map(Some).ok_or_else(|| {
        let names = SoftwareStack::NAMES.join(", ");
        D::Error::custom(format!("unknown stack {name}; the stacks are {names}"))
    })
}

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/**
 * A moment in the life of a job at which `torch.cuda.memory_allocated` and `torch.cuda.max_memory_allocated` are read.
 *
 * - `first_iteration`: during the first iteration of a job that starts anew. The optimizer's states do not exist in its
 *   passes; its first step makes them. Megatron-LM prints this peak with `--log-interval 1`.
 * - `later_iteration`: during any later iteration, beside all states.
 * - `first_iteration_after_resume`: during the first iteration after a checkpoint was loaded, with its optimizer states.
 * - `skipped_steps`: in fp16 training while its loss scaling has skipped every step so far: there are no moments yet.
 * - `saving_checkpoint`: while a checkpoint is saved in the format `torch_dist`, which copies states to the host one by one.
 *   What `--dist-ckpt-optim-fully-reshardable` gathers is not derived.
 */
export type JobMoment =
  | "first_iteration"
  | "later_iteration"
  | "first_iteration_after_resume"
  | "skipped_steps"
  | "saving_checkpoint";

/**
 * Versions of the software that trains, as far as they differ in memory. The default is `megatron_main`.
 *
 * - `megatron_main`: Megatron-LM of 2026-08-22, Transformer Engine 2.10 to 2.17 (2026-05 to 2026-08).
 * - `te_2_18`: Transformer Engine 2.18 and later (from 2026-08): its fused loss keeps a gradient in fp32.
 * - `megatron_lm_0_18`: the pretrain scripts of Megatron-Core 0.18 (2026-05 to 2026-07): micro batches stay on the GPU until
 *   the next iteration.
 * - `core_0_15_te_2_10`: Megatron-Core 0.15 to 0.17, Transformer Engine 2.10 to 2.15 (2025-12 to 2026-05): Megatron FSDP releases
 *   parameters outside of layers between iterations.
 * - `core_0_14_te_2_3`: Megatron-Core 0.14 and later, Transformer Engine 2.3 to 2.9 (2025-08 to 2025-11): no cached stand-ins
 *   for weight gradients of grouped experts.
 * - `core_0_12_te_2_3`: Megatron-Core 0.12 and 0.13, Transformer Engine 2.3 to 2.9 (2025-05 to 2025-08): nor for the output layer.
 * - `core_0_9_te_1_13`: Megatron-Core 0.9 to 0.12, Transformer Engine 1.13 to 2.2 (2024-12 to 2025-04): no cached stand-ins.
 * - `core_0_10_te_1_9`: Megatron-Core 0.10 to 0.12, Transformer Engine 1.9 to 1.12 (2024-08 to 2025-03): no cached stand-ins,
 *   and norms on queries and keys keep views.
 * - `core_0_8_te_1`: Megatron-Core 0.8 and 0.9, Transformer Engine before 1.9 (2024-06 to 2024-11): the same; grouped experts run
 *   on the package grouped_gemm, and the all-to-all dispatcher refers to no maps over all experts.
 * - `megatron_lm_2023`: Megatron-LM before Megatron-Core 0.8 (up to 2024-05), with Transformer Engine before 1.13 or none: the
 *   same, and the loss has one more fp32 copy of the logits.
 * - `torch_only`: Megatron-Core with neither Transformer Engine nor Apex: `torch.optim.AdamW`, whose step needs 4 bytes more
 *   for each element of its shard.
 * - `rocm_torch_only`: the same on AMD GPUs, with hipBLASLt's workspaces.
 * - `megatron_dev`: Megatron-LM's dev branch at d48bd6be of 2026-08-21, which builds hyper-connections and DeepSeek-V4.
 *
 * Single differences are in the job's `software_facts`.
 */
export type SoftwareStack =
  | "megatron_main"
  | "te_2_18"
  | "megatron_lm_0_18"
  | "core_0_15_te_2_10"
  | "core_0_14_te_2_3"
  | "core_0_12_te_2_3"
  | "core_0_9_te_1_13"
  | "core_0_10_te_1_9"
  | "core_0_8_te_1"
  | "megatron_lm_2023"
  | "torch_only"
  | "rocm_torch_only"
  | "megatron_dev";
"#;

/// Whether stages have timelines, or the most points of each.
#[derive(Clone, Copy, Debug, Deserialize, Tsify)]
#[serde(untagged)]
pub enum Timelines {
    /// Whether there are timelines at all.
    Wanted(bool),
    /// The most points of each timeline.
    Points(u64),
}

impl EstimateOptions {
    /// Reads the options. An option that is not given is read from the job.
    pub(super) fn of(options: Option<Ts<Self>>, job: &JsValue) -> Result<Self, JsValue> {
        let options = arguments::options(options)?;
        let own: Self = if job.is_object() {
            arguments::read(job.clone())?
        } else {
            Self::default()
        };
        Ok(Self {
            rank: options.rank.or(own.rank),
            timeline: options.timeline.or(own.timeline),
            ledger: options.ledger.or(own.ledger),
            reserved: options.reserved.or(own.reserved),
            methods: options.methods.or(own.methods),
            moment: options.moment.or(own.moment),
            stack: options.stack.or(own.stack),
        })
    }

    /// Sets the software that the option `stack` names.
    pub(super) fn set_stack(&self, job: &mut RawJob) {
        if let Some(stack) = self.stack {
            let name = Value::Text(stack.name().to_owned());
            job.shared.set(FieldId::software_stack, name);
        }
    }

    /// The most points of each timeline where `stages` stages have one; 0 where no timelines are wanted.
    pub(super) fn points_each(&self, stages: usize) -> u32 {
        let wanted = match self.timeline {
            None | Some(Timelines::Wanted(false)) => 0,
            Some(Timelines::Wanted(true)) => POINTS,
            Some(Timelines::Points(points)) => points,
        };
        let stages = u64::try_from(stages).unwrap_or(u64::MAX);
        let most = MOST_POINTS.checked_div(stages).unwrap_or_default().max(1);
        u32::try_from(wanted.min(most)).unwrap_or(u32::MAX)
    }
}

/// Takes the keys that are options of `estimate` out of a job.
pub(super) fn remove_from(job: &mut RawJob) {
    let options = arguments::names::<EstimateOptions>();
    job.unknown.retain(|(key, _)| !options.contains(&key.as_str()));
}
