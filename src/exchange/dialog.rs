//! The page's dialogs for import, export and the layout search: what they show, and what follows from what the reader does.
//!
//! A dialog knows nothing of a browser. It is drawn as a tree of elements; those that something can be done to say by
//! `data-at` which they are. What only a browser can do is an [`Effect`]. The page's whole state is its address, both
//! ways: a dialog starts from the address and ends with another one.

mod export;
mod hub;
mod import;
mod search;

use crate::report::markup::{Markup, tag};
use crate::value::Value;

/// One of the dialogs.
pub enum Dialog {
    /// Brings a job in.
    Import(Box<import::Import>),
    /// Takes the job out.
    Export(Box<export::Export>),
    /// Finds layouts of the job that fit.
    Search(Box<search::Search>),
}

/// What the page is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Put text on the clipboard.
    Copy(String),
    /// Save text as a file.
    Download {
        /// The file's name.
        name: String,
        /// What is in it.
        text: String,
    },
    /// Save a picture as pixels.
    Picture {
        /// The file's name.
        name: String,
        /// The picture as SVG.
        text: String,
    },
    /// Ask this address, and tell the answer at the place `fetched:` or `refused:` and the address.
    Fetch(String),
    /// Search the layouts of a job, many at once and apart from the page. What is found comes back with
    /// [`Dialog::take`], a part at a time.
    Search {
        /// The job and the options of [`search`](super::search()), as `{job, options}`.
        job: Value,
        /// How many combinations there are.
        total: String,
    },
    /// Ask what would make this combination of the last search fit.
    Explain(String),
    /// Stop searching.
    Stop,
    /// Show the job of this link in place of the present one, and close the dialog.
    Open(String),
    /// Close the dialog.
    Close,
}

impl Dialog {
    /// The dialog `import`, `search`, or else `export`, of a page with this address.
    #[must_use]
    pub fn new(kind: &str, address: &str) -> Self {
        let (page, _) = address.split_once('#').unwrap_or((address, ""));
        let link = address.get(page.len()..).unwrap_or_default();
        match kind {
            "import" => Self::Import(Box::new(import::Import::new(link))),
            "search" => Self::Search(Box::new(search::Search::new(link))),
            _ => Self::Export(Box::new(export::Export::new(page.to_owned(), link))),
        }
    }

    /// What it shows.
    #[must_use]
    pub fn draw(&self) -> Vec<Markup> {
        match self {
            Self::Import(dialog) => dialog.draw(),
            Self::Export(dialog) => dialog.draw(),
            Self::Search(dialog) => dialog.draw(),
        }
    }

    /// Takes in what the reader typed or chose at a place, or that a button there was pressed.
    pub fn act(&mut self, place: &str, value: &str) -> Option<Effect> {
        match (self, place) {
            (_, "close") => Some(Effect::Close),
            (Self::Import(dialog), _) => dialog.act(place, value),
            (Self::Export(dialog), _) => dialog.act(place, value),
            (Self::Search(dialog), _) => dialog.act(place, value),
        }
    }

    /// Takes in what a search found in a part of its space.
    pub fn take(&mut self, found: &Value) -> Option<Effect> {
        match self {
            Self::Search(dialog) => dialog.take(found),
            Self::Import(_) | Self::Export(_) => None,
        }
    }
}

/// The heading, by which the dialog is called.
fn title(text: &'static str) -> Markup {
    tag("h2").with("id", "exchange-title").text(text)
}

fn button(place: &str, text: &str, usable: bool) -> Markup {
    let button = tag("button")
        .with("type", "button")
        .with("data-at", place.to_owned());
    let button = if usable {
        button
    } else {
        button.with("disabled", "")
    };
    button.text(text.to_owned())
}

/// A menu with what is chosen.
fn menu<'o>(
    place: &str,
    label: &str,
    options: impl IntoIterator<Item = (&'o str, &'o str)>,
    chosen: &str,
) -> Markup {
    let options = options
        .into_iter()
        .map(|(value, label)| option(value, label, chosen));
    let menu = tag("select")
        .with("data-at", place.to_owned())
        .children(options);
    labelled(label, menu)
}

fn option(value: &str, label: &str, chosen: &str) -> Markup {
    let option = tag("option").with("value", value.to_owned());
    let option = if value == chosen {
        option.with("selected", "")
    } else {
        option
    };
    option.text(label.to_owned())
}

/// A control under its label.
fn labelled(label: &str, control: Markup) -> Markup {
    let label = tag("span").text(label.to_owned());
    tag("label")
        .class("exchange-field")
        .child(label)
        .child(control)
}

/// What is wrong, read out at once.
fn alarm(message: &str) -> Markup {
    let alarm = tag("p").class("exchange-error").with("role", "alert");
    if message.is_empty() {
        alarm.with("hidden", "")
    } else {
        alarm.text(message.to_owned())
    }
}
