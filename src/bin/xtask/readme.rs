//! Tables of the README that are made from data.

use std::fs;

use crate::Error;

const README: &str = "README.md";

/// Puts a table between `<!-- name -->` and `<!-- /name -->`.
pub(crate) fn replace(name: &str, table: &str) -> Result<(), Error> {
    let text = fs::read_to_string(README)?;
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    let parts = text.split_once(&start).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or("README.md has no place for the table")?;
    let updated = format!("{before}{start}{table}{end}{after}");
    if updated != text {
        fs::write(README, updated)?;
    }
    Ok(())
}
