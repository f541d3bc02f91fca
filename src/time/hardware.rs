//! The speeds of GPUs, for dense matrices.

use super::cost::Cost;
use super::passes::wide;
use crate::config::choices::Fp8Recipe;
use crate::config::fields::Args;
use crate::config::gpus;

/// What matrix products reach of a peak on a GPU, and what each of them takes to start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductSpeed {
    /// Operations a second by the data sheet.
    pub peak: f64,
    /// The part of it that large products reach.
    pub reached: f64,
    /// Seconds that a product takes besides.
    pub start: f64,
}

/// The speeds of one kind of GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hardware {
    /// Matrix products in bf16 and fp16.
    pub half: ProductSpeed,
    /// Matrix products in the precision of the module's fp8 or fp4.
    pub quantized: ProductSpeed,
    /// Bytes a second of the GPU's memory.
    pub memory: f64,
    /// Bytes a second and direction between GPUs of one node or `NVLink` domain.
    pub near: f64,
    /// Bytes a second and direction of each GPU over the network.
    pub far: f64,
    /// Whether it is of Hopper's generation or a later one.
    pub from_hopper: bool,
}

/// A row of the table: data sheet and measured operator tables.
struct Row {
    id: &'static str,
    /// Dense bf16, fp8 and fp4, in TFLOP/s.
    peaks: [f64; 3],
    /// GB/s of memory, of `NVLink` in one direction, and of the network of the vendor's reference system for each GPU.
    bandwidths: [f64; 3],
    /// The part of its peak that large products reach, and the microseconds that one takes besides: in bf16, in fp8
    /// with scales for blocks, in nvfp4.
    products: [(f64, f64); 3],
}

const fn row(id: &'static str, peaks: [f64; 3], bandwidths: [f64; 3], products: [(f64, f64); 3]) -> Row {
    Row {
        id,
        peaks,
        bandwidths,
        products,
    }
}

/// What the operands of quantized products are.
#[derive(Clone, Copy, Debug)]
enum Quantized {
    /// In fp8, with one scale for the whole tensor.
    WholeTensor,
    /// In fp8, with scales for blocks.
    Blocks,
    Fp4,
}

/// The first part of the compute capability of Hopper.
const HOPPER: u8 = 9;
/// The part of what bf16 products reach of their peak that fp8 products with one scale for the whole tensor reach of
/// theirs: measured on one H100, without the quantization of their operands (`src/evidence/step_times/operations.json`). Tables of
/// such products that contain it would count it twice.
pub const TENSORWISE: f64 = 0.93;

/// What a GPU does not have.
const NO: (f64, f64) = (0.0, 0.0);

/// The table. Peaks and bandwidths are those of the vendors' data sheets as NVIDIA's aiconfigurator (`095f58a5`,
/// `systems/*.yaml`) has them. What products reach of the peaks was fitted to its measured tables of matrix products
/// (`systems/data/*/gemm`, sizes of 512 and more), median error 4.5 to 6.8 %.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("a100-40gb", [312.0, 0.0, 0.0], [1_555.0, 300.0, 25.0], [(0.89, 6.9), NO, NO]),
    row("a100-80gb", [312.0, 0.0, 0.0], [2_039.0, 300.0, 25.0], [(0.89, 6.9), NO, NO]),
    row("a800-80gb", [312.0, 0.0, 0.0], [2_039.0, 200.0, 25.0], [(0.89, 6.9), NO, NO]),
    row("h100-80gb", [989.0, 1_979.0, 0.0], [3_350.0, 450.0, 50.0], [(0.81, 3.3), (0.60, 7.5), NO]),
    row("h800", [989.0, 1_979.0, 0.0], [3_350.0, 200.0, 50.0], [(0.81, 3.3), (0.60, 7.5), NO]),
    row("h200", [989.0, 1_979.0, 0.0], [4_800.0, 450.0, 50.0], [(0.80, 3.3), (0.62, 7.0), NO]),
    row("h20", [148.0, 296.0, 0.0], [4_000.0, 450.0, 50.0], [(0.81, 3.3), (0.60, 7.5), NO]),
    row("h20-3e", [148.0, 296.0, 0.0], [4_800.0, 450.0, 50.0], [(0.81, 3.3), (0.60, 7.5), NO]),
    row("b200", [2_250.0, 4_500.0, 9_000.0], [7_700.0, 900.0, 50.0], [(0.695, 2.7), (0.66, 7.8), (0.42, 11.0)]),
    row("b300", [2_250.0, 4_500.0, 13_500.0], [7_750.0, 900.0, 100.0], [(0.72, 2.4), (0.74, 7.4), (0.46, 12.0)]),
    row("gb200", [2_500.0, 5_000.0, 10_000.0], [8_000.0, 900.0, 50.0], [(0.67, 2.6), (0.64, 7.6), (0.405, 11.0)]),
    row("gb300", [2_500.0, 5_000.0, 15_000.0], [8_000.0, 900.0, 100.0], [(0.80, 2.7), (0.75, 7.7), (0.45, 12.0)]),
];

