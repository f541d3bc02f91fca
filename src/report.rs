//! What people read off an estimate: amounts in a unit, a verdict, tables, charts and explanations.
//!
//! Nothing here knows a page. Marks and rows carry a [`target::Target`], which is how a view says what a
//! number is about, and a semantic class; styles decide what that looks like.

pub mod amount;
pub mod charts;
pub mod explain;
pub mod in_flight;
pub mod markup;
pub mod modules;
pub mod parts;
pub mod rank_details;
pub mod rank_map;
pub mod ranks;
pub mod readout;
pub mod savings;
pub mod scene;
pub mod summary;
pub mod table;
pub mod target;
