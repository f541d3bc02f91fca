//! The page with the formulas of two jobs and with every term: made once, when the page is built, so that it needs no
//! script to be read.

use megatron_memory::config;
use megatron_memory::config::field::Group;
use megatron_memory::config::fields::FieldId;
use megatron_memory::export::svg;
use megatron_memory::formats::share_url;
use megatron_memory::memory::estimate;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::report::amount::{Scale, Unit, exact};
use megatron_memory::report::charts::{Chart, bucket_bar, stage_bars};
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::report::summary::stage_name;

use super::{Error, html::page, svg::of_fullest};

const TITLE: &str = "Formulas and terms";
const DESCRIPTION: &str =
    "How the GPU memory of a Megatron training job is counted: every formula with an example, and every term.";
const TEMPLATE: &str = include_str!("reference/page.html");
const SCALE: Scale = Scale::fine(Unit::Gib);

/// The jobs that are gone through: one whose numbers can be checked by hand, and one with everything.
const EXAMPLES: [(&str, &str, Chart); 2] = [
    (
        "#v1;m=llama3-8b@1;tp=2",
        "Llama 3 8B on eight GPUs with TP 2",
        bucket_bar::CHART,
    ),
    ("#v1;m=deepseek-v3@1", "DeepSeek-V3 on 2048 GPUs", stage_bars::CHART),
];

/// Words of the results, which no setting explains.
const WORDS: [(&str, &str, &str); 8] = [
    (
        "stage",
        "Stage",
        "One pipeline rank's part of the model. All GPUs of a stage need the same.",
    ),
    (
        "chunk",
        "Chunk",
        "One virtual stage of a pipeline rank; without interleaving there is one.",
    ),
    (
        "buckets",
        "Bucket",
        "A group of bytes, such as main gradients. The buckets of a stage add up to its total.",
    ),
    (
        "steady",
        "Steady",
        "What stays between optimizer steps: what torch.cuda.memory_allocated shows then.",
    ),
    (
        "peak",
        "Peak",
        "What is allocated at the heaviest moment: what torch.cuda.max_memory_allocated shows.",
    ),
    (
        "in-flight",
        "In flight",
        "Micro batches whose forward pass is done on a stage and whose backward pass is not: each keeps its activations.",
    ),
    (
        "allowance",
        "Allowance",
        "What is beside the allocator's peak and follows from nothing: gaps in the allocator, NCCL's buffers, the CUDA context.",
    ),
    (
        "main-grads",
        "Main gradients and parameters",
        "The gradients that micro batches add up in, and the copy of the parameters that the optimizer steps on; often in fp32.",
    ),
];

/// The whole page.
pub(crate) fn html() -> Result<String, Error> {
    let mut examples = Vec::new();
    for (link, title, chart) in EXAMPLES {
        examples.extend(example(link, title, chart)?);
    }
    let parts = [("examples", examples), ("terms", terms())];
    Ok(page(TITLE, DESCRIPTION, TEMPLATE, &parts))
}

/// A job: its fullest stage as a picture, and every line of it.
fn example(link: &str, title: &'static str, chart: Chart) -> Result<Vec<Markup>, Error> {
    let (share, _) = share_url::decode(link);
    let checked = config::check(&share.setup.job);
    let config = checked.config.as_ref().ok_or("an example is refused")?;
    let estimate = estimate(config);
    let lines = stage_lines(config, &estimate, estimate.worst);
    let scene = of_fullest(config, &estimate, &lines, chart);
    let total = estimate.worst_stage().map_or(String::new(), |stage| {
        let amount = Scale::coarse(Unit::Gib).amount(stage.total);
        format!("{amount} ({})", exact(stage.total))
    });
    let place = stage_name(config, estimate.worst);
    let open = tag("a").with("href", format!("./{link}"));
    let mut all = vec![
        tag("h3").text(title),
        tag("p")
            .class("lead")
            .child(tag("span").text(format!("{total} at the heaviest moment on {place}. ")))
            .child(open.text("Open it in the calculator")),
        svg::picture(&scene, ""),
    ];
    all.extend(lines.iter().map(part));
    Ok(all)
}

