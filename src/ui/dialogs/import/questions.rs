//! The questions that a text leaves open: variables, branches, the number of GPUs, the model, and fields that a job
//! needs.

use leptos::prelude::*;

use super::hub::{AnswerUse, HubOffer};
use super::session::{ImportSession, QuestionKey};
use crate::dialogs::parts::{Alert, Labelled};
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::hub::{Repository, known};
use megatron_memory::formats::import::{Choice, Question};
use megatron_memory::formats::report::shown;
use megatron_memory::presets::{self, PRESETS, jobs};

/// The most lines that a question names.
const MAX_LINES: usize = 5;

/// A field for every question.
#[component]
pub(super) fn Questions(session: RwSignal<ImportSession>) -> impl IntoView {
    let keys = Memo::new(move |_| session.read().question_keys());
    view! {
        <div class="modal-questions">
            <For
                each=move || keys.get()
                key=Clone::clone
                children=move |(_, key)| match key {
                    QuestionKey::Variable(name) => view! { <VariableField session name /> }.into_any(),
                    QuestionKey::Branch(line) => view! { <BranchField session line /> }.into_any(),
                    QuestionKey::Gpus => view! { <GpusField session /> }.into_any(),
                    QuestionKey::Model(name) => view! { <ModelField session name /> }.into_any(),
                    QuestionKey::Field(field) => view! { <NumberField session field /> }.into_any(),
                }
            />
        </div>
    }
}

/// The question with this key, as it stands now.
fn question(session: RwSignal<ImportSession>, key: QuestionKey) -> Memo<Option<Question>> {
    Memo::new(move |_| session.read().question(&key).cloned())
}

/// The id of the field for a variable's value.
pub(super) fn variable_id(name: &str) -> String {
    format!("variable-{name}")
}

/// Asks for a variable's value, and names the keys that need it.
#[component]
fn VariableField(session: RwSignal<ImportSession>, name: String) -> impl IntoView {
    let question = question(session, QuestionKey::Variable(name.clone()));
    let variable = name.clone();
    let label = Signal::derive(move || match &*question.read() {
        Some(Question::Variable { lines, .. }) => {
            let lines: Vec<String> = lines.iter().take(MAX_LINES).map(u32::to_string).collect();
            format!("${variable}, read on line {}", lines.join(", "))
        }
        _ => String::new(),
    });
    let placeholder = move || match question.get() {
        Some(Question::Variable { default, .. }) => default,
        _ => None,
    };
    let needed_by = Memo::new(move |_| match &*question.read() {
        Some(Question::Variable { keys, .. }) => keys.join(", "),
        _ => String::new(),
    });
    let is_needed = move || !needed_by.read().is_empty();
    let hint = format!("needs-{name}");
    let described_by = hint.clone();
    let given = {
        let session = session.read_untracked();
        let mut variables = session.options().variables.iter();
        let given = variables.find(|(known, _)| *known == name);
        given.map_or(String::new(), |(_, value)| value.clone())
    };
    view! {
        <div>
            <Labelled label>
                <input
                    id=variable_id(&name)
                    name=format!("variable:{name}")
                    autocomplete="off"
                    value=given
                    placeholder=placeholder
                    aria-invalid=move || is_needed().then_some("true")
                    aria-describedby=move || is_needed().then(|| described_by.clone())
                    on:input:target=move |event| {
                        session.update(|session| session.set_variable(&name, event.target().value()));
                    }
                />
            </Labelled>
            <p class="modal-error" id=hint hidden=move || !is_needed()>
                {move || format!("{} needs a value from it.", needed_by.read())}
            </p>
        </div>
    }
}

/// Asks which side of a branch is taken.
#[component]
fn BranchField(session: RwSignal<ImportSession>, line: u32) -> impl IntoView {
    let question = question(session, QuestionKey::Branch(line));
    let chosen = Memo::new(move |_| {
        let session = session.read();
        let mut answers = session.options().branches.iter();
        let answer = answers.find(|(known, _)| *known == line);
        match (answer, &*question.read()) {
            (Some((_, side)), _) => Some(*side),
            (None, Some(Question::Branch { taken, .. })) => *taken,
            _ => None,
        }
    });
    let sides = move || {
        let labels = match question.get() {
            Some(Question::Branch { labels, .. }) => labels,
            _ => Vec::new(),
        };
        let sides = labels.into_iter().enumerate();
        sides
            .map(|(side, label)| {
                view! {
                    <option value=side selected=move || chosen.get() == Some(side)>
                        {label}
                    </option>
                }
            })
            .collect_view()
    };
    view! {
        <Labelled label=format!("The branch on line {line}")>
            <select
                name=format!("branch:{line}")
                on:change:target=move |event| {
                    if let Ok(side) = event.target().value().parse() {
                        session.update(|session| session.set_branch(line, side));
                    }
                }
            >
                {sides}
            </select>
        </Labelled>
    }
}

