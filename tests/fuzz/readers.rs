//! What is fuzzed, and what must hold whatever the input is.
//!
//! A reader gives a number for the kind of behavior that it met with: inputs of a new kind are bred from.
#![allow(
    clippy::unnecessary_wraps,
    reason = "readers without a law have the signature of the others"
)]

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::str::FromStr;

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::parse::parse;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::node::{Data, Node};
use megatron_memory::formats::{
    detect, hf_config, import as any, job_json, json as json_text, overrides as hydra, share_url, shell as bash,
    yaml as yaml_text,
};
use megatron_memory::memory::estimate;
use megatron_memory::memory::line::stage_lines;
use megatron_memory::parallel::stages::PipelineLayout;
use megatron_memory::value::Value;

use super::campaign::hash;

/// Reads an input; an error is a law that it broke.
pub(crate) type Reader = fn(&str) -> Result<u64, String>;

/// Share links. What a link restores makes a link that restores the same, and that link is its own.
pub(crate) fn links(text: &str) -> Result<u64, String> {
    let (share, notices) = share_url::decode(text);
    let link = share_url::encode(&share);
    let again = share_url::decode(&link).0;
    if share_url::encode(&again) != link {
        return Err(format!("becomes {link}, and then {}", share_url::encode(&again)));
    }
    let kinds: BTreeSet<_> = notices.iter().map(|notice| hash(discriminant(notice))).collect();
    let known = share_url::recognizes(text);
    Ok(hash((known, kinds, rough(link.len()), estimated(&share.setup.job)?)))
}

/// Any text that holds a job. What is made of it is a link that can be read.
pub(crate) fn import(text: &str) -> Result<u64, String> {
    match any::import(text, &any::Options::default()) {
        Ok(import) => {
            let link = share_url::encode(&import.state);
            if share_url::encode(&share_url::decode(&link).0) != link {
                return Err(format!("becomes the link {link}, which is another job"));
            }
            let statuses: BTreeSet<_> = import.report.iter().map(|row| row.status as u8).collect();
            let questions = rough(import.questions.len());
            let job = estimated(&import.state.setup.job)?;
            Ok(hash((import.format.id(), statuses, questions, job)))
        }
        Err(error) => Ok(hash(discriminant(&error))),
    }
}

/// Jobs of this calculator in its own files.
pub(crate) fn own(text: &str) -> Result<u64, String> {
    let Ok(root) = json_text::parse(text) else {
        return Ok(0);
    };
    match job_json::read(&root) {
        Ok(read) => {
            let file = job_json::file(&job_json::document(&read.state));
            let again = json_text::parse(&file).map_err(|error| error.to_string())?;
            let again = job_json::read(&again).map_err(|error| error.to_string())?;
            if job_json::file(&job_json::document(&again.state)) == file {
                Ok(hash((rough(file.len()), estimated(&read.state.setup.job)?)))
            } else {
                Err(format!("is written as {file}, which is another job"))
            }
        }
        Err(error) => Ok(hash(discriminant(&error))),
    }
}

/// JSON as such.
pub(crate) fn json(text: &str) -> Result<u64, String> {
    let format = detect::detect(text).map(|found| found.format.id());
    Ok(match json_text::parse(text) {
        Ok(root) => hash((format, shape(&root))),
        Err(error) => hash((format, discriminant(&error.kind))),
    })
}

/// Jobs of this calculator, as JSON, down to their estimates.
pub(crate) fn job(text: &str) -> Result<u64, String> {
    match json_text::parse(text) {
        Ok(root) => estimated(&RawJob::from_value(&root.to_value())),
        Err(_) => Ok(0),
    }
}

/// Model configurations, down to their estimates.
pub(crate) fn hf(text: &str) -> Result<u64, String> {
    let Ok(root) = json_text::parse(text) else {
        return Ok(0);
    };
    match hf_config::read(&root) {
        Ok(import) => {
            let statuses: BTreeSet<_> = import.report.iter().map(|key| key.status).collect();
            let mut raw = RawJob::default();
            for setting in import.settings {
                let field = FieldId::by_name(setting.field).ok_or("sets a field that is none")?;
                raw.shared.set(field, setting.value);
            }
            Ok(hash((
                import.family,
                statuses.into_iter().map(|f| f as u8).collect::<Vec<_>>(),
                estimated(&raw)?,
            )))
        }
        Err(error) => {
            let kinds: Vec<_> = error
                .problems
                .iter()
                .map(|problem| discriminant(&problem.kind))
                .collect();
            Ok(hash((hf_config::recognizes(&root), kinds)))
        }
    }
}

/// YAML as such.
pub(crate) fn yaml(text: &str) -> Result<u64, String> {
    let format = detect::detect(text).map(|found| found.format.id());
    Ok(match yaml_text::parse(text) {
        Ok(yaml) => {
            let notes: Vec<_> = yaml.notes.iter().take(4).map(|note| discriminant(&note.kind)).collect();
            hash((format, shape(&yaml.root), notes))
        }
        Err(error) => hash((format, discriminant(&error.kind))),
    })
}

