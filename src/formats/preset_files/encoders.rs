//! The files of encoder presets.

use super::{Published, count, fields, list, settings, text};
use crate::config::raw::Settings;
use crate::formats::json;
use crate::formats::node::Node;
use crate::presets::encoders::{ENCODERS, Encoder, FILES};

/// The contents of an encoder's file.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderContents {
    /// Where its sizes are published.
    pub source_url: String,
    /// When they were read there, as year and month.
    pub source_date: String,
    /// The published size.
    pub published: Published,
    /// Its fields.
    pub settings: Settings,
    /// What a user should know about it.
    pub notes: Vec<String>,
}

impl Encoder {
    /// Its fields.
    #[must_use]
    pub fn settings(&self) -> Settings {
        settings::job(self.id, settings::ENCODER).unwrap_or_default().shared
    }

    /// Reads the preset's file, which is part of the program. `None` never happens: a test reads all files.
    #[must_use]
    pub fn contents(&self) -> Option<EncoderContents> {
        let file = ENCODERS.iter().position(|encoder| encoder.id == self.id)?;
        let root = json::parse(FILES.get(file)?).ok()?;
        let source = root.get("source")?;
        let published = root.get("published_parameters")?;
        Some(EncoderContents {
            source_url: text(source.get("url")?)?,
            source_date: text(source.get("date")?)?,
            published: Published {
                total: count(published.get("total")?)?,
                tolerance: count(published.get("tolerance")?)?,
                with_mtp: false,
                active: None,
                note: text(published.get("note")?)?,
            },
            settings: fields(root.get("settings")?)?,
            notes: texts(root.get("notes")?)?,
        })
    }
}

/// The items of a list of texts.
pub(super) fn texts(node: &Node) -> Option<Vec<String>> {
    list(node)?.iter().map(text).collect()
}
