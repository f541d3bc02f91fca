//! Memory against the values of a setting, as a line for the job on the page and one for the pinned job.

mod picture;
mod save;
mod values;
mod work;

use leptos::prelude::*;

use crate::parts::{Panel, PanelHead};
use crate::state::{PLOT_TITLE, PlottedField, State};
use megatron_memory::config::fields::FieldId;
use megatron_memory::fit::PLOTTED;
use picture::PlotPicture;
use save::SaveButtons;
use values::ValueButtons;
use work::curves_of;

/// The panel: the settings that are asked for most, and the plot of one.
#[component]
pub(crate) fn PlotPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let PlottedField(plotted) = expect_context();
    let others = Memo::new(move |_| plotted.get().filter(|id| !PLOTTED.contains(id)));
    // A dense model has no experts to count.
    let is_relevant = move |id: FieldId| {
        let id = match id {
            FieldId::num_experts => FieldId::expert_model_parallel_size,
            id => id,
        };
        state.relevance.read().has(id)
    };
    view! {
        <Panel class="plot" title=PLOT_TITLE needs_result=false>
            <PanelHead id=PLOT_TITLE title="Memory against a setting" note="the fullest GPU, all else as it is" />
            <div class="plot-fields" role="group" aria-label="Setting">
                {PLOTTED
                    .into_iter()
                    .map(|id| {
                        view! {
                            <Show when=move || is_relevant(id)>
                                <Choice plotted id />
                            </Show>
                        }
                    })
                    .collect_view()}
                {move || others.get().map(|id| view! { <Choice plotted id /> })}
            </div>
            {move || plotted.get().map(|id| view! { <SettingPlot id has_pinned=true /> })}
        </Panel>
    }
}

/// The button of a setting; pressed again, it closes the plot.
#[component]
fn Choice(plotted: RwSignal<Option<FieldId>>, id: FieldId) -> impl IntoView {
    let is_shown = move || plotted.get() == Some(id);
    view! {
        <button
            type="button"
            data-field=id.field().key
            aria-pressed=move || is_shown().to_string()
            on:click=move |_| {
                let now = plotted.get_untracked();
                plotted.set(Some(id).filter(|id| now != Some(*id)));
            }
        >
            {id.field().label}
        </button>
    }
}

/// The plot of a setting, its values as buttons, and ways to keep it.
#[component]
pub(crate) fn SettingPlot(
    id: FieldId,
    /// Whether the pinned job has a line too, and there are files to save.
    #[prop(default = false)]
    has_pinned: bool,
    /// Whether no value can be applied.
    #[prop(default = false)]
    readonly: bool,
) -> impl IntoView {
    let (curves, is_done) = curves_of(id, has_pinned);
    let is_empty = move || {
        let curves = curves.read();
        let mut points = curves.iter().flat_map(|curve| &curve.sweep.points);
        is_done.get() && points.next().is_none()
    };
    view! {
        <div class="plot-of" data-field=id.field().key>
            <PlotPicture id curves readonly />
            <Show when=is_empty>
                <p class="panel-note">"No value of this setting is legal with the others as they are."</p>
            </Show>
            <ValueButtons id curves />
            {has_pinned.then(|| view! { <SaveButtons id curves /> })}
        </div>
    }
}