/// Command lines and launch scripts.
pub(crate) fn shell(text: &str) -> Result<u64, String> {
    let format = detect::detect(text).map(|found| found.format.id());
    let import = bash::read(text, bash::Answers::default());
    let notes: Vec<_> = import
        .notes
        .iter()
        .take(6)
        .map(|note| discriminant(&note.kind))
        .collect();
    let counts = [
        import.command.flags.len(),
        import.other_commands.len(),
        import.variables.len(),
        import.choices.len(),
        import.assignments.len(),
    ];
    Ok(hash((
        format,
        notes,
        counts.map(rough),
        import.launch.world_size().is_some(),
    )))
}

/// Hydra overrides.
pub(crate) fn overrides(text: &str) -> Result<u64, String> {
    let read = hydra::parse(text);
    Ok(hash((
        shape(&read.root),
        rough(read.removed.len()),
        rough(read.unread.len()),
    )))
}

/// Pipeline layouts. What a layout prints is the same layout.
pub(crate) fn layout(text: &str) -> Result<u64, String> {
    match PipelineLayout::from_str(text) {
        Ok(layout) => {
            let printed = layout.to_string();
            match PipelineLayout::from_str(&printed) {
                Ok(again) if again == layout => {
                    Ok(hash((rough(layout.stages().len()), rough(layout.layers().count()))))
                }
                other => Err(format!("prints {printed:?}, which is {other:?}")),
            }
        }
        Err(error) => Ok(hash((discriminant(&error.kind), error.to_string().is_empty()))),
    }
}

/// Which layers have experts. What a pattern prints is the same pattern.
pub(crate) fn pattern(text: &str) -> Result<u64, String> {
    let field = FieldId::moe_layer_freq.field();
    let read = |text: &str| parse(field, &Value::Text(text.to_owned()));
    match read(text) {
        Ok(Some(pattern)) => {
            let megatron_memory::config::parse::Parsed::Pattern(list) = &pattern else {
                return Err("is no pattern".into());
            };
            let printed = list.to_string();
            if read(&printed).as_ref() == Ok(&Some(pattern)) {
                Ok(hash(rough(printed.len())))
            } else {
                Err(format!("prints {printed:?}, which is {:?}", read(&printed)))
            }
        }
        Ok(None) => Ok(1),
        Err(error) => Ok(hash(error.to_string().len())),
    }
}

/// `name=text` for any field of the form, beside the rest of a job.
pub(crate) fn fields(text: &str) -> Result<u64, String> {
    let mut raw = RawJob::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if let Some(field) = FieldId::by_name(name).or_else(|| FieldId::by_key(name)) {
            let value = Value::Text(value.to_owned());
            let _ = parse(field.field(), &value);
            raw.shared.set(field, value);
        }
    }
    estimated(&raw)
}

/// Checks a job and, where it is valid, itemizes its heaviest stage. The lines add up to the total.
fn estimated(raw: &RawJob) -> Result<u64, String> {
    let checked = check(raw);
    let rules: BTreeSet<_> = checked.problems.iter().map(|problem| problem.rule).collect();
    let Some(config) = &checked.config else {
        if rules.is_empty() {
            return Err("refused without a reason".into());
        }
        return Ok(hash(rules.into_iter().take(3).collect::<Vec<_>>()));
    };
    let result = estimate(config);
    let stage = result
        .modules
        .get(result.worst.module)
        .and_then(|m| m.stages.get(result.worst.pp_rank));
    let total = stage.ok_or("the worst stage does not exist")?.total;
    let lines = stage_lines(config, &result, result.worst);
    let parts: u128 = lines.iter().map(|line| u128::from(line.bytes.0)).sum();
    if parts != u128::from(total.0) {
        return Err(format!("the lines add up to {parts}, and the total is {}", total.0));
    }
    Ok(hash((rules, rough(lines.len()))))
}

/// What a tree is like, without its texts and numbers.
fn shape(root: &Node) -> u64 {
    fn walk(node: &Node, depth: u32, kinds: &mut [usize; 7], deepest: &mut u32) {
        *deepest = depth.max(*deepest);
        let kind = match &node.data {
            Data::Null => 0,
            Data::Bool(_) => 1,
            Data::Int(_) => 2,
            Data::Float(_) => 3,
            Data::Text(_) => 4,
            Data::List(items) => {
                for item in items {
                    walk(item, depth + 1, kinds, deepest);
                }
                5
            }
            Data::Map(entries) => {
                for entry in entries {
                    walk(&entry.node, depth + 1, kinds, deepest);
                }
                6
            }
        };
        kinds[kind] += 1;
    }
    let (mut kinds, mut deepest) = ([0; 7], 0);
    walk(root, 0, &mut kinds, &mut deepest);
    hash((kinds.map(|count| rough(count).min(3)), deepest))
}

/// The order of magnitude of a count.
fn rough(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}
