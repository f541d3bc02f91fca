//! Total, GPU and verdict.

use leptos::prelude::*;

use super::Headline;
use crate::memory::bucket::Bucket;
use crate::report::amount::Scale;
use crate::report::summary::Verdict;
use crate::ui::state::State;
use crate::units::Bytes;

/// Total, GPU and verdict, and below them the buckets on one line.
#[component]
pub(super) fn Figures(headline: Memo<Option<Headline>>) -> impl IntoView {
    let unit = expect_context::<State>().unit;
    let scale = move || Scale::coarse(unit.get());
    let text = move |of: fn(&Headline, Scale) -> String| {
        let headline = headline.read();
        headline.as_ref().map(|headline| of(headline, scale()))
    };
    let verdict = Memo::new(move |_| {
        let headline = headline.read();
        headline
            .as_ref()
            .map_or(Verdict::Unknown, |headline| headline.summary.verdict)
    });
    view! {
        <div class="summary-head">
            <div data-verdict=move || verdict.get().style()>
                <div class="summary-figures">
                    <p class="total">
                        <strong data-testid="total">
                            {move || text(|headline, scale| scale.number(headline.summary.total))}
                        </strong>
                        <span>{move || format!(" {}", unit.get().symbol())}</span>
                        <span class="of" data-testid="device">
                            {move || text(|headline, scale| {
                                format!(" {}", headline.summary.device_words(scale))
                            })}
                        </span>
                    </p>
                    <p class="verdict">
                        <svg viewBox="0 0 16 16" aria-hidden="true">
                            <path d=move || icon(verdict.get()) />
                        </svg>
                        <strong data-testid="verdict">{move || verdict.get().words()}</strong>
                        <span class="headroom" data-testid="headroom">{move || text(Headline::headroom)}</span>
                    </p>
                </div>
                {move || headline.read().as_ref().map(meter)}
            </div>
        </div>
    }
}

/// The outline of a verdict's icon.
const fn icon(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "M3 8.5l3.5 3.5L13 4.5",
        Verdict::Tight => "M8 3v6M8 12v1",
        Verdict::DoesNotFit => "M4 4l8 8M12 4l-8 8",
        Verdict::Unknown | Verdict::NotThisJob => "M4 8h8",
    }
}

/// The buckets of the fullest stage on one line, behind them the range that the device shows, and the GPU's memory as its
/// end or as a mark in it.
fn meter(headline: &Headline) -> impl IntoView + use<> {
    let gpu = headline.summary.gpu;
    let (_, device) = headline.summary.device;
    let full = device.max(gpu.unwrap_or_default()).0.max(1);
    // A thousandth is finer than any screen.
    let share = |part: u64| u128::from(part) * 1000 / u128::from(full);
    let mut end = 0_u64;
    let parts = Bucket::ALL
        .iter()
        .zip(headline.memory)
        .map(|(bucket, bytes)| {
            let from = share(end);
            end = end.saturating_add(bytes.0);
            let to = share(end);
            (bytes > Bytes::ZERO).then(|| {
                view! {
                    <polygon
                        class=format!("meter-part bucket-{}", bucket.id())
                        points=format!("{from},0 {to},0 {to},10 {from},10")
                    />
                }
            })
        });
    let parts = parts.flatten().collect_view();
    let (from, to) = (share(headline.summary.total.0), share(device.0));
    let mark =
        gpu.map(|gpu| view! { <path class="meter-mark" d=format!("M{} -4V14", share(gpu.0)) /> });
    view! {
        <svg class="meter" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            {parts}
            <polygon class="meter-device" points=format!("{from},0 {to},0 {to},10 {from},10") />
            {mark}
        </svg>
    }
}
