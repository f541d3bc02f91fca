//! The shown stage: its parts, and the explanation of one number.

use super::super::browser;
use super::super::shown::{Gesture, Piece, frame, shown};
use super::explain::explanation;
use super::panel::head as head_of;
use super::panel::panel;
use super::peaks;
use super::picture::{Purpose, number, picture};
use super::view::View;
use crate::report::charts::{Chart, buckets, components, timeline};
use crate::report::markup::{Markup, tag};
use crate::report::readout::readout;
use crate::report::scene::{Px, Scene};
use crate::report::target::Target;
use leptos::prelude::*;

/// The ways to look at a stage, each a tab.
const TABS: [Chart; 3] = [buckets::CHART, components::CHART, timeline::CHART];

/// The shown stage.
pub(super) fn detail(view: View) -> Piece {
    let parts = frame(
        tag("div")
            .with("id", "stage-parts")
            .with("role", "tabpanel")
            .with("aria-label", "Parts of the stage"),
        vec![
            picture(view, "parts", chart, Purpose::Buttons),
            peaks::peaks(view),
        ],
    );
    let columns = tag("div").class("detail-columns");
    let head = shown(
        "panel-head",
        move || head(&view),
        move |gesture| act(&view, gesture),
    );
    let inside = vec![head, frame(columns, vec![parts, explanation(view)])];
    panel("panel detail", "detail-title", inside)
}

/// The chart of the open tab.
fn chart(view: &View, width: Px) -> Option<Scene> {
    let chart = TABS.get(tab(view)).unwrap_or(&buckets::CHART);
    view.with_lines(width, chart.draw)
}

/// The stage over the steps of one iteration, by itself.
pub(in super::super) fn over_time(view: View) -> Piece {
    let title = "Memory of a stage over one iteration";
    let head = head_of("timeline-title", title, "the fullest stage, step by step");
    let draw = |view: &View, width| view.with(width, timeline::CHART.draw);
    let chart = picture(view, "timeline", draw, Purpose::Buttons);
    panel("panel", "timeline-title", vec![head, chart])
}

/// The open tab; a link without one means the first.
fn tab(view: &View) -> usize {
    let name = view.state.tab.read();
    TABS.iter()
        .position(|chart| Some(chart.id) == name.as_deref())
        .unwrap_or(0)
}

fn open(view: &View, i: usize) {
    let chart = TABS.get(i).filter(|_| i > 0);
    view.state.tab.set(chart.map(|chart| chart.id.to_owned()));
}

fn head(view: &View) -> Vec<Markup> {
    let line = view.with(Px::ZERO, |subject| {
        let worst = subject.estimate.worst == subject.stage;
        readout(subject, &Target::stage(subject.stage)).map(|line| (line, worst))
    });
    let Some((line, worst)) = line.flatten() else {
        return Vec::new();
    };
    let title = tag("h2")
        .with("id", "detail-title")
        .with("data-testid", "stage")
        .text(line.name);
    let note = tag("p")
        .class("panel-note")
        .text(format!("{} · {}", line.amount, line.detail));
    let place = if worst {
        tag("span").class("tag").text("fullest")
    } else {
        tag("button")
            .with("type", "button")
            .class("link")
            .with("data-at", "fullest")
            .text("Back to the fullest")
    };
    let tabs = TABS.iter().enumerate().map(|(i, chart)| {
        let chosen = tab(view) == i;
        tag("button")
            .with("type", "button")
            .with("role", "tab")
            .with("id", tab_id(i))
            .with("aria-controls", "stage-parts")
            .with("aria-selected", if chosen { "true" } else { "false" })
            .with("tabindex", if chosen { "0" } else { "-1" })
            .with("data-at", i.to_string())
            .text(chart.title)
    });
    let list = tag("div")
        .class("tabs")
        .with("role", "tablist")
        .with("aria-label", "Parts of the stage");
    vec![title, note, place, list.children(tabs)]
}

fn act(view: &View, gesture: Gesture<'_>) -> bool {
    match gesture {
        Gesture::Choose("fullest") => view.state.stage.set(None),
        Gesture::Choose(place) => open(view, number(place).unwrap_or(0)),
        Gesture::Press(place, key) if place != "fullest" => {
            let (now, last) = (number(place).unwrap_or(0), TABS.len() - 1);
            let to = match key {
                "ArrowLeft" => now.checked_sub(1).unwrap_or(last),
                "ArrowRight" if now < last => now + 1,
                "ArrowRight" | "Home" => 0,
                "End" => last,
                _ => return false,
            };
            open(view, to);
            browser::focus(tab_id(to));
            return true;
        }
        _ => {}
    }
    false
}

fn tab_id(i: usize) -> String {
    format!("tab-{i}")
}
