//! A part of the calculator in a frame of another page: `embed.html?view=bar#v1;m=llama3-8b@1`.
//!
//! The query says what is shown, the fragment holds the job, as on the page itself. Messages to and from the page
//! around are the business of `src/web/frame.js`; here the state follows the address and the result is left on the
//! root element.

mod presentation;

use core::fmt::Write;

use super::browser;
use super::components::form::{FieldRows, FieldSweeps, FormSections};
use super::components::toasts::Toasts;
use super::results::{View, numbers, over_time, stages};
use super::shown::{Piece, frame, shown};
use super::state::State;
use super::summary::summary;
use super::values;
use crate::config::field::{Group, Level};
use crate::config::fields::FieldId;
use crate::formats::share_url::encode;
use crate::report::markup::tag;
use leptos::prelude::*;
use presentation::{Part, Presentation};

/// The calculator in a frame of another page.
#[component]
pub(super) fn Embed() -> impl IntoView {
    let asked = Presentation::from_query(&browser::query());
    let state = expect_context();
    let view = View::new(state, |_, _, _| Vec::new());
    let hash = Memo::new(move |_| encode(&state.share()));
    Effect::new(move |_| browser::mark_root("data-result", Some(&result(state, &hash.read()))));
    let shows = match asked.part {
        Part::Full => vec![stages(view), over_time(view), numbers(view)],
        Part::Table => vec![numbers(view)],
        Part::Timeline => vec![over_time(view), stages(view)],
        Part::Compact | Part::Bar | Part::Sweep => Vec::new(),
    };
    let title = tag("h1").class("unseen").text("Megatron Memory");
    let title = shown("whole", move || vec![title.clone()], |_| false);
    let foot = move || {
        let link = tag("a")
            .with("href", format!("./{}", *hash.read()))
            .with("target", "_blank")
            .with("rel", "noopener")
            .text("Open in calculator");
        vec![link]
    };
    let mut parts = vec![title, summary(view)];
    parts.append(&mut settings(state, &asked));
    parts.push(frame(tag("div").class("results-pane"), shows));
    parts.push(shown("embed-foot", foot, |_| false));
    let main = tag("main")
        .class("embed-parts")
        .with("data-view", asked.part.name());
    vec![frame(main, parts), view! { <Toasts /> }.into_any()]
}

/// The inputs, and what cannot be changed here.
fn settings(state: State, asked: &Presentation) -> Vec<Piece> {
    let editable = if asked.readonly {
        Vec::new()
    } else {
        asked.fields.clone()
    };
    if asked.part == Part::Sweep {
        let values = tag("fieldset").mark("disabled", asked.readonly);
        return vec![frame(
            values,
            vec![view! { <FieldSweeps fields=asked.fields.clone() /> }.into_any()],
        )];
    }
    if asked.part == Part::Full && !asked.readonly && editable.is_empty() {
        return vec![view! { <FormSections /> }.into_any()];
    }
    let named = asked.fields.iter().copied();
    let context = FieldId::ALL.iter().copied().filter(|id| {
        let field = id.field();
        let shared = matches!(
            field.presentation().group,
            Group::Parallelism | Group::Batch
        );
        shared && field.presentation().level == Level::Essential && !asked.fields.contains(id)
    });
    let surrounded = matches!(asked.part, Part::Full | Part::Compact);
    let mut locked: Vec<FieldId> = named.filter(|_| asked.readonly).collect();
    locked.extend(context.filter(|_| surrounded));
    let mut parts = Vec::new();
    if !editable.is_empty() {
        parts.push(view! { <FieldRows fields=editable /> }.into_any());
    }
    if !locked.is_empty() {
        parts.push(fixed(state, locked));
    }
    parts
}

/// Settings as they are, for reading.
fn fixed(state: State, fields: Vec<FieldId>) -> Piece {
    let draw = move || {
        let entries = fields.iter().map(|id| {
            let field = id.field();
            let value = values::shown(field, state.value(*id).as_ref());
            tag("div")
                .mark("hidden", value.is_empty())
                .child(tag("dt").text(field.presentation().label))
                .child(tag("dd").with("data-field", field.key).text(value))
        });
        vec![tag("dl").class("embed-fixed").children(entries)]
    };
    shown("whole", draw, |_| false)
}

/// The result as the page around gets it, as JSON: the link, and the bytes of every stage of every module.
fn result(state: State, hash: &str) -> String {
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
