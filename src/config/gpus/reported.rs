//! What CUDA and HIP report to a process as a GPU's memory, which is what a process can have: less than the total of
//! `nvidia-smi`, which counts what the driver keeps for itself.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, GIB};

/// One GPU's memory as PyTorch prints it in out-of-memory errors ("total capacity"), in hundredths of a GiB: the
/// smallest and the largest of public messages from different drivers. No row is of a data sheet.
struct Reported {
    gpu: &'static str,
    least: u64,
    most: u64,
    /// A page with such a message, or with what CUDA itself says of the device; empty where the messages were read and their
    /// addresses not kept.
    source: &'static str,
}

/// The GPUs of which messages are public.
#[rustfmt::skip]
const REPORTED: &[Reported] = &[
    reported("v100-32gb", 3172, 3175, "https://github.com/NVIDIA/Megatron-LM/issues/525"),
    reported("a100-40gb", 3939, 3959, "https://github.com/raoyongming/DenseCLIP/issues/52"),
    reported("a100-80gb", 7914, 7935, "https://github.com/lianqi1008/Control-GIC/issues/6"),
    reported("a800-80gb", 7914, 7935, ""),
    reported("a40", 4434, 4447, ""),
    reported("rtx-a6000", 4740, 4754, ""),
    reported("rtx-4090", 2364, 2368, "https://github.com/3DTopia/Phidias-Diffusion/issues/8"),
    reported("l40s", 4439, 4452, "https://github.com/huggingface/sentence-transformers/issues/3214"),
    reported("h100-80gb", 7910, 7919, "https://github.com/skypilot-org/skypilot/pull/10269"),
    reported("h100-nvl", 9300, 9300, "https://github.com/ali-vilab/VACE/issues/56"),
    reported("h800", 7910, 7919, "https://github.com/verl-project/verl/issues/2828"),
    reported("h20", 9500, 9522, "https://github.com/modelscope/DiffSynth-Studio/issues/1238"),
    reported("gh200", 9450, 9450, ""),
    reported("h200", 13_972, 13_981, "https://github.com/THUDM/slime/issues/1951"),
    reported("b200", 17_835, 17_835, "https://github.com/pytorch/ao/pull/4002"),
    reported("gb200", 18_431, 18_431, "https://github.com/NVIDIA-NeMo/Automodel/issues/3907"),
    reported("b300", 26_769, 26_769, "https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/4587"),
    reported("rtx-pro-6000", 9496, 9498, "https://github.com/antirez/ds4/issues/431"),
    reported("mi300x", 19_169, 19_198, ""),
    reported("mi325x", 25_198, 25_198, ""),
];

const fn reported(gpu: &'static str, least: u64, most: u64, source: &'static str) -> Reported {
    Reported {
        gpu,
        least,
        most,
        source,
    }
}

/// The least and the most memory that drivers report for one kind of GPU, in bytes. Where the amount was typed, both
/// are that amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuMemory {
    /// The least that is known to be reported, with which a job surely has to do.
    pub least: Bytes,
    /// The most. A job that needs more runs on no GPU of the kind.
    pub most: Bytes,
}

impl From<Bytes> for GpuMemory {
    fn from(bytes: Bytes) -> Self {
        Self {
            least: bytes,
            most: bytes,
        }
    }
}

/// A page with a message of a GPU of this id; `None` where no message is known, or its address was not kept.
#[must_use]
pub fn source_of_reported(gpu: &str) -> Option<&'static str> {
    let row = REPORTED.iter().find(|row| row.gpu == gpu)?;
    (!row.source.is_empty()).then_some(row.source)
}

/// The memory that CUDA or HIP reports to a process on a GPU of this id; `None` where no public message prints it.
#[must_use]
pub fn reported_to_processes(gpu: &str) -> Option<GpuMemory> {
    let bytes = |hundredths: u64| Bytes(hundredths.saturating_mul(GIB) / 100);
    let of_gpu = REPORTED.iter().find(|row| row.gpu == gpu);
    of_gpu.map(|row| GpuMemory {
        least: bytes(row.least),
        most: bytes(row.most),
    })
}
