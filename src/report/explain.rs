//! Explanations of numbers: formula, values, result and source, all from the line that was counted.

use core::cmp::Reverse;

use super::amount::{Scale, Unit, exact, grouped, percent};
use super::grouping::BucketGroup;
use super::parts::{Part, by_component};
use super::readout::capitalized;
use super::target::bucket_of;
use crate::config::fields::FIELDS;
use crate::memory::line::{Confidence, Line};
use crate::source::Source;
use crate::units::Bytes;

/// The explanation of one number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The path of the line or lines that are explained.
    pub path: String,
    /// The number's name.
    pub title: String,
    /// What the number counts, in one sentence.
    pub what: String,
    /// The number, rounded, with its unit.
    pub amount: String,
    /// The number in bytes, such as `12,345,678 bytes`.
    pub exact: String,
    /// The number as a product of factors, or as a sum of other numbers.
    pub how: How,
    /// The source of the formula; `None` for sums over several sources.
    pub source: Option<Source>,
    /// How certain the number is, in words.
    pub confidence: &'static str,
}

/// How a number is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// A product of factors.
    Product {
        /// The formula in symbols.
        symbols: String,
        /// The formula with values in place of the symbols.
        values: String,
        /// The symbol, value and meaning of every factor.
        legend: Vec<Factor>,
    },
    /// A sum of other numbers, each rounded by itself.
    Sum(Vec<Term>),
}

/// An empty sum.
impl Default for How {
    fn default() -> Self {
        Self::Sum(Vec::new())
    }
}

/// One factor of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The symbol.
    pub symbol: String,
    /// The symbol's value.
    pub value: String,
    /// The meaning of the symbol.
    pub meaning: String,
}

/// One term of a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The path of the term, whose own explanation [`explain`] gives.
    pub path: String,
    /// The term's name.
    pub label: String,
    /// The term's number, rounded, without its unit.
    pub number: String,
    /// The term's share of the sum, such as `12.5 %`.
    pub percent: String,
}

/// Explains the number at a path in the lines of a stage: a line, a component over all buckets (`*/attention`), a group
/// of buckets, or the sum of all lines (an empty path). `None` where the path leads to nothing.
#[must_use]
pub fn explain(lines: &[Line], path: &str, unit: Unit) -> Option<Explanation> {
    if path.is_empty() {
        return Some(explain_total(lines, unit));
    }
    if path.starts_with("*/") {
        let part = by_component(lines).into_iter().find(|part| part.path == path)?;
        return Some(explain_component(lines, &part, unit));
    }
    if let Some(group) = BucketGroup::by_id(path) {
        return Some(explain_group(lines, group, unit));
    }
    find(lines, path).map(|line| explain_line(line, unit))
}

/// The line with this id, among the lines and their children.
#[must_use]
pub fn find<'a>(lines: &'a [Line], id: &str) -> Option<&'a Line> {
    lines.iter().find_map(|line| {
        if line.id == id {
            return Some(line);
        }
        let below = id
            .strip_prefix(line.id.as_str())
            .is_some_and(|rest| rest.starts_with('/'));
        if below { find(&line.children, id) } else { None }
    })
}

fn explain_line(line: &Line, unit: Unit) -> Explanation {
    let how = match &line.formula {
        Some(formula) => How::Product {
            symbols: formula.symbols(),
            values: formula.values(),
            legend: formula
                .legend()
                .into_iter()
                .map(|(symbol, value)| Factor {
                    symbol: symbol.to_owned(),
                    value: grouped(value),
                    meaning: meaning(symbol),
                })
                .collect(),
        },
        None => sum_of_lines(&line.children, unit),
    };
    Explanation {
        path: line.id.clone(),
        title: line.label.clone(),
        what: line.what.clone(),
        amount: Scale::fine(unit).amount(line.bytes),
        exact: exact(line.bytes),
        how,
        source: Some(line.source),
        confidence: confidence(line.confidence),
    }
}

/// The sum of lines, largest first.
fn sum_of_lines(lines: &[Line], unit: Unit) -> How {
    let mut lines: Vec<&Line> = lines.iter().collect();
    lines.sort_by_key(|line| Reverse(line.bytes));
    let terms = lines.into_iter();
    sum(terms.map(|l| (l.id.clone(), l.label.clone(), l.bytes)), unit)
}

