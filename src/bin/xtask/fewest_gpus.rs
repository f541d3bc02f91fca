//! The page with the fewest GPUs for every model on every type of GPU, by way of training. Each number is a link that
//! opens its job.

use std::collections::BTreeMap;
use std::{fs, io};

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus::{GPUS, Gpu, reported_to_processes, source_of_reported};
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::MOST_GPUS;
use megatron_memory::memory::methods::TrainingMethod;
use megatron_memory::presets::{PRESETS, Preset};
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::report::fewest_gpus::{Count, Line, PATH, read};
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::units::Bytes;

use crate::Error;
use crate::filters::{choice, filters};
use crate::html::page;
use crate::tables::{folded, table};

const TITLE: &str = "Fewest GPUs";
const DESCRIPTION: &str = "The fewest GPUs on which each model can be trained in full, with LoRA and with Megatron FSDP, for every type of GPU, and a link that opens each job.";
const TEMPLATE: &str = include_str!("fewest_gpus/page.html");

/// Searches the fewest GPUs for these presets anew. Without any it is the presets and the types of GPUs that the file has
/// not in their newest version, and those whose stored job no longer fits. Writes the file after each preset.
pub(crate) fn search(ids: &[&str]) -> Result<(), Error> {
    let mut lines = lines()?;
    if ids.is_empty() {
        lines.iter_mut().for_each(Line::retain_gpus_that_fit);
        lines.retain(|line| !line.gpus.is_empty());
    }
    for preset in PRESETS {
        let anew = ids.contains(&preset.id);
        if !anew && !ids.is_empty() {
            continue;
        }
        println!("{}", preset.name);
        let name = format!("{}@{}", preset.id, preset.version);
        let of_preset = |line: &Line| line.preset.split('@').next() == Some(preset.id);
        lines.retain(|line| !of_preset(line) || !anew && line.preset == name);
        for method in TrainingMethod::EACH {
            Line::complete(&mut lines, preset, method);
        }
        let text: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(PATH, text.concat())?;
    }
    Ok(())
}

fn lines() -> Result<Vec<Line>, Error> {
    match fs::read_to_string(PATH) {
        Ok(text) => Ok(read(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// The whole page.
pub(crate) fn html() -> Result<String, Error> {
    let lines = lines()?;
    let mut headings = vec!["Model and way of training"];
    headings.extend(GPUS.iter().map(|gpu| gpu.name));
    let mut groups: BTreeMap<&str, Vec<Markup>> = BTreeMap::new();
    for preset in PRESETS {
        for method in TrainingMethod::EACH {
            let of_row = |line: &&Line| line.method == method && line.preset.split('@').next() == Some(preset.id);
            let lines: Vec<&Line> = lines.iter().filter(of_row).collect();
            if !lines.is_empty() {
                let rows = groups.entry(preset.organization).or_default();
                rows.push(row(preset, method, &lines));
            }
        }
    }
    let groups = groups.into_iter().enumerate().map(|(number, group)| {
        let (organization, rows) = group;
        let note = format!("{} models", rows.len() / TrainingMethod::EACH.len());
        let id = format!("models-{number}");
        let table = table(&id, "runs", &headings, rows);
        folded(&id, organization, &note, table)
    });
    let parts = [
        ("filters", vec![filters_of_methods()]),
        ("models", groups.collect()),
        ("gpus", vec![table_of_gpus()]),
        ("most", vec![tag("span").text(grouped(MOST_GPUS))]),
    ];
    Ok(page(TITLE, DESCRIPTION, TEMPLATE, &parts))
}

/// The memory of every type of GPU: as sold, as its driver reports it, and as CUDA or HIP reports it to a process.
fn table_of_gpus() -> Markup {
    let headings = ["GPU", "As sold", "Driver", "To a process", "Source of the last"];
    table("gpus-title", "runs", &headings, GPUS.iter().map(row_of_gpu).collect())
}

fn row_of_gpu(gpu: &Gpu) -> Markup {
    let fine = Scale::fine(Unit::Gib);
    let number = |text: String| tag("td").class("number").text(text);
    let to_processes = reported_to_processes(gpu.id);
    let source = match (source_of_reported(gpu.id), to_processes) {
        (Some(page), _) => tag("td").child(tag("a").with("href", page).text("public page")),
        (None, Some(_)) => tag("td").text("public messages"),
        (None, None) => tag("td").text(gpu.certainty.note()),
    };
    tag("tr")
        .child(tag("th").with("scope", "row").text(gpu.name))
        .child(number(format!("{} GB", gpu.advertised_gb)))
        .child(number(fine.amount(Bytes(gpu.memory_bytes()))))
        .child(number(to_processes.map_or_else(
            || "the driver's".to_owned(),
            |memory| fine.range(memory.least, memory.most),
        )))
        .child(source)
}

const fn name(method: TrainingMethod) -> &'static str {
    match method {
        TrainingMethod::Full => "full training",
        TrainingMethod::Adapters => "LoRA",
        TrainingMethod::Fsdp => "Megatron FSDP",
    }
}

/// A model that is trained in one way, with a number for every type of GPU.
fn row(preset: &Preset, method: TrainingMethod, lines: &[&Line]) -> Markup {
    let job = RawJob {
        shared: preset.settings(),
        ..RawJob::default()
    };
    let number = |field| job.number(0, field).unwrap_or(1);
    let batch = format!(
        "{}, sequences of {}, micro batch {}",
        name(method),
        grouped(number(FieldId::seq_length)),
        number(FieldId::micro_batch_size)
    );
    let mut head = tag("th")
        .with("scope", "row")
        .child(tag("span").class("model").text(preset.name))
        .child(tag("span").text(batch));
    for line in lines {
        if let Count::Refused(reason) = &line.count {
            let names = GPUS.iter().filter(|gpu| line.gpus.iter().any(|id| id == gpu.id));
            let names: Vec<&str> = names.map(|gpu| gpu.name).collect();
            let on = if names.len() == GPUS.len() {
                String::new()
            } else {
                format!("{}: ", names.join(", "))
            };
            let why = tag("p").text(format!("{on}{reason}"));
            let summary = tag("summary").text("why refused");
            head = head.child(tag("details").child(summary).child(why));
        }
    }
    let cells = GPUS.iter().map(|gpu| {
        let line = lines.iter().find(|line| line.gpus.iter().any(|id| id == gpu.id));
        line.map_or_else(|| tag("td"), |line| cell(line, gpu.id))
    });
    tag("tr").with("data-measure", method.id()).child(head).children(cells)
}

fn cell(line: &Line, gpu: &str) -> Markup {
    let cell = tag("td").class("number");
    match (&line.count, line.link(gpu)) {
        (Count::Gpus(count, _), Some(address)) => {
            cell.child(tag("a").with("href", format!("./{address}")).text(grouped(*count)))
        }
        (Count::Refused(_), _) => cell.text("refused"),
        _ => cell.text(format!("> {}", grouped(MOST_GPUS))),
    }
}

fn filters_of_methods() -> Markup {
    let methods = TrainingMethod::EACH.into_iter();
    let options = methods.map(|method| (method.id().to_owned(), name(method).to_owned()));
    filters(
        [choice("measure", "Way of training", options)],
        "deepseek, qwen3, 235b, …",
    )
}
