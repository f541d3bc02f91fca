//! Mounts the page in steps, from top to bottom, so that the reader sees the headline first and the browser can answer
//! between any two of them.

use core::time::Duration;

use leptos::prelude::*;

/// The steps in which the page is mounted. A handle: copies share the same signals.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// How many steps there are so far. Components that a step mounts may add more.
    added: StoredValue<usize>,
    /// How many of them are mounted.
    mounted: RwSignal<usize>,
}

impl Steps {
    /// Provides the steps as context: every [`Step`] below is mounted in a task of its own.
    pub(super) fn provide() {
        provide_context(Self {
            added: StoredValue::new(0),
            mounted: RwSignal::new(0),
        });
    }

    /// Adds a step, and returns its number, counted from 1.
    fn add(self) -> usize {
        let number = self.added.get_value() + 1;
        self.added.set_value(number);
        if number == self.mounted.get_untracked() + 1 {
            self.mount_next();
        }
        number
    }

    /// Mounts the next step in a task of its own, and the steps after it in further ones.
    fn mount_next(self) {
        let mount = move || {
            // Without an owner the page is gone.
            let Some(mounted) = self.mounted.try_get_untracked() else {
                return;
            };
            self.mounted.set(mounted + 1);
            if self.added.get_value() > mounted + 1 {
                self.mount_next();
            }
        };
        set_timeout(mount, Duration::ZERO);
    }
}

/// Mounts its children in a task of its own, after all steps above it in the page. Without [`Steps`], as in an embed, they
/// are mounted at once.
#[component]
pub(super) fn Step(children: ChildrenFn) -> impl IntoView {
    let Some(steps) = use_context::<Steps>() else {
        return children();
    };
    let number = steps.add();
    view! { <Show when=move || number <= steps.mounted.get()>{children()}</Show> }.into_any()
}
