//! The accuracy of predicted step times as Markdown.

#![allow(clippy::float_arithmetic, reason = "shares in percent")]

use core::fmt::Write as _;

use super::accuracy::TimeAccuracy;

/// A row for each group: how far off times are, and how often layouts are in the right order.
#[must_use]
pub fn times_table(accuracies: &[TimeAccuracy]) -> String {
    let mut text = String::from(
        "| Step times of | Runs | Median error | 90 % within | Pairs in order | Fastest among the first three | First suggestion slower by | A random one |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    for a in accuracies {
        let of = |[some, all]: [usize; 2]| match all {
            0 => String::new(),
            _ => format!("{some} of {all}"),
        };
        let [pairs, top_three] = [a.pairs, a.top_three].map(of);
        let percent = |part: f64| format!("{:.1} %", 100.0 * part);
        let slower = |part: f64| match a.jobs {
            0 => String::new(),
            _ => percent(part),
        };
        _ = writeln!(
            text,
            "| {} | {} | {} | {} | {pairs} | {top_three} | {} | {} |",
            a.group,
            a.runs,
            percent(a.median),
            percent(a.p90),
            slower(a.regret),
            slower(a.random),
        );
    }
    text
}
