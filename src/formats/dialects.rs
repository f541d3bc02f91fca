//! Megatron-LM and its front ends: what their keys mean, and the defaults that are their own.
//!
//! One file for each front end: tables of its keys, its defaults, and what it makes of several keys together. Fields are
//! Megatron-LM's argparse destinations, as in [`super::megatron_args`]; values are written the way Python prints them.

pub mod arguments;
pub(super) mod arity;
pub mod bridge;
pub mod chatlearn;
pub mod destinations;
pub(crate) mod dev_branch;
pub mod flag_scale;
pub mod framework;
pub mod meaning;
pub mod megatron_lm;
pub mod mindspeed;
pub mod model_zoo;
pub mod nemo;
pub mod nemo2;
pub mod nemo_rl;
pub mod primus;
pub mod roll;
pub mod slime;
pub mod swift;
pub mod verl;
pub mod yaml_cfg;

use framework::Framework;

/// All front ends. The first whose signs a YAML file has is the one that it belongs to.
pub static FRAMEWORKS: &[&Framework] = &[
    &roll::ROLL,
    &flag_scale::FLAG_SCALE,
    &chatlearn::CHATLEARN,
    &nemo_rl::NEMO_RL,
    &primus::PRIMUS,
    &nemo::NEMO,
    &nemo2::NEMO2,
    &megatron_lm::MEGATRON_LM,
    &arguments::ARGUMENTS,
    &yaml_cfg::YAML_CFG,
    &slime::SLIME,
    &mindspeed::MINDSPEED,
    &swift::SWIFT,
    &bridge::BRIDGE,
    &verl::VERL,
];
