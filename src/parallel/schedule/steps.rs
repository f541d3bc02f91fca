//! The steps of a schedule, one after another.

use super::order::Runs;
use super::{Phase, Schedule, Step};

/// All steps of a schedule in order: what [`Schedule::step`] has at each index.
#[derive(Clone, Debug)]
pub struct Steps {
    schedule: Schedule,
    /// The next forward pass, and how many are done.
    up: Runs,
    forward: u64,
    /// The next backward pass, and how many are done.
    down: Runs,
    backward: u64,
}

impl Steps {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            up: schedule.order.forward_runs(0),
            forward: 0,
            down: schedule.order.backward_runs(0),
            backward: 0,
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let schedule = &self.schedule;
        let phase = if self.forward < schedule.warm_up {
            Phase::WarmUp
        } else if self.backward < schedule.turns() {
            Phase::Steady
        } else if self.backward < schedule.order.len() {
            Phase::CoolDown
        } else {
            return None;
        };
        // In a steady turn that is two steps, the backward pass is due once the forward pass is done.
        let (does_forward, does_backward) = match phase {
            Phase::WarmUp => (true, false),
            Phase::Steady if schedule.paired => (true, true),
            Phase::Steady => {
                let due = self.forward == schedule.warm_up + self.backward;
                (due, !due)
            }
            Phase::CoolDown => (false, true),
        };
        let mut step = Step {
            forward: None,
            backward: None,
            phase,
        };
        if does_forward {
            step.forward = Some(self.up.pass());
            self.up.advance(1);
            self.forward += 1;
        }
        if does_backward {
            step.backward = Some(self.down.pass());
            self.down.advance(1);
            self.backward += 1;
        }
        Some(step)
    }
}
