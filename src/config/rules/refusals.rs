//! The rules that keep jobs from training, for searches that check many jobs and ask only for the first rule that one
//! breaks.

use core::fmt;

use super::rule::Rule;
use super::{TABLES, of_megatron_lm, stops_launcher};
use crate::config::choices::Launcher;
use crate::config::draft::Draft;
use crate::config::problem::{is_refused_at_start, is_refused_by_launcher};

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
    /// All of them that jobs of a launcher can break.
    #[must_use]
    pub fn all(of: Launcher) -> Self {
        let by_launcher = of == Launcher::MegatronLm;
        let own = of_megatron_lm().filter(|_| by_launcher);
        let counts = |rule: &&Rule| {
            !rule.only_warns || is_refused_at_start(rule.name) || by_launcher && is_refused_by_launcher(rule.name)
        };
        Self {
            rules: TABLES.into_iter().flatten().filter(counts).chain(own).collect(),
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
            let stops = draft.args.launcher == Launcher::MegatronLm && stops_launcher(&problem);
            (stops || problem.keeps_from_training()).then_some(rule.name)
        })
    }
}
