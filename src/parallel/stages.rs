//! Which layers each pipeline stage and virtual chunk holds.
