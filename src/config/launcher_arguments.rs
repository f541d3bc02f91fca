//! Arguments of Megatron-LM that change no memory and that no field has, but that its launcher looks at.

use super::fields::FieldId;
use super::parse::{Parsed, parse};
use super::raw::Settings;

/// The names of such arguments: what the rules on commands ask for.
pub const LOOKED_AT: [&str; 7] = [
    "calculate-per-token-loss",
    "hierarchical-context-parallel-sizes",
    "moe-router-load-balancing-type",
    "moe-router-pre-softmax",
    "mrope-section",
    "no-check-for-nan-in-loss-and-grad",
    "reuse-grad-buf-for-mxfp8-param-ag",
];

/// The value of [`FieldId::launcher_arguments`]: arguments as a command has them, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct LauncherArguments<'a>(&'a str);

impl<'a> LauncherArguments<'a> {
    /// The arguments in a text.
    #[must_use]
    pub fn new(text: Option<&'a str>) -> Self {
        Self(text.unwrap_or_default())
    }

    /// Every argument: its name without dashes, and its values.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
        let arguments = self.0.split("--").skip(1);
        arguments.filter_map(|argument| {
            let mut words = argument.split_whitespace();
            Some((words.next()?, words.collect()))
        })
    }

    /// The values of an argument; `None` where it is not given.
    #[must_use]
    pub fn values(self, name: &str) -> Option<Vec<&'a str>> {
        self.iter().find(|(of, _)| *of == name).map(|(_, values)| values)
    }

    /// Whether an argument is given.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.values(name).is_some()
    }

    /// The text with one more argument, given with its dashes.
    #[must_use]
    pub fn with(self, argument: &str) -> String {
        format!("{} {argument}", self.0).trim_start().to_owned()
    }
}

/// The text of the arguments that settings have.
#[must_use]
pub fn text_of(settings: &Settings) -> Option<String> {
    let id = FieldId::launcher_arguments;
    match parse(id.field(), settings.get(id)?) {
        Ok(Some(Parsed::Text(text))) => Some(text),
        _ => None,
    }
}
