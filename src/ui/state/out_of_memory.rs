//! The out-of-memory errors of the text that the job was imported from.

use leptos::prelude::*;

use megatron_memory::formats::out_of_memory::OutOfMemory;

/// The errors; none where the text had none. Provided as context on the calculator's own page.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutOfMemoryErrors(pub RwSignal<Vec<OutOfMemory>>);
