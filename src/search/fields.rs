//! Single fields of the job that is searched, before it is checked.

use crate::config::canonical::{Meaning, meaning};
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::RawJob;

/// Goes back to the default of a field of a module.
pub(super) fn unset(job: &mut RawJob, module: usize, field: FieldId) {
    job.place(module, field).unset(field);
}

/// The whole number that a field of a module has, set or by default.
pub(super) fn number(job: &RawJob, module: usize, field: FieldId) -> Option<u64> {
    match meaning(field, job.get(module, field)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    }
}
