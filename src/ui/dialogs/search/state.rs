//! The state of a search, and what a reader does with it.

use core::time::Duration;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::pool::{Pool, Task};
use crate::browser;
use crate::parts::Deferred;
use crate::state::{DialogKind, OpenDialog, State};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::search::{Axis, Candidate, Keep, LayoutTable, Options, Slice, Space};
use search_worker::{Answer, SuggestionNames};

/// How often what was found is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
/// How many milliseconds the table is sorted anew before the page shows a part of it.
const SORTING: u64 = 10;
/// How long no worker may answer before the search counts as failed.
const SILENCE: Duration = Duration::from_secs(30);

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not begun.
    Before,
    /// It goes on.
    Running,
    /// The reader stopped it, or it failed.
    Stopped,
    /// All combinations were looked at.
    Done,
}

/// What the reader typed to see fewer of the layouts.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    /// Words such as `tp4`.
    pub(super) words: String,
    /// The least free memory.
    pub(super) least_free: String,
}

/// A search whose dialog was closed, so that its results are there when the dialog opens again for the same job.
pub(in crate::dialogs) struct KeptSearch {
    page: ShareState,
    options: Options,
    keep: Keep,
    table: LayoutTable,
    filters: Filters,
    suggestion: Option<SuggestionNames>,
    phase: Phase,
    /// The layout that was applied to the page, with the job that it is.
    applied: Option<(u64, Setup)>,
}

impl KeptSearch {
    /// Whether the page shows the job that was searched, or one of its layouts that was applied.
    fn belongs_to(&self, page: &ShareState) -> bool {
        let applied = self.applied.as_ref().map(|(_, setup)| setup);
        self.page.setup == page.setup || applied == Some(&page.setup)
    }
}

/// The state of the search dialog.
#[derive(Clone, Copy)]
pub(super) struct SearchState {
    /// The page's state.
    pub(super) state: State,
    dialog: OpenDialog,
    /// What the page showed when the search began: the job that is searched.
    page: StoredValue<ShareState>,
    /// What the page shows.
    shown: StoredValue<ShareState>,
    pub(super) options: RwSignal<Options>,
    /// Bounds that are no sizes, as they were typed.
    pub(super) unreadable_bounds: RwSignal<Vec<(Axis, String)>>,
    pub(super) keep: RwSignal<Keep>,
    /// The combinations, or why there is nothing to search.
    pub(super) space: Memo<Result<Arc<Space>, String>>,
    pub(super) phase: RwSignal<Phase>,
    /// Whether no search goes on, and the page has painted what was found last.
    pub(super) at_rest: ReadSignal<bool>,
    /// When the search began, in milliseconds.
    pub(super) began: StoredValue<u64>,
    /// The layout of the search that the page shows, where one was applied.
    applied: StoredValue<Option<(u64, Setup)>>,
    /// The layout that the page shows; `None` where it is not among the combinations.
    pub(super) own: Memo<Option<Candidate>>,
    pub(super) table: RwSignal<LayoutTable>,
    pub(super) filters: RwSignal<Filters>,
    /// What would make the nearest layout fit, once that is known.
    pub(super) suggestion: RwSignal<Option<SuggestionNames>>,
    /// Sorts the table.
    sorting: Deferred,
    /// What went wrong on the way; empty where nothing did.
    pub(super) error: RwSignal<String>,
    /// The workers, and the answers that are not shown yet.
    running: StoredValue<Running, LocalStorage>,
}

#[derive(Default)]
struct Running {
    pool: Option<Pool>,
    /// Answers since the last time that what was found was shown.
    waiting: Rc<RefCell<Vec<Slice>>>,
    /// Shows them.
    show: Option<Timeout>,
    /// Gives up when no worker answers.
    watchdog: Option<Timeout>,
}

