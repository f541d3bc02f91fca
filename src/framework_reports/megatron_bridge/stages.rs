//! Pipelines whose first or last stage has its own number of layers.

use core::ops::Range;

use super::super::python::{PythonError, count};
use super::{Namespace, positive_or};

const FIRST: &str = "num_layers_in_first_pipeline_stage";
const LAST: &str = "num_layers_in_last_pipeline_stage";
const VIRTUAL: &str = "virtual_pipeline_model_parallel_size";

/// The layers of every pipeline stage, one range per virtual stage.
pub(super) type Stages = Vec<Vec<Range<usize>>>;

/// The stages of an uneven pipeline; `None` for an even one.
pub(super) fn uneven_stages(
    model: Namespace<'_>,
    pipeline_size: i128,
) -> Result<Option<Stages>, PythonError> {
    let Some(counts) = layer_counts(model, pipeline_size)? else {
        return Ok(None);
    };
    let chunks = if model.get_some(VIRTUAL).is_some() {
        count(positive_or(model, VIRTUAL, 1)?.saturating_int()?).unwrap_or(usize::MAX)
    } else {
        1
    };
    if counts.iter().any(|layers| layers % chunks != 0) {
        return Err(PythonError::value(
            "Each uneven pipeline stage layer count must divide over virtual pipeline stages",
        ));
    }
    let mut stages = vec![Vec::new(); counts.len()];
    let mut next = 0;
    for _ in 0..chunks {
        for (stage, layers) in stages.iter_mut().zip(&counts) {
            let chunk = layers / chunks;
            stage.push(next..next + chunk);
            next += chunk;
        }
    }
    Ok(Some(stages))
}

/// `_uneven_pipeline_stage_layer_counts`.
fn layer_counts(
    model: Namespace<'_>,
    pipeline_size: i128,
) -> Result<Option<Vec<usize>>, PythonError> {
    let (has_first, has_last) = (
        model.get_some(FIRST).is_some(),
        model.get_some(LAST).is_some(),
    );
    if !has_first && !has_last {
        return Ok(None);
    }
    if pipeline_size <= 1 {
        return Err(PythonError::value(
            "Uneven pipeline stages require pipeline_model_parallel_size greater than 1",
        ));
    }
    let mut layers_left = positive_or(model, "num_layers", 1)?.saturating_int()?;
    let mut stages_left = pipeline_size;
    let mut ends = [None, None];
    for (end, (present, name)) in ends.iter_mut().zip([(has_first, FIRST), (has_last, LAST)]) {
        if present {
            let layers = positive_or(model, name, 1)?.saturating_int()?;
            layers_left = layers_left.saturating_sub(layers);
            stages_left -= 1;
            *end = Some(layers);
        }
    }
    let middle = if stages_left == 0 {
        if layers_left != 0 {
            return Err(PythonError::value(
                "Uneven pipeline stage layer counts do not cover all model layers",
            ));
        }
        0
    } else {
        if layers_left <= 0 || layers_left % stages_left != 0 {
            return Err(PythonError::value(
                "Model layers must divide evenly over the remaining pipeline stages",
            ));
        }
        layers_left / stages_left
    };
    let mut counts = vec![count(middle)?; count(pipeline_size)?];
    let [first, last] = ends;
    if let (Some(layers), Some(count_of_first)) = (first, counts.first_mut()) {
        *count_of_first = count(layers)?;
    }
    if let (Some(layers), Some(count_of_last)) = (last, counts.last_mut()) {
        *count_of_last = count(layers)?;
    }
    Ok(Some(counts))
}
