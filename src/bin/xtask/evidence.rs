//! The measured runs: as one file for the page, and compared with what is predicted for them.

mod chart;
mod page;

use std::{fs, path::Path};

use megatron_memory::evidence::{compare, read, short_table, table};

use super::{Error, build};

/// Where the runs are: a JSON list in every file.
const RUNS: &str = "src/evidence/runs";
/// What stands around the table in the README.
const MARKERS: [&str; 2] = ["<!-- evidence -->\n", "<!-- /evidence -->\n"];

/// All runs as one JSON list.
pub(crate) fn data() -> Result<String, Error> {
    let folder = Path::new(RUNS);
    let mut lists = Vec::new();
    for file in build::files(folder)? {
        let text = fs::read_to_string(folder.join(&file))?;
        let inner = text
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let inner = inner.ok_or_else(|| format!("{} is not a list", file.display()))?;
        lists.push(inner.trim().to_owned());
    }
    Ok(format!("[\n{}\n]\n", lists.join(",\n")))
}

/// The page with every run beside its prediction.
pub(crate) fn html() -> Result<String, Error> {
    let runs = read(&data()?)?;
    let compared: Vec<_> = runs.iter().map(|run| (run, compare(run))).collect();
    Ok(page::page(&compared))
}

/// Compares every run, prints the whole table, and brings the README's up to date.
pub(crate) fn report() -> Result<(), Error> {
    let runs = read(&data()?)?;
    let compared: Vec<_> = runs.iter().map(|run| (run, compare(run))).collect();
    print!("{}", table(&compared));
    let readme = Path::new("README.md");
    let text = fs::read_to_string(readme)?;
    let parts = text.split_once(MARKERS[0]).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(MARKERS[1])?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or("README.md has no place for the table")?;
    let [start, end] = MARKERS;
    let updated = format!("{before}{start}{}{end}{after}", short_table(&compared));
    if updated != text {
        fs::write(readme, updated)?;
    }
    Ok(())
}
