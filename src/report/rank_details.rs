//! Text about one rank: a sentence, and a table with its coordinates, seeds and process groups.

use super::amount::Scale;
use super::ranks::{RankPlace, members_text};
use super::summary::{Standing, Verdict};
use crate::config::job::Config;
use crate::memory::{Estimate, rank_memory};
use crate::parallel::groups::process_groups::ProcessGroup;
use crate::parallel::groups::{Coordinates, View};

/// The rank in one sentence: `Rank 5: language stage 0, TP 1 CP 0 DP 1 PP 0, 61.2 GiB`.
#[must_use]
pub fn sentence(
    config: &Config,
    estimate: &Estimate,
    standing: &Standing,
    places: &[RankPlace],
    rank: u64,
    scale: Scale,
) -> String {
    let mut text = format!("Rank {rank}");
    for (i, place) in places.iter().enumerate() {
        let name = config.modules().get(place.stage.module).map_or("", |m| m.name());
        text.push_str(if i == 0 { ": " } else { "; " });
        text.extend([name, " stage ", &place.stage.pp_rank.to_string(), ", "]);
        text.push_str(&along(&dense(&place.coordinates)));
    }
    if let Some(memory) = rank_memory(config, estimate, rank) {
        text.extend([", ", &scale.amount(memory.total)]);
        let module = places.first().map_or(0, |place| place.stage.module);
        let device = standing.device_of(config, module, memory.total, memory.graphs);
        if Verdict::of(config, device) == Verdict::DoesNotFit {
            text.push_str(", does not fit");
        }
    }
    text
}

/// The coordinates of dense layers with their names.
fn dense(c: &Coordinates) -> [(&'static str, u64); 4] {
    [("TP", c.tp), ("CP", c.cp), ("DP", c.dp), ("PP", c.pp)]
}

/// The coordinates of experts with their names.
fn expert(c: &Coordinates) -> [(&'static str, u64); 4] {
    [("ETP", c.etp), ("EP", c.ep), ("EDP", c.edp), ("PP", c.pp)]
}

/// Coordinates as text: `TP 1 CP 0 DP 1 PP 0`.
fn along(coordinates: &[(&'static str, u64)]) -> String {
    let mut text = String::new();
    for (name, at) in coordinates {
        if !text.is_empty() {
            text.push(' ');
        }
        text.extend([*name, " ", &at.to_string()]);
    }
    text
}

/// The table about a rank in one of the modules that run on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFacts {
    /// The module's name.
    pub module: String,
    /// The rows of the table: name and value.
    pub facts: [(&'static str, String); 5],
    /// The process groups with several ranks that the rank is in.
    pub groups: Vec<GroupFacts>,
    /// The names of the process groups whose only member is the rank.
    pub alone: Vec<&'static str>,
}

/// A process group that a rank is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFacts {
    /// The kind of group.
    pub group: ProcessGroup,
    /// The rank grid that it belongs to: `dense` or `expert`.
    pub view: &'static str,
    /// The number of its ranks.
    pub size: u64,
    /// The group's ranks as text, shortened where they are many.
    pub ranks: String,
}

impl ModuleFacts {
    /// The table about the rank at a place.
    #[must_use]
    pub fn of(config: &Config, estimate: &Estimate, place: &RankPlace, scale: Scale) -> Self {
        let module = config.modules().get(place.stage.module);
        let module = module.map_or("", |m| m.name());
        let seeds = place.seeds;
        let memory = estimate.stage(place.stage).map(|stage| stage.total);
        let facts = [
            ("Module", format!("{module}, stage {}", place.stage.pp_rank)),
            ("Memory", memory.map(|m| scale.amount(m)).unwrap_or_default()),
            ("Dense view", along(&dense(&place.coordinates))),
            ("Expert view", along(&expert(&place.coordinates))),
            (
                "Random seeds",
                format!(
                    "{} base, {} tensor parallel, {} experts",
                    seeds.base, seeds.tensor_parallel, seeds.expert_parallel
                ),
            ),
        ];
        let (mut groups, mut alone) = (Vec::new(), Vec::new());
        place.each_group(|kind, group| {
            if group.size() < 2 {
                alone.push(kind.name());
                return;
            }
            groups.push(GroupFacts {
                group: kind,
                view: match kind.view() {
                    View::Dense => "dense",
                    View::Expert => "expert",
                },
                size: group.size(),
                ranks: members_text(group),
            });
        });
        Self {
            module: module.to_owned(),
            facts,
            groups,
            alone,
        }
    }
}
