//! What matrix products reach of the peaks of GPUs, beside what is shipped.

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

/// Prints what products reach and what they take to start, each with the least and the most of the releases.
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
