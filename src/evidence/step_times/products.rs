//! How fast each GPU multiplies matrices: the part of its peak that large products reach, and the time to start one.
//! Both are fitted to NVIDIA's measured tables, of which there is one for every GPU, dtype and release of an inference
//! framework.
//!
//! A product's time is taken as the sum of three terms: its operations at the peak times a factor, its bytes at the
//! speed of memory times a factor, and a start. The first factor is one over the part of the peak that is reached.
//! The second takes in what step times count apart: reading the input in 16 bits and writing it in fewer (the tables
//! contain this quantization), and bytes that do not hide behind operations. It is not shipped: a step time counts
//! quantization as a kernel of its own, and of a product's operations and bytes the slower.

#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "times and their shares are no counts of elements or bytes"
)]

use serde::Deserialize;

use crate::time::hardware::{ProductDtype, ShippedProducts, shipped_products};

/// How far off the logarithm of a time may be before it counts less than by its square: outliers would draw the fit
/// (soft L1).
const OUTLIER: f64 = 0.1;
/// Steps of the fit: after as many, more change nothing in six digits.
const STEPS: u32 = 50;
/// How often all factors are set in one step, each to its best while the others stay.
const SWEEPS: u32 = 300;

/// Measured matrix products (`src/evidence/step_times/products.json`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredProducts {
    /// Where the tables are.
    pub source: String,
    /// How they were measured, and which of their rows these are.
    pub method: String,
    sets: Vec<Set>,
}

/// Tables of the same shapes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    /// The release whose fits are shipped.
    release: String,
    /// Rows, columns and inner size of every product.
    shapes: Vec<[u64; 3]>,
    tables: Vec<Table>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    gpu: String,
    dtype: ProductDtype,
    release: String,
    /// By shape; `None` where the release lacks it.
    microseconds: Vec<Option<f64>>,
}

/// A fit to one table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductFit {
    /// The part of the peak that large products reach.
    pub reached: f64,
    /// The factor of bytes.
    pub bytes: f64,
    /// Seconds that a product takes besides.
    pub start: f64,
    /// The median of the relative errors.
    pub error: f64,
}

/// The fits to all tables of a GPU and dtype.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedProducts {
    /// The speed that step times use.
    pub shipped: ShippedProducts,
    /// The release whose fit that speed is.
    pub release: String,
    /// The fit to the table of that release.
    pub fit: ProductFit,
    /// The number of releases.
    pub releases: usize,
    /// The least and the most that products of a release reach.
    pub reached: [f64; 2],
    /// The least and the most seconds that they take besides.
    pub start: [f64; 2],
}

impl MeasuredProducts {
    /// Reads the tables.
    ///
    /// # Errors
    /// When the text is not JSON, or a field is missing or has a wrong value.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The fits for all that is shipped and has a table of the release that is.
    #[must_use]
    pub fn fitted(&self) -> Vec<FittedProducts> {
        shipped_products()
            .filter_map(|shipped| self.fitted_to(shipped))
            .collect()
    }

    fn fitted_to(&self, shipped: ShippedProducts) -> Option<FittedProducts> {
        let of_set = self.sets.iter().map(|set| {
            let tables = set.tables.iter();
            let tables = tables.filter(|table| table.gpu == shipped.gpu && table.dtype == shipped.dtype);
            let fits = tables.map(|table| (&table.release, ProductFit::of(&table.rows(&set.shapes, &shipped))));
            (&set.release, fits.collect::<Vec<_>>())
        });
        let (release, fits) = of_set.into_iter().find(|(_, fits)| !fits.is_empty())?;
        let (_, fit) = *fits.iter().find(|(of, _)| *of == release)?;
        let ends = |of: fn(&ProductFit) -> f64| {
            let values = fits.iter().map(|(_, fit)| of(fit));
            values.fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], value| {
                [low.min(value), high.max(value)]
            })
        };
        Some(FittedProducts {
            release: release.clone(),
            fit,
            releases: fits.len(),
            reached: ends(|fit| fit.reached),
            start: ends(|fit| fit.start),
            shipped,
        })
    }
}

/// A measured product.
struct MeasuredProduct {
    /// Seconds of its operations at the peak, of its bytes at the speed of memory, and of a start of one second.
    terms: [f64; 3],
    /// Measured seconds.
    seconds: f64,
}

impl Table {
    fn rows(&self, shapes: &[[u64; 3]], on: &ShippedProducts) -> Vec<MeasuredProduct> {
        // nvfp4 has a scale of 8 bits for 16 elements of 4.
        let width = match self.dtype {
            ProductDtype::Bf16 => 2.0,
            ProductDtype::Fp8Block => 1.0,
            ProductDtype::Nvfp4 => 9.0 / 16.0,
        };
        let measured = shapes.iter().zip(&self.microseconds);
        let rows = measured.filter_map(|(shape, microseconds)| {
            let [rows, columns, inner] = shape.map(|size| size as f64);
            let bytes = (rows + columns) * inner * width + 2.0 * rows * columns;
            Some(MeasuredProduct {
                terms: [2.0 * rows * columns * inner / on.speed.peak, bytes / on.memory, 1.0],
                seconds: (*microseconds)? * 1e-6,
            })
        });
        rows.collect()
    }
}

impl ProductFit {
    /// Least squares of the logarithms of predicted over measured times, with no factor below zero: Gauss-Newton steps
    /// from the times that were measured, whose first one is the least squares of relative errors.
    fn of(rows: &[MeasuredProduct]) -> Self {
        let mut factors = [0.0; 3];
        let mut predicted: Vec<f64> = rows.iter().map(|row| row.seconds).collect();
        for _ in 0..STEPS {
            let (mut products, mut targets) = ([[0.0; 3]; 3], [0.0; 3]);
            for (row, predicted) in rows.iter().zip(&predicted) {
                let off = (predicted / row.seconds).ln();
                let weight = 1.0 / (off / OUTLIER).hypot(1.0);
                let terms = row.terms.map(|term| term / predicted);
                for ((term, products), target) in terms.iter().zip(&mut products).zip(&mut targets) {
                    for (slot, other) in products.iter_mut().zip(&terms) {
                        *slot += weight * term * other;
                    }
                    *target += weight * term * (1.0 - off);
                }
            }
            for _ in 0..SWEEPS {
                for (place, (products, target)) in products.iter().zip(&targets).enumerate() {
                    let left = target - sum(products, &factors);
                    if let (Some(factor), Some(own)) = (factors.get_mut(place), products.get(place)) {
                        *factor = (*factor + left / own).max(0.0);
                    }
                }
            }
            predicted = rows.iter().map(|row| sum(&row.terms, &factors)).collect();
        }
        let off = rows.iter().zip(&predicted);
        let mut off: Vec<f64> = off
            .map(|(row, predicted)| (predicted / row.seconds - 1.0).abs())
            .collect();
        off.sort_by(f64::total_cmp);
        let [operations, bytes, start] = factors;
        Self {
            reached: 1.0 / operations,
            bytes,
            start,
            error: off.get(off.len() / 2).copied().unwrap_or(f64::NAN),
        }
    }
}

fn sum(terms: &[f64; 3], factors: &[f64; 3]) -> f64 {
    terms.iter().zip(factors).map(|(term, factor)| term * factor).sum()
}
