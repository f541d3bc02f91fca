//! Plans that the reader keeps in the browser's storage: jobs with names, as links. They leave and come as one file.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::browser;
use megatron_memory::formats::share_url::visit;
use megatron_memory::formats::state::Setup;

/// The key in storage.
const KEY: &str = "plans";
/// The most plans that are kept.
const MOST: usize = 24;
/// The most characters of a name.
const LONGEST_NAME: usize = 60;

/// A named job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub name: String,
    /// The fragment of the calculator's address, with `#`.
    pub link: String,
}

impl Plan {
    /// The job; `None` for a link that cannot be read.
    pub fn setup(&self) -> Option<Setup> {
        let visit = visit(&self.link);
        visit.broken.is_none().then_some(visit.state.setup)
    }
}

/// A file of plans.
#[derive(Serialize, Deserialize)]
struct PlanFile {
    megatron_memory_plans: Vec<Plan>,
}

/// The plans, provided as context on the calculator's own page.
#[derive(Clone, Copy, Debug)]
pub struct SavedPlans {
    pub plans: RwSignal<Vec<Plan>>,
}

impl SavedPlans {
    /// The plans that are in storage.
    pub fn stored() -> Self {
        Self {
            plans: RwSignal::new(stored()),
        }
    }

    /// Keeps a job under a name, in place of one that has the same name.
    pub fn keep(self, plan: Plan) {
        self.change(|plans| put(plans, plan));
    }

    /// Removes a plan.
    pub fn remove(self, name: &str) {
        self.change(|plans| plans.retain(|plan| plan.name != name));
    }

    /// All plans as the text of a file.
    pub fn file(self) -> String {
        let file = PlanFile {
            megatron_memory_plans: self.plans.get_untracked(),
        };
        // Texts can always be written.
        serde_json::to_string_pretty(&file).unwrap_or_default()
    }

    /// Takes the plans of a file. Returns how many there were, or why there are none.
    pub fn take_file(self, text: &str) -> Result<usize, &'static str> {
        let file: PlanFile = serde_json::from_str(text)
            .map_err(|_| "This is not a file of plans. Save some to see what one looks like.")?;
        let plans: Vec<Plan> = file
            .megatron_memory_plans
            .into_iter()
            .filter(|plan| plan.setup().is_some())
            .collect();
        let count = plans.len();
        self.change(|kept| plans.into_iter().for_each(|plan| put(kept, plan)));
        Ok(count)
    }

    /// Changes what is in storage, where another tab may have changed it since.
    fn change(self, change: impl FnOnce(&mut Vec<Plan>)) {
        let mut plans = stored();
        if plans.is_empty() {
            // Storage may be denied: then the plans last as long as the page.
            plans = self.plans.get_untracked();
        }
        change(&mut plans);
        browser::store(KEY, &serde_json::to_string(&plans).unwrap_or_default());
        self.plans.set(plans);
    }
}

fn stored() -> Vec<Plan> {
    let text = browser::stored(KEY).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Puts a plan at the end, or in place of the one of its name. The oldest ones go where there are too many.
fn put(plans: &mut Vec<Plan>, mut plan: Plan) {
    plan.name = plan.name.trim().chars().take(LONGEST_NAME).collect();
    match plans.iter_mut().find(|other| other.name == plan.name) {
        Some(other) => *other = plan,
        None => plans.push(plan),
    }
    let extra = plans.len().saturating_sub(MOST);
    plans.drain(..extra);
}
