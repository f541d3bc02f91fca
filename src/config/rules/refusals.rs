//! The rules that keep jobs from training, for searches that check many jobs and ask only for the first rule that one
//! breaks.

use core::fmt;

use super::TABLES;
use super::rule::Rule;
use crate::config::draft::Draft;
use crate::config::problem::is_refused_at_start;

/// The names of the rules that the split of layers into stages is checked by, which are in no table.
const STAGES: [&str; 3] = ["stages", "vpp_twice", "layout"];

/// Some of the rules that keep jobs from training.
#[derive(Clone)]
pub struct Refusals {
    /// In the order of the tables.
    rules: Vec<&'static Rule>,
    /// The names from [`STAGES`] that are checked; any of the three can be left out.
    of_stages: Vec<&'static str>,
}

impl fmt::Debug for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rules.iter().map(|rule| rule.name);
        f.debug_list().entries(names).finish()
    }
}

impl Refusals {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        let all = TABLES.into_iter().flatten();
        let counts = |rule: &&Rule| !rule.only_warns || is_refused_at_start(rule.name);
        Self {
            rules: all.filter(counts).collect(),
            of_stages: STAGES.to_vec(),
        }
    }

    /// A selection of these rules: those for whose name `among` is true.
    #[must_use]
    pub fn among(&self, among: impl Fn(&str) -> bool) -> Self {
        let (mut rules, mut of_stages) = (self.rules.clone(), self.of_stages.clone());
        rules.retain(|rule| among(rule.name));
        of_stages.retain(|rule| among(rule));
        Self { rules, of_stages }
    }

    /// The rules among these that the split of layers into stages is checked by.
    pub(in crate::config) fn of_stages(&self) -> &[&'static str] {
        &self.of_stages
    }

    /// The name of the first of the rules that keeps a module from training, those of stages left out.
    pub(in crate::config) fn first(&self, draft: &Draft<'_>) -> Option<&'static str> {
        self.rules.iter().find_map(|rule| {
            let problem = (rule.check)(draft)?.of(draft.context.module, rule.name);
            problem.keeps_from_training().then_some(rule.name)
        })
    }
}