impl Hardware {
    /// The speeds of a job's GPU; `None` where no GPU is chosen, or none of the table.
    #[must_use]
    pub fn of(args: &Args) -> Option<Self> {
        let quantized = if args.fp4_format.is_some() {
            Quantized::Fp4
        } else {
            match args.fp8_recipe {
                Fp8Recipe::Delayed | Fp8Recipe::Tensorwise => Quantized::WholeTensor,
                Fp8Recipe::Blockwise | Fp8Recipe::Mxfp8 => Quantized::Blocks,
            }
        };
        let on = Self::new(args.gpu.as_deref()?, quantized)?;
        // Millionths of a GB are kilobytes.
        let network = args.network_gb_per_second;
        let far = network.map_or(on.far, |network| wide(network.0) * 1e3);
        Some(Self { far, ..on })
    }

    /// The speeds of a GPU with this id or name, whose quantized products are in fp8 with one scale for the whole tensor;
    /// `None` where the table has none.
    #[must_use]
    pub fn of_gpu(gpu: &str) -> Option<Self> {
        Self::new(gpu, Quantized::WholeTensor)
    }

    fn new(gpu: &str, quantized: Quantized) -> Option<Self> {
        let gpu = gpus::by_name(gpu)?;
        let row = ROWS.iter().find(|row| row.id == gpu.id)?;
        let speed = |peak: usize, products: usize| {
            let (reached, start) = row.products.get(products).copied().unwrap_or(NO);
            let peak = row.peaks.get(peak).copied().unwrap_or_default() * 1e12;
            let start = start * 1e-6;
            (peak > 0.0 && reached > 0.0).then_some(ProductSpeed { peak, reached, start })
        };
        let half = speed(0, 0)?;
        let quantized = match quantized {
            Quantized::WholeTensor => speed(1, 0).map(|like_half| ProductSpeed {
                reached: TENSORWISE * like_half.reached,
                ..like_half
            }),
            Quantized::Blocks => speed(1, 1),
            Quantized::Fp4 => speed(2, 2),
        };
        let [memory, near, far] = row.bandwidths.map(|gb| gb * 1e9);
        Some(Self {
            half,
            quantized: quantized.unwrap_or(half),
            memory,
            near,
            far,
            from_hopper: gpu.generation.major() >= HOPPER,
        })
    }

    /// The kind of the bytes that all but products and attention read and write on this GPU.
    pub(super) const fn elementwise(&self) -> Cost {
        if self.from_hopper {
            Cost::ElementwiseFromHopper
        } else {
            Cost::Elementwise
        }
    }

    /// The kind of the bytes that tensor-parallel ranks send within a node or `NVLink` domain of this GPU.
    pub(super) const fn tensor_near(&self) -> Cost {
        if self.from_hopper {
            Cost::TensorNearFromHopper
        } else {
            Cost::TensorNear
        }
    }
}
