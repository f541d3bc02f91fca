//! The speeds of GPUs, for dense matrices.

use serde::Deserialize;
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

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

/// The dtypes in which matrix products were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, EnumIter, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
pub enum ProductDtype {
    /// In bf16, as fast as fp16.
    #[strum(serialize = "bf16")]
    Bf16,
    /// In fp8, with scales for blocks.
    #[strum(serialize = "fp8, scales for blocks")]
    Fp8Block,
    /// In nvfp4.
    #[strum(serialize = "nvfp4")]
    Nvfp4,
}

/// How fast a GPU multiplies matrices of one dtype, as step times use it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShippedProducts {
    /// The id of the GPU whose products were measured.
    pub gpu: &'static str,
    /// The ids of GPUs without tables of their own, which are taken to reach as much of their peaks.
    pub also: Vec<&'static str>,
    /// The dtype of the operands.
    pub dtype: ProductDtype,
    /// The speed on the measured GPU.
    pub speed: ProductSpeed,
    /// Bytes a second of its memory.
    pub memory: f64,
}

/// A row of the table: the data sheet.
struct Row {
    id: &'static str,
    /// Dense TFLOP/s, by [`ProductDtype`].
    peaks: [f64; 3],
    /// GB/s of memory, of `NVLink` in one direction, and of the network of the vendor's reference system for each GPU.
    bandwidths: [f64; 3],
    /// The id of the GPU of [`PRODUCTS`] whose products stand for those of this one.
    products_of: &'static str,
}

const fn row(id: &'static str, peaks: [f64; 3], bandwidths: [f64; 3], products_of: &'static str) -> Row {
    Row {
        id,
        peaks,
        bandwidths,
        products_of,
    }
}

impl Row {
    fn products(&self, dtype: ProductDtype) -> Option<ProductSpeed> {
        let (_, products) = PRODUCTS.iter().find(|(gpu, _)| *gpu == self.products_of)?;
        let (reached, microseconds) = *products.get(dtype as usize)?;
        (reached > 0.0).then_some(ProductSpeed {
            peak: self.peaks.get(dtype as usize)? * 1e12,
            reached,
            start: microseconds * 1e-6,
        })
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

/// Peaks and bandwidths: those of the vendors' data sheets as NVIDIA's aiconfigurator (`095f58a5`, `systems/*.yaml`)
/// has them.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("a100-40gb", [312.0, 0.0, 0.0], [1_555.0, 300.0, 25.0], "a100-80gb"),
    row("a100-80gb", [312.0, 0.0, 0.0], [2_039.0, 300.0, 25.0], "a100-80gb"),
    row("a800-80gb", [312.0, 0.0, 0.0], [2_039.0, 200.0, 25.0], "a100-80gb"),
    row("h100-80gb", [989.0, 1_979.0, 0.0], [3_350.0, 450.0, 50.0], "h100-80gb"),
    row("h800", [989.0, 1_979.0, 0.0], [3_350.0, 200.0, 50.0], "h100-80gb"),
    row("h200", [989.0, 1_979.0, 0.0], [4_800.0, 450.0, 50.0], "h200"),
    row("h20", [148.0, 296.0, 0.0], [4_000.0, 450.0, 50.0], "h100-80gb"),
    row("h20-3e", [148.0, 296.0, 0.0], [4_800.0, 450.0, 50.0], "h100-80gb"),
    row("b200", [2_250.0, 4_500.0, 9_000.0], [7_700.0, 900.0, 50.0], "b200"),
    row("b300", [2_250.0, 4_500.0, 13_500.0], [7_750.0, 900.0, 100.0], "b300"),
    row("gb200", [2_500.0, 5_000.0, 10_000.0], [8_000.0, 900.0, 50.0], "gb200"),
    row("gb300", [2_500.0, 5_000.0, 15_000.0], [8_000.0, 900.0, 100.0], "gb300"),
];

/// The part of its peak that large products reach, and the microseconds that one takes besides, by [`ProductDtype`].
/// Made by `cargo xtask fit-time` from NVIDIA's measured tables (`src/evidence/step_times/products.json`), and held to
/// them by a test.
#[rustfmt::skip]
const PRODUCTS: &[(&str, [(f64, f64); 3])] = &[
    ("a100-80gb", [(0.891, 7.0), NO, NO]),
    ("h100-80gb", [(0.813, 3.5), (0.592, 7.1), NO]),
    ("h200", [(0.797, 3.4), (0.607, 6.6), NO]),
    ("b200", [(0.693, 2.7), (0.667, 7.4), (0.422, 10.7)]),
    ("b300", [(0.715, 2.4), (0.742, 7.0), (0.458, 11.9)]),
    ("gb200", [(0.678, 2.5), (0.645, 7.3), (0.410, 10.4)]),
    ("gb300", [(0.805, 2.7), (0.764, 7.3), (0.447, 12.0)]),
];

/// The speeds of matrix products that step times use, for every measured GPU and dtype.
pub fn shipped_products() -> impl Iterator<Item = ShippedProducts> {
    let measured = ROWS.iter().filter(|row| row.id == row.products_of);
    measured.flat_map(|row| {
        ProductDtype::iter().filter_map(|dtype| {
            let of_others = ROWS.iter().filter(|other| other.products_of == row.id);
            Some(ShippedProducts {
                gpu: row.id,
                also: of_others.map(|other| other.id).filter(|id| *id != row.id).collect(),
                dtype,
                speed: row.products(dtype)?,
                memory: row.bandwidths.first()? * 1e9,
            })
        })
    })
}

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
        let half = row.products(ProductDtype::Bf16)?;
        let fp8 = row.products(ProductDtype::Fp8Block);
        let quantized = match quantized {
            Quantized::WholeTensor => fp8.map(|ProductSpeed { peak, .. }| ProductSpeed {
                peak,
                reached: TENSORWISE * half.reached,
                ..half
            }),
            Quantized::Blocks => fp8,
            Quantized::Fp4 => row.products(ProductDtype::Nvfp4),
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
