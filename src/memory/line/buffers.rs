//! The buffers that stay, as lines: products of factors, or sums of such.

use super::formula::{Formula, Kind};
use super::{Confidence, Line, id, parent, product};
use crate::memory::StageEstimate;
use crate::memory::bucket::Bucket;
use crate::memory::buffers::{Buffer, BufferKind, stash};
use crate::memory::peak::Stages;
use crate::model::tape::block;
use crate::model::tensor::{Shape, factor};
use crate::source::Source;
use crate::units::{Bytes, multiply};

/// The line of the bucket of buffers; none where it is empty.
pub(super) fn line(stages: &Stages<'_>, pp_rank: u32, held: &StageEstimate) -> Option<Line> {
    let site = stages.site(pp_rank);
    let mut buffers = stages.buffers.buffers(&site);
    let graph_phase = held.moment.graph_phase;
    buffers.extend(stages.graph_buffers(pp_rank, graph_phase));
    if stages.m.args.moe_paged_stash {
        buffers.extend(stash::buffers(stages.m, &stages.replay(pp_rank, graph_phase)));
    }
    let buffer = |buffer: &Buffer| {
        let (what, source) = (buffer.what, buffer.source);
        let mut children: Vec<Line> = Vec::new();
        match buffer.kind {
            BufferKind::Padding => stages.buffers.each_padding(&site, &mut |term| {
                if term.bytes > 0 {
                    let formula = padding(stages, term.bucket, term.elements);
                    let label = term.bucket.label();
                    children.push(leaf(what, label, term.bytes, source, Some(formula)));
                }
            }),
            BufferKind::Unsplit => stages.buffers.each_unsplit(&site, &mut |term| {
                if term.bytes > 0 {
                    let label = term.bucket.label();
                    children.push(leaf(what, label, term.bytes, source, Some(RESTS)));
                }
            }),
            BufferKind::DummyWgrads => {
                for (rows, columns) in stages.buffers.stand_ins(&site) {
                    let shape = Shape::of(&[factor("rows", rows), factor("columns", columns)]);
                    let bytes = multiply(shape.elements(), buffer.width);
                    let formula = product(&shape, buffer.width, 1, block(bytes));
                    let label = format!("{rows} × {columns}");
                    children.push(leaf(what, &label, block(bytes), source, Some(formula)));
                }
            }
            BufferKind::Tensor | BufferKind::Workspace => {
                let bytes = multiply(buffer.shape.elements(), buffer.width);
                let formula = product(&buffer.shape, buffer.width, 1, block(bytes));
                return leaf("", what, buffer.bytes, source, Some(formula));
            }
        }
        Line {
            children: merged(children),
            ..leaf("", what, buffer.bytes, source, None)
        }
    };
    let what = ("Small things that stay for the whole run", Source::GradBuffer);
    let lines: Vec<Line> = buffers.iter().map(buffer).collect();
    (!lines.is_empty()).then(|| parent(Bucket::Buffers, what, lines))
}

fn leaf(of: &str, label: &str, bytes: u64, source: Source, formula: Option<Formula>) -> Line {
    let above = if of.is_empty() {
        String::new()
    } else {
        format!("{}/", id(of))
    };
    let what = if of.is_empty() { label } else { of };
    Line {
        id: format!("{}/{above}{}", Bucket::Buffers.id(), id(label)),
        label: label.to_owned(),
        bytes: Bytes(bytes),
        what: what.to_owned(),
        formula,
        source,
        confidence: Confidence::Modelled,
        children: Vec::new(),
    }
}

/// Chunks with the same name as one line: a sum where they differ.
fn merged(lines: Vec<Line>) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for line in lines {
        match out.iter_mut().find(|other| other.id == line.id) {
            Some(other) => {
                if other.children.is_empty() {
                    let first = Line {
                        id: format!("{}/0", other.id),
                        ..other.clone()
                    };
                    other.formula = None;
                    other.children.push(first);
                }
                other.bytes += line.bytes;
                let id = format!("{}/{}", other.id, other.children.len());
                other.children.push(Line { id, ..line });
            }
            None => out.push(line),
        }
    }
    out
}

/// The bytes that the allocator does not split off behind tensors of 10 MiB and more.
const RESTS: Formula = Formula(Kind::Words {
    symbols: "up to the next 2 MiB, where that is 1 MiB or less",
    values: "added up over all tensors of 10 MiB and more",
});

/// The bytes that rounding every parameter to whole blocks adds.
const BLOCKS: Formula = Formula(Kind::Words {
    symbols: "every parameter in blocks of 512 B",
    values: "what the blocks have more than their parameters",
});

/// The bytes that padding adds to a buffer of states.
fn padding(stages: &Stages<'_>, bucket: Bucket, elements: Option<(u64, u64)>) -> Formula {
    let Some((elements, padded)) = elements else {
        return BLOCKS;
    };
    let rule = stages.rules.rule(bucket);
    Formula(Kind::Padding {
        elements,
        padded,
        ranks: rule.shard,
        bytes: rule.bytes,
    })
}
