//! All pipeline stages in one chart, and what the reader points at in one line.

use leptos::prelude::*;

use super::chart::{Chart, MarkRole};
use super::legend::Legend;
use crate::parts::{InSight, InTurn, Panel, PanelHead};
use crate::state::{Highlight, ResultsState};
use megatron_memory::report::charts::{Subject, stage_bars};
use megatron_memory::report::readout::{Readout, readout};
use megatron_memory::report::scene::Px;
use megatron_memory::report::target::Target;

/// The chart of all stages with its line of data and its legend.
#[component]
pub(crate) fn StagesPanel() -> impl IntoView {
    view! {
        <Panel class="stages" title="stages-title">
            <PanelHead id="stages-title" title="Pipeline stages" note="memory of one GPU of each stage" />
            <Chart
                id="stages"
                draw=|results, width| results.with_subject(width, stage_bars::CHART.draw)
                role=MarkRole::Choice
                in_sight=InSight::AtOnce
            />
            <InTurn>
                <ReadoutLine />
                <Legend />
            </InTurn>
        </Panel>
    }
}

/// The data of what is highlighted; none where nothing is.
pub(crate) fn pointed_at() -> Memo<Option<Readout>> {
    let results = expect_context::<ResultsState>();
    let highlight = expect_context::<Highlight>();
    Memo::new(move |_| {
        let target = highlight.target()?;
        let data = |subject: &Subject<'_>| readout(subject, &target);
        results.with_subject_and_lines(Px::ZERO, data).flatten()
    })
}

/// The data of what is highlighted, or else of the shown stage.
#[component]
fn ReadoutLine() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let pointed = pointed_at();
    let data = Memo::new(move |_| {
        let of_stage = || {
            let data = results.with_subject(Px::ZERO, |subject| readout(subject, &Target::stage(subject.stage)));
            data.flatten()
        };
        pointed.get().or_else(of_stage)
    });
    view! {
        <div class="readout">
            {move || {
                data.get().map(|data| view! {
                    <span>{data.name}</span>
                    <strong>{data.amount}</strong>
                    <span class="readout-detail">{data.detail}</span>
                })
            }}
        </div>
    }
}
