//! The page with the recipes that Megatron-Bridge publishes: what each needs on its GPUs, and a link that opens its
//! job.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus::GPUS;
use megatron_memory::evidence::{PerformanceRow, Recipe, read_performance, read_recipes};
use megatron_memory::formats::import::{Import, Question};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::ShareState;
use megatron_memory::memory::estimate;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::report::summary::{Standing, Verdict};
use megatron_memory::value::Value;

use crate::Error;
use crate::filters::{choice, filters};
use crate::html::page;
use crate::tables::{folded, table};

/// The recipes that the tests import too.
pub(crate) const RECIPES: &str = "tests/oracle/bridge_recipes.json";
/// NVIDIA's table of measured throughput.
pub(crate) const ROWS: &str = "tests/oracle/bridge_performance_rows.json";
const TITLE: &str = "Recipes";
const DESCRIPTION: &str =
    "Training recipes that Megatron-Bridge publishes, with what each needs on its GPUs, and a link that opens its job.";
const TEMPLATE: &str = include_str!("recipes/page.html");
const SOURCE: &str = "https://github.com/NVIDIA-NeMo/Megatron-Bridge/blob/067f987df03b8355b03192d88d70f1709fedf51a/";
const SCALE: Scale = Scale::fine(Unit::Gib);
const HEADINGS: [&str; 5] = ["Recipe", "GPUs", "Precision", "Needs, GiB", "Verdict"];

/// A recipe as a job.
struct Opened {
    /// The link with the job; `None` where the recipe is refused.
    link: Option<String>,
    /// What the fullest GPU needs.
    needs: String,
    /// Whether it fits, in a word for the filter.
    verdict: &'static str,
    /// What is not counted, with its key, or why the recipe is refused.
    note: String,
    /// The same without keys, one for each part.
    left_out: Vec<String>,
}

/// The whole page.
pub(crate) fn html() -> Result<String, Error> {
    let recipes = read_recipes(&fs::read_to_string(RECIPES)?)?;
    let measured = read_performance(&fs::read_to_string(ROWS)?)?;
    let mut groups: BTreeMap<&str, Vec<Markup>> = BTreeMap::new();
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut counts = Counts::default();
    for recipe in &recipes {
        let opened = open(recipe, Vec::new(), recipe.gpus);
        *verdicts.entry(opened.verdict).or_default() += 1;
        counts.add(recipe, &opened);
        let family = recipe.id.split('/').nth(1).unwrap_or_default();
        groups.entry(family).or_default().push(row(recipe, &opened));
    }
    let groups = groups.into_iter().map(|(family, rows)| {
        let note = format!("{} recipes", rows.len());
        let id = format!("recipes-{family}");
        folded(&id, family, &note, table(&id, "runs", &HEADINGS, rows))
    });
    let left_out = counts.rows().into_iter().map(|(count, reason)| {
        let count = tag("td").class("number").text(count);
        tag("tr").child(count).child(tag("td").text(reason.to_owned()))
    });
    let left_out = table(
        "left-out-title",
        "runs",
        &["Recipes", "What is left out"],
        left_out.collect(),
    );
    let parts = [
        ("left-out", vec![left_out]),
        ("performance", vec![performance(&measured, &recipes)]),
        ("filters", vec![filters_of_verdicts(&verdicts)]),
        ("recipes", groups.collect()),
    ];
    Ok(page(TITLE, DESCRIPTION, TEMPLATE, &parts))
}

/// The recipes that Megatron can launch, counted by what is left out of their estimates. One of which several parts are
/// left out counts for each.
#[derive(Default)]
struct Counts {
    all: usize,
    whole: usize,
    reasons: BTreeMap<String, usize>,
}

impl Counts {
    fn add(&mut self, recipe: &Recipe, opened: &Opened) {
        if recipe.launches && recipe.parameters.is_some() {
            self.all += 1;
            self.whole += usize::from(opened.left_out.is_empty());
            let reasons: BTreeSet<&String> = opened.left_out.iter().collect();
            for reason in reasons {
                *self.reasons.entry(reason.clone()).or_default() += 1;
            }
        }
    }

    /// How many, and what is left out of them; the most frequent reasons come first.
    fn rows(&self) -> Vec<(String, &str)> {
        let mut reasons: Vec<(&String, &usize)> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| Reverse(*count));
        let whole = (format!("{} of {}", self.whole, self.all), "nothing");
        let others = reasons
            .into_iter()
            .map(|(reason, count)| (count.to_string(), reason.as_str()));
        [whole].into_iter().chain(others).collect()
    }
}

/// Prints how many recipes are counted in full, and what is left out of the others.
pub(crate) fn report() -> Result<(), Error> {
    let mut counts = Counts::default();
    for recipe in read_recipes(&fs::read_to_string(RECIPES)?)? {
        counts.add(&recipe, &open(&recipe, Vec::new(), recipe.gpus));
    }
    println!("| Recipes | What is left out |\n| --: | --- |");
    for (count, reason) in counts.rows() {
        println!("| {count} | {reason} |");
    }
    Ok(())
}

/// The answer to the question how many image tokens a sample has: as many as fit into it.
fn most_image_tokens(import: &Import) -> Option<(FieldId, Value)> {
    let id = FieldId::image_tokens_per_sample;
    let most = import.questions.iter().find_map(|asked| match asked {
        Question::Field { field, choices } if *field == id => choices.iter().map(|choice| choice.value).max(),
        _ => None,
    });
    most.map(|tokens| (id, Value::Int(tokens.into())))
}

