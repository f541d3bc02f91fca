//! Results on their way out: the same pictures and numbers as on the page, as files.

pub mod json;
pub mod svg;
