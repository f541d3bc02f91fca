//! The button that opens a file.

use leptos::prelude::*;

use crate::browser::files;

/// A button with which the reader chooses a file. The browser's own file field is inside, and unseen.
#[component]
pub fn FileButton(
    /// The name of the control.
    name: &'static str,
    label: &'static str,
    /// The kinds of files that are offered, as in the attribute of the same name; all where there is none.
    #[prop(optional)]
    accept: Option<&'static str>,
    /// Called with the name and the text of the chosen file.
    on_file: impl Fn(String, String) + Clone + 'static,
) -> impl IntoView {
    view! {
        <label class="file-button">
            <span>{label}</span>
            <input
                type="file"
                class="unseen"
                name=name
                accept=accept
                on:change:target=move |event| {
                    if let Some(file) = files::chosen(&event.target()) {
                        files::read(file, on_file.clone());
                    }
                }
            />
        </label>
    }
}
