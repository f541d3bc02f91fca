//! Prints how fast each GPU multiplies matrices, as fitted and as step times use it.

#![allow(clippy::float_arithmetic, reason = "times in other units")]

use std::fs;

use megatron_memory::evidence::{FittedProducts, MeasuredProducts};

use crate::Error;

/// The measured matrix products.
const PRODUCTS: &str = "src/evidence/step_times/products.json";

/// The fits to the measured matrix products.
pub(crate) fn fitted_products() -> Result<Vec<FittedProducts>, Error> {
    Ok(MeasuredProducts::read(&fs::read_to_string(PRODUCTS)?)?.fitted())
}

/// Prints the part of its peak that each GPU reaches and the time to start a product, both with their interval over
/// releases of inference frameworks.
pub(super) fn print_products() -> Result<(), Error> {
    println!("Part of its peak that large matrix products reach on a GPU, and microseconds of a start:");
    for of in fitted_products()? {
        let dtype: &str = of.shipped.dtype.into();
        let [least, most] = of.reached;
        let [shortest, longest] = of.start.map(microseconds);
        println!(
            "{} {dtype}: {:.3} ({least:.3} to {most:.3}), {:.1} ({shortest:.1} to {longest:.1}); bytes {:.2}, \
             median error {:.1} %; {}, {} releases; shipped {:.3}, {:.1}",
            of.shipped.gpu,
            of.fit.reached,
            microseconds(of.fit.start),
            of.fit.bytes,
            100.0 * of.fit.error,
            of.release,
            of.releases,
            of.shipped.speed.reached,
            microseconds(of.shipped.speed.start),
        );
    }
    println!();
    Ok(())
}

fn microseconds(seconds: f64) -> f64 {
    seconds * 1e6
}
