//! Megatron-LM's MoE-aware theoretical memory report.
