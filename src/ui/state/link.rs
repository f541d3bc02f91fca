//! The link in the address bar: what could not be read of it, and the address that stands for the page as it is.

use leptos::prelude::*;

use super::State;
use crate::browser;
use megatron_memory::config::Checked;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::share_url::{Notice, Visit, encode, visit};

/// What is shown where a link is broken.
pub const DEMONSTRATION: &str = "A demonstration job is shown instead; its numbers are not those of the link.";

/// The most remarks about a link that are shown.
const MOST_NOTICES: usize = 6;

/// What the page's own link is.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkState {
    /// Why a demonstration stands in for the job of the link, until the reader changes it or goes elsewhere.
    pub broken: RwSignal<Option<Notice>>,
    /// What could not be used of a link whose job is shown, in sentences, until the reader changes the job or goes
    /// elsewhere.
    pub ignored: RwSignal<String>,
    /// How many deliberate jumps there have been; each is an entry in the browser's history.
    pub jumps: RwSignal<u32>,
}

impl State {
    /// The state of a page that has just been opened, as its link says.
    #[must_use]
    pub fn of_visit(visit: Visit, check: fn(&RawJob) -> Checked) -> Self {
        let state = Self::new(visit.state, check);
        state.tell_of_link(visit.broken, &visit.notices);
        state
    }

    /// Follows a link that came from the browser's history, or was typed into the address bar.
    pub fn follow(&self, visit: Visit) {
        self.restore(visit.state);
        self.tell_of_link(visit.broken, &visit.notices);
    }

    /// Opens the link of the address bar with the nearest preset in place of the one that does not exist.
    pub fn open_nearest(&self, name: &str, nearest: &str) {
        let fragment = browser::fragment();
        let meant = visit(&fragment.replacen(&format!("m={name}"), &format!("m={nearest}"), 1));
        let meant = match meant.broken {
            None => meant,
            Some(_) => visit(&format!("#v1;m={nearest}")),
        };
        self.open(meant.state);
        self.tell_of_link(meant.broken, &meant.notices);
    }

    /// The address of the page as it is now.
    pub fn address(&self) -> String {
        browser::address(&encode(&self.share_untracked()))
    }

    /// Says in the headline, and aloud, what could not be read of a link, and whether a demonstration stands in for its
    /// job.
    fn tell_of_link(&self, broken: Option<Notice>, notices: &[Notice]) {
        let texts = notices.iter().take(MOST_NOTICES).map(Notice::to_string);
        let texts: Vec<String> = texts.collect();
        let ignored = match &broken {
            None if !texts.is_empty() => format!("Not all of this link is used: {}", texts.join(" ")),
            _ => String::new(),
        };
        if let Some(broken) = &broken {
            self.toasts.announce(format!("{broken} {DEMONSTRATION}"));
        } else if !ignored.is_empty() {
            self.toasts.announce(ignored.clone());
        }
        self.link.broken.set(broken);
        self.link.ignored.set(ignored);
    }
}
