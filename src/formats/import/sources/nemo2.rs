//! Recipes of `NeMo` 2.

use super::sections::leaf;
use super::trees::leaves_of;
use super::{derive, finish, limit_keys};
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::detect::Format;
use crate::formats::dialects::meaning::Decides;
use crate::formats::dialects::nemo2::{NEMO2, PARTS};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::{Import, Question};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::rules::decides;
use crate::formats::import::{ImportError, Options};
use crate::formats::python::nemo2::{self, Nemo2Recipe};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// Reads the job of one recipe function; where a file has several and no answer chooses one, that of the first.
pub(in crate::formats::import) fn nemo2(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let elsewhere = "a NeMo 2 script without a function that makes a recipe: its settings are in other files";
    let first = nemo2::read(text, None).ok_or(ImportError::NotRead(elsewhere))?;
    let line = first.calls.first().map_or(1, |(_, line)| *line);
    let mut answers = options.branches.iter().rev();
    let recipe = match answers.find(|(known, _)| *known == line) {
        Some((_, chosen)) => nemo2::read(text, Some(*chosen)).unwrap_or(first),
        None => first,
    };
    let leaves = leaves_of(&recipe.overrides.root);
    limit_keys(leaves.len())?;
    let mut draft = JobDraft::new(&NEMO2);
    let mut keys = Keys::of_tree(&leaves);
    (NEMO2.begin)(&mut draft, &recipe.overrides.root, &keys)?;
    for item in &leaves {
        leaf(&mut draft, &mut keys, &PARTS, item);
    }
    of_other_files(&mut draft, &recipe);
    derive(&mut draft, &keys);
    asked(&mut draft, recipe, line);
    finish(draft, Format::Nemo2Python, options)
}

/// Reports the values that functions of other files make.
fn of_other_files(draft: &mut JobDraft, recipe: &Nemo2Recipe) {
    for (path, name, line) in &recipe.elsewhere {
        let item = KeyValue {
            key: path.clone(),
            value: Value::Text(name.clone()),
            line: *line,
        };
        let is_part = matches!(
            path.as_str(),
            "model"
                | "model.config"
                | "trainer"
                | "trainer.strategy"
                | "trainer.strategy.ddp"
                | "trainer.plugins"
                | "data"
                | "optim"
                | "optim.config"
                | "peft"
        );
        let name = path
            .strip_prefix("model.config.")
            .or_else(|| path.strip_prefix("trainer.strategy."));
        let setting = name.map(|name| decides(&NEMO2, &format!("model.{name}")));
        if is_part {
            let note = "a function of another file, whose settings are not in the text";
            draft.not_modelled(&item, MemoryEffect::More, note);
        } else if let Some(Decides::Setting(field)) = setting {
            let why = "only running the recipe would tell its value";
            draft.add_missing(&item, field, why.to_owned());
            draft.marks.push(NotModelled::new(path, why));
        } else {
            draft.row(&item, KeyStatus::Ignored, None, "does not change memory");
        }
    }
}

/// Asks which function is meant, and says which one is read.
fn asked(draft: &mut JobDraft, recipe: Nemo2Recipe, line: u32) {
    if let Some((name, at)) = recipe.calls.get(recipe.taken) {
        let item = KeyValue {
            key: name.clone(),
            value: Value::Null,
            line: *at,
        };
        draft.row(&item, KeyStatus::Mapped, None, "the function that is read");
    }
    if recipe.calls.len() > 1 {
        draft.questions.push(Question::Branch {
            line,
            labels: recipe.calls.into_iter().map(|(name, _)| name).collect(),
            taken: Some(recipe.taken),
        });
    }
}
