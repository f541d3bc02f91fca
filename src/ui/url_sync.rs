//! The address bar: the page starts from its link, keeps it current, and follows Back and Forward.

use std::cell::RefCell;
use std::rc::Rc;

use super::browser;
use super::state::{ResultsTab, State};
use gloo::timers::callback::Timeout;
use leptos::ev;
use leptos::prelude::*;
use megatron_memory::formats::share_url::{Visit, encode, visit};
use megatron_memory::formats::state::ShareState;

/// How long the link waits for the next keystroke, in milliseconds.
const PAUSE: u32 = 250;

/// The key in storage of the last job's link. `src/web/theme.js` goes back to it where the page is opened without a
/// link.
const LAST: &str = "last";

/// The link in the address bar, and the newer state that is still to be written there.
struct Address {
    /// The fragment as it was last read or written.
    fragment: String,
    /// The state that it stands for; `None` for a broken link, for which a demonstration is shown.
    written: Option<ShareState>,
    /// A newer state that waits for the end of typing, and the timer that ends the wait.
    waiting: Option<(ShareState, Timeout)>,
}

impl Address {
    fn write(&mut self, share: ShareState, entry: browser::HistoryEntry) {
        if self.written.as_ref() == Some(&share) {
            return;
        }
        let fragment = encode(&share);
        if self.fragment != fragment {
            browser::write_fragment(&fragment, entry);
            if !browser::is_embed() {
                browser::store(LAST, &fragment);
            }
        }
        // As the browser spells it.
        self.fragment = browser::fragment();
        self.written = Some(share);
    }

    /// Writes the state that waits, unless another link has been opened meanwhile, of which the page is not told yet.
    fn flush(&mut self) {
        if browser::fragment() != self.fragment {
            return;
        }
        if let Some((share, _)) = self.waiting.take() {
            self.write(share, browser::HistoryEntry::Same);
        }
    }

    /// What the address says, where somebody else has changed it.
    fn read(&mut self) -> Option<Visit> {
        let fragment = browser::fragment();
        if self.fragment == fragment {
            return None;
        }
        let visit = visit(&fragment);
        *self = Self {
            fragment,
            written: visit.broken.is_none().then(|| visit.state.clone()),
            waiting: None,
        };
        Some(visit)
    }
}

/// Keeps the address and the state together as long as it is mounted. Shows nothing.
#[component]
pub(super) fn UrlSync() -> impl IntoView {
    let state = expect_context::<State>();
    let address = Rc::new(RefCell::new(Address {
        fragment: browser::fragment(),
        written: untrack(|| state.link.broken.read().is_none().then(|| state.share())),
        waiting: None,
    }));
    let flush = {
        let address = Rc::clone(&address);
        move || address.borrow_mut().flush()
    };
    let write = {
        let (address, flush) = (Rc::clone(&address), flush.clone());
        move |jumps: Option<u32>| {
            let (share, now) = (state.share(), state.link.jumps.get());
            match jumps {
                // A broken link stays in the address as long as its demonstration is shown.
                Some(_) if state.link.broken.read_untracked().is_some() => {}
                // Back must lead to what was there before the jump, keystrokes included.
                Some(before) if before != now => {
                    flush();
                    let entry = browser::HistoryEntry::New;
                    address.borrow_mut().write(share, entry);
                }
                Some(_) => {
                    let timer = Timeout::new(PAUSE, flush.clone());
                    address.borrow_mut().waiting = Some((share, timer));
                }
                None => {}
            }
            now
        }
    };
    Effect::new(write);
    let follow = move || {
        // A link to a panel leaves the job, and its address, as they are.
        if let Some(heading) = ResultsTab::heading_of(&browser::fragment()) {
            browser::write_fragment(&address.borrow().fragment, browser::HistoryEntry::Same);
            state.view.go_to(heading);
            return;
        }
        let visit = address.borrow_mut().read();
        if let Some(visit) = visit {
            state.follow(visit);
        }
    };
    let listeners = [
        window_event_listener(ev::popstate, {
            let follow = follow.clone();
            move |_| follow()
        }),
        window_event_listener(ev::hashchange, move |_| follow()),
        window_event_listener(ev::focusout, {
            let flush = flush.clone();
            move |_| flush()
        }),
        window_event_listener(ev::pagehide, move |_| flush()),
    ];
    on_cleanup(move || listeners.into_iter().for_each(WindowListenerHandle::remove));
}
