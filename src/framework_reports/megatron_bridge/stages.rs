//! Pipelines whose first or last stage has its own number of layers.

use core::ops::Range;

use super::super::python::{count, has_raised, raise};
use super::{Namespace, positive_or};

const FIRST: &str = "num_layers_in_first_pipeline_stage";
const LAST: &str = "num_layers_in_last_pipeline_stage";
const VIRTUAL: &str = "virtual_pipeline_model_parallel_size";

/// The layers of every pipeline stage, one range per virtual stage.
pub(super) type Stages = Vec<Vec<Range<usize>>>;

/// The stages of an uneven pipeline; `None` for an even one, and after an exception.
pub(super) fn uneven_stages(model: Namespace<'_>, pipeline_size: i128) -> Option<Stages> {
    let counts = layer_counts(model, pipeline_size)?;
    let chunks = if model.get_some(VIRTUAL).is_some() {
        positive_or(model, VIRTUAL, 1).saturating_int()
    } else {
        1
    };
    let chunks = usize::try_from(chunks).unwrap_or(usize::MAX).max(1);
    if counts.iter().any(|layers| layers % chunks != 0) {
        invalid("Each uneven pipeline stage layer count must divide over virtual pipeline stages");
    }
    if has_raised() {
        return None;
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
    Some(stages)
}

fn invalid(message: &str) {
    raise("ValueError", &[message]);
}

/// `_uneven_pipeline_stage_layer_counts`; `None` for an even pipeline, and after an exception.
fn layer_counts(model: Namespace<'_>, pipeline_size: i128) -> Option<Vec<usize>> {
    let (has_first, has_last) = (
        model.get_some(FIRST).is_some(),
        model.get_some(LAST).is_some(),
    );
    if !has_first && !has_last {
        return None;
    }
    if pipeline_size <= 1 {
        invalid("Uneven pipeline stages require pipeline_model_parallel_size greater than 1");
        return None;
    }
    let mut layers_left = positive_or(model, "num_layers", 1).saturating_int();
    let mut stages_left = pipeline_size;
    let mut ends = [None, None];
    for (end, (present, name)) in ends.iter_mut().zip([(has_first, FIRST), (has_last, LAST)]) {
        if present {
            let layers = positive_or(model, name, 1).saturating_int();
            layers_left = layers_left.saturating_sub(layers);
            stages_left -= 1;
            *end = Some(layers);
        }
    }
    let middle = if stages_left == 0 {
        if layers_left != 0 {
            invalid("Uneven pipeline stage layer counts do not cover all model layers");
        }
        0
    } else {
        if layers_left <= 0 || layers_left % stages_left != 0 {
            invalid("Model layers must divide evenly over the remaining pipeline stages");
        }
        layers_left / stages_left
    };
    let mut counts = vec![count(middle); count(pipeline_size)];
    let [first, last] = ends;
    if let (Some(layers), Some(count_of_first)) = (first, counts.first_mut()) {
        *count_of_first = count(layers);
    }
    if let (Some(layers), Some(count_of_last)) = (last, counts.last_mut()) {
        *count_of_last = count(layers);
    }
    (!has_raised()).then_some(counts)
}
