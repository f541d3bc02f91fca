//! Values that tell who read them when they change.
//!
//! Code for every type that a value has would be too much. Here the graph of who depends on whom knows no types at
//! all: a [`Slot`] is a value beside a trigger, a [`Derived`] a value beside a count of its versions, and every
//! effect is a boxed closure. All of them live as long as the page.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

pub(super) use super::runtime::untrack;
use super::runtime::{self, Trigger, Version};

/// A value that can be set.
pub struct Slot<T: 'static>(&'static Held<T>);

struct Held<T> {
    value: RwLock<T>,
    changed: Trigger,
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

impl<T> Slot<T> {
    /// A slot that holds this.
    pub fn new(value: T) -> Self {
        Self(Box::leak(Box::new(Held {
            value: RwLock::new(value),
            changed: Trigger::new(),
        })))
    }

    /// The value; what reads it runs again when it changes. It must not be set while the guard lives.
    pub fn read(self) -> RwLockReadGuard<'static, T> {
        self.0.changed.track();
        self.read_untracked()
    }

    /// The value as it is now.
    pub fn read_untracked(self) -> RwLockReadGuard<'static, T> {
        guard(&self.0.value)
    }

    /// Changes the value and tells.
    pub fn update<R>(self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut value = self.0.value.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut value);
        drop(value);
        self.0.changed.notify();
        result
    }

    /// Replaces the value and tells.
    pub fn set(self, value: T) {
        self.update(|held| *held = value);
    }
}

impl<T: Clone> Slot<T> {
    /// A copy of the value; what reads it runs again when it changes.
    pub fn get(self) -> T {
        self.read().clone()
    }

    /// A copy of the value as it is now.
    pub fn get_untracked(self) -> T {
        self.read_untracked().clone()
    }
}

/// A value that follows from others. It is worked out when it is read, and tells on only when it has become another.
pub struct Derived<T: 'static> {
    value: &'static RwLock<T>,
    version: Version,
}

impl<T> Clone for Derived<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Derived<T> {}

impl<T: Default + Send + Sync> Derived<T> {
    /// A value that `read` works out.
    pub fn new(read: impl Fn() -> T + Send + Sync + 'static) -> Self
    where
        T: PartialEq,
    {
        Self::following(move |old| {
            let new = read();
            (new != *old).then_some(new)
        })
    }

    /// A value that `follow` works out from the one before; nothing where it stays. The first is the default.
    pub fn following(follow: impl Fn(&T) -> Option<T> + Send + Sync + 'static) -> Self {
        let value: &'static RwLock<T> = Box::leak(Box::default());
        let changes = move || {
            let new = follow(&guard(value));
            let changed = new.is_some();
            if let Some(new) = new {
                *value.write().unwrap_or_else(PoisonError::into_inner) = new;
            }
            changed
        };
        Self {
            value,
            version: Version::new(Box::new(changes)),
        }
    }

    /// The value; what reads it runs again when it changes.
    pub fn read(self) -> RwLockReadGuard<'static, T> {
        self.version.track();
        guard(self.value)
    }

    /// The value as it is now.
    pub fn read_untracked(self) -> RwLockReadGuard<'static, T> {
        untrack(|| self.read())
    }

    /// A copy of the value; what reads it runs again when it changes.
    pub fn get(self) -> T
    where
        T: Clone,
    {
        self.read().clone()
    }
}

fn guard<T>(value: &'static RwLock<T>) -> RwLockReadGuard<'static, T> {
    value.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `act` now, and again whenever something that it read has changed.
pub(crate) fn effect(act: impl FnMut() + 'static) {
    runtime::effect(Box::new(act));
}

#[cfg(test)]
mod tests {
    use super::{Derived, Slot};

    /// Leptos keeps everything in an owner.
    fn owned(test: impl FnOnce()) {
        leptos::prelude::Owner::new().with(test);
    }

    #[test]
    fn a_derived_value_follows_and_is_worked_out_only_when_needed() {
        owned(|| {
            let (number, runs) = (Slot::new(1), Slot::new(0));
            let half = Derived::new(move || number.get() / 2);
            let text = Derived::new(move || {
                runs.update(|runs| *runs += 1);
                half.get().to_string()
            });
            assert_eq!((text.get().as_str(), runs.get()), ("0", 1));
            number.set(4);
            assert_eq!((text.get().as_str(), runs.get()), ("2", 2));
            number.set(5);
            assert_eq!((text.get().as_str(), runs.get()), ("2", 2));
        });
    }

    #[test]
    fn a_value_can_keep_its_last_good_one() {
        owned(|| {
            let number = Slot::new(Some(3));
            let last = Derived::following(move |_: &Option<i32>| number.get().map(Some));
            assert_eq!(last.get(), Some(3));
            number.set(None);
            assert_eq!(last.get(), Some(3));
        });
    }
}
