//! GPUs with the bytes that a process can really use, and the generation that decides which kernels run.
//!
//! The figure is what the driver reports as the device's total memory (`memory.total` of `nvidia-smi`,
//! `VRAM Total Memory` of `rocm-smi`). It is less than the number on the box times 10^9 or 2^30, as the firmware
//! keeps a part. What CUDA reports to a process is less again: [`reported_to_processes`] has it where it is known, and
//! verdicts are of that. A CUDA context takes its own share of it later; that is an allowance of the estimate.

mod generation;
mod name;
mod reported;

pub use generation::GpuGeneration;
pub use reported::{GpuMemory, reported_to_processes, source_of_reported};

use crate::units::Bytes;
use Certainty::{Announced, DriverDependent, Inferred, Reported, SharedWithCpu};
use GpuGeneration::{Ada, Ampere, Blackwell, BlackwellSm12x, Cdna3, Cdna4, Hopper, Rubin, Volta};

/// A kind of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Name in links and files.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// The words that stand in every name of it that people, drivers and logs write, in this order.
    words: &'static str,
    /// Its generation.
    pub generation: GpuGeneration,
    /// Capacity as the vendor advertises it, in GB.
    pub advertised_gb: u32,
    /// Total memory that the driver reports, in MiB.
    pub memory_mib: u64,
    /// How sure that number is.
    pub certainty: Certainty,
    /// GPUs of the usual node.
    pub per_node: u32,
    /// Whether the GPUs of a node are connected directly (`NVLink`, Infinity Fabric).
    pub connected: bool,
    /// GPUs that one `NVLink` switch fabric joins: more than `per_node` in the racks of the GB200 NVL72 and its
    /// successors.
    pub nvlink_domain: u32,
}

/// How a GPU's memory is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Many published driver outputs agree.
    Reported,
    /// Published driver outputs agree, and older drivers show a little less.
    DriverDependent,
    /// Computed from a sibling whose driver output is published.
    Inferred,
    /// The memory is that of the CPU too; the driver reports none, and this is what CUDA reports.
    SharedWithCpu,
    /// Announced with the same memory as a GPU whose driver output is published.
    Announced,
}

impl Certainty {
    /// A few words for the page.
    #[must_use]
    pub fn note(self) -> &'static str {
        match self {
            Self::Reported => "as the driver reports it on published machines",
            Self::DriverDependent => "as current drivers report it; older ones show about 1 % less",
            Self::Inferred => "computed from a GPU of the same family; not seen in a published driver output",
            Self::SharedWithCpu => "as CUDA reports it; the operating system takes its part of the same memory",
            Self::Announced => {
                "announced; taken from the GPU before it, which has as much; not seen in a published driver output"
            }
        }
    }
}

impl Gpu {
    /// Total memory that the driver reports, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_mib * (1 << 20)
    }

    /// The memory of this GPU that a process can use: what CUDA or HIP reports to a process, or the driver's total where
    /// no message is known.
    #[must_use]
    pub fn memory_for_processes(&self) -> GpuMemory {
        reported_to_processes(self.id).unwrap_or_else(|| Bytes(self.memory_bytes()).into())
    }

    /// The same GPU in a rack whose `NVLink` switches join so many.
    const fn rack(mut self, gpus: u32) -> Self {
        self.nvlink_domain = gpus;
        self
    }

    /// The same GPU without a direct connection to the others of its node.
    const fn unconnected(mut self) -> Self {
        self.connected = false;
        self
    }
}

