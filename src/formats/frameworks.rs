//! Configurations of frameworks around Megatron, recognized by their sections. Some are read, the others refused by
//! name: keys of theirs are called like keys of formats that are read, and would otherwise become a job that nobody
//! wrote.

use super::dialects::FRAMEWORKS;
use super::dialects::framework::{Framework, Signs};
use super::{arguments, training_log};

/// How much of a text is looked at, in bytes.
const MAX_LOOK: usize = 200_000;

/// The kind of configuration that a text is, where it is one that is not read.
#[must_use]
pub fn recognize(text: &str) -> Option<&'static str> {
    // Its lines end in what the argument was before: `1....default`.
    if text.contains("pipe_parallel_size ...") {
        return Some("a log of GPT-NeoX");
    }
    if is_neox(text) && !training_log::is_log(text) && !arguments::is_namespace(text) {
        return Some("a GPT-NeoX configuration (it trains with DeepSpeed, whose memory is another program's)");
    }
    let (_, signs) = framework(text)?;
    signs.refused
}

/// Whether a text has the key for the pipeline stages of GPT-NeoX, which every model of it has.
#[must_use]
pub fn is_neox(text: &str) -> bool {
    let stages = ["pipe_parallel_size", "pipe-parallel-size"];
    let mut keys = stages
        .into_iter()
        .flat_map(|key| [format!("{key}\""), format!("{key}:")]);
    keys.any(|key| text.contains(&key))
}

/// Whether a text is Python that configures a job of `NeMo` 2.
#[must_use]
pub fn is_nemo2(text: &str) -> bool {
    let is_python = text.contains("import nemo_run") || text.contains("from nemo.collections");
    is_python && text.contains("run.")
}

/// The framework of a YAML file that is read by its sections.
#[must_use]
pub fn with_sections(text: &str) -> Option<&'static Framework> {
    let (framework, signs) = framework(text)?;
    signs.refused.is_none().then_some(framework)
}

/// The framework that a text belongs to, and the signs that tell it.
fn framework(text: &str) -> Option<(&'static Framework, &'static Signs)> {
    let look = text.get(..text.floor_char_boundary(MAX_LOOK))?;
    let key = |line: &str| {
        let (key, rest) = line.trim().trim_start_matches("- ").split_once(':')?;
        let is_key = (rest.is_empty() || rest.starts_with(' ')) && !key.contains([' ', '"', '{']);
        is_key.then(|| key.to_owned())
    };
    let indented = |line: &&str| line.starts_with([' ', '\t', '#']);
    let mut top: Vec<String> = look.lines().filter(|line| !indented(line)).filter_map(key).collect();
    if top.is_empty() {
        return None;
    }
    let begins_section = |line: &&str| !indented(line) && line.trim_end().ends_with(':');
    top.extend(
        look.lines()
            .filter(begins_section)
            .map(|line| line.trim_end().to_owned()),
    );
    let keys: Vec<String> = look.lines().filter_map(key).collect();
    let has = |keys: &[String], wanted: &str| keys.iter().any(|key| key == wanted);
    let fits = |signs: &Signs| {
        signs.all.iter().all(|wanted| has(&top, wanted)) && signs.any.iter().any(|wanted| has(&keys, wanted))
    };
    FRAMEWORKS.iter().find_map(|framework| {
        let signs = framework.signs.iter().find(|signs| fits(signs))?;
        Some((*framework, signs))
    })
}
