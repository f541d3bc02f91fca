//! A section of the results under a heading.

use leptos::prelude::*;
use leptos::text_prop::TextProp;

use crate::state::State;

/// A section of the results. The element with the id `title` names it.
#[component]
pub fn Panel(
    /// Style classes besides `panel`, separated by blanks.
    #[prop(default = "")]
    class: &'static str,
    /// The id of the heading inside.
    title: &'static str,
    /// Whether the section shows results of the job, so that it has nothing but its heading where there are none.
    #[prop(default = true)]
    needs_result: bool,
    children: Children,
) -> impl IntoView {
    let outcome = expect_context::<State>().outcome;
    let is_empty = Memo::new(move |_| needs_result && outcome.read().is_none());
    let class = if class.is_empty() {
        String::from("panel")
    } else {
        format!("panel {class}")
    };
    view! {
        <section class=class class:no-result=move || is_empty.get() aria-labelledby=title>
            {children()}
            <Show when=move || is_empty.get()>
                <p class="panel-note nothing">"No result: the job cannot run."</p>
            </Show>
        </section>
    }
}

/// The heading of a panel with a note, and with controls where there are some.
#[component]
pub fn PanelHead(
    /// The id of the heading.
    id: &'static str,
    /// The heading.
    #[prop(into)]
    title: TextProp,
    /// What is shown, in a few words.
    #[prop(into)]
    note: TextProp,
    /// Controls behind the note.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <header class="panel-head">
            <h2 id=id tabindex="-1">{move || title.get()}</h2>
            <p class="panel-note">{move || note.get()}</p>
            {children.map(|children| children())}
        </header>
    }
}
