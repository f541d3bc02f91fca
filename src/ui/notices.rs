//! Passing messages: a line that can be seen, and one that is read out.

use core::time::Duration;
use std::rc::Rc;

use super::browser::{self, Timer};
use super::draw::button;
use super::shown::{Gesture, Piece, shown};
use super::state::State;
use crate::report::markup::{Markup, tag};
use leptos::prelude::*;

/// A message with what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The message.
    pub text: String,
    /// Whether it offers to take the last step back.
    pub undo: bool,
}

/// The id of the line for screen readers.
const SPOKEN: &str = "spoken";

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

    /// Reads out a message.
    pub fn say(self, text: String) {
        self.spoken.set(text);
    }

    /// Takes the message away: any, or one whose step is not the last one any more.
    pub fn pass(self, any: bool) {
        let passes = |notice: &Notice| any || notice.undo;
        if self.shown.read_untracked().as_ref().is_some_and(passes) {
            self.shown.set(None);
        }
    }

    fn post(self, text: String, undo: bool) {
        self.say(text.clone());
        self.shown.set(Some(Notice { text, undo }));
    }
}

/// The message at the edge of the page, and the line for screen readers.
pub(super) fn board(state: State) -> Piece {
    speak_results(state);
    let notices = state.notices;
    shown(
        "whole",
        move || notices.draw(),
        move |gesture| {
            if let Gesture::Choose(place) = gesture {
                if place == "undo" {
                    state.undo();
                }
                notices.pass(true);
                // The button goes with the message; the focus must not be lost with it.
                browser::focus(SPOKEN);
            }
            false
        },
    )
}

impl Notices {
    fn draw(self) -> Vec<Markup> {
        let notice = self.shown.read();
        let undo = notice.as_ref().is_some_and(|notice| notice.undo);
        let text = notice.as_ref().map(|notice| notice.text.clone());
        let spoken = tag("p")
            .class("unseen")
            .with("id", SPOKEN)
            .with("tabindex", "-1")
            .with("role", "status")
            .with("data-testid", "spoken")
            .text(self.spoken.get());
        let board = tag("div")
            .class("notice")
            .with("role", "region")
            .with("aria-label", "Message")
            .mark("hidden", notice.is_none())
            .child(tag("p").text(text.unwrap_or_default()))
            .child(button("undo", "", "Undo").mark("hidden", !undo))
            .child(button("dismiss", "quiet", "Dismiss"));
        vec![spoken, board]
    }
}

/// Reads out the verdict, or the problems, once the reader has paused for a second.
fn speak_results(state: State) {
    let timer = Rc::new(Timer::default());
    let sentence = Memo::new(move |_| {
        let checked = state.checked.get();
        match checked.errors().next() {
            Some(first) => format!("{} problems. {first}", checked.errors().count()),
            None => super::summary::sentence(state),
        }
    });
    let mut first = true;
    Effect::new(move |_| {
        let sentence = sentence.get();
        // Nobody has done anything yet when the page opens.
        if !core::mem::take(&mut first) {
            let spoken = state.notices.spoken;
            let say = move || spoken.set(sentence);
            timer.restart(Duration::from_secs(1), Box::new(say));
        }
    });
}
