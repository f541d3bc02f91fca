//! Makes the files that Trunk builds from: the style sheets, the pages that need no script to be read, and the pictures
//! that embeds show until the calculator is there, in `target/site`.

use std::{env, fs, path::Path, time::SystemTime};

use megatron_memory::{
    presets::{PRESETS, jobs::JOBS},
    report::fewest_gpus::PATH,
};

use super::{Error, build::files, evidence, fewest_gpus, guide, recipes, reference, svg};
use recipes::{RECIPES, ROWS};

/// The data that pages are made of: a folder and files.
const DATA: [&str; 4] = ["src/evidence", PATH, RECIPES, ROWS];

/// Writes all of it, the pages only where they are older than what they are made of: it takes seconds, and Trunk asks
/// for it after every edit. `index.html` names the same folder.
pub(crate) fn write() -> Result<(), Error> {
    let site = Path::new("target/site");
    let pages = site.join("pages");
    fs::create_dir_all(&pages)?;
    style_sheets(site)?;
    let last = pages.join("formulas.html");
    if last.exists() && modified(&last)? > newest()? {
        return Ok(());
    }
    fs::write(pages.join("evidence.html"), evidence::html()?)?;
    fs::write(pages.join("recipes.html"), recipes::html()?)?;
    fs::write(pages.join("fewest-gpus.html"), fewest_gpus::html()?)?;
    fs::write(pages.join("guide.html"), guide::html())?;
    pictures(&pages.join("pictures"))?;
    Ok(fs::write(last, reference::html()?)?)
}

/// Writes the style sheet of the page, and that of small embeds, which lacks what is in `styles/page`: the rules for what
/// only the page has. Both have their rules in the same order, that of the names of the files, whatever their folders.
/// `index.html` names the second one as disabled: Trunk minifies it, and no browser loads it with the page.
fn style_sheets(site: &Path) -> Result<(), Error> {
    let styles = Path::new("styles");
    let mut sheets = files(styles)?;
    sheets.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    let (mut page, mut light_embed) = (String::new(), String::new());
    for sheet in sheets {
        let rules = fs::read_to_string(styles.join(&sheet))?;
        page.push_str(&rules);
        if !sheet.starts_with("page") {
            light_embed.push_str(&rules);
        }
    }
    fs::write(site.join("style.css"), page)?;
    Ok(fs::write(site.join("light-embed.css"), light_embed)?)
}

/// When the newest of what pages are made of was written: this program, or their data.
fn newest() -> Result<SystemTime, Error> {
    let mut newest = modified(&env::current_exe()?)?;
    for place in DATA.map(Path::new) {
        newest = newest.max(modified(place)?);
        if place.is_dir() {
            for file in files(place)? {
                newest = newest.max(modified(&place.join(file))?);
            }
        }
    }
    Ok(newest)
}

fn modified(place: &Path) -> Result<SystemTime, Error> {
    Ok(fs::metadata(place)?.modified()?)
}

/// Writes `<id>.svg` for every preset: the buckets of its fullest stage.
fn pictures(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)?;
    let models = PRESETS.iter().map(|preset| (preset.id, preset.version));
    let jobs = JOBS.iter().map(|preset| (preset.id, preset.version));
    for (id, version) in models.chain(jobs) {
        let picture = svg::of_link(&format!("#v1;m={id}@{version}"))?;
        fs::write(folder.join(format!("{id}.svg")), picture)?;
    }
    Ok(())
}
