use std::fmt::Write;

use megatron_memory::memory::line::Line;
use megatron_memory::report::amount::Unit;
use megatron_memory::report::explain::{Explanation, How, explain, find};
use megatron_memory::report::parts::{by_bucket, by_component};
use megatron_memory::report::target::Target;
use megatron_memory::units::Bytes;
use serde_json::json;

use super::{Job, snapshot};
use crate::oracle;

fn text(explanation: &Explanation) -> String {
    let mut out = format!(
        "{} = {} ({})\n{}\n",
        explanation.title, explanation.amount, explanation.exact, explanation.what
    );
    match &explanation.how {
        How::Product {
            symbols,
            values,
            legend,
        } => {
            writeln!(out, "{symbols}\n{values}").unwrap();
            for factor in legend {
                writeln!(out, "  {} = {}: {}", factor.symbol, factor.value, factor.meaning).unwrap();
            }
        }
        How::Sum(terms) => {
            for term in terms {
                writeln!(out, "  {} {} {} [{}]", term.number, term.percent, term.label, term.path).unwrap();
            }
        }
    }
    if let Some(source) = &explanation.source {
        writeln!(out, "{}", source.citation().title()).unwrap();
    }
    out + explanation.confidence + "\n"
}

fn explained(job: &Job, pp_rank: usize, path: &str) -> String {
    text(&explain(&job.lines(pp_rank), path, Unit::Gib).unwrap_or_else(|| panic!("{path}")))
}

#[test]
fn a_tensor_is_explained_by_its_shape() {
    let job = Job::case("dsv3_tp2_pp16_ep64_etp1_layout", json!({}));
    let lines = job.lines(3);
    let bucket = find(&lines, "exp_avg_expert").unwrap();
    let tensor = &bucket.children[0].children[0];
    snapshot("explain_expert_moment", &explained(&job, 3, &tensor.id));
}

#[test]
fn a_bucket_is_explained_by_its_components_and_they_by_their_tensors() {
    let job = Job::small(json!({}));
    snapshot("explain_bucket", &explained(&job, 0, "weights_dense"));
    snapshot("explain_component", &explained(&job, 0, "weights_dense/attention"));
    snapshot("explain_across", &explained(&job, 0, "*/attention"));
    snapshot("explain_total", &explained(&job, 0, ""));
    assert_eq!(explain(&job.lines(0), "weights_dense/att", Unit::Gib), None);
    assert_eq!(explain(&job.lines(0), "*/nothing", Unit::Gib), None);
}

/// The lines that consist of no others.
fn leaves(line: &Line) -> Vec<&Line> {
    if line.children.is_empty() {
        return vec![line];
    }
    line.children.iter().flat_map(leaves).collect()
}

#[test]
fn every_number_of_every_case_can_be_explained_and_adds_up() {
    for file in oracle::files("params") {
        let case = oracle::json(&file);
        if case.get("error").is_some() {
            continue;
        }
        let job = Job::new(&case["config"]);
        for (pp_rank, stage) in job.estimate.modules[0].stages.iter().enumerate() {
            let lines = job.lines(pp_rank);
            let sum = |parts: Vec<megatron_memory::report::parts::Part>| -> Bytes {
                for part in &parts {
                    let shares: Bytes = part.shares.iter().map(|share| share.bytes).sum();
                    assert_eq!(shares, part.bytes, "{file} {pp_rank} {}", part.path);
                    assert!(
                        part.shares.iter().all(|share| share.bucket.is_some()),
                        "{file} {}",
                        part.path
                    );
                    let explanation = explain(&lines, &part.path, Unit::Gb).unwrap();
                    assert_eq!(explanation.path, part.path);
                }
                parts.iter().map(|part| part.bytes).sum()
            };
            assert_eq!(sum(by_bucket(&lines)), stage.total, "{file} {pp_rank}");
            assert_eq!(sum(by_component(&lines)), stage.total, "{file} {pp_rank}");
            for tensor in lines.iter().flat_map(leaves) {
                let explanation = explain(&lines, &tensor.id, Unit::Gib).unwrap();
                let How::Product { legend, .. } = &explanation.how else {
                    panic!("{}", tensor.id)
                };
                for factor in legend {
                    assert_ne!(factor.meaning, "", "{file} {}: {}", tensor.id, factor.symbol);
                }
            }
        }
    }
}

#[test]
fn what_is_about_the_same_lights_up_together() {
    let stage = |pp_rank| megatron_memory::memory::StageRef { module: 0, pp_rank };
    let line = |pp_rank, path: &str| Target::line(stage(pp_rank), path);
    for (selected, other, lit) in [
        (Target::stage(stage(3)), Target::stage(stage(3)), true),
        (Target::stage(stage(3)), Target::stage(stage(4)), false),
        (Target::stage(stage(3)), line(3, "weights_dense"), false),
        (line(3, "weights_dense"), line(4, "weights_dense"), true),
        (line(3, "weights_dense"), line(3, "weights_dense/attention"), true),
        (line(3, "*/attention"), line(3, "weights_dense/attention/x"), true),
        (line(3, "*/attention"), line(3, "weights_dense/router"), false),
        (line(3, "weights_dense"), Target::stage(stage(3)), false),
        (line(3, "weights_dense"), line(3, "weights_expert"), false),
        (Target::default(), Target::default(), false),
    ] {
        assert_eq!(selected.highlights(&other), lit, "{selected:?} {other:?}");
    }
}
