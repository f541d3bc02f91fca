//! The workers of a search: each looks at one share of the combinations after another.

use core::ops::Range;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

use gloo::worker::{Spawnable, WorkerBridge};

use crate::browser;
use megatron_memory::search::{Keep, Options, Shares};
use search_worker::{Answer, Request, SCRIPT, SearchWorker};

/// More workers would take much memory: each holds the whole program.
const MAX_WORKERS: usize = 16;

/// Workers that search together. Dropping the pool ends the search.
pub(super) struct Pool {
    inner: Rc<Inner>,
}

struct Inner {
    workers: RefCell<Vec<WorkerBridge<SearchWorker>>>,
    /// The shares that were not handed out yet.
    shares: RefCell<Shares>,
    /// Where the present share of each worker ends.
    ends: RefCell<Vec<u64>>,
    tell: Box<dyn Fn(Answer)>,
}

/// What is searched.
pub(super) struct Task {
    /// The job, as the fragment of a share link.
    pub(super) link: String,
    pub(super) options: Options,
    pub(super) keep: Keep,
    /// The shares that the combinations are parted into.
    pub(super) shares: Shares,
}

impl Pool {
    /// Starts a search; `tell` gets every answer.
    pub(super) fn start(task: &Task, tell: impl Fn(Answer) + 'static) -> Self {
        let count = browser::cores().clamp(1, MAX_WORKERS);
        let inner = Rc::new(Inner {
            workers: RefCell::default(),
            shares: RefCell::new(task.shares.clone()),
            ends: RefCell::new(vec![0; count]),
            tell: Box::new(tell),
        });
        for index in 0..count {
            let pool = Rc::downgrade(&inner);
            let bridge = SearchWorker::spawner()
                .callback(move |answer| receive(&pool, index, answer))
                .spawn(SCRIPT);
            bridge.send(Request::Begin {
                link: task.link.clone(),
                options: task.options.clone(),
                keep: task.keep,
            });
            inner.workers.borrow_mut().push(bridge);
            inner.hand_out_share(index);
        }
        Self { inner }
    }

    /// Asks what would make a combination fit.
    pub(super) fn explain(&self, index: u64) {
        self.inner.send(0, Request::Explain { index });
    }
}

/// Passes an answer on, and gives the worker its next range.
fn receive(pool: &Weak<Inner>, worker: usize, answer: Answer) {
    let Some(pool) = pool.upgrade() else { return };
    if let Answer::Found(slice) = &answer {
        match slice.next {
            Some(from) => {
                let until = pool.ends.borrow().get(worker).copied().unwrap_or(from);
                pool.send(worker, Request::Search { from, until });
            }
            None => pool.hand_out_share(worker),
        }
    }
    (pool.tell)(answer);
}

impl Inner {
    fn hand_out_share(&self, worker: usize) {
        let share = self.shares.borrow_mut().next_for(worker);
        if let Some(Range { start, end }) = share {
            if let Some(of_worker) = self.ends.borrow_mut().get_mut(worker) {
                *of_worker = end;
            }
            let (from, until) = (start, end);
            self.send(worker, Request::Search { from, until });
        }
    }

    fn send(&self, worker: usize, request: Request) {
        if let Some(bridge) = self.workers.borrow().get(worker) {
            bridge.send(request);
        }
    }
}
