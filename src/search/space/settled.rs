//! Layouts that the factors of reserved over allocated memory leave open, by a replay of PyTorch's allocator.

use super::Space;
use crate::config::check;
use crate::search::candidate::Candidate;
use crate::verdict::{Standing, Verdict};

impl Space {
    /// A layout with the memory that the device shows by a replay of PyTorch's allocator where the layout is
    /// [tight](Verdict::Tight) by the factors, which searches use: its verdict is then the one on its job.
    #[must_use]
    pub fn settled(&self, layout: Candidate) -> Candidate {
        if layout.verdict() != Verdict::Tight {
            return layout;
        }
        let config = check(&self.job(layout.index)).config;
        config.map_or(layout, |config| {
            let (least, most) = Standing::of(&config).device;
            Candidate { least, most, ..layout }
        })
    }
}
