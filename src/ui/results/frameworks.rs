//! The reports of the frameworks' own estimators for the same job, and why they differ.

use leptos::html::Div;
use leptos::prelude::*;

use crate::parts::{InSight, Panel, PanelHead, ScrollBox, Table, deferred_signal};
use crate::state::ResultsState;
use megatron_memory::framework_reports::differences::{Difference, Effect, differences};
use megatron_memory::framework_reports::job::{Amounts, reports};
use megatron_memory::memory::StageEstimate;
use megatron_memory::report::amount::Scale;
use megatron_memory::units::Bytes;

/// Both reports on the shown module.
#[derive(Clone, PartialEq)]
struct Reports {
    /// Of Megatron-LM and of Megatron-Bridge.
    amounts: [Amounts; 2],
    /// Why they differ from the estimate.
    reasons: Vec<Difference>,
    /// What the states of the stage that has most of them really take.
    states: Bytes,
}

/// The frameworks' reports beside the estimate.
#[component]
pub(crate) fn FrameworksPanel() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let place = NodeRef::<Div>::new();
    let reports = deferred_signal(
        place,
        InSight::AfterFrame,
        move || results.page.outcome.track(),
        move || Reports::of(results),
    );
    let is_known = Memo::new(move |_| reports.read().is_some());
    view! {
        <Panel class="frameworks" title="frameworks-title">
            <PanelHead
                id="frameworks-title"
                title="What the framework's log will print"
                note="closed formulas, so that you can match a log; not a prediction"
            />
            <div class="frameworks-reports" node_ref=place>
                <Show when=move || is_known.get()>
                    <ReportTable reports=reports />
                    <Reasons reports=reports />
                    <PrintedTexts reports=reports />
                </Show>
            </div>
        </Panel>
    }
}

/// The amounts that the reports name, and the estimate's own.
#[component]
fn ReportTable(reports: ReadSignal<Option<Reports>>) -> impl IntoView {
    let unit = expect_context::<ResultsState>().page.preferences.unit;
    let rows = move || {
        let scale = Scale::fine(unit.get());
        let reports = reports.read();
        reports.as_ref().map(|shown| {
            let rows = shown.amounts.iter();
            let rows = rows.map(|report| report_row(report, shown.states, scale));
            let ours = view! {
                <tr class="ours">
                    <th scope="row">"This page, the most of any stage"</th>
                    <td>{scale.amount(shown.states)}</td>
                    <td></td>
                    <td></td>
                </tr>
            };
            (rows.collect_view(), ours)
        })
    };
    view! {
        <ScrollBox titled_by="frameworks-title">
            <Table headings=["Report", "Weights and optimizer", "Against this page", "Activations"]>{rows}</Table>
        </ScrollBox>
    }
}

fn report_row(report: &Amounts, states: Bytes, scale: Scale) -> impl IntoView + use<> {
    let (amount, difference) = match &report.states {
        Ok(bytes) => (scale.amount(*bytes), scale.change(states, *bytes)),
        Err(error) => (error.to_string(), String::new()),
    };
    let activations = report.activations.map(|bytes| scale.amount(bytes));
    let activations = activations.unwrap_or_else(|| String::from("not printed"));
    view! {
        <tr>
            <th scope="row">{report.framework.name()}</th>
            <td>{amount}</td>
            <td>{difference}</td>
            <td>{activations}</td>
        </tr>
    }
}

/// Why the reports differ from the estimate, folded up.
#[component]
fn Reasons(reports: ReadSignal<Option<Reports>>) -> impl IntoView {
    let unit = expect_context::<ResultsState>().page.preferences.unit;
    let items = move || {
        let scale = Scale::fine(unit.get());
        let reports = reports.read();
        let reasons = reports.iter().flat_map(|shown| &shown.reasons);
        reasons.map(|difference| reason(difference, scale)).collect_view()
    };
    view! {
        <details>
            <summary>"Why different?"</summary>
            <ul class="reasons">{items}</ul>
        </details>
    }
}

fn reason(difference: &Difference, scale: Scale) -> impl IntoView + use<> {
    let effect = match difference.effect {
        Effect::Less(bytes) => format!("−{}", scale.amount(bytes)),
        Effect::More(bytes) => format!("+{}", scale.amount(bytes)),
        Effect::Unsaid => String::new(),
    };
    let frameworks = difference.frameworks.iter();
    let names: Vec<&str> = frameworks.map(|framework| framework.name()).collect();
    view! {
        <li>
            <span class="who">{names.join(", ")}</span>
            <span class="why">{difference.text.clone()}</span>
            <span class="effect">{effect}</span>
        </li>
    }
}

/// The output of the frameworks' estimators, word for word, folded up.
#[component]
fn PrintedTexts(reports: ReadSignal<Option<Reports>>) -> impl IntoView {
    let texts = move || {
        let reports = reports.read();
        let reports = reports.iter().flat_map(|shown| &shown.amounts);
        let printed = reports.filter(|report| !report.printed.is_empty());
        let texts = printed.map(|report| {
            view! {
                <h3>{report.framework.name()}</h3>
                <pre>{report.printed.clone()}</pre>
            }
        });
        texts.collect_view()
    };
    view! {
        <details>
            <summary>"The printed text"</summary>
            {texts}
        </details>
    }
}

impl Reports {
    fn of(results: ResultsState) -> Option<Self> {
        let outcome = results.page.outcome.read();
        let outcome = outcome.as_ref()?;
        let number = results.stage.get()?.module;
        let module = outcome.config.modules().get(number)?;
        let estimate = outcome.estimate.modules.get(number)?;
        Some(Self {
            amounts: reports(module).amounts(),
            reasons: differences(module, estimate),
            states: estimate.stages.iter().map(StageEstimate::states).max()?,
        })
    }
}
