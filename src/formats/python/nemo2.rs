//! Recipes of `NeMo` 2 (`nemo/collections/llm/recipes`): functions that configure a model, a trainer, data and an
//! optimizer with `nemo_run`, and return them as one `run.Partial`.
//!
//! Nothing is executed. One function's statements are followed in order, with its default arguments and with calls of
//! other functions of the file; of functions in other files only those of [`factories`] are known.

mod evaluate;
mod factories;
mod objects;

use std::collections::BTreeMap;

use self::evaluate::Evaluation;
use self::objects::Object;
use super::file::{File, Function};
use super::statements;
use crate::formats::overrides::{self, Overrides};

/// The longest file that is read, in bytes.
pub const MAX_BYTES: usize = 400_000;
/// The most ways to call functions of one file that are offered.
const MAX_CALLS: usize = 40;

/// A recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Nemo2Recipe {
    /// The ways to call the file's functions that make a recipe, with the line of the function.
    pub calls: Vec<(String, u32)>,
    /// The one that was followed, by its position there.
    pub taken: usize,
    /// The settings by their paths in the recipe, such as `trainer.strategy.tensor_model_parallel_size`. `_class` is
    /// the class of an object.
    pub overrides: Overrides,
    /// Functions of other files that make a part of the recipe, with the part's path and the line.
    pub elsewhere: Vec<(String, String, u32)>,
}

/// Reads a file of functions and follows one way to call one of them: the one at `chosen`, or the first. `None` where
/// no function of the file makes a recipe.
#[must_use]
pub fn read(text: &str, chosen: Option<usize>) -> Option<Nemo2Recipe> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let file = File::new(statements(text));
    let calls: Vec<Call> = file
        .functions
        .iter()
        .filter(|function| !function.name.starts_with('_'))
        .flat_map(calls)
        .filter(|call| call.evaluate(&file).is_some())
        .take(MAX_CALLS)
        .collect();
    let taken = chosen.unwrap_or(0).min(calls.len().checked_sub(1)?);
    let (evaluation, recipe) = calls.get(taken)?.evaluate(&file)?;
    let mut pairs = Vec::new();
    let mut elsewhere = Vec::new();
    for part in ["model", "trainer", "data", "optim", "peft"] {
        let Some((object, line)) = evaluation.field(&recipe, part) else {
            continue;
        };
        evaluation.leaves(&object, part, line, &mut pairs, &mut elsewhere);
    }
    let words = pairs.iter().map(|(pair, line)| (pair.as_str(), *line));
    Some(Nemo2Recipe {
        calls: calls
            .iter()
            .map(|call| (call.label.clone(), call.function.line))
            .collect(),
        taken,
        overrides: overrides::from_words(words),
        elsewhere,
    })
}

/// One way to call a function.
struct Call<'f> {
    function: &'f Function,
    /// The call as Python writes it.
    label: String,
    /// The arguments that are not the default ones.
    arguments: BTreeMap<String, Object>,
}

/// Parameters of `NeMo`'s recipes that make other jobs of them, the argument that does, and the default that it
/// replaces.
const OTHER_JOBS: [(&str, &str, &str); 2] = [("performance_mode", "True", "False"), ("peft_scheme", "None", "lora")];

/// The function with its default arguments, and the ways to call it that make other jobs.
fn calls(function: &Function) -> Vec<Call<'_>> {
    let has = |name: &str, default: &str| {
        function.parameters.iter().any(|(known, value)| {
            let value = value.as_deref().map(|value| value.trim_matches(['"', '\'']));
            known == name && value == Some(default)
        })
    };
    let mut calls = vec![Call {
        function,
        label: function.name.clone(),
        arguments: BTreeMap::new(),
    }];
    for (name, argument, default) in OTHER_JOBS {
        if has(name, default) {
            calls.push(Call {
                function,
                label: format!("{}({name}={argument})", function.name),
                arguments: [(name.to_owned(), Object::plain(argument))].into(),
            });
        }
    }
    calls
}

impl Call<'_> {
    /// Follows the call. `None` where it makes no recipe.
    fn evaluate<'f>(&self, file: &'f File) -> Option<(Evaluation<'f>, Object)> {
        let mut evaluation = Evaluation::new(file);
        let recipe = evaluation.function(self.function, &self.arguments, 0)?;
        let has = |part: &str| evaluation.field(&recipe, part).is_some();
        (has("model") && has("trainer")).then_some((evaluation, recipe))
    }
}
