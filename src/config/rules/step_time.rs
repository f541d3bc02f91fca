//! What a calibration of step times must be.

use super::rule::FixValue::Default;
use super::rule::rules;
use crate::config::draft::Draft;
use crate::config::step_time_calibration::{EXAMPLE, StepTimeCalibration};

rules! { |d, a|
    error "step_time_calibration"
        let given = a.step_time_calibration.as_deref()?,
        if given.parse::<StepTimeCalibration>().is_err() => [step_time_calibration],
        format!("step_time_calibration must name what it is of and have positive factors, such as {EXAMPLE}"),
        [step_time_calibration = Default];
    warning "step_time_calibration"
        let given = a.step_time_calibration.as_deref()?.parse::<StepTimeCalibration>().ok()?,
        if StepTimeCalibration::of(a).is_none() => [step_time_calibration],
        format!("step_time_calibration is of {} and changes nothing here", given.of),
        [step_time_calibration = Default];
}
