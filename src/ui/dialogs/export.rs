//! The export dialog: a format, its text or picture, and ways to keep it.

mod formats;

use leptos::html::Div;
use leptos::prelude::*;
use leptos::task::spawn_local;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use self::formats::{Choices, FormatMenu, Selection};
use super::parts::{Alert, CloseButton, Title};
use crate::browser::{self, files, picture};
use crate::parts::{ActionButton, CopyButton};
use crate::state::{DialogKind, State};
use megatron_memory::config::problem::Problem;
use megatron_memory::formats::state::PresetRef;

/// What a `data:` address of an SVG picture does not hold as it is.
const NOT_IN_ADDRESSES: &AsciiSet = &CONTROLS.add(b'%').add(b'#').add(b'"');

/// Why nothing can be copied or downloaded.
const NO_TEXT: &str = "There is no text to export";

/// The export dialog.
#[component]
pub(super) fn ExportDialog() -> impl IntoView {
    let state: State = expect_context();
    let share = StoredValue::new(state.share_untracked());
    let selection = RwSignal::new(Selection::default());
    let made = Memo::new(move |_| share.with_value(|share| selection.read().make(share, state.preferences.unit.get())));
    let error = Signal::derive(move || made.read().as_ref().err().cloned().unwrap_or_default());
    let text = Memo::new(move |_| made.read().as_ref().ok().cloned());
    let place = NodeRef::<Div>::new();
    let result = move || {
        text.get().map(|text| {
            if selection.read().is_picture() {
                let encoded = utf8_percent_encode(&text, NOT_IN_ADDRESSES);
                view! { <img src=format!("data:image/svg+xml,{encoded}") alt="The picture" /> }.into_any()
            } else {
                view! {
                    <pre tabindex="0" role="region" aria-label="The text">
                        {text}
                    </pre>
                }
                .into_any()
            }
        })
    };
    let problems: Vec<String> = {
        let checked = state.checked.read_untracked();
        checked
            .errors()
            .map(|Problem { message, .. }| message.clone())
            .collect()
    };
    let problems = StoredValue::new(problems);
    let invalid = move || text.read().is_some() && problems.with_value(|all| !all.is_empty());
    let problem_rows = problems.with_value(|all| {
        let rows = all.iter().map(|problem| view! { <li>{problem.clone()}</li> });
        rows.collect_view()
    });
    view! {
        <Title text="Export this job" />
        <div class="modal-source">
            <FormatMenu selection />
            <Choices selection modules=share.with_value(|share| {
                share.setup.job.modules.iter().map(|module| module.name.clone()).collect()
            }) />
        </div>
        <p>{move || selection.read().note()}</p>
        <Alert message=error />
        <div class="modal-error" hidden=move || !invalid()>
            <p>"Megatron refuses this job as it is:"</p>
            <ul>{problem_rows}</ul>
        </div>
        <div class="modal-result" node_ref=place>{result}</div>
        <Actions
            selection
            text
            result=place
            preset=share.with_value(|share| share.setup.preset.clone())
        />
    }
}

/// The buttons.
#[component]
fn Actions(
    selection: RwSignal<Selection>,
    /// The exported text; `None` where there is none.
    text: Memo<Option<String>>,
    /// The element that shows the text or picture.
    result: NodeRef<Div>,
    /// The preset of the job, after which files are called.
    preset: Option<PresetRef>,
) -> impl IntoView {
    let said = RwSignal::new("");
    let name = StoredValue::new(preset.map_or("job".to_owned(), |preset| preset.id));
    let file = move |extension: &str| {
        let selection = selection.read_untracked();
        name.with_value(|name| match selection.chart() {
            Some(chart) => format!("{name}-{chart}.{extension}"),
            None => format!("{name}.{extension}"),
        })
    };
    let copied = move |is_copied| {
        if is_copied {
            said.set("Copied.");
        } else {
            if let Some(result) = result.get_untracked() {
                browser::select_content(&result);
            }
            said.set("The browser does not let the page use the clipboard. The text is selected.");
        }
    };
    let download = move || {
        if let Some(text) = text.get_untracked() {
            files::save_text(&file(selection.read_untracked().extension()), &text);
        }
    };
    let download_png = move || {
        if let Some(svg) = text.get_untracked() {
            let name = file("png");
            spawn_local(async move {
                if picture::save_png(name, svg).await.is_err() {
                    said.set("The browser cannot draw the picture.");
                }
            });
        }
    };
    let is_picture = Memo::new(move |_| selection.read().is_picture());
    let missing = Memo::new(move |_| text.read().is_none());
    view! {
        <div class="modal-actions">
            <CopyButton attr:name="copy" attr:class="share" blocked=missing reason=NO_TEXT text=move || text.get() on_done=copied>
                "Copy"
            </CopyButton>
            <ActionButton attr:name="download" blocked=missing reason=NO_TEXT on_press=download>
                {move || if is_picture.get() { "Download SVG" } else { "Download" }}
            </ActionButton>
            <Show when=move || is_picture.get()>
                <ActionButton attr:name="picture" blocked=missing reason=NO_TEXT on_press=download_png>
                    "Download PNG"
                </ActionButton>
            </Show>
            <CloseButton kind=DialogKind::Export />
            <span role="status">{said}</span>
        </div>
    }
}