/// The job of a recipe, with other values for some fields.
fn open(recipe: &Recipe, fields: Vec<(FieldId, Value)>, gpus: Option<u64>) -> Opened {
    let refused = |note: String| Opened {
        link: None,
        needs: String::new(),
        verdict: "refused",
        left_out: vec![note.clone()],
        note,
    };
    let mut fields = fields;
    if let Some(gpu) = gpu(recipe)
        && !fields.iter().any(|(id, _)| *id == FieldId::gpu)
    {
        fields.push((FieldId::gpu, Value::Text(gpu.to_owned())));
    }
    let options = ImportOptions {
        gpus,
        fields,
        ..ImportOptions::default()
    };
    let mut import = match import_text(&recipe.text, &options) {
        Ok(imported) => imported.import,
        Err(error) => return refused(error.to_string()),
    };
    if let Some(answer) = most_image_tokens(&import) {
        let mut options = options;
        options.fields.push(answer);
        import = match import_text(&recipe.text, &options) {
            Ok(imported) => imported.import,
            Err(error) => return refused(error.to_string()),
        };
    }
    let setup = import.state.setup;
    let checked = check(&setup.job);
    let Some(config) = &checked.config else {
        let errors: Vec<&str> = checked.errors().map(|p| p.message.as_str()).collect();
        return refused(errors.join("; "));
    };
    let summary = Standing::new(config, &estimate(config));
    let marks = &setup.job.not_modelled;
    let notes: Vec<String> = marks.iter().map(ToString::to_string).collect();
    let left_out = marks.iter().map(|mark| mark.reason.clone().into_owned()).collect();
    let state = ShareState {
        setup,
        ..ShareState::default()
    };
    Opened {
        link: Some(share_url::encode(&state)),
        needs: SCALE.number(summary.total),
        verdict: match summary.verdict {
            Verdict::Fits => "fits",
            Verdict::Tight => "tight",
            Verdict::DoesNotFit => "does not fit",
            Verdict::NotThisJob => "partly counted",
            Verdict::Refused(_) => "refused",
            Verdict::Unknown => "no GPU known",
        },
        note: notes.join("; "),
        left_out,
    }
}

/// The id of the GPU in a recipe's file name.
fn gpu(recipe: &Recipe) -> Option<&'static str> {
    let name = recipe.id.split('/').nth(2)?;
    let found = GPUS
        .iter()
        .find(|gpu| gpu.id == name || gpu.id.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')));
    found.map(|gpu| gpu.id)
}

fn row(recipe: &Recipe, opened: &Opened) -> Markup {
    let (file, function) = recipe.id.split_once(':').unwrap_or((&recipe.id, ""));
    let (kind, file) = file.split_once('/').unwrap_or_default();
    let folder = if kind == "perf" { "perf_recipes" } else { "recipes" };
    let source = format!("{SOURCE}src/megatron/bridge/{folder}/{file}.py");
    let hardware = recipe.id.split('/').nth(2).unwrap_or_default();
    tag("tr")
        .with("data-measure", opened.verdict)
        .child(name(function, &source, opened))
        .child(tag("td").text(gpus(recipe.gpus, hardware)))
        .child(tag("td").text(recipe.precision.clone()))
        .child(tag("td").class("number").text(opened.needs.clone()))
        .child(tag("td").text(opened.verdict))
}

fn gpus(count: Option<u64>, hardware: &str) -> String {
    let hardware = hardware.to_uppercase();
    count.map_or(hardware.clone(), |count| format!("{count} × {hardware}"))
}

/// A name that opens the job, its source, and what must be known about it.
fn name(title: &str, source: &str, opened: &Opened) -> Markup {
    let model = match &opened.link {
        Some(link) => tag("a")
            .with("href", format!("./{link}"))
            .with("title", "Open this job in the calculator"),
        None => tag("span"),
    };
    let source = tag("a")
        .with("href", source.to_owned())
        .with("rel", "noreferrer")
        .text("source");
    let mut cell = tag("th")
        .with("scope", "row")
        .child(model.class("model").text(title.to_owned()))
        .child(source);
    if !opened.note.is_empty() {
        let summary = tag("summary").text("remarks");
        let note = tag("p").text(opened.note.clone());
        cell = cell.child(tag("details").child(summary).child(note));
    }
    cell
}

/// NVIDIA's table. A row whose recipe is not among the recipes opens one of the same model with what its own sets
/// otherwise.
fn performance(measured: &[PerformanceRow], recipes: &[Recipe]) -> Markup {
    let rows = measured.iter().filter_map(|row| {
        let (recipe, fields) = row.job(recipes)?;
        let opened = open(recipe, fields.to_vec(), row.gpus);
        let source = format!("{SOURCE}{}#L{}", row.document, row.line);
        let mut opens = name(&row.model, &source, &opened);
        if let Some(like) = &row.like {
            let (_, function) = like.rsplit_once(':').unwrap_or(("", like));
            let text = format!("from the settings of {function}, with this row's layout");
            opens = opens.child(tag("p").class("note").text(text));
        }
        Some(
            tag("tr")
                .child(opens)
                .child(tag("td").text(gpus(row.gpus, &row.system)))
                .child(tag("td").text(row.precision.clone()))
                .child(tag("td").text(row.layout.join(", ")))
                .child(tag("td").class("number").text(opened.needs))
                .child(tag("td").text(opened.verdict)),
        )
    });
    let headings = ["Model", "GPUs", "Precision", "Layout", "Needs, GiB", "Verdict"];
    table("table-title", "runs", &headings, rows.collect())
}

fn filters_of_verdicts(verdicts: &BTreeMap<&str, usize>) -> Markup {
    let options = verdicts.iter().map(|(verdict, count)| {
        let name = format!("{verdict} ({count})");
        ((*verdict).to_owned(), name)
    });
    filters([choice("measure", "Verdict", options)], "qwen3, gb200, fp8mx, …")
}
