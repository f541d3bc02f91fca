//! The result by stage and bucket: CSV in bytes, and a Markdown table in GiB or GB.

use core::fmt::Write;

use crate::config::job::Config;
use crate::memory::Estimate;
use crate::memory::bucket::Bucket;
use crate::report::amount::{Scale, Unit};
use crate::units::Bytes;

/// CSV (RFC 4180) with a row for every stage: module, pipeline rank, bytes of every bucket, their total, and
/// what is not modelled.
#[must_use]
pub fn csv(config: &Config, estimate: &Estimate) -> String {
    let mut out = String::from("module,pp_rank");
    for bucket in Bucket::ALL {
        out.push(',');
        out.push_str(bucket.id());
    }
    out.push_str(",total");
    let marks = config.not_modelled().iter();
    let marks: Vec<String> = marks.map(ToString::to_string).collect();
    // The last column is there only where something is not modelled.
    let last = match marks.as_slice() {
        [] => String::new(),
        marks => format!(",{}", cell(&marks.join("; "))),
    };
    out.push_str(if last.is_empty() { "\r\n" } else { ",not_modelled\r\n" });
    for (module, estimate) in config.modules().iter().zip(&estimate.modules) {
        for (pp_rank, stage) in estimate.stages.iter().enumerate() {
            out.push_str(&cell(module.name()));
            let _ = write!(out, ",{pp_rank}");
            for bucket in Bucket::ALL {
                let _ = write!(out, ",{}", stage.bytes(bucket).0);
            }
            let _ = write!(out, ",{}{last}\r\n", stage.total.0);
        }
    }
    out
}

/// A user's text as a CSV cell, on one line. A spreadsheet would evaluate text that begins like a formula; a quote in
/// front prevents it.
pub(super) fn cell(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let guard = if text.starts_with(['=', '+', '-', '@', ' ']) {
        "'"
    } else {
        ""
    };
    if text.contains(['"', ',']) {
        return format!("\"{guard}{}\"", text.replace('"', "\"\""));
    }
    format!("{guard}{text}")
}

/// A Markdown table: a row for every bucket that is not empty, a column for every stage. A line below says how its
/// numbers are rounded.
#[must_use]
pub fn markdown(config: &Config, estimate: &Estimate, unit: Unit) -> String {
    let scale = Scale { unit, decimals: 3 };
    // In Markdown, `<` begins a tag.
    let number = |bytes: Bytes| scale.number(bytes).replace('<', "&lt;");
    let mut out = String::new();
    for (module, estimate) in config.modules().iter().zip(&estimate.modules) {
        if config.modules().len() > 1 {
            let _ = write!(out, "**{}**\n\n", escaped(module.name()));
        }
        let row = |out: &mut String, first: &str, cells: &mut dyn Iterator<Item = String>| {
            let _ = write!(out, "| {first} |");
            for cell in cells {
                let _ = write!(out, " {cell} |");
            }
            out.push('\n');
        };
        let stages = &estimate.stages;
        row(
            &mut out,
            unit.symbol(),
            &mut (0..stages.len()).map(|rank| format!("stage {rank}")),
        );
        row(&mut out, "---", &mut stages.iter().map(|_| "---:".to_owned()));
        for bucket in Bucket::ALL {
            if stages.iter().any(|stage| stage.bytes(bucket).0 > 0) {
                let mut cells = stages.iter().map(|stage| number(stage.bytes(bucket)));
                row(&mut out, bucket.label(), &mut cells);
            }
        }
        row(
            &mut out,
            "**total**",
            &mut stages.iter().map(|stage| number(stage.total)),
        );
        out.push('\n');
    }
    let _ = writeln!(out, "{}", scale.rounding_note());
    out
}

/// A user's text, escaped for Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}
