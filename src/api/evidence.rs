//! `evidenceRecord`: a job with the numbers that were measured for it, as a record that can be submitted.

use wasm_bindgen::prelude::*;

use super::arguments;
use super::error::type_error;
use super::job::Given;
use megatron_memory::evidence::{Measured, MeasuredStage, ReadError, predicted, read, submission, write};
use megatron_memory::value::Value;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Bytes that were measured on one GPU. */
export interface Measurements {
  /** `torch.cuda.memory_allocated` after an optimizer step. */
  steady_allocated?: number;
  /** `torch.cuda.max_memory_allocated`. */
  peak_allocated?: number;
  /** `torch.cuda.max_memory_reserved`. */
  peak_reserved?: number;
  /** The peak of used memory that the driver reports. */
  peak_device?: number;
  /** A peak whose source does not say which quantity it is. */
  peak_unspecified?: number;
}

/** Fields of a record besides its job and numbers: `source`, `hardware`, `software`, `moment`, `stack`, `pp_rank`, `note`, … */
export type RecordFields = Record<string, unknown>;
"#;

/// Makes the record of a measured run, as the text of a JSON file. `fields` are the record's other fields; those left
/// out have values to start from. `pp_rank` is 0 unless it is given.
///
/// # Errors
/// Throws a `TypeError` for a field that a record does not have, and for a wrong value.
#[wasm_bindgen(js_name = evidenceRecord)]
pub fn evidence_record(
    #[wasm_bindgen(js_name = job, unchecked_param_type = "Job | string")] given: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "Measurements")] measured: JsValue,
    #[wasm_bindgen(unchecked_param_type = "RecordFields | null | undefined")] fields: &JsValue,
) -> Result<String, JsValue> {
    let job = Given::read(given, None)?.into_job();
    let mut record = submission(job, Measured::default(), MeasuredStage::At(0)).to_value();
    let measured = [("measured".to_owned(), arguments::read(measured)?)];
    let fields = if fields.is_null() || fields.is_undefined() {
        Value::Map(Vec::new())
    } else {
        arguments::read(fields.clone())?
    };
    let (Value::Map(entries), Value::Map(fields)) = (&mut record, fields) else {
        return Err(type_error("fields must be an object"));
    };
    for (key, value) in measured.into_iter().chain(fields) {
        entries.retain(|(own, _)| *own != key);
        entries.push((key, value));
    }
    let mut runs = read(&record.to_string()).map_err(|error| match error {
        ReadError::Field { error, .. } => type_error(&error.to_string()),
        error => type_error(&error.to_string()),
    })?;
    let files = runs.iter_mut().map(|run| {
        run.predicted = predicted(run);
        write(run)
    });
    Ok(files.collect())
}
