//! Makes the files that Trunk builds from: one style sheet, the pages that need no script to be read, and the pictures
//! that embeds show until the calculator is there, in `target/site`.

use std::{fs, path::Path};

use megatron_memory::presets::{PRESETS, jobs::JOBS};

use super::{Error, build::files, evidence, fewest_gpus, guide, recipes, reference, svg};

/// Writes all of it. `index.html` names the same folder.
pub(crate) fn write() -> Result<(), Error> {
    let site = Path::new("target/site");
    let pages = site.join("pages");
    fs::create_dir_all(&pages)?;
    let mut style = String::new();
    for sheet in files(Path::new("styles"))? {
        style.push_str(&fs::read_to_string(Path::new("styles").join(sheet))?);
    }
    fs::write(site.join("style.css"), style)?;
    fs::write(pages.join("evidence.html"), evidence::html()?)?;
    fs::write(pages.join("recipes.html"), recipes::html()?)?;
    fs::write(pages.join("fewest-gpus.html"), fewest_gpus::html()?)?;
    fs::write(pages.join("guide.html"), guide::html())?;
    fs::write(pages.join("formulas.html"), reference::html()?)?;
    pictures(&pages.join("pictures"))
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
