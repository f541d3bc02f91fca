//! The page's web worker: what the page asks, what the worker answers, and the worker itself. It searches layouts,
//! reads texts of others, and replays PyTorch's allocator.
//!
//! For a search, the page starts some workers, sends each a [`Request::Begin`], and hands out ranges of combinations with
//! [`Request::Search`]. A worker answers a range in parts of about [`PART_MS`] milliseconds; the page asks for the rest
//! of the range with the next request. To cancel anything, the page drops the worker's bridge.

mod reading;
mod reserved;

use gloo::worker::{HandlerId, Worker, WorkerScope};
use js_sys::Date;
use serde::{Deserialize, Serialize};

use megatron_memory::formats::import_text::ImportOptions;
use megatron_memory::formats::share_url;
use megatron_memory::formats::training_log::LogMeasurements;
use megatron_memory::memory::StageRef;
use megatron_memory::memory::savings::Choice;
use megatron_memory::report::reserved::{Gained, Replayed};
use megatron_memory::search::{Keep, Options, Searcher, Slice, Space, Suggestion, search, suggestion};

pub use reading::{AsJson, Reading, measurements};

/// The address of the worker's script, beside the page.
pub const SCRIPT: &str = "./search-worker.js";

/// The time that one answer may take, in milliseconds.
const PART_MS: f64 = 100.0;
/// The most jobs that are checked for one answer.
const MAX_STEPS: f64 = 4096.0;

/// A request of the page to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Start a search. Comes before all others of a search.
    Begin {
        /// The job, as the fragment of a share link.
        link: String,
        /// The settings that vary, and their bounds.
        options: Options,
        /// The candidates that are listed.
        keep: Keep,
    },
    /// Look at the combinations from number `from` to below number `until`, or at as many as fit into one answer.
    Search {
        /// The first combination.
        from: u64,
        /// The combination after the last one.
        until: u64,
    },
    /// Say what would make a combination fit that does not.
    Explain {
        /// The number of the combination.
        index: u64,
    },
    /// Read a text as a job.
    Read {
        /// The text.
        text: String,
        /// What the reader has answered, and the job on the page.
        options: AsJson<ImportOptions>,
    },
    /// Read what a training log measured.
    Measure {
        /// The log.
        log: String,
    },
    /// Replay what PyTorch's allocator reserves.
    Reserve {
        /// The job, as the fragment of a share link.
        link: String,
        /// The stage whose ranks are replayed; `None` for the rank with the largest peak.
        stage: Option<StageRef>,
    },
    /// Replay what PyTorch's allocator would reserve less with expandable segments.
    Gain {
        /// The job, as the fragment of a share link.
        link: String,
    },
}

/// An answer of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// A part of a range; its `next` is where the rest of the range begins.
    Found(Box<Slice>),
    /// What would make the explained combination fit; `None` where Megatron refuses it.
    Explained(Option<SuggestionNames>),
    /// Why the job cannot be searched.
    Failed(String),
    /// The text as a job, or why it cannot be imported.
    Read(Result<Box<Reading>, String>),
    /// What the log measured; `None` where it has no measurements.
    Measured(Option<LogMeasurements>),
    /// What the allocator reserves; `None` where it is not replayed.
    Reserved(Option<Replayed>),
    /// What the job would gain; empty where that is nothing, or the allocator is not replayed.
    Gained(Vec<Gained>),
}

/// A [`Suggestion`] by its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuggestionNames {
    /// What would have to be recomputed or offloaded, in words; `None` where that is not enough.
    pub recompute: Option<String>,
    /// The id of the smallest GPU that would hold the combination as it is; `None` where none would.
    pub gpu: Option<String>,
}

impl From<Suggestion> for SuggestionNames {
    fn from(suggestion: Suggestion) -> Self {
        Self {
            recompute: suggestion.recompute.map(Choice::label),
            gpu: suggestion.gpu.map(|gpu| gpu.id.to_owned()),
        }
    }
}

/// A worker of the page.
#[derive(Debug)]
pub struct SearchWorker {
    /// The space to search; `None` before [`Request::Begin`] and where the job cannot be searched.
    space: Option<Space>,
    keep: Keep,
    searcher: Searcher,
    /// How many jobs to check for one answer, so that it takes about [`PART_MS`].
    steps: u32,
}

impl SearchWorker {
    fn answer(&mut self, request: Request) -> Option<Answer> {
        match request {
            Request::Begin { link, options, keep } => {
                let share = share_url::visit(&link).state;
                self.keep = keep;
                self.searcher = Searcher::default();
                match Space::new(&share.setup.job, &options) {
                    Ok(space) => self.space = Some(space),
                    Err(why) => return Some(Answer::Failed(why.to_string())),
                }
                None
            }
            Request::Search { from, until } => Some(Answer::Found(Box::new(self.search(from, until)?))),
            Request::Explain { index } => {
                let space = self.space.as_ref()?;
                let alone = search(space, index..index + 1, u32::MAX, Keep::Legal);
                let candidate = alone.candidates.first();
                let names = candidate.map(|candidate| suggestion(space, candidate).into());
                Some(Answer::Explained(names))
            }
            Request::Read { text, options } => {
                let reading = Reading::of_text(&text, &options.0);
                Some(Answer::Read(reading.map(Box::new)))
            }
            Request::Measure { log } => Some(Answer::Measured(measurements(&log))),
            Request::Reserve { link, stage } => Some(Answer::Reserved(reserved::replayed(&link, stage))),
            Request::Gain { link } => Some(Answer::Gained(reserved::gained(&link))),
        }
    }

    #[allow(
        clippy::float_arithmetic,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "browsers measure time in floats"
    )]
    fn search(&mut self, from: u64, until: u64) -> Option<Slice> {
        let began = Date::now();
        let slice = self
            .searcher
            .search(self.space.as_ref()?, from..until, self.steps, self.keep);
        let took = (Date::now() - began).max(1.0);
        let steps = f64::from(self.steps) * PART_MS / took;
        self.steps = steps.clamp(1.0, MAX_STEPS) as u32;
        Some(slice)
    }
}

impl Worker for SearchWorker {
    type Message = ();
    type Input = Request;
    type Output = Answer;

    fn create(_scope: &WorkerScope<Self>) -> Self {
        Self {
            space: None,
            keep: Keep::Fitting,
            searcher: Searcher::default(),
            steps: 16,
        }
    }

    fn update(&mut self, _scope: &WorkerScope<Self>, _message: ()) {}

    fn received(&mut self, scope: &WorkerScope<Self>, request: Request, id: HandlerId) {
        if let Some(answer) = self.answer(request) {
            scope.respond(id, answer);
        }
    }
}
