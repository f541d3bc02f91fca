//! A mark of a chart: what the keyboard reaches, and what the pointer chooses.

use leptos::either::Either;
use leptos::ev::{KeyboardEvent, MouseEvent, PointerEvent};
use leptos::prelude::*;

use super::drawing::{self, with_lit};
use super::{ChartState, MarkRole, layers};
use crate::browser;
use crate::parts::passing_memo;
use megatron_memory::report::scene::Mark;
use megatron_memory::report::target::Target;

/// A mark of a chart.
#[component]
pub(super) fn ChartMark(
    chart: ChartState,
    /// Its number in the scene.
    number: usize,
) -> impl IntoView {
    let is_choice = chart.role == MarkRole::Choice;
    // Marks come and go with edits.
    let mark = passing_memo(move || chart.mark(number));
    let highlighted = passing_memo(move || chart.highlight.target());
    let is_tab_stop = passing_memo(move || chart.tab_stop.get() == number);
    let is_split = passing_memo(move || chart.is_split(mark.read().as_ref()?));
    let class = move || {
        let mark = mark.read();
        mark.as_ref().map(|mark| {
            let highlighted = highlighted.read();
            let is_lit = highlighted
                .as_ref()
                .is_some_and(|highlighted| highlighted.highlights(&mark.target));
            with_lit(&format!("mark {}", layers::class(mark)), is_lit)
        })
    };
    let chosen = move || mark.read().as_ref().is_some_and(|mark| mark.chosen);
    view! {
        <g
            id=mark_id(chart.id, number)
            class=class
            role=if is_choice { "option" } else { "button" }
            aria-selected=move || is_choice.then(|| chosen().to_string())
            aria-expanded=move || is_split.get().map(|is_split| is_split.to_string())
            aria-label=move || mark.read().as_ref().map(|mark| mark.label.clone())
            tabindex=move || if is_tab_stop.get() { "0" } else { "-1" }
            on:pointerover=move |event| chart.point(number, &event)
            on:pointermove=move |event| chart.point(number, &event)
            on:pointerleave=move |event| chart.point_nowhere(&event)
            on:focus=move |_| chart.focus(number)
            on:blur=move |_| chart.highlight.clear()
            on:click=move |event| chart.click(number, &event)
            on:keydown=move |event| chart.press(number, &event)
        >
            {move || mark.read().as_ref().map(|mark| contents(chart.id, mark, highlighted.read().as_ref()))}
        </g>
    }
}

/// The elements that a mark catches the pointer with: its reach, or all that it shows.
fn contents(chart: &str, mark: &Mark, highlighted: Option<&Target>) -> impl IntoView + use<> {
    match layers::reach(mark) {
        Some(reach) => Either::Left(drawing::element(reach, false)),
        None => Either::Right(drawing::list(chart, &mark.drawings, highlighted)),
    }
}

/// The id of a mark's element.
fn mark_id(chart: &str, number: usize) -> String {
    format!("{chart}-{number}")
}

impl ChartState {
    /// A mark; none where the scene has no such mark any more.
    fn mark(self, number: usize) -> Option<Mark> {
        self.scene.read().as_ref()?.marks.get(number).cloned()
    }

    /// The target that the mouse pointer is on within a mark: that of a part of it, or that of the whole mark.
    fn target_at(self, number: usize, event: &MouseEvent) -> Option<Target> {
        let scene = self.scene.read_untracked();
        let mark = scene.as_ref()?.marks.get(number)?;
        let part =
            browser::pointer_cell(event, layers::CELLS, layers::CELLS).and_then(|cell| layers::target_at(mark, cell));
        Some(part.unwrap_or(&mark.target).clone())
    }

    fn point(self, number: usize, event: &PointerEvent) {
        if browser::is_mouse(event) {
            self.highlight.set(self.target_at(number, event));
        }
    }

    /// Chooses the part that was clicked or tapped, which stays highlighted.
    fn click(self, number: usize, event: &MouseEvent) {
        if let Some(target) = self.target_at(number, event) {
            event.prevent_default();
            self.choose(&target);
            self.highlight.set(Some(target));
        }
    }

    /// Whether a mark's group of buckets is split; none for a mark that is no group.
    fn is_split(self, mark: &Mark) -> Option<bool> {
        let group = mark.target.group()?;
        (self.role == MarkRole::Buttons).then(|| self.results.grouping.get().splits(group))
    }

    /// Shows and explains a target. Where marks are buttons, that of a group splits it or puts it together.
    fn choose(self, target: &Target) {
        self.results.choose(target);
        if let Some(group) = target.group()
            && self.role == MarkRole::Buttons
        {
            self.results.toggle(group);
        }
    }

    fn focus(self, number: usize) {
        self.focused.set(number);
        self.highlight.set(self.target(number));
    }

    /// Moves the focus between marks, or chooses one.
    fn press(self, number: usize, event: &KeyboardEvent) {
        let marks = self.scene.read_untracked();
        let marks = marks.as_ref().map_or(0, |scene| scene.marks.len());
        let last = marks.saturating_sub(1);
        let to = match browser::key(event).as_str() {
            "ArrowLeft" | "ArrowUp" => number.saturating_sub(1),
            "ArrowRight" | "ArrowDown" => (number + 1).min(last),
            "Home" => 0,
            "End" => last,
            "Enter" | " " => number,
            _ => return,
        };
        event.prevent_default();
        self.focused.set(to);
        if (to == number || self.role == MarkRole::Choice)
            && let Some(target) = self.target(to)
        {
            self.choose(&target);
        }
        browser::focus(mark_id(self.id, to));
    }

    /// The target of a mark.
    fn target(self, number: usize) -> Option<Target> {
        let scene = self.scene.read_untracked();
        Some(scene.as_ref()?.marks.get(number)?.target.clone())
    }
}