impl SearchState {
    pub(super) fn new(state: State, dialog: OpenDialog, kept: Option<KeptSearch>) -> Self {
        let page = state.share_untracked();
        let kept = kept.filter(|kept| kept.belongs_to(&page));
        let kept = kept.unwrap_or_else(|| KeptSearch {
            options: Options::usual(&page.setup.job),
            keep: Keep::Fitting,
            table: LayoutTable::default(),
            filters: Filters::default(),
            suggestion: None,
            phase: Phase::Before,
            applied: None,
            page: page.clone(),
        });
        // Only a layout that the page still shows is the page's own.
        let applied = kept.applied.filter(|(_, setup)| *setup == page.setup);
        let applied = StoredValue::new(applied);
        let shown = StoredValue::new(page);
        let page = kept.page;
        let options = RwSignal::new(kept.options);
        let page = StoredValue::new(page);
        let space: Memo<Result<Arc<Space>, String>> = Memo::new_owning(move |_| {
            let space = page.with_value(|page| Space::new(&page.setup.job, &options.read()));
            (space.map(Arc::new).map_err(|why| why.to_string()), true)
        });
        let own = Memo::new(move |_| {
            let space = space.get().ok()?;
            match applied.get_value() {
                Some((index, _)) => space.candidate(index),
                None => space.own_candidate(),
            }
        });
        let phase = RwSignal::new(kept.phase);
        let mut table = kept.table;
        if table.count() > 0 {
            table.set_own(own.get_untracked());
        }
        let search = Self {
            own,
            applied,
            began: StoredValue::new(0),
            state,
            dialog,
            page,
            shown,
            options,
            unreadable_bounds: RwSignal::new(Vec::new()),
            keep: RwSignal::new(kept.keep),
            space,
            phase,
            at_rest: at_rest(phase),
            table: RwSignal::new(table),
            filters: RwSignal::new(kept.filters),
            suggestion: RwSignal::new(kept.suggestion),
            sorting: Deferred::new(),
            error: RwSignal::new(String::new()),
            running: StoredValue::new_local(Running::default()),
        };
        // The dialog may have been closed before all was sorted.
        if let Some(space) = search.space_untracked() {
            search.sort_rest(space);
        }
        search
    }

    /// The space; `None` where there is nothing to search.
    pub(super) fn space(self) -> Option<Arc<Space>> {
        self.space.get().ok()
    }

    pub(super) fn space_untracked(self) -> Option<Arc<Space>> {
        untrack(|| self.space())
    }

    /// Forgets what was found: it belongs to other options.
    pub(super) fn begin_again(self) {
        self.running.set_value(Running::default());
        self.phase.set(Phase::Before);
        self.table.set(LayoutTable::default());
        self.filters.set(Filters::default());
        self.suggestion.set(None);
        self.error.set(String::new());
    }

    pub(super) fn start(self) {
        let Some(space) = self.space_untracked() else {
            return;
        };
        self.begin_again();
        self.table.update(|table| table.set_own(self.own.get_untracked()));
        self.began.set_value(browser::now());
        self.phase.set(Phase::Running);
        let setup = self.page.with_value(|page| page.setup.clone());
        let task = Task {
            link: share_url::encode(&ShareState {
                setup,
                ..ShareState::default()
            }),
            options: self.options.get_untracked(),
            keep: self.keep.get_untracked(),
            shares: space.shares(),
        };
        let pool = Pool::start(&task, move |answer| self.receive(answer));
        self.running.update_value(|running| running.pool = Some(pool));
        self.watch();
    }

    pub(super) fn stop(self) {
        self.show_waiting();
        self.running.set_value(Running::default());
        self.phase.set(Phase::Stopped);
    }

    fn fail(self, why: String) {
        self.stop();
        self.error.set(why);
    }

    /// Fails the search unless an answer comes in time.
    fn watch(self) {
        let millis = SILENCE.as_millis().try_into().unwrap_or(u32::MAX);
        let watchdog = Timeout::new(millis, move || {
            self.fail("The search does not answer. Reload the page.".to_owned());
        });
        self.running.update_value(|running| running.watchdog = Some(watchdog));
    }

    fn receive(self, answer: Answer) {
        match answer {
            Answer::Found(slice) if self.phase.get_untracked() == Phase::Running => {
                self.watch();
                let millis = SHOWN_EVERY.as_millis().try_into().unwrap_or(u32::MAX);
                self.running.update_value(|running| {
                    running.waiting.borrow_mut().push(*slice);
                    if running.show.is_none() {
                        running.show = Some(Timeout::new(millis, move || self.show_waiting()));
                    }
                });
            }
            Answer::Explained(suggestion) => self.suggestion.set(suggestion),
            Answer::Failed(why) => self.fail(format!("The search stopped: {why}.")),
            Answer::Found(_) | Answer::Read(_) | Answer::Measured(_) | Answer::Reserved(_) | Answer::Gained(_) => {}
        }
    }

