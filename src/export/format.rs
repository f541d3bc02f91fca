//! Every format that a job can be exported as text in: files, and the forms of its link.

use super::{EXPORTS, Export};

/// A format of [`export_text`](super::export_text()).
#[derive(Clone, Copy, Debug)]
pub enum ExportFormat {
    /// A file with the job, or with its result.
    File(&'static Export),
    /// The job's link in some form.
    Link(LinkForm),
}

/// What is written around the link of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkForm {
    /// The link alone.
    Plain,
    /// The link alone, to this version of the calculator.
    Pinned,
    /// A link in Markdown.
    Markdown,
    /// The result in one sentence, and the link under it.
    Summary,
    /// An `<iframe>` that shows the job inside another page.
    Frame,
    /// A `<megatron-memory>` element that does the same.
    Element,
}

/// What an embed of the calculator shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmbedView {
    /// A few inputs and the result.
    #[default]
    Compact,
    /// A bar of the buckets.
    Bar,
    /// A table of the stages.
    Table,
    /// The timeline of the fullest stage.
    Timeline,
    /// The whole page.
    Full,
}

impl ExportFormat {
    /// Every format, in the order of the menu: files, then links.
    pub fn all() -> impl Iterator<Item = Self> {
        let links = LinkForm::ALL.into_iter().map(Self::Link);
        EXPORTS.iter().map(Self::File).chain(links)
    }

    /// The format with this id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        Self::all().find(|format| format.id() == id)
    }

    /// Name in programs.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::File(export) => export.id,
            Self::Link(form) => form.id(),
        }
    }

    /// Name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::File(export) => export.label,
            Self::Link(form) => form.label(),
        }
    }

    /// How its file's name ends.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::File(export) => export.extension,
            Self::Link(form) => form.extension(),
        }
    }
}

impl LinkForm {
    /// All forms, in the order of the menu.
    pub const ALL: [Self; 6] = [
        Self::Plain,
        Self::Pinned,
        Self::Markdown,
        Self::Summary,
        Self::Frame,
        Self::Element,
    ];

    /// Name in programs.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Plain => "link",
            Self::Pinned => "link_pinned",
            Self::Markdown => "link_markdown",
            Self::Summary => "link_summary",
            Self::Frame => "embed",
            Self::Element => "element",
        }
    }

    /// Name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Plain => "Link",
            Self::Pinned => "Link to this version",
            Self::Markdown => "Link in Markdown",
            Self::Summary => "Link with the result",
            Self::Frame => "Frame for a web page",
            Self::Element => "Element for a web page",
        }
    }

    /// How its file's name ends.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Plain | Self::Pinned | Self::Summary => "txt",
            Self::Markdown => "md",
            Self::Frame | Self::Element => "html",
        }
    }

    /// Whether the form has an [`EmbedView`] to choose.
    #[must_use]
    pub const fn is_embed(self) -> bool {
        matches!(self, Self::Frame | Self::Element)
    }
}

impl EmbedView {
    /// All views, in the order of the menu.
    pub const ALL: [Self; 5] = [
        Self::Compact,
        Self::Bar,
        Self::Table,
        Self::Timeline,
        Self::Full,
    ];

    /// Name in programs: the value of `view` in the embed's address.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Bar => "bar",
            Self::Table => "table",
            Self::Timeline => "timeline",
            Self::Full => "full",
        }
    }

    /// What it shows, as a choice in the menu.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Compact => "a few inputs and the result",
            Self::Bar => "a bar",
            Self::Table => "a table",
            Self::Timeline => "a timeline",
            Self::Full => "everything",
        }
    }

    /// The view with this id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.id() == id)
    }
}
