//! Patterns that were read before, for the checks of many jobs that have one of few.

use std::collections::BTreeMap;

use super::{HybridPattern, HybridPatternError};

/// Patterns by their texts.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct KnownPatterns(BTreeMap<String, HybridPattern>);

impl KnownPatterns {
    /// The patterns of these texts, as far as they are patterns.
    pub(in crate::config) fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let read = texts.filter_map(|text| Some((text.to_owned(), text.parse().ok()?)));
        Self(read.collect())
    }

    /// The pattern of a text, which is read where it is not known.
    ///
    /// # Errors
    /// Why the text is no pattern.
    pub(in crate::config) fn read(&self, text: &str) -> Result<HybridPattern, HybridPatternError> {
        match self.0.get(text) {
            Some(pattern) => Ok(pattern.clone()),
            None => text.parse(),
        }
    }
}
