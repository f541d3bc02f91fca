//! A plot as files: SVG, PNG and CSV.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::picture::plot;
use crate::browser::{files, picture};
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::export::{plot_csv, plot_svg};
use megatron_memory::report::curves::{Curve, Plot};
use megatron_memory::report::scene::Px;

/// The width of a saved plot.
const WIDTH: Px = Px::of(960);

/// The buttons that save the plot.
#[component]
pub(super) fn SaveButtons(id: FieldId, curves: RwSignal<Vec<Curve>>) -> impl IntoView {
    let state = expect_context::<State>();
    let name = move |extension: &str| format!("memory-{}.{extension}", id.field().key);
    let write = move |write: fn(&Plot<'_>, &str) -> String| {
        let curves = curves.read_untracked();
        let unit = state.preferences.unit.get_untracked();
        write(&plot(id, &curves, unit, WIDTH), &untrack(|| state.address()))
    };
    let save_png = move |_| {
        let svg = write(plot_svg);
        let name = name("png");
        spawn_local(async move {
            if picture::save_png(name, svg).await.is_err() {
                state.toasts.tell("The browser cannot draw the picture.");
            }
        });
    };
    view! {
        <div class="plot-files" role="group" aria-label="Save the plot">
            <button type="button" class="link" name="plot-svg" on:click=move |_| files::save_text(&name("svg"), &write(plot_svg))>"SVG"</button>
            <button type="button" class="link" name="plot-png" on:click=save_png>"PNG"</button>
            <button type="button" class="link" name="plot-csv" on:click=move |_| files::save_text(&name("csv"), &write(plot_csv))>"CSV"</button>
        </div>
    }
}
