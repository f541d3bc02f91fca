//! Parts that views are made of.
//!
//! Leptos makes code for every type that a view is built from, and every closure is a type of its own. What the
//! functions here return has one type whatever closure goes in, which keeps the page small.

use leptos::ev::{Event, MouseEvent};
use leptos::prelude::*;

/// A text that follows the state.
pub(crate) fn text(read: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    Signal::derive(read)
}

/// A yes or no that follows the state.
pub(crate) fn yes(read: impl Fn() -> bool + Send + Sync + 'static) -> Signal<bool> {
    Signal::derive(read)
}

/// A yes or no as the value of an ARIA attribute.
pub(crate) fn aria(read: impl Fn() -> bool + Send + Sync + 'static) -> Signal<String> {
    text(move || String::from(if read() { "true" } else { "false" }))
}

/// A value that is worked out when what it reads changes, and tells on only when it has become another.
pub(crate) fn memo<T>(read: impl Fn() -> T + Send + Sync + 'static) -> Memo<T>
where
    T: PartialEq + Send + Sync + 'static,
{
    erased(Box::new(read))
}

fn erased<T>(read: Box<dyn Fn() -> T + Send + Sync>) -> Memo<T>
where
    T: PartialEq + Send + Sync + 'static,
{
    Memo::new(move |_| read())
}

/// A part of the page that is drawn anew when what it reads changes.
pub(crate) fn block(
    draw: impl FnMut() -> AnyView + Send + 'static,
) -> Box<dyn FnMut() -> AnyView + Send> {
    Box::new(draw)
}

/// What a click does.
pub(crate) fn click(mut act: impl FnMut() + 'static) -> Box<dyn FnMut(MouseEvent)> {
    Box::new(move |_| act())
}

/// What a new value of a control does.
pub(crate) fn input(take: impl FnMut(Event) + 'static) -> Box<dyn FnMut(Event)> {
    Box::new(take)
}

/// A part of the page that is there only as long as `open`.
pub(crate) fn block_if(
    open: impl Fn() -> bool + Send + Sync + 'static,
    mut draw: impl FnMut() -> AnyView + Send + 'static,
) -> Box<dyn FnMut() -> AnyView + Send> {
    let open = memo(open);
    block(move || if open.get() { draw() } else { ().into_any() })
}

/// A button that is there unless `hidden`.
pub(crate) fn button(
    class: &'static str,
    label: impl Into<String>,
    hidden: Signal<bool>,
    act: impl FnMut() + 'static,
) -> AnyView {
    plain_button(class, label.into(), hidden, click(act))
}

fn plain_button(
    class: &'static str,
    label: String,
    hidden: Signal<bool>,
    act: Box<dyn FnMut(MouseEvent)>,
) -> AnyView {
    view! { <button type="button" class=class hidden=hidden on:click=act>{label}</button> }
        .into_any()
}

/// An entry of a list to choose from.
pub(crate) fn option(value: &'static str, label: &'static str, chosen: Signal<bool>) -> AnyView {
    view! { <option value=value prop:selected=chosen>{label}</option> }.into_any()
}
