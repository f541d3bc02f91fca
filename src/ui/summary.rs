//! The headline: the memory of the fullest stage against the GPU's, in words, an icon and a color.

mod answers;
mod demonstration;
mod figures;
mod link_note;
mod marks;
mod notes;
mod out_of_memory;
mod refusal;
mod replay_of_tight;

use leptos::prelude::*;

use super::browser;
use super::parts::{InTurn, signal_on_change};
use super::results::HeadlineBar;
use super::state::{Outcome, State};
pub(super) use answers::Answers;
use demonstration::Demonstration;
use figures::Figures;
use link_note::LinkNote;
pub(super) use marks::Remarks;
use megatron_memory::memory::bucket::ByBucket;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::packing;
use megatron_memory::report::summary::{self as report, Verdict};
use megatron_memory::report::verdict::refused;
use notes::{Details, Notes};
pub(super) use out_of_memory::{ExplainedErrors, OutOfMemoryNotes};
use refusal::Refusal;
pub(super) use replay_of_tight::ReplayOfTight;

/// The headline, which stays in sight while the rest of the page scrolls.
#[component]
pub(super) fn Summary(
    /// What is noted above the headline's own lines; nothing in an embed.
    #[prop(optional)]
    notes: Option<fn() -> AnyView>,
    /// Views that follow the lines of the headline; an embed has none.
    #[prop(optional)]
    below: Option<fn() -> AnyView>,
    /// What can be done about the job. Nothing in an embed: its reader may not change the job, and the link below leads
    /// to the page.
    #[prop(optional)]
    answers: Option<fn() -> AnyView>,
) -> impl IntoView {
    let state = expect_context::<State>();
    // Everything that shows older numbers is dimmed.
    Effect::new(move |_| browser::mark_root("data-stale", state.stale.get().then_some("")));
    let headline = signal_on_change(Memo::new(move |_| Headline::of(state)));
    let details_open = RwSignal::new(false);
    view! {
        <section class="summary" aria-label="Memory of one GPU">
            <Figures headline=headline details_open />
            <InTurn><HeadlineBar /></InTurn>
            <div class="summary-foot">
                <div class="summary-words">
                    <Demonstration />
                    <LinkNote />
                    <Refusal />
                    {notes.map(|notes| notes())}
                    <InTurn><Notes headline=headline /></InTurn>
                    {below.map(|below| below())}
                </div>
                <InTurn>{answers.map(|answers| answers())}</InTurn>
            </div>
            <InTurn><Details headline=headline details_open /></InTurn>
        </section>
    }
}

/// The headline in words.
pub(super) fn sentence(state: State) -> String {
    let checked = state.checked.read();
    if let Some(first) = checked.errors().next() {
        return match checked.errors().count() {
            1 => format!("Cannot run. {first}"),
            count => format!("Cannot run. {count} problems. {first}"),
        };
    }
    let Some(headline) = Headline::of(state) else {
        return String::new();
    };
    let scale = Scale::coarse(state.preferences.unit.get());
    let outcome = state.outcome.read();
    let summary = outcome
        .as_ref()
        .map(|outcome| headline.summary.sentence(&outcome.config, scale));
    format!("{} Needed {}.", summary.unwrap_or_default(), headline.place)
}

/// All that the headline says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Headline {
    summary: report::Standing,
    /// Which GPUs need most, in words.
    place: String,
    /// Why Megatron's schedule refuses the job, where it does.
    refused: Option<String>,
    /// What changes the job's memory and is not modelled, in a few words.
    not_modelled: String,
    /// How full the micro batches of packed samples are.
    batches: Option<String>,
    /// What stands behind the number of allocated memory.
    beside_total: String,
    /// What the device will show.
    basis: String,
    /// What that includes, and what the GPU has.
    details: String,
    /// What each of them needs, by bucket.
    memory: ByBucket,
}

impl Headline {
    fn of(state: State) -> Option<Self> {
        let outcome = state.outcome.read();
        let Outcome { config, estimate } = outcome.as_ref()?.as_ref();
        let scale = Scale::coarse(state.preferences.unit.get());
        let summary = state.standing.get()?;
        Some(Self {
            summary,
            place: notes::place(config, estimate),
            refused: refused(config),
            not_modelled: marks::in_short(config.not_modelled()),
            batches: packing::batches(config, estimate, scale),
            beside_total: summary.headline_words(scale),
            basis: notes::basis(config, &summary, scale),
            details: notes::details(config, estimate, scale),
            memory: estimate.worst_rank.memory,
        })
    }

    /// What stays free on the GPU, or what it lacks; what is not modelled where the estimate is that of another job.
    fn headroom(&self, scale: Scale) -> String {
        match (self.summary.headroom(), self.summary.verdict) {
            (Some(headroom), _) => headroom.words(scale),
            (None, Verdict::NotThisJob) => self.not_modelled.clone(),
            (None, Verdict::Refused(_)) => self.refused.clone().unwrap_or_default(),
            (None, Verdict::Unknown | Verdict::Fits | Verdict::Tight | Verdict::DoesNotFit) => {
                String::from("choose one under Hardware")
            }
        }
    }
}
