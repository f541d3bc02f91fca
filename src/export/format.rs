//! All formats that a job can be exported in as text: files, and forms of its link.

use strum::{EnumCount, EnumString, IntoStaticStr, VariantArray};

use crate::variants::all;

use super::{EXPORTS, Export};

/// A format of [`export_text`](super::export_text()).
#[derive(Clone, Copy, Debug)]
pub enum ExportFormat {
    /// A file with the job or its result.
    File(&'static Export),
    /// The job's link in some form.
    Link(LinkForm),
}

/// The forms in which a job's link can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumCount, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LinkForm {
    /// The link alone.
    #[strum(serialize = "link")]
    Plain,
    /// The link alone, leading to this version of the calculator.
    #[strum(serialize = "link_pinned")]
    Pinned,
    /// A link in Markdown.
    #[strum(serialize = "link_markdown")]
    Markdown,
    /// The result in one sentence, with the link below.
    #[strum(serialize = "link_summary")]
    Summary,
    /// An `<iframe>` that shows the job inside another page.
    #[strum(serialize = "embed")]
    Frame,
    /// A `<megatron-memory>` element that shows the job inside another page.
    Element,
}

/// The views of an embed: what the calculator shows inside another page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, EnumCount, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum EmbedView {
    /// A few inputs and the result.
    #[default]
    Compact,
    /// A bar of the buckets.
    Bar,
    /// A table of the stages.
    Table,
    /// The timeline of the stage with the largest peak.
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

    /// The format's id, in the JavaScript API and on the command line.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::File(export) => export.id,
            Self::Link(form) => form.id(),
        }
    }

    /// The format's name in menus.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::File(export) => export.label,
            Self::Link(form) => form.label(),
        }
    }

    /// The extension of the file's name, without the dot.
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
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The format's id, in the JavaScript API and on the command line.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The format's name in menus.
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

    /// The extension of the file's name, without the dot.
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
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The view's id: the value of `view` in the embed's URL.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// What the view shows, as a choice in the menu.
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
        id.parse().ok()
    }
}
