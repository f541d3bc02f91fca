//! Megatron-Bridge's structured training-memory estimate.
