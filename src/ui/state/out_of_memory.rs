//! The out-of-memory errors of the text that the job was imported from.

use leptos::prelude::*;

use megatron_memory::formats::out_of_memory::{self, OutOfMemory};

/// The errors; none where the text had none. Provided as context on the calculator's own page.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutOfMemoryErrors(pub RwSignal<Vec<OutOfMemory>>);

impl OutOfMemoryErrors {
    /// Reads the errors of a text, in place of those of an earlier one.
    pub fn read(self, text: &str) {
        self.0.set(out_of_memory::read(text));
    }
}
