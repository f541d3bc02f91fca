//! Undo and redo: whole states, with one step for a run of keystrokes in one field.

/// How many steps can be taken back.
const DEPTH: usize = 200;

/// States before and after the current one. `Place` says where keystrokes go.
#[derive(Clone, Debug)]
pub(crate) struct History<State, Place> {
    past: Vec<State>,
    future: Vec<State>,
    /// The place whose keystrokes the newest past state began with.
    open: Option<Place>,
}

impl<State, Place> Default for History<State, Place> {
    fn default() -> Self {
        Self {
            past: Vec::new(),
            future: Vec::new(),
            open: None,
        }
    }
}

impl<State: PartialEq, Place: PartialEq> History<State, Place> {
    /// Remembers `before`, the state that a deliberate step is about to change.
    pub(crate) fn step(&mut self, before: State) {
        self.open = None;
        self.push(before);
    }

    /// Remembers `before` unless the previous keystroke went to the same place.
    pub(crate) fn typed(&mut self, place: Place, before: State) {
        if self.open.as_ref() != Some(&place) {
            self.push(before);
            self.open = Some(place);
        }
    }

    /// Ends a run of keystrokes, which has led to `now`; a run that led back to its start leaves no trace.
    pub(crate) fn pause(&mut self, now: &State) {
        if self.open.take().is_some() && self.past.last() == Some(now) {
            self.past.pop();
        }
    }

    /// The state before `now`.
    pub(crate) fn undo(&mut self, now: State) -> Option<State> {
        self.pause(&now);
        let before = self.past.pop()?;
        self.future.push(now);
        Some(before)
    }

    /// The state that the last undo left.
    pub(crate) fn redo(&mut self, now: State) -> Option<State> {
        self.open = None;
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

    fn push(&mut self, before: State) {
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

    #[test]
    fn keystrokes_in_one_place_are_one_step() {
        let mut history = History::default();
        history.typed("tp", 1);
        history.typed("tp", 12);
        history.typed("pp", 128);
        assert_eq!(history.undo(1284), Some(128));
        assert_eq!(history.undo(128), Some(1));
        assert_eq!(history.undo(1), None);
        assert_eq!(history.redo(1), Some(128));
        assert_eq!(history.redo(128), Some(1284));
        assert!(!history.can_redo());
    }

    #[test]
    fn a_run_that_leads_back_leaves_no_trace() {
        let mut history = History::default();
        history.typed("tp", 1);
        history.pause(&1);
        assert!(!history.can_undo());
    }

    #[test]
    fn a_new_step_forgets_what_was_undone_and_at_least_fifty_steps_are_kept() {
        let mut history = History::<i32, ()>::default();
        for state in 0..60 {
            history.step(state);
        }
        let mut now = 60;
        while let Some(before) = history.undo(now) {
            now = before;
        }
        assert_eq!(now, 0);
        history.step(now);
        assert!(!history.can_redo());
    }
}
