//! The measured runs: as one file for the page, and compared with what is predicted for them.

use std::{fs, path::Path};

use megatron_memory::evidence::{compare, read, table};

use super::{Error, dist};

/// Where the runs are: a JSON list in every file.
const RUNS: &str = "src/evidence/runs";

/// All runs as one JSON list.
pub(crate) fn data() -> Result<String, Error> {
    let folder = Path::new(RUNS);
    let mut lists = Vec::new();
    for file in dist::files(folder)? {
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

/// Compares every run and prints the table.
pub(crate) fn report() -> Result<(), Error> {
    let runs = read(&data()?)?;
    let compared: Vec<_> = runs.iter().map(|run| (run, compare(run))).collect();
    print!("{}", table(&compared));
    Ok(())
}
