//! Tables of generated pages.

use megatron_memory::report::markup::{Markup, tag};

/// A table that scrolls where it is too wide. `title` is the id of the element that names it.
pub(crate) fn table(title: &str, class: &'static str, headings: &[&'static str], rows: Vec<Markup>) -> Markup {
    let heading = |text: &&'static str| tag("th").with("scope", "col").text(*text);
    let head = tag("tr").children(headings.iter().map(heading));
    let table = tag("table")
        .class(class)
        .with("aria-labelledby", title.to_owned())
        .child(tag("thead").child(head))
        .child(tag("tbody").children(rows));
    tag("div")
        .class("table-scroll")
        .with("tabindex", "0")
        .with("role", "group")
        .with("aria-labelledby", title.to_owned())
        .child(table)
}

/// A table that is read when it is opened, below its title and a note.
pub(crate) fn folded(id: &str, title: &str, note: &str, table: Markup) -> Markup {
    let title = tag("strong").with("id", id.to_owned()).text(title.to_owned());
    let note = tag("span").class("note").text(note.to_owned());
    tag("details")
        .class("group")
        .child(tag("summary").child(title).child(note))
        .child(tag("noscript").child(table))
}
