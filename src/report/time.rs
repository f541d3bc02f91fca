//! The predicted time of a step in words.

#![allow(clippy::float_arithmetic, reason = "seconds and shares are no counts")]

use crate::time::{NoTime, Part, StepTime};

/// A part that takes this share of a step is worth naming.
const NOTABLE: f64 = 0.05;

/// A time with as many digits as tell something: `38 ms`, `1.24 s`, `62.0 s`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if seconds < 0.1 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 10.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{seconds:.1} s")
    }
}

/// The time of a step with its interval, what it comes to, and what it is spent on besides computing.
#[must_use]
pub fn sentence(time: &Result<StepTime, NoTime>) -> String {
    let time = match time {
        Ok(time) => time,
        Err(why) => return format!("No step time is predicted: {why}."),
    };
    let [low, high] = time.interval;
    let waits = time
        .bottleneck()
        .filter(|(_, seconds)| *seconds >= NOTABLE * time.seconds);
    let waits = waits.map_or_else(String::new, |(part, seconds)| {
        format!("; {:.0} % is {}", 100.0 * seconds / time.seconds, Part::label(part))
    });
    format!(
        "A step takes about {} ({} to {} in four of five runs): {:.0} tokens/s and {:.0} TFLOP/s per GPU, MFU {:.0} %{waits}.",
        duration(time.seconds),
        duration(low),
        duration(high),
        time.tokens_per_second_per_gpu,
        time.flops_per_second_per_gpu / 1e12,
        100.0 * time.mfu,
    )
}
