//! Total, GPU and verdict.

use leptos::prelude::*;

use super::Headline;
use crate::state::{ResultsState, State};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::grouping::Grouping;
use megatron_memory::report::summary::Verdict;
use megatron_memory::units::Bytes;

/// What is said of the numbers of a job that cannot run, where there are some.
const EARLIER: &str = "these numbers are from the last settings that could run";

/// Total, GPU and verdict, and below them the buckets on one line.
#[component]
pub(super) fn Figures(
    headline: ReadSignal<Option<Headline>>,
    /// Whether the details of the numbers are shown.
    details_open: RwSignal<bool>,
) -> impl IntoView {
    let state = expect_context::<State>();
    let results = expect_context::<ResultsState>();
    let unit = state.preferences.unit;
    let scale = move || Scale::coarse(unit.get());
    let text = move |of: fn(&Headline, Scale) -> String| {
        let headline = headline.read();
        headline.as_ref().map(|headline| of(headline, scale()))
    };
    let verdict = Memo::new(move |_| {
        let verdict = headline.read().as_ref().map(|headline| headline.summary.verdict);
        Pill::of(state.link.broken.read().is_some(), state.stale.get(), verdict)
    });
    let headroom = move || match verdict.get() {
        Pill::CannotRun => headline.read().is_some().then(|| String::from(EARLIER)),
        Pill::Demonstration => Some(String::from("a demonstration is shown")),
        Pill::Verdict(_) => text(Headline::headroom),
    };
    view! {
        <div class="summary-head">
            <div data-verdict=move || verdict.get().style()>
                <div class="summary-figures">
                    <p class="total" hidden=move || headline.read().is_none()>
                        <strong data-testid="total">
                            {move || text(|headline, scale| scale.number(headline.summary.total))}
                        </strong>
                        <span>{move || format!(" {}", unit.get().symbol())}</span>
                        <span class="of" data-testid="device">
                            {move || text(|headline, _| format!(" {}", headline.beside_total))}
                        </span>
                        " "
                        <button
                            type="button"
                            class="tip"
                            aria-label="About these numbers"
                            aria-expanded=move || details_open.get().to_string()
                            on:click=move |event| {
                                event.prevent_default();
                                details_open.update(|open| *open = !*open);
                            }
                        >
                            "?"
                        </button>
                    </p>
                    <p class="verdict">
                        <svg viewBox="0 0 16 16" aria-hidden="true">
                            <path d=move || verdict.get().icon() />
                        </svg>
                        <strong data-testid="verdict">{move || verdict.get().words()}</strong>
                        <span class="headroom" data-testid="headroom">{headroom}</span>
                    </p>
                </div>
                {move || headline.read().as_ref().map(|headline| meter(headline, results.grouping.get()))}
            </div>
        </div>
    }
}

/// The text of the pill beside the total.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pill {
    /// The verdict on a job that can run.
    Verdict(Verdict),
    /// The link is broken, and the verdict would be that on a demonstration.
    Demonstration,
    /// The job cannot run, so that there is no verdict on it.
    CannotRun,
}

impl Pill {
    /// What is said of a job with this verdict. Numbers are stale where the settings on the page have none.
    fn of(broken_link: bool, stale: bool, verdict: Option<Verdict>) -> Self {
        match (broken_link, stale) {
            (true, _) => Self::Demonstration,
            (false, true) => Self::CannotRun,
            (false, false) => Self::Verdict(verdict.unwrap_or(Verdict::Unknown)),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Verdict(Verdict::NotThisJob) => "Estimate of another job:",
            Self::Verdict(verdict) => verdict.words(),
            Self::Demonstration => "Broken link",
            Self::CannotRun => "Cannot run",
        }
    }

    /// The name in style sheets.
    const fn style(self) -> &'static str {
        match self {
            Self::Verdict(verdict) => verdict.style(),
            Self::Demonstration | Self::CannotRun => "refused",
        }
    }

    /// The outline of the icon.
    const fn icon(self) -> &'static str {
        match self {
            Self::Verdict(Verdict::Fits) => "M3 8.5l3.5 3.5L13 4.5",
            Self::Verdict(Verdict::Tight) => "M8 3v6M8 12v1",
            Self::Verdict(Verdict::DoesNotFit | Verdict::Refused(_)) | Self::Demonstration | Self::CannotRun => {
                "M4 4l8 8M12 4l-8 8"
            }
            Self::Verdict(Verdict::NotThisJob) => "M4 6h8M4 10h8M11 3L5 13",
            Self::Verdict(Verdict::Unknown) => "M4 8h8",
        }
    }
}

/// The buckets of the fullest stage on one line, behind them the range that the device shows, and the GPU's memory as
/// its end or as a mark in it.
fn meter(headline: &Headline, grouping: Grouping) -> impl IntoView + use<> {
    let gpu = headline.summary.gpu_memory();
    let (_, device) = headline.summary.device;
    let full = device.max(gpu.unwrap_or_default()).0.max(1);
    // A thousandth is finer than any screen.
    let share = |part: u64| u128::from(part) * 1000 / u128::from(full);
    let mut end = 0_u64;
    let parts = grouping.segments();
    let parts = parts.map(|segment| {
        let held = |bucket: Bucket| headline.memory.get(bucket as usize).copied().unwrap_or_default();
        let bytes = segment.bytes(held);
        let from = share(end);
        end = end.saturating_add(bytes.0);
        let to = share(end);
        (bytes > Bytes::ZERO).then(|| {
            view! {
                <polygon
                    class=format!("meter-part {}", segment.class().names())
                    points=format!("{from},0 {to},0 {to},10 {from},10")
                />
            }
        })
    });
    let parts = parts.flatten().collect_view();
    let (from, to) = (share(headline.summary.total.0), share(device.0));
    let mark = gpu.map(|gpu| view! { <path class="meter-mark" d=format!("M{} -4V14", share(gpu.0)) /> });
    view! {
        <svg class="meter" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            {parts}
            <polygon class="meter-device" points=format!("{from},0 {to},0 {to},10 {from},10") />
            {mark}
        </svg>
    }
}

#[cfg(test)]
mod tests {
    use super::Pill;
    use megatron_memory::config::check;
    use megatron_memory::config::raw::RawJob;
    use megatron_memory::report::summary::{Standing, Verdict};
    use wasm_bindgen_test::wasm_bindgen_test;

    /// What the table of standings says of its jobs.
    #[wasm_bindgen_test(unsupported = test)]
    fn the_headline_says_what_checks_say() {
        let table = include_str!("../../../tests/standings.jsonl");
        for line in table.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let job: RawJob = serde_json::from_value(row["job"].clone()).unwrap_or_default();
            let checked = check(&job);
            let standing = checked.config.as_ref().map(Standing::of);
            let pill = Pill::of(
                false,
                checked.config.is_none(),
                standing.map(|standing| standing.verdict),
            );
            let words = match row["verdict"].as_str() {
                None => Verdict::Unknown.words(),
                Some("fits") => Verdict::Fits.words(),
                Some("tight") => Verdict::Tight.words(),
                Some("does_not_fit") => Verdict::DoesNotFit.words(),
                Some("not_this_job") => "Estimate of another job:",
                Some(_) => "Cannot run",
            };
            assert_eq!(pill.words(), words, "{line}");
        }
    }
}
