//! The form above a page's rows that hides the rows which a reader does not look for. `src/web/evidence.js` shows it,
//! since without scripts it does nothing.

use megatron_memory::report::markup::{Markup, tag};

/// A form of some choices, a box for words, and a line that says how many rows are left.
pub(crate) fn filters(choices: impl IntoIterator<Item = Markup>, example: &'static str) -> Markup {
    let words = tag("input")
        .with("id", "words")
        .with("type", "search")
        .with("placeholder", example);
    tag("form")
        .class("filters")
        .with("hidden", "")
        .with("aria-label", "Filters")
        .children(choices)
        .child(labelled("Words", words))
        .child(tag("output").with("role", "status"))
}

/// A choice among values, each with the name that is shown for it, and `any` before them.
pub(crate) fn choice(
    id: &'static str,
    label: &'static str,
    options: impl IntoIterator<Item = (String, String)>,
) -> Markup {
    let any = tag("option").with("value", "").text("any");
    let options = options.into_iter().map(|(value, name)| {
        let option = tag("option").with("value", value);
        option.text(name)
    });
    let select = tag("select").with("id", id).child(any).children(options);
    labelled(label, select)
}

fn labelled(label: &'static str, control: Markup) -> Markup {
    tag("label").child(tag("span").text(label)).child(control)
}
