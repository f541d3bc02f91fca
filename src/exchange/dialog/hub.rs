//! Asking the Hugging Face Hub for a model: nothing is asked before its address was shown and a button pressed.

use super::{Effect, button, labelled};
use crate::formats::hub::{Repository, refusal};
use crate::report::markup::{Markup, tag};

/// What was typed, and what is asked.
#[derive(Default)]
pub(super) struct Hub {
    typed: String,
    request: Option<Request>,
    /// Why the last request gave nothing.
    pub(super) refused: String,
}

/// A request that is under way.
pub(super) struct Request {
    address: String,
    /// The repository's name.
    pub(super) name: String,
    /// What the answer becomes.
    pub(super) becomes: Becomes,
}

/// What the answer to a request is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Becomes {
    /// The text that is imported.
    Text,
    /// The model that the text only names.
    Model,
}

impl Hub {
    /// Takes in what is typed; nobody waits for another model any more.
    pub(super) fn type_in(&mut self, typed: &str) {
        self.forget();
        typed.clone_into(&mut self.typed);
    }

    /// Drops what is asked: its answer comes too late.
    pub(super) fn forget(&mut self) {
        self.request = None;
        self.refused.clear();
    }

    /// Asks for the model that was typed.
    pub(super) fn ask(&mut self) -> Option<Effect> {
        let repository = Repository::read(&self.typed).ok()?;
        self.ask_for(&repository, Becomes::Text)
    }

    /// Asks for the model that the text names.
    pub(super) fn ask_model(&mut self, name: &str) -> Option<Effect> {
        let repository = Repository::read(name).ok()?;
        self.ask_for(&repository, Becomes::Model)
    }

    fn ask_for(&mut self, repository: &Repository, becomes: Becomes) -> Option<Effect> {
        if self.request.is_some() {
            return None;
        }
        self.refused.clear();
        let address = repository.address();
        self.request = Some(Request {
            address: address.clone(),
            name: repository.name().to_owned(),
            becomes,
        });
        Some(Effect::Fetch(address))
    }

    /// The request that is answered; none where nobody waits for this answer any more.
    pub(super) fn answered(&mut self, address: &str) -> Option<Request> {
        self.request.take_if(|request| request.address == address)
    }

    /// Takes in why there is no answer.
    pub(super) fn refuse(&mut self, address: &str, reason: &str) {
        if self.answered(address).is_some() {
            self.refused = refusal(address, reason);
        }
    }

    /// The field for a model's name, and below it what a press of the button asks.
    pub(super) fn draw(&self) -> Markup {
        let input = tag("input")
            .with("data-at", "hub")
            .with("autocomplete", "off")
            .with("spellcheck", "false")
            .with("placeholder", "Qwen/Qwen3-8B")
            .with("value", self.typed.clone());
        let below = (!self.typed.trim().is_empty()).then(|| match Repository::read(&self.typed) {
            Ok(repository) => self.offer(&repository, "ask", Becomes::Text),
            Err(wanted) => tag("p").with("role", "status").text(wanted),
        });
        tag("div")
            .child(labelled("Or name a model on the Hugging Face Hub", input))
            .children(below)
    }

    /// A button for the model that a text names; none where its name cannot be one of the Hub's.
    pub(super) fn offer_model(&self, name: &str) -> Option<Markup> {
        let repository = Repository::read(name).ok()?;
        Some(self.offer(&repository, &format!("ask-model:{name}"), Becomes::Model))
    }

    fn offer(&self, repository: &Repository, place: &str, becomes: Becomes) -> Markup {
        let address = repository.address();
        let asking = self.request.as_ref();
        let this = asking.is_some_and(|r| r.address == address && r.becomes == becomes);
        let label = if this {
            "Asking the Hub"
        } else {
            "Ask the Hub"
        };
        tag("p")
            .class("exchange-hub")
            .child(button(place, label, asking.is_none()))
            .child(tag("span").text("for"))
            .child(tag("code").text(address))
            .child(tag("span").text("Nothing of your job is sent."))
    }
}
