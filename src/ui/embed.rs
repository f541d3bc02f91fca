//! A part of the calculator in a frame of another page: `embed.html?view=bar#v1;m=llama3-8b@1`.
//!
//! The query says what is shown, the fragment holds the job, as on the page itself. Messages to and from the page
//! around are the business of `src/web/frame.js`; here the state follows the address and the result is left on the
//! root element.

mod presentation;

use core::fmt::Write;

use leptos::prelude::*;

use super::browser;
use super::form::{Form, rows};
use super::link;
use super::notices::NoticeBoard;
use super::results::{Results, View, numbers, stages, view};
use super::state::{State, state};
use super::summary::Summary;
use super::values::shown;
use crate::config::field::{Group, Level};
use crate::config::fields::FieldId;
use crate::formats::share_url::encode;
use presentation::{Part, Presentation};

/// The whole embed.
#[component]
pub fn Embed() -> impl IntoView {
    let asked = Presentation::from_query(&browser::query());
    let state = link::open();
    provide_context(state);
    View::provide();
    link::keep(state);
    let hash = Memo::new(move |_| encode(&state.share()));
    Effect::new(move |_| browser::mark_root("data-result", Some(&result(state, &hash.read()))));
    let results = match asked.part {
        Part::Full => view! { <Results /> }.into_any(),
        Part::Table => numbers(view()),
        Part::Timeline => stages(view()),
        Part::Compact | Part::Bar => ().into_any(),
    };
    view! {
        <main class="embed-parts" data-view=asked.part.name()>
            <h1 class="unseen">"Megatron Memory"</h1>
            <Summary />
            {settings(&asked)}
            <div class="results-pane">{results}</div>
            <p class="embed-foot">
                <a href=move || format!("./{}", hash.get()) target="_blank" rel="noopener">
                    "Open in calculator"
                </a>
            </p>
        </main>
        <NoticeBoard />
    }
}

/// The inputs, and what cannot be changed here.
fn settings(asked: &Presentation) -> AnyView {
    let editable = if asked.readonly {
        Vec::new()
    } else {
        asked.fields.clone()
    };
    if asked.part == Part::Full && !asked.readonly && editable.is_empty() {
        return view! { <Form /> }.into_any();
    }
    let named = asked.fields.iter().copied();
    let context = FieldId::ALL.iter().copied().filter(|id| {
        let field = id.field();
        let shared = matches!(field.group, Group::Parallelism | Group::Batch);
        shared && field.level == Level::Essential && !asked.fields.contains(id)
    });
    let surrounded = matches!(asked.part, Part::Full | Part::Compact);
    let mut locked: Vec<FieldId> = named.filter(|_| asked.readonly).collect();
    locked.extend(context.filter(|_| surrounded));
    let any = !editable.is_empty();
    view! {
        {any.then(|| view! { <div class="form embed-inputs">{rows(state(), editable)}</div> })}
        {fixed(locked)}
    }
    .into_any()
}

/// Settings as they are, for reading.
fn fixed(fields: Vec<FieldId>) -> AnyView {
    let state = state();
    let none = fields.is_empty();
    let entries = fields.into_iter().map(|id| {
        let field = id.field();
        let value = Memo::new(move |_| shown(field, state.value(id).as_ref()));
        view! {
            <div hidden=move || value.read().is_empty()>
                <dt>{field.label}</dt>
                <dd data-field=field.key>{value}</dd>
            </div>
        }
    });
    view! { <dl class="embed-fixed" hidden=none>{entries.collect_view()}</dl> }.into_any()
}

/// The result as the page around gets it, as JSON: the link, and the bytes of every stage of every module.
fn result(state: &State, hash: &str) -> String {
    let outcome = state.outcome.read();
    let estimate = outcome.as_ref().map(|outcome| &outcome.estimate);
    let mut json = String::new();
    // A link has no character that JSON would escape, and the rest is numbers.
    let _ = write!(
        json,
        "{{\"hash\":\"{hash}\",\"totals\":{{\"valid\":{}",
        !state.stale.get()
    );
    if let Some(worst) = estimate.and_then(|estimate| estimate.worst_stage()) {
        let _ = write!(json, ",\"worst\":{}", worst.total.0);
    }
    let modules = estimate.into_iter().flat_map(|estimate| &estimate.modules);
    let stages = modules.map(|module| {
        let totals = module.stages.iter().map(|stage| stage.total.0.to_string());
        format!("[{}]", totals.collect::<Vec<_>>().join(","))
    });
    let _ = write!(
        json,
        ",\"stages\":[{}]}}}}",
        stages.collect::<Vec<_>>().join(",")
    );
    json
}
