//! Who holds what: rank grids, pipeline stages and the order in which a stage works.

pub mod groups;
pub mod mimo;
pub mod schedule;
pub mod stages;
