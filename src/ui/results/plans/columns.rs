//! The columns of the table of plans: the result of each job, and the settings in which any differs from the job on the
//! page.

use std::sync::Arc;

use crate::state::{Outcome, Plan};
use crate::values::{same, shown};
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::state::{PresetRef, Setup};
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::caption::job_words;
use megatron_memory::report::summary::{Standing, stage_name};
use megatron_memory::report::time::ranked_step;
use megatron_memory::search::{Candidate, Ranking, ranking};

/// The most settings that are listed.
const MOST: usize = 40;

/// A job with its result.
#[derive(Clone)]
pub(super) struct PlanColumn {
    pub(super) head: Head,
    outcome: Option<Arc<Outcome>>,
    standing: Option<Standing>,
    /// The job as searches order it; `None` where it cannot run or has no language model.
    candidate: Option<Candidate>,
}

/// The job of a column, and what it is called.
#[derive(Clone, PartialEq)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) setup: Setup,
    /// Whether it is pinned, and so a part of the page's link.
    pub(super) is_pinned: bool,
    /// Whether it is kept in this browser, under the name of the column.
    pub(super) is_kept: bool,
}

/// Columns are of the same outcome where it is the same allocation: outcomes are never changed.
impl PartialEq for PlanColumn {
    fn eq(&self, other: &Self) -> bool {
        let is_same_outcome = match (&self.outcome, &other.outcome) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.head == other.head && self.standing == other.standing && is_same_outcome
    }
}

/// A row of the table: its name, and a text for each column with whether it differs from that of the job on the page.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PlanRow {
    pub(super) name: &'static str,
    pub(super) cells: Vec<(String, bool)>,
}

impl PlanColumn {
    /// The job on the page.
    pub(super) fn of_page(setup: &Setup, outcome: Option<Arc<Outcome>>, standing: Option<Standing>) -> Self {
        let head = Head {
            name: String::new(),
            setup: setup.clone(),
            is_pinned: false,
            is_kept: false,
        };
        Self::with_outcome(head, outcome, standing)
    }

    /// A job with its result, which is that of an earlier column where that is of the same job.
    pub(super) fn new(head: Head, earlier: &[Self]) -> Self {
        let same = earlier.iter().find(|one| one.head.setup == head.setup);
        if let Some(same) = same {
            return Self { head, ..same.clone() };
        }
        let config = check(&head.setup.job).config;
        let outcome = config.as_ref().map(Outcome::of);
        let standing = outcome.as_ref().map(|of| Standing::new(&of.config, &of.estimate));
        Self::with_outcome(head, outcome.map(Arc::new), standing)
    }

    fn with_outcome(head: Head, outcome: Option<Arc<Outcome>>, standing: Option<Standing>) -> Self {
        let candidate = outcome.as_ref();
        let candidate = candidate.and_then(|outcome| Candidate::of_job(0, &outcome.config, &outcome.estimate));
        Self {
            head,
            outcome,
            standing,
            candidate,
        }
    }

    /// Something of the result; a dash where the job cannot run.
    fn result(&self, read: impl FnOnce(&Outcome, &Standing) -> String) -> String {
        let both = self.outcome.as_ref().zip(self.standing.as_ref());
        both.map_or_else(|| String::from("–"), |(outcome, standing)| read(outcome, standing))
    }
}

/// The pinned jobs, and then the kept plans that are not pinned. A pinned job that is kept has the name that it is kept
/// under.
pub(super) fn heads(pinned: &[Setup], plans: &[Plan]) -> Vec<Head> {
    let plans = plans.iter();
    let mut kept: Vec<Head> = plans
        .filter_map(|plan| {
            Some(Head {
                name: plan.name.clone(),
                setup: plan.setup()?,
                is_pinned: false,
                is_kept: true,
            })
        })
        .collect();
    let numbered = pinned.len() > 1;
    let pinned = pinned.iter().zip(1..).map(|(setup, number)| {
        let same = kept.iter().position(|plan| plan.setup == *setup);
        let mut head = same.map_or_else(
            || Head {
                name: if numbered {
                    format!("Pinned {number}")
                } else {
                    String::from("Pinned")
                },
                setup: setup.clone(),
                is_pinned: true,
                is_kept: false,
            },
            |same| kept.remove(same),
        );
        head.is_pinned = true;
        head
    });
    let mut heads: Vec<Head> = pinned.collect();
    heads.append(&mut kept);
    heads
}

