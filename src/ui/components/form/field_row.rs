//! One field with everything around its control: label, Megatron's flag, help, reset, problems.

use super::control::FieldControl;
use super::field_help::FieldHelp;
use super::ids::control_id;
use super::pattern_note::PatternNote;
use super::problem_note::{ProblemHint, ProblemNote};
use super::stepping::StepNote;
use crate::browser;
use crate::lazy_parts::LazyPart;
use crate::state::{PlottedField, State};
use crate::values::shown;
use leptos::either::Either;
use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use leptos::prelude::*;
use megatron_memory::config::field::{Field, Kind};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::{Fix, Severity};

/// A row of the form.
#[component]
pub fn FieldRow(id: FieldId) -> impl IntoView {
    let state = expect_context::<State>();
    let field = id.field();
    let control = control_id(field);
    let changed = Memo::new(move |_| state.is_changed([id].into_iter()));
    let problems = Memo::new(move |_| state.problems_of(id));
    let invalid = Memo::new(move |_| {
        let problems = problems.read();
        problems.iter().any(|problem| problem.severity == Severity::Error)
    });
    let help_open = RwSignal::new(false);
    let help = NodeRef::<Div>::new();
    let unit = match id.field() {
        presentation if presentation.unit == presentation.label => "",
        presentation => presentation.unit,
    };
    let fix = Callback::new(move |fix: Fix| {
        state.set(fix.field, fix.value);
        // The button goes with the problem; the focus must not be lost with it.
        browser::focus(control_id(field));
    });
    let step_note = StepNote::provide();
    let told = move || {
        let told = problems.get().into_iter();
        let told = told.map(|problem| match state.told_at(&problem) {
            Some(told_at) if told_at != id => Either::Left(view! {
                <ProblemHint problem id told_at on_fix=fix />
            }),
            _ => Either::Right(view! { <ProblemNote problem on_fix=fix /> }),
        });
        told.collect_view()
    };
    let close_help = move |event: KeyboardEvent| {
        if event.key() == "Escape" && help_open.get_untracked() {
            event.prevent_default();
            if help.get_untracked().is_some_and(|help| browser::has_focus(&help)) {
                browser::focus(control_id(field));
            }
            help_open.set(false);
        }
    };
    view! {
        <div
            class="field"
            class:field-wide=is_wide(id)
            class:field-changed=changed
            class:field-invalid=invalid
            id=format!("row-{}", field.key)
            on:keydown=close_help
        >
            <FieldName id changed help_open />
            <div class="field-control">
                <FieldControl id invalid />
                <span class="unit">{unit}</span>
            </div>
            <FieldHelp id open=help_open element=help />
            <div class="field-problems" id=format!("{control}-problems")>
                <PatternNote id />
                {told}
                {move || step_note.text().map(|text| view! { <p class="step-note">{text}</p> })}
            </div>
            {(id == FieldId::hybrid_layer_pattern).then(|| LazyPart::PatternEditor.view())}
        </div>
    }
}

/// Whether the control needs the whole line.
fn is_wide(id: FieldId) -> bool {
    matches!(id.field().kind, Kind::Set(_) | Kind::LayerPattern)
        || matches!(
            id,
            FieldId::pipeline_model_parallel_layout | FieldId::hybrid_layer_pattern | FieldId::layer_sizes
        )
}

/// The label and what stands beside it.
#[component]
fn FieldName(id: FieldId, changed: Memo<bool>, help_open: RwSignal<bool>) -> impl IntoView {
    let state = expect_context::<State>();
    let field = id.field();
    let label = id.field().label;
    let control = control_id(field);
    // A group of checkboxes has no single control that a label could point at.
    let labeled = (!matches!(field.kind, Kind::Set(_))).then(|| control.clone());
    let base = Memo::new(move |_| match shown(field, state.base(id).as_ref()) {
        text if text.is_empty() => String::from("Reset to nothing"),
        text => format!("Reset to {text}"),
    });
    let reset = move |_| {
        state.reset([id]);
        browser::focus(control_id(field));
    };
    view! {
        <div class="field-name">
            <label id=format!("{control}-label") for=labeled>
                {label}
            </label>
            <span class="tips">
                <button
                    type="button"
                    class="tip"
                    aria-label=format!("About {label}")
                    aria-expanded=move || help_open.get().to_string()
                    aria-controls=format!("{control}-help")
                    on:click=move |_| help_open.update(|open| *open = !*open)
                >
                    "?"
                </button>
                {is_plottable(field).then(|| view! { <PlotButton id /> })}
            </span>
            <button
                type="button"
                class="reset"
                class:gone=move || !changed.get()
                aria-label=format!("Reset {label}")
                title=base
                on:click=reset
            >
                "↺"
            </button>
            <code class="flag">{flag(id)}</code>
        </div>
    }
}

/// Whether the field is a number, whose other values can be plotted.
const fn is_plottable(field: &Field) -> bool {
    matches!(field.kind, Kind::Int { .. })
}

/// Plots memory against the field, where there is a place for it.
#[component]
fn PlotButton(id: FieldId) -> impl IntoView {
    let view = expect_context::<State>().view;
    let plotted = use_context::<PlottedField>();
    plotted.map(|plotted| {
        view! {
            <button
                type="button"
                class="tip plot-tip"
                aria-label=format!("Plot memory against {}", id.field().label)
                aria-pressed=move || plotted.is(id).to_string()
                title="Plot"
                on:click=move |_| plotted.show(view, id)
            >
                <svg viewBox="0 0 12 12" aria-hidden="true">
                    <path d="M1 1v10h10M3 8l3-2 2-3 3-1" />
                </svg>
            </button>
        }
    })
}

/// The Megatron-LM flag that sets the field; empty where there is none.
pub(super) fn flag(id: FieldId) -> String {
    id.flag().map(|flag| format!("--{}", flag.name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::flag;
    use megatron_memory::config::fields::FieldId;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test(unsupported = test)]
    fn the_flag_beside_a_label_is_the_one_that_sets_the_field() {
        for (id, expected) in [
            (FieldId::tensor_model_parallel_size, "--tensor-model-parallel-size"),
            (FieldId::add_bias_linear, "--disable-bias-linear"),
            (
                FieldId::create_attention_mask_in_dataloader,
                "--no-create-attention-mask-in-dataloader",
            ),
            (FieldId::use_mamba_mem_eff_path, "--disable-mamba-mem-eff-path"),
            (
                FieldId::torch_fsdp2_reshard_after_forward,
                "--torch-fsdp2-no-reshard-after-forward",
            ),
            // Megatron-LM has no flag for these.
            (FieldId::world_size, ""),
            (FieldId::data_parallel_size, ""),
            (FieldId::virtual_pipeline_model_parallel_size, ""),
            (FieldId::disable_parameter_transpose_cache, ""),
            (FieldId::fp8_dot_product_attention, ""),
            (FieldId::fp8_multi_head_attention, ""),
            (FieldId::activation_func_fp8_input_store, ""),
            (FieldId::gpu, ""),
        ] {
            assert_eq!(flag(id), expected, "{id:?}");
        }
    }
}
