//! When a stage needs most, what is in flight then, and what comes on top.

use super::super::browser;
use super::super::draw::button;
use super::super::form::control_id;
use super::super::shown::{Gesture, Piece, shown};
use super::picture::number;
use super::view::View;
use crate::config::fields::FieldId;
use crate::memory::overhead::memory_range;
use crate::report::amount::Scale;
use crate::report::charts::Subject;
use crate::report::in_flight;
use crate::report::markup::{Markup, tag};
use crate::report::scene::Px;

/// The fields of the allowances, in the order of their rows.
const FIELDS: [FieldId; 4] = [
    FieldId::reserved_over_allocated_high,
    FieldId::cuda_context_mib,
    FieldId::nccl_mib_per_group,
    FieldId::cuda_graphs_mib,
];

/// What there is to say about the shown stage's peak.
pub(super) fn peaks(view: View) -> Piece {
    let draw = move || view.with(Px::ZERO, facts).unwrap_or_default();
    shown("peaks", draw, move |gesture| {
        if let Gesture::Choose(place) = gesture
            && let Some(id) = number(place).and_then(|i| FIELDS.get(i))
        {
            view.state.reveal(*id);
            browser::focus(control_id(id.field()));
        }
        false
    })
}

fn facts(subject: &Subject<'_>) -> Vec<Markup> {
    let stage = subject.estimate.stage(subject.stage);
    let m = subject.config.modules().get(subject.stage.module);
    let Some((stage, m)) = stage.zip(m) else {
        return Vec::new();
    };
    let scale = Scale::fine(subject.unit);
    let moment = format!(
        "Heaviest moment: {}. {} stay between steps.",
        stage.moment,
        scale.amount(stage.steady)
    );
    let rows = in_flight::rows(subject);
    let chunks = rows
        .into_iter()
        .map(|row| [row.chunk, row.layers, row.alive, row.each, row.all]);
    let chunks = chunks.map(|cells| line(cells.into_iter().map(|text| tag("td").text(text))));
    let in_flight = table(
        "Micro batches in flight",
        &["Chunk", "Layers", "In flight", "Each keeps", "Together"],
        chunks.collect(),
    );
    let band = memory_range(m, stage.total, stage.graphs);
    let mut rows: Vec<Markup> = Vec::new();
    for (i, allowance) in band.overheads.iter().enumerate() {
        let range = if allowance.low == allowance.high {
            scale.amount(allowance.high)
        } else {
            format!(
                "{} to {}",
                scale.number(allowance.low),
                scale.amount(allowance.high)
            )
        };
        let source = tag("a")
            .with("href", allowance.source.url())
            .with("target", "_blank")
            .with("rel", "noreferrer")
            .text("source");
        let label = format!("Set {}", allowance.field.field().presentation().label);
        let set = button(i.to_string(), "link", "set").with("aria-label", label);
        rows.push(line([
            tag("td").text(allowance.what),
            tag("td").text(range),
            tag("td").child(set),
            tag("td").child(source),
        ]));
    }
    let sum = format!("{} to {}", scale.number(band.low), scale.amount(band.high));
    rows.push(line([
        tag("td").text("what the device may show"),
        tag("td").text(sum),
        tag("td"),
        tag("td"),
    ]));
    let above = table(
        "Allowed for, not predicted",
        &["On top", "Amount", "Field", "Source"],
        rows,
    );
    vec![tag("p").text(moment), in_flight, above]
}

fn line(cells: impl IntoIterator<Item = Markup>) -> Markup {
    tag("tr").children(cells)
}

fn table(caption: &'static str, headings: &[&'static str], rows: Vec<Markup>) -> Markup {
    let heading = |text: &&'static str| tag("th").with("scope", "col").text(*text);
    let head = tag("tr").children(headings.iter().map(heading));
    tag("div").class("table-scroll").child(
        tag("table")
            .child(tag("caption").text(caption))
            .child(tag("thead").child(head))
            .child(tag("tbody").children(rows)),
    )
}
