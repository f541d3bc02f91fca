//! Releases of frameworks that a text names, as in `ms-swift==4.1.3` or in a comment: where a release has other
//! defaults than the revision that is read, its own count.

use super::draft::python;
use super::imported::{Import, Row};
use crate::config::canonical::meaning;
use crate::config::fields::FieldId;
use crate::formats::dialects::framework::Version;
use crate::formats::report::{KeyStatus, shown};

/// Longer texts are searched up to here.
const MAX_CHARS: usize = 1_000_000;

/// Puts the defaults of the release that the text names in place of those of the revision that is read.
pub(super) fn apply(import: &mut Import, text: &str) {
    let Some(framework) = import.framework.filter(|framework| !framework.releases.is_empty()) else {
        return;
    };
    let Some(version) = version_in(text, framework.name) else {
        return;
    };
    let releases = framework.releases.iter().filter(|release| release.has(version));
    for (name, default) in releases.flat_map(|release| release.defaults) {
        let Some(id) = FieldId::by_name(name) else { continue };
        let row = import.report.iter_mut().find(|row| row.field == Some(id));
        if row.as_ref().is_some_and(|row| row.status != KeyStatus::Defaulted) {
            continue;
        }
        let value = meaning(id, Some(&python(default))).to_value(id);
        let (major, minor, patch) = version;
        let of_release = Row {
            key: id.field().name.to_owned(),
            value: shown(&value),
            line: None,
            status: KeyStatus::Defaulted,
            field: Some(id),
            note: format!("default of {} {major}.{minor}.{patch}", framework.name).into(),
            effect: None,
        };
        match row {
            Some(row) => *row = of_release,
            None => import.report.push(of_release),
        }
        import.state.setup.job.shared.set(id, value);
    }
}

/// The version that stands behind a program's name: `ms-swift==4.1.3`, `ms-swift version: 4.1`,
/// `| ms_swift | v4.1.3 |`. Without a patch it is that of the first release. Ranges such as `>=4.1` say no version.
fn version_in(text: &str, name: &str) -> Option<Version> {
    let fold = |text: &str| -> String {
        let chars = text.chars().take(MAX_CHARS);
        let kept = chars.filter(|c| c.is_alphanumeric() || matches!(c, '.' | '=' | '<' | '>' | '~' | '\n'));
        kept.flat_map(char::to_lowercase).collect()
    };
    let (text, name) = (fold(text), fold(name));
    let mut places = text.match_indices(&name);
    places.find_map(|(place, _)| {
        let rest = text.get(place + name.len()..)?;
        let words = ["==", "version", "版本", "v"];
        let rest = words
            .iter()
            .fold(rest, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let mut numbers = rest.get(..end)?.split('.').map(str::parse::<u64>);
        let mut next = || numbers.next().and_then(Result::ok);
        Some((next()?, next()?, next().unwrap_or(0)))
    })
}
