//! What CUDA and HIP report to a process as a GPU's memory, which is what a process can have: less than the total of
//! `nvidia-smi`, which counts what the driver keeps for itself.

use crate::units::{Bytes, GIB};

/// One GPU's memory as PyTorch prints it in out-of-memory errors ("total capacity"), in hundredths of a GiB: the smallest
/// and the largest of public messages from different drivers.
struct Reported {
    gpu: &'static str,
    least: u64,
    most: u64,
}

/// The GPUs of which messages are public.
#[rustfmt::skip]
const REPORTED: &[Reported] = &[
    reported("v100-32gb", 3173, 3175),
    reported("a100-40gb", 3939, 3943),
    reported("a100-80gb", 7914, 7935),
    reported("a800-80gb", 7914, 7935),
    reported("a40", 4434, 4447),
    reported("rtx-a6000", 4740, 4754),
    reported("l40s", 4439, 4443),
    reported("h100-80gb", 7910, 7919),
    reported("h800", 7910, 7919),
    reported("h20", 9500, 9522),
    reported("gh200", 9450, 9450),
    reported("h200", 13_972, 13_981),
    reported("b200", 17_835, 17_835),
    reported("gb200", 18_431, 18_431),
    reported("b300", 26_769, 26_769),
    reported("rtx-pro-6000", 9496, 9498),
    reported("mi300x", 19_169, 19_198),
    reported("mi325x", 25_198, 25_198),
];

const fn reported(gpu: &'static str, least: u64, most: u64) -> Reported {
    Reported { gpu, least, most }
}

/// The least and the most that a GPU of this id reports to a process; `None` where no message is known.
#[must_use]
pub fn reported_to_processes(gpu: &str) -> Option<(Bytes, Bytes)> {
    let bytes = |hundredths: u64| Bytes(hundredths.saturating_mul(GIB) / 100);
    let of_gpu = REPORTED.iter().find(|row| row.gpu == gpu);
    of_gpu.map(|row| (bytes(row.least), bytes(row.most)))
}
