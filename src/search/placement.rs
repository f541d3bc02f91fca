//! Which process groups of a layout stay within a node or an `NVLink` domain: see [`crate::time::placement`].

pub use crate::time::placement::{Crossing, Group, GroupKind, domain, group};
