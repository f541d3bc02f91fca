//! The list of a job's modules with sizes, ranks and memory. Sizes and ranks are there for jobs with mistakes too.

use super::summary::{Standing, Verdict};
use crate::config::job::Config;
use crate::config::mimo_input;
use crate::config::raw::RawJob;
use crate::memory::Estimate;
use crate::parallel::mimo::{Field, ModuleInput};
use crate::units::Bytes;
use crate::value::Value;

/// One module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRow {
    /// The module's name.
    pub name: String,
    /// The module's parallel sizes, such as `TP 4 · PP 2 · DP 2`. TP and DP are always there, others where they are not
    /// 1.
    pub sizes: String,
    /// The module's ranks, such as `ranks 0–15`; empty where they are not known.
    pub ranks: String,
    /// The largest peak of the module's stages, and whether it fits; `None` for a job with mistakes.
    pub memory: Option<(Bytes, Verdict)>,
}

/// The rows of a job's modules; empty for a job without a list of modules. `outcome` is the checked job with its
/// estimate and its standing, `None` where the job has mistakes.
#[must_use]
pub fn rows(job: &RawJob, outcome: Option<(&Config, &Estimate, &Standing)>) -> Vec<ModuleRow> {
    let input = mimo_input(job);
    let modules = input.modules.iter().enumerate();
    modules
        .map(|(index, module)| ModuleRow {
            name: module.name.clone(),
            sizes: sizes(module),
            ranks: ranks(module).unwrap_or_default(),
            memory: outcome.and_then(|(config, estimate, standing)| {
                let stages = &estimate.modules.get(index)?.stages;
                let most = stages.iter().max_by_key(|stage| stage.total)?;
                let device = standing.device_of(config, index, most.total, most.graphs);
                Some((most.total, Verdict::of(config, device)))
            }),
        })
        .collect()
}

fn sizes(module: &ModuleInput) -> String {
    const SHORT: [(Field, &str); 6] = [
        (Field::TensorModelParallelSize, "TP"),
        (Field::PipelineModelParallelSize, "PP"),
        (Field::ContextParallelSize, "CP"),
        (Field::ExpertModelParallelSize, "EP"),
        (Field::ExpertTensorParallelSize, "ETP"),
        (Field::DataParallelSize, "DP"),
    ];
    let mut text = String::new();
    for (field, short) in SHORT {
        let always = matches!(field, Field::TensorModelParallelSize | Field::DataParallelSize);
        let value = match module.get(field) {
            Value::Int(1) if !always => continue,
            Value::Null => String::from("?"),
            Value::Text(text) => text.clone(),
            other => other.to_string(),
        };
        if !text.is_empty() {
            text.push_str(" · ");
        }
        text.extend([short, " ", &value]);
    }
    text
}

fn ranks(module: &ModuleInput) -> Option<String> {
    let parallelism = module.as_set()?;
    let (first, ranks) = (parallelism.rank_offset, parallelism.total_ranks().ok()?);
    match ranks {
        ..=0 => None,
        1 => Some(format!("rank {first}")),
        _ => Some(format!("ranks {first}–{}", first.checked_add(ranks - 1)?)),
    }
}
