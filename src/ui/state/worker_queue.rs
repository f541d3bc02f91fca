//! A worker that answers one request after the other, so that what takes long does not hold up the page. It is loaded
//! when something is first asked.

use std::rc::Rc;

use gloo::timers::callback::Timeout;
use gloo::worker::{Spawnable, WorkerBridge};
use leptos::prelude::*;

use search_worker::{Answer, Request, SCRIPT, SearchWorker};

/// Milliseconds after which the page may say that an answer takes its time, and offer to stop.
const SHORT: u32 = 300;
/// Milliseconds after which a worker that does not answer counts as failed.
const SILENCE: u32 = 60_000;

/// What is done with an answer; `None` where the worker did not answer.
type Receive = Rc<dyn Fn(Option<Answer>)>;

/// A worker that answers one request at a time. A handle: copies share the same worker.
#[derive(Clone, Copy)]
pub struct WorkerQueue {
    /// Whether an answer has taken so long that the page may say so.
    pub is_slow: RwSignal<bool>,
    inner: StoredValue<Inner, LocalStorage>,
}

#[derive(Default)]
struct Inner {
    /// The worker, from the first request on.
    bridge: Option<WorkerBridge<SearchWorker>>,
    /// What gets the answer to the request at work.
    running: Option<Receive>,
    /// The request that comes next. A newer one takes its place.
    next: Option<(Request, Receive)>,
    /// Sets `is_slow`, and gives up at last.
    timers: Vec<Timeout>,
}

impl WorkerQueue {
    /// A queue whose worker is loaded later.
    pub fn new() -> Self {
        Self {
            is_slow: RwSignal::new(false),
            inner: StoredValue::new_local(Inner::default()),
        }
    }

    /// Loads the worker, so that it is there when a request comes.
    pub fn prepare(self) {
        self.inner.update_value(|inner| {
            if inner.bridge.is_none() {
                let receive = move |answer| self.receive(Some(answer));
                inner.bridge = Some(SearchWorker::spawner().callback(receive).spawn(SCRIPT));
            }
        });
    }

    /// Asks after the request at work. Of several that wait, only the newest is asked.
    pub fn ask(self, request: Request, receive: impl Fn(Option<Answer>) + 'static) {
        self.prepare();
        let next: (Request, Receive) = (request, Rc::new(receive));
        self.inner.update_value(|inner| inner.next = Some(next));
        self.ask_next();
    }

    /// Stops the worker: the request at work, and what waits, gets no answer.
    pub fn stop(self) {
        self.inner.set_value(Inner::default());
        self.is_slow.set(false);
    }

    fn ask_next(self) {
        let started = self.inner.try_update_value(|inner| {
            let idle = inner.running.is_none();
            let (request, receive) = inner.next.take_if(|_| idle)?;
            inner.bridge.as_ref()?.send(request);
            inner.running = Some(receive);
            Some(())
        });
        if started.flatten().is_some() {
            let timers = vec![
                Timeout::new(SHORT, move || self.is_slow.set(true)),
                Timeout::new(SILENCE, move || self.give_up()),
            ];
            self.inner.update_value(|inner| inner.timers = timers);
        }
    }

    fn receive(self, answer: Option<Answer>) {
        let running = self.inner.try_update_value(|inner| {
            inner.timers.clear();
            inner.running.take()
        });
        if let Some(receive) = running.flatten() {
            self.is_slow.set(false);
            receive(answer);
            self.ask_next();
        }
    }

    /// Says that there is no answer, and leaves the worker that gave none.
    fn give_up(self) {
        let running = self.inner.try_update_value(|inner| core::mem::take(inner).running);
        self.is_slow.set(false);
        if let Some(receive) = running.flatten() {
            receive(None);
        }
    }
}
