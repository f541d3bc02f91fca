//! The address bar: the page starts from its link, keeps it current, and follows Back and Forward.

use core::time::Duration;
use std::cell::RefCell;
use std::rc::Rc;

use super::browser::{self, Timer};
use super::state::State;
use crate::formats::share_url::{Notice, encode, visit};
use crate::formats::state::ShareState;
use leptos::prelude::*;

/// How long the link waits for the next keystroke.
const PAUSE: Duration = Duration::from_millis(250);

/// The state of a page that has just been opened.
pub(super) fn open() -> State {
    let (share, notices) = visit(&browser::fragment());
    let state = State::new(share);
    tell(state, &notices);
    state
}

fn tell(state: State, notices: &[Notice]) {
    if !notices.is_empty() {
        let texts: Vec<String> = notices.iter().take(6).map(Notice::to_string).collect();
        state
            .notices
            .tell(format!("About this link: {}", texts.join(" ")));
    }
}

/// What the address holds, and what it is about to.
struct Keeper {
    /// The state that the address stands for.
    settled: RefCell<ShareState>,
    /// A newer state that waits for the end of typing.
    waiting: RefCell<Option<ShareState>>,
    /// The fragment as it was last read or written.
    fragment: RefCell<String>,
    timer: Timer,
}

impl Keeper {
    fn wait(self: &Rc<Self>, share: ShareState) {
        *self.waiting.borrow_mut() = Some(share);
        let keeper = Rc::clone(self);
        self.timer.restart(PAUSE, Box::new(move || keeper.flush()));
    }

    /// Writes what waits.
    fn flush(&self) {
        self.timer.stop();
        let waiting = self.waiting.borrow_mut().take();
        if let Some(share) = waiting {
            self.write(share, false);
        }
    }

    fn write(&self, share: ShareState, entry: bool) {
        if *self.settled.borrow() == share {
            return;
        }
        let fragment = encode(&share);
        if *self.fragment.borrow() != fragment {
            browser::write_fragment(&fragment, entry);
        }
        *self.fragment.borrow_mut() = fragment;
        *self.settled.borrow_mut() = share;
    }

    /// Takes over what the address says now, unless it is what was written there.
    fn follow(&self, state: State) {
        let fragment = browser::fragment();
        if *self.fragment.borrow() == fragment {
            return;
        }
        self.timer.stop();
        self.waiting.borrow_mut().take();
        let (share, notices) = visit(&fragment);
        *self.fragment.borrow_mut() = fragment;
        *self.settled.borrow_mut() = share.clone();
        state.restore(share);
        tell(state, &notices);
    }
}

/// Keeps the address and the state together as long as the page is there.
pub(super) fn keep(state: State) {
    let keeper = Rc::new(Keeper {
        settled: RefCell::new(untrack(|| state.share())),
        waiting: RefCell::new(None),
        fragment: RefCell::new(browser::fragment()),
        timer: Timer::default(),
    });
    let writer = Rc::clone(&keeper);
    let mut before = None;
    Effect::new(move |_| {
        let (share, jumps) = (state.share(), state.jumps.get());
        match before.replace(jumps) {
            // Back must lead to what was there before the jump, keystrokes included.
            Some(before) if before != jumps => {
                writer.flush();
                writer.write(share, true);
            }
            Some(_) => writer.wait(share),
            None => {}
        }
    });
    let reader = Rc::clone(&keeper);
    browser::listen_everywhere(
        &["popstate", "hashchange"],
        Box::new(move |_| reader.follow(state)),
    );
    browser::listen_everywhere(&["focusout", "pagehide"], Box::new(move |_| keeper.flush()));
}

/// The address of the page as it is now.
pub(super) fn address(state: State) -> String {
    browser::address(&encode(&untrack(|| state.share())))
}

/// Puts the link on the clipboard; `denied` gets the address where the browser does not allow that.
pub(super) fn copy(state: State, denied: impl Fn(String) + 'static) {
    let address = address(state);
    let text = address.clone();
    browser::copy(&address, move |copied| {
        if copied {
            state.notices.tell("The link is on the clipboard.");
        } else {
            denied(text.clone());
        }
    });
}
