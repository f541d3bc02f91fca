//! One section of the form: a line that says what is in it, and its fields in up to three levels.

use super::derived::DerivedChips;
use super::field_row::FieldRow;
use super::ids::line_id;
use super::section_fields::SectionFields;
use super::section_foot::SectionFoot;
use super::section_summary::section_summary;
use crate::parts::InTurn;
use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::field::Group;

/// A section. One without meaning for the job is hidden, until somebody searches for one of its fields.
#[component]
pub fn FormSection(group: Group) -> impl IntoView {
    let state = expect_context::<State>();
    let open = Memo::new(move |_| state.form.disclosure.read().is_open(group));
    let fields = SectionFields::of(state, group);
    let hidden = move || !open.get() && fields.mattering.read().is_empty();
    view! {
        <section class="section" hidden=hidden>
            <h2>
                <SectionLine group open />
            </h2>
            <div
                class="section-body"
                id=format!("section-{}", group as usize)
                hidden=move || !open.get()
            >
                <Show when=move || open.get()>
                    <For each=move || fields.essential() key=|id| id.field().key let:id>
                        <FieldRow id />
                    </For>
                    <InTurn>
                        <DerivedChips group />
                        <For each=move || fields.further() key=|id| id.field().key let:id>
                            <FieldRow id />
                        </For>
                        <SectionFoot group fields />
                    </InTurn>
                </Show>
            </div>
        </section>
    }
}

/// The line that opens and closes the section, with its problems and a summary.
#[component]
fn SectionLine(group: Group, open: Memo<bool>) -> impl IntoView {
    let state = expect_context::<State>();
    let errors = Memo::new(move |_| state.errors_in(group));
    let all_errors = Memo::new(move |_| state.checked.read().errors().count());
    let summary = Memo::new(move |_| section_summary(group, state).unwrap_or_default());
    // Of those that the headline counts, in the same words.
    let problems = move || match (errors.get(), all_errors.get()) {
        (own, all) if own != all => format!("{own} of {all} problems"),
        (1, _) => String::from("1 problem"),
        (own, _) => format!("{own} problems"),
    };
    view! {
        <button
            type="button"
            class="section-line"
            id=line_id(group)
            aria-expanded=move || open.get().to_string()
            aria-controls=format!("section-{}", group as usize)
            on:click=move |_| state.form.disclosure.update(|disclosure| disclosure.toggle(group))
        >
            <span class="section-title">{group.title()}</span>
            <span class="section-errors" hidden=move || errors.get() == 0>
                {problems}
            </span>
            <span class="section-essence">{summary}</span>
        </button>
    }
}
