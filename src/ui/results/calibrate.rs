//! Factors on predicted step times, from the reader's own logs.

use std::sync::Arc;

use leptos::prelude::*;

use crate::state::{MeasuredLog, Outcome, ResultsState};
use megatron_memory::config::fields::FieldId;
use megatron_memory::report::time::{calibration, duration, measured_seconds};
use megatron_memory::time::calibrate;
use megatron_memory::value::Value;

/// Whether the shown time is calibrated, and a button that calibrates it on the log that the reader brought. Nothing where
/// no log can be brought.
#[component]
pub(super) fn Calibrate() -> impl IntoView {
    use_context::<MeasuredLog>().map(|log| view! { <CalibrateOn log /> })
}

#[component]
fn CalibrateOn(log: MeasuredLog) -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    // The jobs that were calibrated on, with their seconds of a step.
    let runs = StoredValue::new(Vec::<(Arc<Outcome>, f64)>::new());
    let measured = Memo::new(move |_| {
        let log = log.0.read();
        log.as_ref()?.iterations.as_ref().map(measured_seconds)
    });
    let words = move || {
        let outcome = page.outcome.read();
        let calibrated = outcome.as_ref().and_then(|outcome| calibration(&outcome.config));
        match (calibrated, measured.get()) {
            (Some(words), _) => format!("The time is {words}."),
            (None, Some(seconds)) => format!("Your log has steps of {}.", duration(seconds)),
            (None, None) => {
                String::from("To calibrate it for this model and GPU, paste a training log of this job under Compare.")
            }
        }
    };
    let add = move |_| {
        let (Some(outcome), Some(seconds)) = (page.outcome.get_untracked(), measured.get_untracked()) else {
            return;
        };
        let factors = |runs: &[(Arc<Outcome>, f64)]| {
            let runs = runs.iter().map(|(of, seconds)| (&of.config, &of.estimate, *seconds));
            calibrate(&runs.collect::<Vec<_>>())
        };
        let found = runs.try_update_value(|runs| {
            runs.push((outcome, seconds));
            factors(runs).or_else(|| {
                // Those before are of another model, GPU or precision.
                runs.drain(..runs.len() - 1);
                factors(runs)
            })
        });
        match found.flatten() {
            Some(by) => page.set(FieldId::step_time_calibration, Value::Text(by.to_string())),
            None => page
                .toasts
                .tell("No step time is predicted for this job, so there is nothing to calibrate."),
        }
    };
    view! {
        <p class="panel-note calibration" data-testid="calibration">
            {words}
            " "
            <button
                type="button"
                class="link"
                name="calibrate"
                hidden=move || measured.get().is_none()
                on:click=add
            >
                "Calibrate on your log"
            </button>
        </p>
    }
}