/// The rows of some columns, the first of which is the job on the page.
pub(super) fn rows(columns: &[&PlanColumn], unit: Unit) -> Vec<PlanRow> {
    let scale = Scale::coarse(unit);
    let row =
        |name, read: &dyn Fn(&PlanColumn) -> String| row_of(name, columns.iter().map(|column| read(column)).collect());
    let mut rows = vec![
        row("Job", &|column| {
            let preset = column.head.setup.preset.as_ref();
            let model = preset.and_then(PresetRef::label);
            column.result(|outcome, _| job_words(&outcome.config, model))
        }),
        row("Allocated", &|column| {
            column.result(|_, summary| scale.amount(summary.total))
        }),
        row("On the device", &|column| {
            column.result(|_, summary| scale.range(summary.device.0, summary.device.1))
        }),
        row("Verdict", &|column| match &column.outcome {
            None => String::from("Cannot run"),
            Some(_) => column.result(|_, summary| {
                let words = summary.verdict.words();
                match summary.headroom() {
                    Some(headroom) => format!("{words}, {}", headroom.words(scale)),
                    None => words.to_owned(),
                }
            }),
        }),
        row("Fullest stage", &|column| {
            column.result(|outcome, summary| stage_name(&outcome.config, summary.worst))
        }),
    ];
    rows.extend(steps(columns).map(|steps| row_of("A step, predicted", steps)));
    let differing = FieldId::ALL.iter().filter(|id| differs(columns, **id));
    rows.extend(differing.take(MOST).map(|id| {
        row(
            id.field().label,
            &|column| match shown(id.field(), column.head.setup.job.get(0, *id)) {
                text if text.is_empty() => String::from("none"),
                text => text,
            },
        )
    }));
    rows
}

fn row_of(name: &'static str, texts: Vec<String>) -> PlanRow {
    let first = texts.first().cloned();
    let cells = texts.into_iter().map(|text| {
        let differs = first.as_ref() != Some(&text);
        (text, differs)
    });
    PlanRow {
        name,
        cells: cells.collect(),
    }
}

/// The predicted time of a step of each job, with its rank in the order of searches where all jobs train the same model on
/// as many tokens a step: of others a shorter step is no gain. `None` where no time is predicted.
fn steps(columns: &[&PlanColumn]) -> Option<Vec<String>> {
    let timed = columns.iter().any(|column| {
        let candidate = column.candidate;
        candidate.is_some_and(|candidate| candidate.step_nanoseconds.is_some())
    });
    let with_indices = (0..).zip(columns);
    let candidates: Vec<Option<Candidate>> = with_indices
        .map(|(index, column)| column.candidate.map(|candidate| Candidate { index, ..candidate }))
        .collect();
    let mut outcomes = columns.iter().filter_map(|column| column.outcome.as_deref());
    let are_alike = outcomes
        .next()
        .is_some_and(|first| outcomes.all(|other| trained(first) == trained(other)));
    let ranking = ranking(&candidates);
    let step = |index: usize, candidate: &Option<Candidate>| {
        let ranked = ranking.iter().find(|ranked| ranked.index == index)?;
        let rank = ranked.rank.filter(|_| are_alike);
        ranked_step(candidate.as_ref(), &Ranking { rank, ..*ranked })
    };
    let steps = candidates.iter().enumerate();
    let steps = steps.map(|(index, candidate)| step(index, candidate).unwrap_or_else(|| String::from("–")));
    timed.then(|| steps.collect())
}

/// What a step of a job trains: its layers, their widths, and the tokens.
fn trained(outcome: &Outcome) -> Option<impl PartialEq> {
    let m = outcome.module(0)?;
    let args = m.args();
    let tokens = m.derived().global_batch_size.checked_mul(args.seq_length);
    Some((m.layers().clone(), args.hidden_size, args.seq_length, tokens))
}

/// Whether a setting of any column differs from that of the first one.
fn differs(columns: &[&PlanColumn], id: FieldId) -> bool {
    let value = |job: &RawJob| job.get(0, id).cloned();
    let Some((first, rest)) = columns.split_first() else {
        return false;
    };
    let first = value(&first.head.setup.job);
    rest.iter().any(|column| {
        let other = value(&column.head.setup.job);
        !same(id.field(), first.as_ref(), other.as_ref())
    })
}
