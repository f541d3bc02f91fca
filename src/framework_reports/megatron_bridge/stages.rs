//! Pipelines whose first or last stage has its own number of layers.

use core::ops::Range;

use super::ModelConfig;
use super::integers::{positive_or, saturating_int};
use super::pattern::layer_count;
use crate::python::{Exception, PythonError};

/// The layers of every pipeline stage, one range per virtual stage.
pub(super) type Stages = Vec<Vec<Range<usize>>>;

/// The stages of an uneven pipeline; `None` for an even one.
pub(super) fn uneven_stages(model: &ModelConfig<'_>, pipeline_size: i128) -> Result<Option<Stages>, PythonError> {
    let Some(counts) = layer_counts(model, pipeline_size)? else {
        return Ok(None);
    };
    let chunks = positive_or(
        model.virtual_pipeline_model_parallel_size,
        "virtual_pipeline_model_parallel_size",
        1,
    )?;
    let chunks = usize::try_from(saturating_int(chunks)?).unwrap_or(usize::MAX);
    if counts.iter().any(|layers| layers % chunks != 0) {
        return Err(invalid(
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

fn invalid(message: &str) -> PythonError {
    Exception::ValueError.with(message.to_owned())
}

/// `_uneven_pipeline_stage_layer_counts`; `None` for an even pipeline.
fn layer_counts(model: &ModelConfig<'_>, pipeline_size: i128) -> Result<Option<Vec<usize>>, PythonError> {
    let first = model.num_layers_in_first_pipeline_stage;
    let last = model.num_layers_in_last_pipeline_stage;
    let (has_first, has_last) = (first.if_given().is_some(), last.if_given().is_some());
    if !has_first && !has_last {
        return Ok(None);
    }
    if pipeline_size <= 1 {
        return Err(invalid(
            "Uneven pipeline stages require pipeline_model_parallel_size greater than 1",
        ));
    }
    let layers = |attribute, name| saturating_int(positive_or(attribute, name, 1)?);
    let num_layers = layers(model.num_layers, "num_layers")?;
    let first = has_first
        .then(|| layers(first, "num_layers_in_first_pipeline_stage"))
        .transpose()?;
    let last = has_last
        .then(|| layers(last, "num_layers_in_last_pipeline_stage"))
        .transpose()?;

    let layers_left = num_layers
        .saturating_sub(first.unwrap_or(0))
        .saturating_sub(last.unwrap_or(0));
    let stages_left = pipeline_size - i128::from(has_first) - i128::from(has_last);
    let middle = if stages_left == 0 {
        if layers_left != 0 {
            return Err(invalid(
                "Uneven pipeline stage layer counts do not cover all model layers",
            ));
        }
        0
    } else {
        if layers_left <= 0 || layers_left % stages_left != 0 {
            return Err(invalid(
                "Model layers must divide evenly over the remaining pipeline stages",
            ));
        }
        layers_left / stages_left
    };
    let mut counts = vec![layer_count(middle)?; layer_count(pipeline_size)?];
    if let (Some(layers), Some(count)) = (first, counts.first_mut()) {
        *count = layer_count(layers)?;
    }
    if let (Some(layers), Some(count)) = (last, counts.last_mut()) {
        *count = layer_count(layers)?;
    }
    Ok(Some(counts))
}