/// Every known GPU. Any other is entered by its memory and generation.
#[rustfmt::skip]
pub const GPUS: &[Gpu] = &[
    gpu("v100-16gb", "V100 16 GB", "v100", Volta, 16, 16_384, DriverDependent, 8),
    gpu("v100-32gb", "V100 32 GB", "v100", Volta, 32, 32_768, DriverDependent, 8),
    gpu("a100-40gb", "A100 40 GB", "a100", Ampere, 40, 40_960, DriverDependent, 8),
    gpu("a100-80gb", "A100 80 GB", "a100", Ampere, 80, 81_920, DriverDependent, 8),
    gpu("a800-80gb", "A800 80 GB", "a800", Ampere, 80, 81_920, DriverDependent, 8),
    gpu("a40", "A40 48 GB", "a40", Ampere, 48, 46_068, DriverDependent, 8).unconnected(),
    gpu("rtx-a6000", "RTX A6000 48 GB", "a6000", Ampere, 48, 49_140, Reported, 8).unconnected(),
    gpu("rtx-4090", "RTX 4090 24 GB", "4090", Ada, 24, 24_564, Reported, 8).unconnected(),
    gpu("l40s", "L40S 48 GB", "l40s", Ada, 48, 46_068, Reported, 8).unconnected(),
    gpu("h100-80gb", "H100 80 GB", "h100", Hopper, 80, 81_559, Reported, 8),
    gpu("h100-nvl", "H100 NVL 94 GB", "h100 nvl", Hopper, 94, 95_830, Reported, 8),
    gpu("h800", "H800 80 GB", "h800", Hopper, 80, 81_559, Reported, 8),
    gpu("gh200", "GH200 96 GB", "gh200", Hopper, 96, 97_871, Reported, 4),
    gpu("h20", "H20 96 GB", "h20", Hopper, 96, 97_871, Reported, 8),
    gpu("h20-3e", "H20-3e 141 GB", "h20 3e", Hopper, 141, 143_771, Inferred, 8),
    gpu("h200", "H200 141 GB", "h200", Hopper, 141, 143_771, Reported, 8),
    gpu("b200", "B200 180 GB", "b200", Blackwell, 180, 183_359, Reported, 8),
    gpu("b300", "B300 288 GB", "b300", Blackwell, 288, 275_040, Reported, 8),
    gpu("gb200", "GB200 186 GB", "gb200", Blackwell, 186, 189_471, Reported, 4).rack(72),
    gpu("gb300", "GB300 288 GB", "gb300", Blackwell, 288, 284_208, Reported, 4).rack(72),
    gpu("gb10", "GB10 128 GB", "gb10", BlackwellSm12x, 128, 124_610, SharedWithCpu, 1).unconnected(),
    gpu("rtx-pro-6000", "RTX PRO 6000 96 GB", "rtx pro 6000", BlackwellSm12x, 96, 97_887, Reported, 8).unconnected(),
    gpu("vr200", "VR200 288 GB", "vr200", Rubin, 288, 284_208, Announced, 4).rack(72),
    // AMD's drivers report the full binary capacity less 16 MiB.
    gpu("mi300x", "MI300X 192 GB", "mi300x", Cdna3, 192, 196_592, Reported, 8),
    gpu("mi325x", "MI325X 256 GB", "mi325x", Cdna3, 256, 262_128, Inferred, 8),
    gpu("mi355x", "MI355X 288 GB", "mi355x", Cdna4, 288, 294_896, Reported, 8),
];

/// The id of the free entry, whose memory the user gives.
pub const CUSTOM: &str = "custom";

#[allow(clippy::too_many_arguments, reason = "the columns of the table of GPUs")]
const fn gpu(
    id: &'static str,
    name: &'static str,
    words: &'static str,
    generation: GpuGeneration,
    advertised_gb: u32,
    memory_mib: u64,
    certainty: Certainty,
    per_node: u32,
) -> Gpu {
    Gpu {
        id,
        name,
        words,
        generation,
        advertised_gb,
        memory_mib,
        certainty,
        per_node,
        connected: true,
        nvlink_domain: per_node,
    }
}

/// The GPU with an id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Gpu> {
    GPUS.iter().find(|gpu| gpu.id == id)
}

/// The GPU with an id, or with a name as people, drivers and logs write it: `NVIDIA H100 80GB HBM3`, `A800-SXM4-80GB`.
/// `None` where the name leaves open how much memory it has.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Gpu> {
    by_id(name).or_else(|| name::only(name))
}

/// The GPUs that a name may mean: several where it does not say how much memory they have.
pub fn candidates(name: &str) -> impl Iterator<Item = &'static Gpu> {
    name::candidates(name)
}

/// The generation of the GPU with an id or name; `None` where the name is not known.
#[must_use]
pub fn generation(name: &str) -> Option<GpuGeneration> {
    by_id(name).map(|gpu| gpu.generation).or_else(|| name::generation(name))
}
