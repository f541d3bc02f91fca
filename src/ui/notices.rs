//! Passing messages: a line that can be seen, and one that is read out.

use core::time::Duration;
use std::rc::Rc;

use leptos::prelude::*;

use super::browser::Timer;
use super::parts::{button, memo, text, yes};
use super::state::{State, state};
use crate::config::problem::Severity;

/// A message with what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The message.
    pub text: String,
    /// Whether it offers to take the last step back.
    pub undo: bool,
}

/// Where messages are left.
#[derive(Clone, Copy)]
pub struct Notices {
    shown: RwSignal<Option<Notice>>,
    spoken: RwSignal<String>,
}

impl Notices {
    pub(super) fn new() -> Self {
        Self {
            shown: RwSignal::new(None),
            spoken: RwSignal::new(String::new()),
        }
    }

    /// Shows and reads out a message.
    pub fn tell(self, text: impl Into<String>) {
        self.post(text.into(), false);
    }

    /// Shows and reads out a message about a step that can be taken back.
    pub fn offer_undo(self, text: impl Into<String>) {
        self.post(text.into(), true);
    }

    /// Takes the message away.
    pub fn clear(self) {
        self.shown.set(None);
    }

    fn post(self, text: String, undo: bool) {
        self.spoken.set(text.clone());
        self.shown.set(Some(Notice { text, undo }));
    }
}

/// The message at the edge of the page, and the lines for screen readers.
#[component]
pub fn NoticeBoard() -> impl IntoView {
    let state = state();
    let Notices { shown, spoken } = state.notices;
    speak_results(state);
    let undo = move || {
        state.undo();
        shown.set(None);
    };
    view! {
        <p class="unseen" role="status" data-testid="spoken">{spoken}</p>
        <div class="notice" hidden=yes(move || shown.read().is_none())>
            <p>{text(move || shown.get().map(|n| n.text).unwrap_or_default())}</p>
            {button("", "Undo", yes(move || shown.read().as_ref().is_none_or(|n| !n.undo)), undo)}
            {button("quiet", "Dismiss", yes(|| false), move || shown.set(None))}
        </div>
    }
}

/// Reads out the verdict, or the problems, once the reader has paused for a second.
fn speak_results(state: &'static State) {
    let timer = Rc::new(Timer::default());
    let sentence = memo(move || {
        let checked = state.checked.read();
        let errors = || {
            checked
                .problems
                .iter()
                .filter(|p| p.severity == Severity::Error)
        };
        match errors().next() {
            Some(first) => format!("{} problems. {first}", errors().count()),
            None => super::summary::sentence(state),
        }
    });
    Effect::new(move |before: Option<()>| {
        let sentence = sentence.get();
        // Nobody has done anything yet when the page opens.
        if before.is_some() {
            let spoken = state.notices.spoken;
            timer.restart(Duration::from_secs(1), move || spoken.set(sentence));
        }
    });
}
