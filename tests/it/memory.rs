//! Steady state and peak of whole stages.

mod activations;
mod adapters;
mod clamp;
mod critic;
mod delayed_wgrad;
mod dispatch;
mod fp8;
mod fsdp;
mod graphs;
mod jobs;
mod labels;
mod laws;
mod local_graphs;
mod logprobs;
mod mamba;
mod offload;
mod packed;
mod pairs;
mod parallel_layer;
mod ref_model;
mod savings;
mod softcap;
mod stash;
mod states;
mod torch_fsdp2;
mod variants;
