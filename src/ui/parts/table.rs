//! Tables.

use leptos::oco::Oco;
use leptos::prelude::*;
use leptos::text_prop::TextProp;

/// The headings of columns.
#[derive(Clone, Debug, Default)]
pub struct Headings(Vec<Oco<'static, str>>);

impl<T: Into<Oco<'static, str>>, const COUNT: usize> From<[T; COUNT]> for Headings {
    fn from(headings: [T; COUNT]) -> Self {
        Self(headings.into_iter().map(Into::into).collect())
    }
}

/// Headings behind those that are plain texts, or in place of them: `<th>` elements.
#[slot]
pub struct MoreHeadings {
    children: Children,
}

/// A table. `children` are its rows.
#[component]
pub fn Table(
    /// The headings of the columns; a table without any has no head.
    #[prop(default = Headings::default(), into)]
    headings: Headings,
    #[prop(optional)] more_headings: Option<MoreHeadings>,
    /// What the table shows.
    #[prop(optional, into)]
    caption: Option<TextProp>,
    /// Whether screen readers alone get the caption, because a heading beside the table says the same.
    #[prop(default = false)]
    caption_unseen: bool,
    /// How many rows there are with the head, where not all of them are in the page.
    #[prop(optional, into)]
    row_count: Option<Signal<usize>>,
    /// How tests find the rows.
    #[prop(optional)]
    rows_test_id: Option<&'static str>,
    children: Children,
) -> impl IntoView {
    let caption = caption.map(|caption| {
        view! { <caption class:unseen=caption_unseen>{move || caption.get()}</caption> }
    });
    let has_head = !headings.0.is_empty() || more_headings.is_some();
    let head = has_head.then(|| {
        let headings = headings.0.into_iter();
        let headings = headings.map(|heading| view! { <th scope="col">{heading}</th> });
        view! {
            <thead>
                <tr aria-rowindex=row_count.map(|_| "1")>
                    {headings.collect_view()}
                    {more_headings.map(|more| (more.children)())}
                </tr>
            </thead>
        }
    });
    view! {
        <table aria-rowcount=row_count.map(|count| move || count.get())>
            {caption}
            {head}
            <tbody data-testid=rows_test_id>{children()}</tbody>
        </table>
    }
}

/// A cell for each text.
pub fn text_cells(texts: impl IntoIterator<Item = impl Into<Oco<'static, str>>>) -> impl IntoView {
    let cells = texts.into_iter().map(Into::into);
    let cells = cells.map(|text: Oco<'static, str>| view! { <td>{text}</td> });
    cells.collect_view()
}

/// A box that scrolls sideways by itself, with keys too.
#[component]
pub fn ScrollBox(
    /// The id of the element that names it.
    #[prop(optional)]
    titled_by: Option<&'static str>,
    /// Its name, where no element has it.
    #[prop(optional)]
    label: Option<&'static str>,
    children: Children,
) -> impl IntoView {
    view! {
        <div class="table-scroll" tabindex="0" role="group" aria-labelledby=titled_by aria-label=label>
            {children()}
        </div>
    }
}
