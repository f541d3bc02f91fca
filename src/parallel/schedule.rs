//! The order of forward and backward passes on one pipeline rank.
