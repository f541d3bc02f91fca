//! Undo and redo: whole snapshots of the settings, with one step for a run of keystrokes in one field.

/// How many steps can be undone.
const DEPTH: usize = 200;

/// A longer rest between two keystrokes, in milliseconds, ends a run: the second one begins a step of its own.
const REST: u64 = 1000;

/// The snapshots before and after the current one. `Field` names what is typed into.
#[derive(Clone, Debug)]
pub(crate) struct History<Snapshot, Field> {
    past: Vec<Snapshot>,
    future: Vec<Snapshot>,
    /// The run of keystrokes that the newest past snapshot was taken before.
    run: Option<Run<Field>>,
}

/// Keystrokes in one field that are undone together.
#[derive(Clone, Debug)]
struct Run<Field> {
    field: Field,
    /// When the last keystroke was, in milliseconds.
    last: u64,
}

impl<Snapshot, Field> Default for History<Snapshot, Field> {
    fn default() -> Self {
        Self {
            past: Vec::new(),
            future: Vec::new(),
            run: None,
        }
    }
}

impl<Snapshot: PartialEq, Field: PartialEq> History<Snapshot, Field> {
    /// Records `before`, the snapshot that a deliberate change is about to replace.
    pub(crate) fn record(&mut self, before: Snapshot) {
        self.end_run(&before);
        self.push(before);
    }

    /// Records `before`, unless this keystroke joins the run of the previous one. `time` is in milliseconds.
    pub(crate) fn record_keystroke(&mut self, field: Field, time: u64, before: Snapshot) {
        let joins = |run: &Run<Field>| run.field == field && time < run.last + REST;
        if !self.run.as_ref().is_some_and(joins) {
            self.end_run(&before);
            self.push(before);
        }
        self.run = Some(Run { field, last: time });
    }

    /// Ends the run of keystrokes, which has led to `now`; a run that led back to its start leaves no step behind.
    pub(crate) fn end_run(&mut self, now: &Snapshot) {
        if self.run.take().is_some() && self.past.last() == Some(now) {
            self.past.pop();
        }
    }

    /// Goes back from `now`; `None` where there is nothing to undo.
    pub(crate) fn undo(&mut self, now: Snapshot) -> Option<Snapshot> {
        self.end_run(&now);
        let before = self.past.pop()?;
        self.future.push(now);
        Some(before)
    }

    /// Goes forward from `now`; `None` where there is nothing to redo.
    pub(crate) fn redo(&mut self, now: Snapshot) -> Option<Snapshot> {
        self.run = None;
        let after = self.future.pop()?;
        self.past.push(now);
        Some(after)
    }

    /// Whether there is something to undo.
    pub(crate) fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Whether there is something to redo.
    pub(crate) fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }

    fn push(&mut self, before: Snapshot) {
        self.future.clear();
        if self.past.len() == DEPTH {
            self.past.remove(0);
        }
        self.past.push(before);
    }
}

#[cfg(test)]
mod tests {
    use super::History;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test(unsupported = test)]
    fn keystrokes_in_one_field_are_one_step() {
        let mut history = History::default();
        history.record_keystroke("tp", 0, 1);
        history.record_keystroke("tp", 900, 12);
        history.record_keystroke("pp", 901, 128);
        assert_eq!(history.undo(1284), Some(128));
        assert_eq!(history.undo(128), Some(1));
        assert_eq!(history.undo(1), None);
        assert_eq!(history.redo(1), Some(128));
        assert_eq!(history.redo(128), Some(1284));
        assert!(!history.can_redo());
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn a_rest_begins_another_step() {
        let mut history = History::default();
        history.record_keystroke("tp", 0, 1);
        history.record_keystroke("tp", 1000, 12);
        assert_eq!(history.undo(128), Some(12));
        assert_eq!(history.undo(12), Some(1));
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn a_run_that_leads_back_leaves_no_trace() {
        let mut history = History::default();
        history.record_keystroke("tp", 0, 1);
        history.end_run(&1);
        assert!(!history.can_undo());
        history.record_keystroke("tp", 0, 1);
        history.record_keystroke("pp", 0, 1);
        assert_eq!(history.undo(2), Some(1));
        assert!(!history.can_undo());
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn a_new_step_forgets_what_was_undone_and_at_least_fifty_steps_are_kept() {
        let mut history = History::<i32, ()>::default();
        for state in 0..60 {
            history.record(state);
        }
        let mut now = 60;
        while let Some(before) = history.undo(now) {
            now = before;
        }
        assert_eq!(now, 0);
        history.record(now);
        assert!(!history.can_redo());
    }
}
