//! The buttons for all stages at once, and the number of MTP depths.

use super::edit::Edit;
use super::editor::Editor;
use crate::parts::ActionButton;
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::hybrid_pattern::HybridPattern;

/// The most MTP depths that a pattern gets here.
const MOST_DEPTHS: u64 = 64;

/// Splits the layers into stages, takes the stage borders away, and sets the number of MTP depths.
#[component]
pub(super) fn StageTools() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let sizes = Memo::new(move |_| {
        let state = editor.state;
        let pp = state.number(FieldId::pipeline_model_parallel_size);
        let pp = pp.unwrap_or(1).max(1);
        (pp, chunks_per_rank(editor, pp))
    });
    let count = move || {
        let (pp, vpp) = sizes.get();
        usize::try_from(pp.saturating_mul(vpp)).unwrap_or(usize::MAX)
    };
    let split_label = move || match sizes.get() {
        (pp, 1) => format!("Split into {pp} equal stages"),
        (pp, vpp) => format!("Split into {pp} · {vpp} equal stages"),
    };
    // More stages than layers are no way to split them.
    let can_split = move || (2..=editor.layers.read().decoder.len()).contains(&count());
    let has_borders = Memo::new(move |_| {
        let pattern = editor.pattern.read();
        pattern.as_ref().is_some_and(HybridPattern::is_segmented)
    });
    view! {
        <div class="pattern-actions">
            <button
                type="button"
                hidden=move || !can_split()
                on:click=move |_| {
                    editor.apply(Edit::SplitInto(untrack(count)));
                }
            >
                {split_label}
            </button>
            <ActionButton
                blocked=move || !has_borders.get()
                reason="The pattern has no stage borders"
                on_press=move || {
                    editor.apply(Edit::RemoveBorders);
                }
            >
                "Remove stage borders"
            </ActionButton>
            <MtpDepths />
        </div>
    }
}

/// How many chunks each pipeline rank is to have: what the job says, or else what it has.
fn chunks_per_rank(editor: Editor, pp: u64) -> u64 {
    let given = editor.state.number(FieldId::virtual_pipeline_model_parallel_size);
    let pattern = editor.pattern.read();
    let segments = pattern.as_ref().map(|p| p.segments().len() as u64);
    let segments = segments.filter(|count| count.is_multiple_of(pp));
    let given = given.or(segments.map(|count| count / pp));
    // One rank has one chunk.
    given.filter(|_| pp > 1).unwrap_or(1).max(1)
}

/// The number of MTP depths, between two buttons.
#[component]
fn MtpDepths() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let depths = Memo::new(move |_| {
        let pattern = editor.pattern.read();
        pattern.as_ref().map_or(0, HybridPattern::depths)
    });
    let set = move |depths| {
        editor.apply(Edit::SetDepths(depths));
    };
    view! {
        <span class="pattern-depths" role="group" aria-label="MTP depths">
            <span>"MTP depths"</span>
            <ActionButton
                attr:aria-label="Fewer MTP depths"
                blocked=move || depths.get() == 0
                reason="There are none"
                on_press=move || set(depths.get_untracked() - 1)
            >
                "−"
            </ActionButton>
            <output>{move || depths.get()}</output>
            <ActionButton
                attr:aria-label="More MTP depths"
                blocked={move || depths.get() >= MOST_DEPTHS}
                reason=format!("{MOST_DEPTHS} are the most")
                on_press=move || set(depths.get_untracked() + 1)
            >
                "+"
            </ActionButton>
        </span>
    }
}
