//! A page for every preset, for sites that show what is behind an address: with oEmbed, or as a card with its title.
//!
//! Such sites read what a server sends and never see what stands behind `#`, so that a link to the calculator can only
//! be a link to them. What they put into their own pages names the calculator by its whole address; nobody else needs
//! to know that, and these pages are there only where it is told.

use std::{fs, path::Path};

use megatron_memory::config::check;
use megatron_memory::export::{EmbedView, ExportFormat, ExportOptions, LinkForm, export_text};
use megatron_memory::formats::{job_json, share_url};
use megatron_memory::memory::estimate;
use megatron_memory::presets::{PRESETS, jobs::JOBS};
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::caption::job_words;
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::report::summary::Standing;
use megatron_memory::value::Value;

use super::html::{self, filled};
use super::{Error, svg};

const TEMPLATE: &str = include_str!("oembed/page.html");

/// The size of the frame that a site shows, in pixels: a column of text, and what links say of a bar.
const SIZE: (i128, i128) = (720, 260);

/// Writes `preset/<id>.html`, `.json` and `.svg` for every preset into `dist`, which will stand at `address`.
pub(crate) fn write(dist: &Path, address: &str) -> Result<(), Error> {
    if !address.starts_with("https://") || !address.ends_with('/') {
        return Err("the address starts with https:// and ends with /".into());
    }
    let folder = dist.join("preset");
    fs::create_dir_all(&folder)?;
    let models = PRESETS.iter().map(|p| (p.id, p.version, p.name));
    let jobs = JOBS.iter().map(|job| (job.id, job.version, job.name));
    for (id, version, name) in models.chain(jobs) {
        let link = format!("#v1;m={id}@{version}");
        let said = answer_in_words(&link, name)?;
        let said = said.as_str();
        let frame = exported(&link, LinkForm::Frame, address)?;
        let title = format!("GPU memory of {name}");
        let page = filled(
            TEMPLATE,
            &[
                ("head", head(id, &title, said)),
                ("body", body(id, &title, said, &link)),
            ],
        );
        let answer = job_json::file(&answer(&title, &frame, address));
        fs::write(folder.join(format!("{id}.html")), page)?;
        fs::write(folder.join(format!("{id}.json")), answer)?;
        fs::write(folder.join(format!("{id}.svg")), svg::of_link(&link)?)?;
    }
    Ok(())
}

/// The answer for the job of a link in one line, such as `65.2 GiB a GPU · DeepSeek-V3 · 2,048 × H100 80 GB · Fits`.
fn answer_in_words(link: &str, name: &str) -> Result<String, Error> {
    let (state, _) = share_url::decode(link);
    let config = check(&state.setup.job).config;
    let config = config.ok_or_else(|| format!("{link}: the job cannot run"))?;
    let summary = Standing::new(&config, &estimate(&config));
    let total = Scale::coarse(Unit::Gib).amount(summary.total);
    let (job, verdict) = (job_words(&config, Some(name)), summary.verdict.words());
    Ok(format!("{total} a GPU · {job} · {verdict}"))
}

/// A link in some form, for a calculator at `address`.
fn exported(link: &str, form: LinkForm, address: &str) -> Result<String, Error> {
    let options = ExportOptions {
        page: address.to_owned(),
        view: EmbedView::Bar,
        ..ExportOptions::default()
    };
    let (state, _) = share_url::decode(link);
    let exported = export_text(&state, ExportFormat::Link(form), &options);
    exported.map_err(|error| format!("{link}: {error}").into())
}

fn head(id: &str, title: &str, said: &str) -> Vec<Markup> {
    let discovery = tag("link")
        .with("rel", "alternate")
        .with("type", "application/json+oembed")
        .with("title", title.to_owned())
        .with("href", format!("./{id}.json"));
    let mut head = html::head(title, said);
    head.push(discovery);
    head
}

fn body(id: &str, title: &str, said: &str, link: &str) -> Vec<Markup> {
    let picture = tag("img")
        .with("src", format!("./{id}.svg"))
        .with("alt", said.to_owned());
    let open = tag("a").with("href", format!("../{link}"));
    vec![
        tag("h1").text(title.to_owned()),
        tag("p").class("lead").text(said.to_owned()),
        tag("p").child(picture),
        tag("p").child(open.text("Open in the calculator")),
    ]
}

/// What oEmbed calls a response, of the kind with a text of HTML.
fn answer(title: &str, frame: &str, address: &str) -> Value {
    map([
        ("version", text("1.0")),
        ("type", text("rich")),
        ("title", text(title)),
        ("provider_name", text("Megatron Memory")),
        ("provider_url", text(address)),
        ("width", Value::Int(SIZE.0)),
        ("height", Value::Int(SIZE.1)),
        ("html", text(frame)),
    ])
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.map(|(key, value)| (key.to_owned(), value)).into())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use megatron_memory::presets::PRESETS;

    use super::write;

    #[test]
    fn every_preset_has_a_page_that_leads_to_what_a_site_shows() {
        let dist = env::temp_dir().join(format!("megatron-memory-{}", std::process::id()));
        write(&dist, "https://calculator.example/calc/").unwrap();
        for preset in PRESETS {
            let read = |kind: &str| fs::read_to_string(dist.join(format!("preset/{}.{kind}", preset.id))).unwrap();
            let page = read("html");
            let found = format!(
                "type=\"application/json+oembed\" title=\"GPU memory of {}\"",
                preset.name
            );
            assert!(page.contains(&found), "{page}");
            assert!(page.contains(&format!("href=\"./{}.json\"", preset.id)));
            assert!(read("svg").starts_with("<svg"));
            if preset.id == "deepseek-v3" {
                let said = "<meta property=\"og:description\" content=\"65.2 GiB a GPU · DeepSeek-V3 · 2,048 × H100 80 GB · Fits\">";
                assert!(page.contains(said), "{page}");
            }
            let answer: serde_json::Value = serde_json::from_str(&read("json")).unwrap();
            assert_eq!((&answer["version"], &answer["type"]), (&"1.0".into(), &"rich".into()));
            let frame = answer["html"].as_str().unwrap();
            let source = format!(
                "src=\"https://calculator.example/calc/embed.html?view=bar#v1;m={}@{}\"",
                preset.id, preset.version
            );
            assert!(frame.starts_with("<iframe ") && frame.contains(&source), "{frame}");
            assert!(frame.contains(&format!("height=\"{}\"", answer["height"])), "{frame}");
        }
        fs::remove_dir_all(dist).unwrap();
        assert!(write(&env::temp_dir(), "calculator.example").is_err());
    }
}
