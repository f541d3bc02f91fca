//! What Trunk needs before it builds: one style sheet, and the pages that need no script to be read, in `target/site`.

use std::{fs, path::Path};

use super::{Error, build::files, evidence, fewest_gpus, guide, recipes, reference};

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
    Ok(fs::write(pages.join("formulas.html"), reference::html()?)?)
}