/// A bucket with the formulas of its lines.
fn part(bucket: &Line) -> Markup {
    let mut rows = Vec::new();
    leaves(bucket, &mut rows);
    let head = ["What", "Formula", "With numbers", "Bytes", "Source"];
    let head = head.map(|text| tag("th").with("scope", "col").text(text));
    let table = tag("table")
        .child(tag("thead").child(tag("tr").children(head)))
        .child(tag("tbody").children(rows));
    let scroll = tag("div")
        .class("table-scroll")
        .with("tabindex", "0")
        .with("role", "group")
        .with("aria-label", bucket.label.clone())
        .child(table);
    let (amount, bytes) = (SCALE.amount(bucket.bytes), exact(bucket.bytes));
    let summary = format!("{}: {amount}, {bytes}", bucket.label);
    tag("details")
        .child(tag("summary").text(summary))
        .child(tag("p").class("note").text(bucket.what.clone()))
        .child(scroll)
}

fn leaves(line: &Line, rows: &mut Vec<Markup>) {
    if let Some(formula) = &line.formula {
        let cell = |text: String| tag("td").child(tag("code").text(text));
        let source = tag("a")
            .with("href", line.source.citation().url())
            .with("rel", "noreferrer")
            .text(line.source.citation().title());
        let what = tag("th").with("scope", "row").with("title", line.what.clone());
        rows.push(
            tag("tr")
                .child(what.text(line.label.clone()))
                .child(cell(formula.symbols()))
                .child(cell(formula.values()))
                .child(tag("td").class("number").text(exact(line.bytes)))
                .child(tag("td").child(source)),
        );
    }
    for child in &line.children {
        leaves(child, rows);
    }
}

/// Every setting under its link key, and the words of the results.
fn terms() -> Vec<Markup> {
    let mut all = Vec::new();
    for group in Group::ALL {
        let fields = FieldId::ALL.iter().copied().filter(|id| id.field().group == group);
        all.push(tag("h3").text(group.title()));
        all.push(tag("dl").children(fields.flat_map(setting)));
    }
    all.push(tag("h3").text("Results"));
    let words = WORDS.iter().flat_map(|(id, word, meaning)| {
        let term = tag("dt").with("id", *id).child(tag("dfn").text(*word));
        [term, tag("dd").child(tag("p").text(*meaning))]
    });
    all.push(tag("dl").children(words));
    all
}

fn setting(id: FieldId) -> [Markup; 2] {
    let field = id.field();
    let mut term = tag("dt")
        .with("id", field.key)
        .child(tag("dfn").text(field.label))
        .child(tag("code").text(field.name));
    if !field.symbol.is_empty() {
        term = term.child(tag("span").text(format!("{} in formulas", field.symbol)));
    }
    let mut rest = format!("Left out: {}. In links: {}.", field.default, field.key);
    if !id.aliases().is_empty() {
        rest.push_str(" Also known as ");
        rest.push_str(&id.aliases().join(", "));
        rest.push('.');
    }
    let meaning = tag("dd")
        .child(tag("p").text(id.help()))
        .child(tag("p").class("note").text(rest));
    [term, meaning]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use megatron_memory::{config::fields::FIELDS, report::amount::grouped};

    use super::{WORDS, html};

    #[test]
    fn every_term_has_one_anchor_and_every_formula_its_numbers() {
        let page = html().unwrap();
        let mut ids = BTreeSet::new();
        for id in page.split(" id=\"").skip(1) {
            let id = id.split('"').next().unwrap();
            assert!(ids.insert(id), "{id} twice");
        }
        for field in &FIELDS {
            assert!(ids.contains(field.key), "{}", field.key);
        }
        for (id, ..) in WORDS {
            assert!(ids.contains(id), "{id}");
        }
        // Two bytes for each of the parameters that the README counts on one rank.
        let weights = grouped(2 * 4_015_263_744);
        assert!(page.contains(&weights), "{weights}");
        assert!(!page.contains("<!-- "), "an open place");
    }
}