    /// Shows the answers that came since the last time.
    fn show_waiting(self) {
        let waiting = self.running.try_update_value(|running| {
            running.show = None;
            running.waiting.take()
        });
        let (Some(waiting), Some(space)) = (waiting, self.space_untracked()) else {
            return;
        };
        if waiting.is_empty() {
            return;
        }
        self.table.update(|table| {
            for slice in waiting {
                table.add(&space, slice);
            }
        });
        if self.table.read_untracked().counts().looked_at >= space.total() {
            self.finish();
        }
    }

    /// Sorts or filters the table in another way, and shows it once that is done.
    pub(super) fn change_table(self, change: impl FnOnce(&mut LayoutTable, &Space)) {
        let Some(space) = self.space_untracked() else {
            return;
        };
        self.table.update(|table| {
            change(table, &space);
            let end = browser::now() + SORTING;
            while !table.is_sorted() && browser::now() < end {
                table.sort_run(&space);
            }
        });
        self.sort_rest(space);
    }

    /// Sorts between frames what is not sorted yet, and shows it at the end.
    fn sort_rest(self, space: Arc<Space>) {
        let table = self.table;
        self.sorting.in_pieces((), move |()| {
            let sorted = table.try_update_untracked(|table| {
                let before = table.is_sorted();
                table.sort_run(&space);
                (before, table.is_sorted())
            });
            if sorted == Some((false, true)) {
                table.notify();
            }
            sorted.is_none_or(|(_, is_sorted)| is_sorted)
        });
    }

    /// All combinations were looked at. Where nothing fits, asks what would make the nearest one fit.
    fn finish(self) {
        self.phase.set(Phase::Done);
        let table = self.table.read_untracked();
        let nearest = table.counts().closest.filter(|_| table.count() == 0);
        drop(table);
        self.running.update_value(|running| {
            running.watchdog = None;
            match (&running.pool, nearest) {
                (Some(pool), Some(nearest)) => pool.explain(nearest.index),
                _ => running.pool = None,
            }
        });
    }

    /// Ends the search, and gives it as it is, for when the dialog opens again.
    pub(super) fn close(self) -> Option<KeptSearch> {
        self.running.dispose();
        let phase = match self.phase.try_get_untracked()? {
            Phase::Running => Phase::Stopped,
            phase => phase,
        };
        Some(KeptSearch {
            page: self.page.try_get_value()?,
            options: self.options.try_get_untracked()?,
            keep: self.keep.try_get_untracked()?,
            table: self.table.try_update_untracked(core::mem::take)?,
            filters: self.filters.try_get_untracked()?,
            suggestion: self.suggestion.try_get_untracked()?,
            applied: self.applied.try_get_value()?,
            phase,
        })
    }

    /// Closes the dialog and shows a layout on the page.
    pub(super) fn apply(self, index: u64) {
        if let Some(setup) = self.setup(index) {
            self.applied.set_value(Some((index, setup.clone())));
            let page = self.shown.get_value();
            self.show_on_page(ShareState { setup, ..page });
        }
    }

    /// Closes the dialog and pins a layout beside the job on the page; says why where a link cannot hold it.
    pub(super) fn compare(self, index: u64) {
        let Some(layout) = self.setup(index) else {
            return;
        };
        let mut page = self.shown.get_value();
        match share_url::pin(&mut page, layout) {
            Ok(()) => self.show_on_page(page),
            Err(why) => self.error.set(why.to_string()),
        }
    }

    /// Closes the dialog and shows this.
    fn show_on_page(self, mut page: ShareState) {
        // The stage that was chosen may not be there any more.
        page.view.stage = None;
        self.dialog.close(DialogKind::Search);
        self.state.open(page);
    }

    /// A combination as a job over the page's preset.
    fn setup(self, index: u64) -> Option<Setup> {
        let space = self.space_untracked()?;
        Some(Setup {
            preset: self.page.with_value(|page| page.setup.preset.clone()),
            job: space.job(index),
        })
    }
}

/// Whether no search goes on: known at once when one starts, and a frame after it has paused or ended, so that what is
/// built then is a task of its own.
fn at_rest(phase: RwSignal<Phase>) -> ReadSignal<bool> {
    let (at_rest, set_at_rest) = signal(false);
    let frame = Deferred::new();
    Effect::new(move |_| {
        if phase.get() == Phase::Running {
            set_at_rest.set(false);
            return;
        }
        // Another search may have started by then.
        frame.after_frame(move || set_at_rest.set(phase.get_untracked() != Phase::Running));
    });
    at_rest
}