/// Asks for a field that the text does not give, and offers values that jobs often have.
#[component]
fn NumberField(session: RwSignal<ImportSession>, field: FieldId) -> impl IntoView {
    let question = question(session, QuestionKey::Field(field));
    let given = {
        let session = session.read_untracked();
        let mut fields = session.options().fields.iter();
        let given = fields.find(|(known, _)| *known == field);
        given.map_or(String::new(), |(_, value)| shown(value))
    };
    let choices = move || {
        let choices = match question.get() {
            Some(Question::Field { choices, .. }) => choices,
            _ => Vec::new(),
        };
        let choice = |choice: Choice| {
            view! { <option value=choice.value>{choice.label}</option> }
        };
        choices.into_iter().map(choice).collect_view()
    };
    let list = format!("choices-{}", field.field().name);
    let offered = list.clone();
    view! {
        <div>
            <Labelled label=format!("The text does not give it: {}", field.field().label)>
                <input
                    name=format!("field:{}", field.field().name)
                    autocomplete="off"
                    inputmode="numeric"
                    list=offered
                    value=given
                    on:input:target=move |event| {
                        session.update(|session| session.set_field(field, &event.target().value()));
                    }
                />
            </Labelled>
            <datalist id=list>{choices}</datalist>
        </div>
    }
}

/// Asks for the number of GPUs.
#[component]
fn GpusField(session: RwSignal<ImportSession>) -> impl IntoView {
    let given = session.read_untracked().options().gpus;
    view! {
        <div>
            <Labelled label="How many GPUs">
                <input
                    name="gpus"
                    autocomplete="off"
                    inputmode="numeric"
                    value=given.map(|gpus| gpus.to_string())
                    on:input:target=move |event| {
                        session.update(|session| session.set_gpus(&event.target().value()));
                    }
                />
            </Labelled>
            <Alert message=Signal::derive(move || session.read().gpus_error().to_owned()) />
        </div>
    }
}

/// Asks for a model that the text only names: a preset, a `config.json`, or one from the Hub.
#[component]
fn ModelField(session: RwSignal<ImportSession>, name: String) -> impl IntoView {
    let chosen = Memo::new(move |_| {
        let session = session.read();
        session.options().model.clone().unwrap_or_default()
    });
    let text = move || {
        let chosen = chosen.get();
        if presets::by_id(&chosen).is_some() || jobs::by_id(&chosen).is_some() {
            String::new()
        } else {
            chosen
        }
    };
    let set = move |model: String| session.update(|session| session.set_model(model));
    let options = PRESETS
        .iter()
        .map(|preset| {
            view! {
                <option value=preset.id selected=move || *chosen.read() == preset.id>
                    {preset.name}
                </option>
            }
        })
        .collect_view();
    let offer = Repository::read(&name)
        .ok()
        .map(|repository| view! { <HubOffer session repository purpose=AnswerUse::Model /> });
    let proposed = known::proposed(&name).map(|(id, name)| {
        view! {
            <p class="modal-hub">
                <button
                    type="button"
                    name="take-preset"
                    aria-pressed=move || (*chosen.read() == id).to_string()
                    on:click=move |_| set(id.to_owned())
                >
                    {format!("Take {name}")}
                </button>
                <span>"the preset of this name"</span>
            </p>
        }
    });
    view! {
        <div>
            {proposed}
            <Labelled label=format!("The model {name}: a preset")>
                <select name="preset" on:change:target=move |event| set(event.target().value())>
                    <option value=""></option>
                    {options}
                </select>
            </Labelled>
            <Labelled label="or its config.json">
                <textarea
                    name="model"
                    rows="3"
                    spellcheck="false"
                    prop:value=text
                    on:input:target=move |event| set(event.target().value())
                ></textarea>
            </Labelled>
            {offer}
        </div>
    }
}
