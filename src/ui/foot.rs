//! What the numbers stand on, and where to say that one is wrong.

use core::fmt::Write;

use super::browser;
use super::draw::{button, dialog};
use super::link;
use super::shown::{Gesture, Piece, shown};
use super::state::State;
use super::summary;
use crate::report::markup::{Markup, tag};
use crate::source::{MEGATRON_BRIDGE_REVISION, MEGATRON_LM_REVISION};
use leptos::prelude::*;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where reports go; empty for a copy of the page that nobody has published.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The id of the dialog with the report.
const REPORT: &str = "report";

/// The last line of the page.
pub(super) fn foot(state: State) -> Piece {
    let report = RwSignal::new(String::new());
    let act = move |gesture: Gesture<'_>| {
        match gesture {
            Gesture::Choose("open") => {
                report.set(untrack(|| text(state)));
                browser::open_dialog(REPORT);
            }
            Gesture::Choose("copy") => {
                let notices = state.notices;
                browser::copy(&report.get_untracked(), move |copied| {
                    notices.tell(if copied {
                        "The report is on the clipboard."
                    } else {
                        "The browser denies copying."
                    });
                });
            }
            _ => {}
        }
        false
    };
    shown("whole", move || draw(&report.read()), act)
}

fn draw(report: &str) -> Vec<Markup> {
    let short = |revision: &'static str| revision.get(..8).unwrap_or(revision);
    let stands_on = format!(
        "Megatron Memory {VERSION}, after Megatron-LM {} and Megatron-Bridge {}.",
        short(MEGATRON_LM_REVISION),
        short(MEGATRON_BRIDGE_REVISION)
    );
    let wrong = button("open", "link", "Report a wrong estimate");
    let foot = tag("footer")
        .class("foot")
        .child(tag("p").text(stands_on))
        .child(wrong.with("aria-haspopup", "dialog"));
    let why = "Add what was measured and send it along; nothing leaves this page by itself.";
    let copy = tag("textarea")
        .with("aria-label", "Report")
        .with("readonly", "")
        .with("rows", "9")
        .with("value", report.to_owned());
    let mut inside = vec![
        tag("p").text(why),
        copy,
        button("copy", "", "Copy the report"),
    ];
    if !REPOSITORY.is_empty() {
        let address = format!(
            "{REPOSITORY}/issues/new?title=Wrong%20estimate&body={}",
            escaped(report)
        );
        let link = tag("a").with("target", "_blank").with("rel", "noopener");
        inside.push(link.with("href", address).text("Open an issue with it"));
    }
    vec![foot, dialog(REPORT, "Report a wrong estimate", inside)]
}

/// The report as far as the page can write it.
fn text(state: State) -> String {
    format!(
        "{}\n\nPredicted: {}\nMeasured: \nMeasured with: \n\nMegatron Memory {VERSION}\nMegatron-LM {MEGATRON_LM_REVISION}\n",
        link::address(state),
        summary::sentence(state),
    )
}

/// A text as a part of an address.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            escaped.push(byte.into());
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
