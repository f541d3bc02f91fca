//! The state of a run of an estimator: its objects and its exception.

use core::cell::RefCell;

use super::{Object, Py, PythonError};

struct Run {
    objects: Vec<Object>,
    raised: Option<PythonError>,
}

thread_local! {
    static RUN: RefCell<Run> = const { RefCell::new(Run { objects: Vec::new(), raised: None }) };
}

/// What the formulas come to, or the exception that they raise.
///
/// Runs may nest. No [`Py`] outlives the run that made it.
pub(in super::super) fn run<T>(formulas: impl FnOnce() -> T) -> Result<T, PythonError> {
    let outer = start();
    let result = formulas();
    match end(outer) {
        None => Ok(result),
        Some(exception) => Err(exception),
    }
}

/// Starts a run with no exception; the number of objects there are, and the exception of the run around it.
fn start() -> (usize, Option<PythonError>) {
    RUN.with_borrow_mut(|run| (run.objects.len(), run.raised.take()))
}

/// Ends a run and goes back to the one around it.
fn end((objects, raised): (usize, Option<PythonError>)) -> Option<PythonError> {
    RUN.with_borrow_mut(|run| {
        run.objects.truncate(objects);
        core::mem::replace(&mut run.raised, raised)
    })
}

/// Raises an exception, unless one has been raised already. Its message comes in parts.
pub(in super::super) fn raise(kind: &'static str, message: &[&str]) {
    RUN.with_borrow_mut(|run| {
        run.raised.get_or_insert_with(|| PythonError {
            kind,
            message: message.concat(),
        });
    });
}

/// Whether an exception has ended the run.
pub(in super::super) fn has_raised() -> bool {
    RUN.with_borrow(|run| run.raised.is_some())
}

impl From<Object> for Py {
    fn from(object: Object) -> Self {
        RUN.with_borrow_mut(|run| {
            // After an exception no object matters, so that none is kept.
            if run.raised.is_none() {
                run.objects.push(object);
            }
            Self(run.objects.len().saturating_sub(1))
        })
    }
}

impl Py {
    pub(super) fn object(self) -> Object {
        RUN.with_borrow(|run| run.objects.get(self.0).copied().unwrap_or(Object::None))
    }
}
