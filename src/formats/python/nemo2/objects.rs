//! The objects of a recipe while it is followed.

/// A value of Python, as far as it is known without running anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// A plain value, as Python writes it.
    Plain(String),
    /// A configured object, by its index: `run.Config`, `run.Partial`, or a list with objects in it.
    Configured(usize),
    /// A value that only running the recipe would tell. The name is that of a function or class, where it is one.
    Open(String),
}

impl Object {
    pub(super) fn plain(value: &str) -> Self {
        Self::Plain(value.to_owned())
    }

    /// The text of a plain value, without quotes.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Plain(value) => Some(value.trim_matches(['"', '\''])),
            _ => None,
        }
    }
}

/// The class of lists with objects in them.
pub(super) const LIST: &str = "list";

/// A configured object.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    /// The name of its class, without its module.
    pub(super) class: String,
    /// Its fields in the order in which they were set, with the lines that set them. Positional arguments and items of
    /// lists have their numbers as names.
    pub(super) fields: Vec<(String, Object, u32)>,
}

impl Configured {
    pub(super) fn field(&self, name: &str) -> Option<(&Object, u32)> {
        let (_, object, line) = self.fields.iter().find(|(known, ..)| known == name)?;
        Some((object, *line))
    }

    pub(super) fn set(&mut self, name: &str, object: Object, line: u32) {
        match self.fields.iter_mut().find(|(known, ..)| known == name) {
            Some(field) => (field.1, field.2) = (object, line),
            None => self.fields.push((name.to_owned(), object, line)),
        }
    }
}
