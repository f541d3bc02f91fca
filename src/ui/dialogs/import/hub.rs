//! Asks the Hugging Face Hub for a model's `config.json`. Nothing is asked before its address was shown and a button
//! pressed.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::session::ImportSession;
use crate::browser::fetch::fetch_text;
use crate::dialogs::parts::Labelled;
use megatron_memory::formats::hub::{Repository, refusal};

/// The request to the Hub. Provided as context by the import dialog: there is one at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HubRequest {
    /// The address that is asked, and what its answer becomes; `None` while nothing is asked.
    asked: Option<(String, AnswerUse)>,
    /// Why the last request gave nothing; empty where it gave something.
    pub(super) refused: String,
}

/// The use of the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerUse {
    /// The text that is imported.
    Text,
    /// The model that the text only names.
    Model,
}

impl HubRequest {
    /// Drops the request: its answer comes too late.
    fn forget(&mut self) {
        *self = Self::default();
    }
}

/// The field for a model's name, and below it what a press of the button asks.
#[component]
pub(super) fn HubField(session: RwSignal<ImportSession>) -> impl IntoView {
    let request: RwSignal<HubRequest> = expect_context();
    let typed = RwSignal::new(String::new());
    // Another text makes what is asked for this one useless.
    Effect::new(move |_| {
        session.track();
        if request.read_untracked().asked.is_some() && session.read().file().is_some() {
            request.update(HubRequest::forget);
        }
    });
    let below = move || {
        let typed = typed.read();
        (!typed.trim().is_empty()).then(|| match Repository::read(&typed) {
            Ok(repository) => view! { <HubOffer session repository purpose=AnswerUse::Text /> }.into_any(),
            Err(wanted) => view! { <p role="status">{wanted}</p> }.into_any(),
        })
    };
    view! {
        <div>
            <Labelled label="Or name a model on the Hugging Face Hub">
                <input
                    name="hub"
                    autocomplete="off"
                    spellcheck="false"
                    placeholder="Qwen/Qwen3-8B"
                    on:input:target=move |event| {
                        request.update(HubRequest::forget);
                        typed.set(event.target().value());
                    }
                />
            </Labelled>
            {below}
        </div>
    }
}

/// A button that asks the Hub, with the address that it asks.
#[component]
pub(super) fn HubOffer(
    session: RwSignal<ImportSession>,
    /// The model's repository.
    repository: Repository,
    /// The use of the answer.
    purpose: AnswerUse,
) -> impl IntoView {
    let request: RwSignal<HubRequest> = expect_context();
    let address = repository.address();
    let name = repository.name().to_owned();
    let asked = (address.clone(), purpose);
    let this = asked.clone();
    let label = move || match &request.read().asked {
        Some(asked) if *asked == this => "Asking the Hub",
        _ => "Ask the Hub",
    };
    let ask = move |_| {
        let (asked, name) = (asked.clone(), name.clone());
        request.set(HubRequest {
            asked: Some(asked.clone()),
            refused: String::new(),
        });
        spawn_local(async move {
            let answer = fetch_text(&asked.0).await;
            // The dialog may be closed by now, or somebody may have asked for something else.
            let waited_for = request.try_with_untracked(|request| request.asked == Some(asked.clone()));
            if waited_for != Some(true) {
                return;
            }
            let (address, purpose) = asked;
            request.update(|request| {
                request.asked = None;
                if let Err(reason) = &answer {
                    request.refused = refusal(&address, reason);
                }
            });
            let Ok(text) = answer else { return };
            session.update(|session| match purpose {
                AnswerUse::Text => session.take_file(&text, format!("{name} on the Hub")),
                AnswerUse::Model => session.set_model(text),
            });
        });
    };
    view! {
        <p class="modal-hub">
            <button type="button" name="ask-hub" disabled=move || request.read().asked.is_some() on:click=ask>
                {label}
            </button>
            <span>"for"</span>
            <code>{address}</code>
            <span>"Nothing about your job is sent."</span>
        </p>
    }
}
