//! Exports a plot of memory against a setting, as the text of an SVG file and as CSV.

use core::fmt::Write;

use super::provenance::made_by;
use super::tables::cell;
use super::{style, svg};
use crate::report::caption::with_lines;
use crate::report::curves::Plot;
use crate::report::markup::tag;

/// Draws a plot as the text of a self-contained SVG file, with the jobs below it. `link` leads to the first job.
#[must_use]
pub fn plot_svg(plot: &Plot<'_>, link: &str) -> String {
    let mut lines = plot.sentences();
    if let [only] = plot.curves {
        // A legend names several jobs.
        lines.retain(|line| line.starts_with(&only.name));
        if lines.is_empty() {
            lines.push(only.name.clone());
        }
    }
    let scene = plot.draw();
    let title = scene.title.clone();
    lines.insert(0, format!("{title}."));
    let picture = svg::picture(&with_lines(scene, &lines), &style::of_plots());
    let metadata = format!("{}: {link}", made_by());
    picture.child(tag("metadata").text(metadata)).to_string()
}

/// CSV (RFC 4180) with a row for every value of every job: the job, the value, and bytes: what PyTorch allocates, the
/// least and the most that the device shows, and the GPU's memory. The last column has the link of the first job and
/// the version.
#[must_use]
pub fn plot_csv(plot: &Plot<'_>, link: &str) -> String {
    let name = plot.field.field().name;
    let mut out = format!("job,{name},allocated,device_least,device_most,gpu,fits,made_by\r\n");
    let made_by = cell(&format!("{}: {link}", made_by()));
    for curve in plot.curves {
        for point in &curve.sweep.points {
            let memory = point.memory;
            let gpu = memory.gpu_memory().map_or_else(String::new, |gpu| gpu.0.to_string());
            let fits = memory.gpu.map_or("", |_| if memory.has_room() { "yes" } else { "no" });
            let _ = write!(
                out,
                "{},{},{},{},{},{gpu},{fits},{made_by}\r\n",
                cell(&curve.name),
                point.value,
                memory.total.0,
                memory.device.0.0,
                memory.device.1.0,
            );
        }
    }
    out
}
