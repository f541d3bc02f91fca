//! The fields that keys of several front ends decide: one file for each subject, with the roles of its keys and the
//! functions that read them.

pub(in crate::formats) mod activation;
pub(in crate::formats) mod adapters;
pub(in crate::formats) mod batch;
pub(in crate::formats) mod dev_branch;
pub(in crate::formats) mod environment;
pub(in crate::formats) mod gpus;
pub(in crate::formats) mod hybrid;
pub(in crate::formats) mod lengths;
pub(in crate::formats) mod model;
pub(in crate::formats) mod nested;
pub(in crate::formats) mod optimizer;
pub(in crate::formats) mod packing;
pub(in crate::formats) mod precision;
pub(in crate::formats) mod stages;
pub(in crate::formats) mod vocabulary;
