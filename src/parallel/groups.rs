//! The dense and the expert rank grid over one span of ranks.
