//! The configurations that one of verl builds on (Hydra's `defaults`).

use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::values::word;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// Those of `verl/trainer/config` for Megatron, whose settings are the defaults here, and those of the same folders that
/// say nothing about the training of the actor.
const OF_VERL: &[&str] = &[
    "_self_",
    "actor",
    "engine",
    "fully_async_ppo_megatron_trainer",
    "hf_model",
    "legacy_data",
    "megatron",
    "megatron_actor",
    "megatron_critic",
    "megatron_ref",
    "megatron_reward_loop",
    "megatron_reward_model",
    "npu_profile",
    "one_step_off_ppo_megatron_trainer",
    "ppo_megatron_trainer",
    "profiler",
    "reward_manager",
    "rollout",
    "rollout_correction",
    "sft_trainer_engine",
    "transfer_queue_ppo_megatron_trainer",
];

/// `defaults`: the configurations below this one. Others than verl's own have settings that are not in the text.
pub(super) const PARENTS: KeyRole = KeyRole::read("defaults", Decides::Nothing, |draft, _, item| {
    let entries = match &item.value {
        Value::List(entries) => entries.as_slice(),
        one => core::slice::from_ref(one),
    };
    if entries.iter().all(is_of_verl) {
        return draft.row(
            item,
            KeyStatus::Ignored,
            None,
            "verl's own configurations, whose settings are the defaults",
        );
    }
    let reason = "it changes another configuration, whose settings are not in the text";
    draft.not_modelled(item, MemoryEffect::More, reason);
});

/// Whether an entry, `name`, `group@package` or `group@package: name`, is one of verl's.
fn is_of_verl(entry: &Value) -> bool {
    let is_known = |name: &str| {
        let name = name.split('@').next().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default();
        OF_VERL.contains(&name.strip_suffix(".yaml").unwrap_or(name))
    };
    match entry {
        Value::Map(options) => options.iter().all(|(_, name)| is_known(&word(name))),
        Value::Text(name) => is_known(name),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => false,
    }
}
