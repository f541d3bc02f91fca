//! Ways to check the estimate: what was measured elsewhere, and a script that measures this job on one GPU.

use leptos::prelude::*;

use crate::browser::{self, files};
use crate::parts::{Panel, PanelHead};
use crate::state::State;
use megatron_memory::export::{ExportFormat, ExportOptions, export_text};

/// The id of the title of the panel with what was measured.
const EVIDENCE_TITLE: &str = "evidence-title";
/// The id of the title of the panel with the script.
const ONE_GPU_TITLE: &str = "one-gpu-title";
/// The name of the script among the formats of exports.
const ONE_GPU: &str = "one_gpu";

/// The pages with measured runs, recipes and formulas: addresses beside the calculator and what they hold.
const PAGES: [(&str, &str); 4] = [
    ("./evidence.html", "Measured runs beside their predictions"),
    ("./recipes.html", "Every recipe that Megatron-Bridge publishes"),
    ("./fewest-gpus.html", "The fewest GPUs for every model"),
    ("./formulas.html", "The formulas and every term"),
];

/// Links to the pages of evidence.
#[component]
pub(crate) fn EvidencePanel() -> impl IntoView {
    let links = PAGES.map(|(address, text)| view! { <li><a href=address>{text}</a></li> });
    view! {
        <Panel class="evidence" title=EVIDENCE_TITLE needs_result=false>
            <PanelHead id=EVIDENCE_TITLE title="Evidence" note="how far off the estimate was elsewhere" />
            <ul class="links">{links.into_iter().collect_view()}</ul>
        </Panel>
    }
}

/// The script that measures one rank of this job on one GPU.
#[component]
pub(crate) fn OneGpuPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let download = move |_| match script(state) {
        Ok(text) => files::save_text("check_on_one_gpu.sh", &text),
        Err(reason) => state.toasts.tell(format!("No script: {reason}")),
    };
    view! {
        <Panel class="one-gpu" title=ONE_GPU_TITLE>
            <PanelHead
                id=ONE_GPU_TITLE
                title="Measure it on one GPU"
                note="one GPU stands in for one rank, so no cluster is needed"
            />
            <button type="button" data-testid="one-gpu" on:click=download>
                "Download the script"
            </button>
        </Panel>
    }
}

/// The script's text, or why there is none.
fn script(state: State) -> Result<String, String> {
    let format = ExportFormat::by_id(ONE_GPU).ok_or_else(|| String::from("there is no such format."))?;
    let share = state.share_untracked();
    let module = share.setup.job.modules.get(state.form.module.get_untracked());
    let options = ExportOptions {
        module: module.map(|module| module.name.clone()),
        page: browser::address(""),
        unit: state.preferences.unit.get_untracked(),
        ..ExportOptions::default()
    };
    export_text(&share, format, &options).map_err(|error| error.to_string())
}
