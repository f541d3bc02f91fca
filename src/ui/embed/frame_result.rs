//! The result as the page around an embed gets it.

use leptos::prelude::*;
use serde::Serialize;

use crate::state::State;

/// The result of an embed; `src/web/frame.js` reads it from the root element.
#[derive(Serialize)]
pub(super) struct FrameResult<'a> {
    /// The link to the job: `#` and what follows it in the calculator's address.
    hash: &'a str,
    totals: Totals,
}

/// The memory of the job, in bytes.
#[derive(Serialize)]
struct Totals {
    /// Whether the link can be read and its job can run; otherwise there are no results.
    valid: bool,
    /// Whether it fits its GPU, by the names that `estimate` has too; none where no GPU is chosen, and for a job that
    /// cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    /// The keys that change memory and are not modelled: with one, these are the results of another job.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_modelled: Vec<String>,
    /// The memory of the fullest stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst: Option<u64>,
    /// The memory of each stage of each module.
    stages: Vec<Vec<u64>>,
}

impl<'a> FrameResult<'a> {
    pub(super) fn of(state: State, hash: &'a str) -> Self {
        let outcome = state.outcome.read();
        let valid = !state.stale.get() && state.link.broken.read().is_none();
        let outcome = outcome.as_ref().filter(|_| valid);
        let outcome = outcome.filter(|outcome| outcome.config.refused_at_launch().is_empty());
        let valid = outcome.is_some();
        let standing = state.standing.get().filter(|_| valid);
        let marks = outcome.into_iter().flat_map(|outcome| outcome.config.not_modelled());
        let estimate = outcome.map(|outcome| &outcome.estimate);
        let worst = estimate.and_then(|estimate| estimate.worst_stage());
        let modules = estimate.into_iter().flat_map(|estimate| &estimate.modules);
        let stages = modules.map(|module| {
            let stages = module.stages.iter();
            stages.map(|stage| stage.total.0).collect()
        });
        Self {
            hash,
            totals: Totals {
                valid,
                verdict: standing.and_then(|standing| standing.verdict.id()),
                not_modelled: marks.map(|mark| mark.key.clone()).collect(),
                worst: worst.map(|stage| stage.total.0),
                stages: stages.collect(),
            },
        }
    }

    /// The result as JSON.
    pub(super) fn json(&self) -> String {
        // Numbers and texts can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}
