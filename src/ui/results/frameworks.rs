//! What the frameworks' own estimators print for the same job, and why they differ.

use leptos::prelude::*;

use super::view::view;
use crate::framework_reports::differences::{Difference, Effect, differences};
use crate::framework_reports::job::{Amounts, reports};
use crate::memory::StageEstimate;
use crate::report::amount::Scale;
use crate::units::Bytes;

/// Both reports of the shown module.
#[derive(Clone, PartialEq)]
struct Shown {
    reports: [Amounts; 2],
    reasons: Vec<Difference>,
    /// What the states of the stage that has most of them really take.
    states: Bytes,
}

/// The frameworks' reports beside the estimate.
#[component]
pub(super) fn Frameworks() -> impl IntoView {
    let view = view();
    let shown = Memo::new(move |_| {
        let outcome = view.state.outcome.read();
        let outcome = outcome.as_ref()?;
        let module = view.stage.get()?.module;
        let (m, estimate) = (
            outcome.config.modules().get(module)?,
            outcome.estimate.modules.get(module)?,
        );
        let states = estimate.stages.iter().map(StageEstimate::states).max()?;
        Some(Shown {
            reports: reports(m).amounts(),
            reasons: differences(m, estimate),
            states,
        })
    });
    let scale = move || Scale::fine(view.state.unit.get());
    let rows = move || {
        let (shown, scale) = (shown.read(), scale());
        let rows = shown
            .iter()
            .flat_map(|shown| shown.reports.iter().map(move |r| (r, shown.states)));
        rows.map(|(report, states)| row(report, states, scale))
            .collect_view()
    };
    let ours = move || {
        shown
            .read()
            .as_ref()
            .map(|shown| scale().amount(shown.states))
    };
    let reasons = move || {
        let (shown, scale) = (shown.read(), scale());
        let reasons = shown.iter().flat_map(|shown| &shown.reasons);
        reasons
            .map(|difference| reason(difference, scale))
            .collect_view()
    };
    let printed = move || {
        let shown = shown.read();
        let reports = shown.iter().flat_map(|shown| &shown.reports);
        reports
            .filter(|report| !report.printed.is_empty())
            .map(|report| view! { <h3>{report.framework.name()}</h3> <pre>{report.printed.clone()}</pre> })
            .collect_view()
    };
    view! {
        <section class="panel frameworks" aria-labelledby="frameworks-title">
            <header class="panel-head">
                <h2 id="frameworks-title">"What the framework's log will print"</h2>
                <p class="panel-note">"closed formulas, shown to match a log; not a prediction"</p>
            </header>
            <div class="table-scroll" tabindex="0" role="region" aria-labelledby="frameworks-title">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Report"</th>
                            <th scope="col">"Weights and optimizer"</th>
                            <th scope="col">"Against this page"</th>
                            <th scope="col">"Activations"</th>
                        </tr>
                    </thead>
                    <tbody>
                        {rows}
                        <tr class="ours">
                            <th scope="row">"This page"</th>
                            <td>{ours}</td>
                            <td></td>
                            <td></td>
                        </tr>
                    </tbody>
                </table>
            </div>
            <details>
                <summary>"Why different?"</summary>
                <ul class="reasons">{reasons}</ul>
            </details>
            <details>
                <summary>"The printed text"</summary>
                {printed}
            </details>
        </section>
    }
}

fn row(report: &Amounts, states: Bytes, scale: Scale) -> impl IntoView + use<> {
    let (amount, difference) = match &report.states {
        Ok(bytes) => (scale.amount(*bytes), signed(*bytes, states, scale)),
        Err(error) => (error.to_string(), String::new()),
    };
    view! {
        <tr>
            <th scope="row">{report.framework.name()}</th>
            <td>{amount}</td>
            <td>{difference}</td>
            <td>{report.activations.map_or_else(|| String::from("not printed"), |bytes| scale.amount(bytes))}</td>
        </tr>
    }
}

/// How much more or less than another amount, with sign and share.
fn signed(amount: Bytes, than: Bytes, scale: Scale) -> String {
    let off = Bytes(amount.0.abs_diff(than.0));
    let sign = match amount.cmp(&than) {
        _ if scale.steps(off) == 0 => return String::from("the same"),
        core::cmp::Ordering::Less => "−",
        _ => "+",
    };
    format!(
        "{sign}{} ({sign}{})",
        scale.amount(off),
        crate::report::amount::percent(off, than)
    )
}

fn reason(difference: &Difference, scale: Scale) -> impl IntoView + use<> {
    let effect = match difference.effect {
        Effect::Less(bytes) => format!("−{}", scale.amount(bytes)),
        Effect::More(bytes) => format!("+{}", scale.amount(bytes)),
        Effect::Unsaid => String::new(),
    };
    let names: Vec<&str> = difference
        .frameworks
        .iter()
        .map(|framework| framework.name())
        .collect();
    view! {
        <li>
            <span class="who">{names.join(", ")}</span>
            <span class="why">{difference.text.clone()}</span>
            <span class="effect">{effect}</span>
        </li>
    }
}
