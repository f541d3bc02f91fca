//! GPUs with the bytes that a process can really use.
//!
//! The figure is what the driver reports as the device's total memory (`memory.total` of `nvidia-smi`,
//! `VRAM Total Memory` of `rocm-smi`). It is less than the number on the box times 10^9 or 2^30, as the firmware
//! keeps a part. A CUDA context takes its own share of it later; that is an allowance of the estimate.

/// A kind of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Name in links and files.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Capacity as the vendor advertises it, in GB.
    pub advertised_gb: u32,
    /// Total memory that the driver reports, in MiB.
    pub memory_mib: u64,
    /// How sure that number is.
    pub certainty: Certainty,
    /// GPUs of the usual node.
    pub per_node: u32,
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
}

impl Certainty {
    /// A few words for the page.
    #[must_use]
    pub fn note(self) -> &'static str {
        match self {
            Self::Reported => "as the driver reports it on published machines",
            Self::DriverDependent => "as current drivers report it; older ones show about 1 % less",
            Self::Inferred => {
                "computed from a GPU of the same family; not seen in a published driver output"
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
}

/// Every known GPU. Any other is entered by its memory alone.
pub const GPUS: &[Gpu] = &[
    gpu(
        "a100-40gb",
        "A100 40 GB",
        40,
        40_960,
        Certainty::DriverDependent,
        8,
    ),
    gpu(
        "a100-80gb",
        "A100 80 GB",
        80,
        81_920,
        Certainty::DriverDependent,
        8,
    ),
    gpu(
        "h100-80gb",
        "H100 80 GB",
        80,
        81_559,
        Certainty::Reported,
        8,
    ),
    gpu(
        "h100-nvl",
        "H100 NVL 94 GB",
        94,
        95_830,
        Certainty::Reported,
        8,
    ),
    gpu("h200", "H200 141 GB", 141, 143_771, Certainty::Reported, 8),
    gpu("b200", "B200 180 GB", 180, 183_359, Certainty::Reported, 8),
    gpu("b300", "B300 288 GB", 288, 275_040, Certainty::Reported, 8),
    gpu(
        "gb200",
        "GB200 186 GB",
        186,
        189_471,
        Certainty::Reported,
        4,
    ),
    gpu(
        "gb300",
        "GB300 288 GB",
        288,
        284_208,
        Certainty::Reported,
        4,
    ),
    // AMD's drivers report the full binary capacity less 16 MiB.
    gpu(
        "mi300x",
        "MI300X 192 GB",
        192,
        196_592,
        Certainty::Reported,
        8,
    ),
    gpu(
        "mi325x",
        "MI325X 256 GB",
        256,
        262_128,
        Certainty::Inferred,
        8,
    ),
    gpu(
        "mi355x",
        "MI355X 288 GB",
        288,
        294_896,
        Certainty::Reported,
        8,
    ),
];

/// The id of the free entry, whose memory the user gives.
pub const CUSTOM: &str = "custom";

const fn gpu(
    id: &'static str,
    name: &'static str,
    advertised_gb: u32,
    memory_mib: u64,
    certainty: Certainty,
    per_node: u32,
) -> Gpu {
    Gpu {
        id,
        name,
        advertised_gb,
        memory_mib,
        certainty,
        per_node,
    }
}

/// The GPU with an id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Gpu> {
    GPUS.iter().find(|gpu| gpu.id == id)
}
