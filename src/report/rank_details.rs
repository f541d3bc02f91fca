//! All about one rank, as text: a sentence, and tables of coordinates, seeds and groups.

use super::amount::Scale;
use super::markup::{Markup, tag};
use super::ranks::{RankPlace, members_text};
use super::summary::{Verdict, device};
use crate::config::job::Config;
use crate::memory::{Estimate, rank_memory};
use crate::parallel::groups::process_groups::ProcessGroup;
use crate::parallel::groups::{Coordinates, View};

/// The rank in one sentence: `Rank 5: language stage 0, TP 1 CP 0 DP 1 PP 0, 61.2 GiB`.
#[must_use]
pub fn sentence(
    config: &Config,
    estimate: &Estimate,
    places: &[RankPlace],
    rank: u64,
    scale: Scale,
) -> String {
    let mut text = format!("Rank {rank}");
    for (i, place) in places.iter().enumerate() {
        let name = config
            .modules()
            .get(place.stage.module)
            .map_or("", |m| m.name());
        text.push_str(if i == 0 { ": " } else { "; " });
        text.extend([name, " stage ", &place.stage.pp_rank.to_string(), ", "]);
        text.push_str(&along(&dense(&place.coordinates)));
    }
    if let Some(memory) = rank_memory(config, estimate, rank) {
        text.extend([", ", &scale.amount(memory.total)]);
        let module = places.first().map_or(0, |place| place.stage.module);
        let device = device(config, module, memory.total, memory.graphs);
        if Verdict::of(device, config.gpu_memory()) == Verdict::DoesNotFit {
            text.push_str(", does not fit");
        }
    }
    text
}

fn dense(c: &Coordinates) -> [(&'static str, u64); 4] {
    [("TP", c.tp), ("CP", c.cp), ("DP", c.dp), ("PP", c.pp)]
}

fn expert(c: &Coordinates) -> [(&'static str, u64); 4] {
    [("ETP", c.etp), ("EP", c.ep), ("EDP", c.edp), ("PP", c.pp)]
}

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

/// Everything about the rank in one of its modules; `chosen` is the group that is lit on the map. Groups are buttons
/// named `group.` and the place's number and the group's name.
#[must_use]
pub fn tables(
    config: &Config,
    estimate: &Estimate,
    places: &[RankPlace],
    (at, chosen): (usize, ProcessGroup),
    scale: Scale,
) -> Vec<Markup> {
    let tables = places.iter().enumerate().map(|(i, place)| {
        let chosen = (i == at).then_some(chosen);
        module_tables(config, estimate, (i, place), chosen, scale)
    });
    tables.collect()
}

fn module_tables(
    config: &Config,
    estimate: &Estimate,
    (i, place): (usize, &RankPlace),
    chosen: Option<ProcessGroup>,
    scale: Scale,
) -> Markup {
    let name = config
        .modules()
        .get(place.stage.module)
        .map_or("", |m| m.name());
    let seeds = place.seeds;
    let memory = estimate.stage(place.stage).map(|stage| stage.total);
    let facts = [
        ("Module", format!("{name}, stage {}", place.stage.pp_rank)),
        (
            "Memory",
            memory.map(|m| scale.amount(m)).unwrap_or_default(),
        ),
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
    let facts = facts
        .into_iter()
        .flat_map(|(term, text)| [tag("dt").text(term), tag("dd").text(text)]);
    let mut rows = Vec::new();
    let mut alone: Vec<&str> = Vec::new();
    place.each_group(|kind, group| {
        if group.size() < 2 {
            alone.push(kind.name());
            return;
        }
        let pressed = if chosen == Some(kind) {
            "true"
        } else {
            "false"
        };
        let button = tag("button")
            .with("type", "button")
            .class("group-name")
            .with("data-at", format!("group.{i}.{}", kind.name()))
            .with("aria-pressed", pressed)
            .text(kind.name());
        let view = match kind.view() {
            View::Dense => "dense",
            View::Expert => "expert",
        };
        let cells = [
            view.to_owned(),
            group.size().to_string(),
            members_text(group),
        ];
        let cells = cells.into_iter().map(|text| tag("td").text(text));
        let head = tag("th").with("scope", "row").child(button);
        rows.push(tag("tr").child(head).children(cells));
    });
    let heads =
        ["Group", "View", "Size", "Ranks"].map(|text| tag("th").with("scope", "col").text(text));
    let table = tag("table")
        .class("groups")
        .child(tag("caption").text(format!("Groups of {name} that the rank is in")))
        .child(tag("thead").child(tag("tr").children(heads)))
        .child(tag("tbody").children(rows));
    let alone = match alone.as_slice() {
        [] => String::new(),
        names => format!("Alone in {}.", names.join(", ")),
    };
    tag("div")
        .class("rank-module")
        .child(tag("dl").class("facts").children(facts))
        .child(table)
        .child(tag("p").class("panel-note").text(alone))
}
