//! Tabs: a line of them, of which one is open.

use leptos::prelude::*;

use crate::browser;

/// The tabs of a panel. The Tab key reaches the open one, and the arrow keys, Home and End open others.
#[component]
pub fn TabList(
    /// The beginning of the ids of the tabs, which end in their numbers.
    id: &'static str,
    /// The name of the list.
    label: &'static str,
    /// The id of the element that shows what the open tab is about.
    panel: &'static str,
    /// The tabs' texts.
    titles: Vec<&'static str>,
    /// The number of the open tab.
    #[prop(into)]
    open: Signal<usize>,
    /// Opens a tab.
    #[prop(into)]
    on_open: Callback<usize>,
) -> impl IntoView {
    let last = titles.len().saturating_sub(1);
    let tab_id = move |number: usize| format!("{id}-{number}");
    let tabs = titles.into_iter().enumerate().map(|(number, title)| {
        let is_open = Memo::new(move |_| open.get() == number);
        view! {
            <button
                type="button"
                role="tab"
                id=tab_id(number)
                aria-controls=panel
                aria-selected=move || is_open.get().to_string()
                tabindex=move || if is_open.get() { "0" } else { "-1" }
                on:click=move |_| on_open.run(number)
                on:keydown=move |event| {
                    if let Some(to) = neighbor(number, last, &browser::key(&event)) {
                        event.prevent_default();
                        on_open.run(to);
                        browser::focus(tab_id(to));
                    }
                }
            >
                {title}
            </button>
        }
    });
    view! {
        <div class="tabs" role="tablist" aria-label=label>
            {tabs.collect_view()}
        </div>
    }
}

/// The tab that a key leads to from another one; nothing for a key without a meaning.
fn neighbor(number: usize, last: usize, key: &str) -> Option<usize> {
    match key {
        "ArrowLeft" => Some(number.checked_sub(1).unwrap_or(last)),
        "ArrowRight" if number < last => Some(number + 1),
        "ArrowRight" | "Home" => Some(0),
        "End" => Some(last),
        _ => None,
    }
}