fn explain_component(lines: &[Line], part: &Part, unit: Unit) -> Explanation {
    let shares = part.shares.iter().map(|share| {
        let label = share
            .bucket
            .map_or_else(|| part.label.clone(), |b| b.label().to_owned());
        (share.path.clone(), label, share.bytes)
    });
    let held = part.shares.iter().filter_map(|share| find(lines, &share.path));
    Explanation {
        path: part.path.clone(),
        title: part.label.clone(),
        what: String::from("Everything that this part of the model takes on the stage"),
        amount: Scale::fine(unit).amount(part.bytes),
        exact: exact(part.bytes),
        how: sum(shares, unit),
        source: None,
        confidence: confidence(held.map(|line| line.confidence).max().unwrap_or(Confidence::Exact)),
    }
}

fn explain_group(lines: &[Line], group: BucketGroup, unit: Unit) -> Explanation {
    let held = lines.iter();
    let held = held.filter(|line| bucket_of(&line.id).map(BucketGroup::of) == Some(group));
    Explanation {
        path: group.id().to_owned(),
        title: group.label().to_owned(),
        what: group.what().to_owned(),
        ..explain_sum(held, unit)
    }
}

fn explain_total(lines: &[Line], unit: Unit) -> Explanation {
    Explanation {
        path: String::new(),
        title: String::from("Total"),
        what: String::from("Everything that the stage takes on each of its GPUs"),
        ..explain_sum(lines.iter(), unit)
    }
}

/// The explanation of a sum of lines.
fn explain_sum<'a>(lines: impl Iterator<Item = &'a Line> + Clone, unit: Unit) -> Explanation {
    let bytes: Bytes = lines.clone().map(|line| line.bytes).sum();
    Explanation {
        amount: Scale::fine(unit).amount(bytes),
        exact: exact(bytes),
        how: sum(lines.clone().map(|l| (l.id.clone(), l.label.clone(), l.bytes)), unit),
        source: None,
        confidence: confidence(lines.map(|l| l.confidence).max().unwrap_or(Confidence::Exact)),
        ..Explanation::default()
    }
}

fn sum(parts: impl Iterator<Item = (String, String, Bytes)>, unit: Unit) -> How {
    let parts: Vec<_> = parts.collect();
    let total: Bytes = parts.iter().map(|(_, _, bytes)| *bytes).sum();
    let terms = parts.into_iter().map(|(path, label, bytes)| Term {
        path,
        label,
        number: Scale::fine(unit).number(bytes),
        percent: percent(bytes, total),
    });
    How::Sum(terms.collect())
}

/// The meaning of a symbol. A symbol that combines several, such as `d_qk + d_r`, has the label of the field in place
/// of each.
fn meaning(symbol: &str) -> String {
    let own = match symbol {
        "DP" => "Copies of the model (data parallel)",
        "(DP·CP)" => "Ranks that share a dense parameter's state",
        "EDP" => "Ranks that share a routed expert's state",
        "dense layers" => "Layers with a dense MLP on this stage",
        "MoE layers" => "Layers with routed experts on this stage",
        "MTP depths" => "MTP depths on this stage",
        "copies" => "Copies on this stage",
        "handles" => "cuBLAS handles, each with a workspace",
        "T" => "Tokens of the micro batch of packed samples",
        "samples" => "Samples of the micro batch",
        "(samples + 1)" => "Samples of the micro batch, and their end",
        "micro batches" => "Micro batches in flight, at most",
        "tables" => "Tables for different lengths",
        "longest sample" => "Tokens of the longest sample",
        "KiB" => "Size of a workspace in KiB",
        "padded" => "Elements with the padding that even shares take",
        "elements" => "Elements of the parameters",
        "ranks" => "Ranks that share them",
        "parameters" => "Parameters on this stage that are trained",
        "rows" => "Output width",
        "columns" => "Input width",
        "alive" => "How many of them are alive at the fullest moment",
        _ => "",
    };
    if !own.is_empty() {
        return own.to_owned();
    }
    // A kind of layer is its own name, such as `Mamba layers`.
    if symbol.contains(" layers") {
        return format!("{} on this stage", capitalized(symbol));
    }
    let mut words = String::new();
    let mut rest = symbol;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
        let field = FIELDS.iter().find(|field| length > 0 && field.symbol == name);
        words.push_str(field.map_or(name, |field| field.label));
        rest = after;
    }
    words
}

/// How certain a number is, in words.
#[must_use]
pub const fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Exact => "Exact: follows from tensor shapes alone",
        Confidence::Modelled => "Modeled: follows from what autograd and the allocator keep",
    }
}
