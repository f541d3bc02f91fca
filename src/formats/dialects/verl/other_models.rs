//! The other models of verl's reinforcement learning that stay on the GPUs of the actor while it is trained.

use std::collections::BTreeMap;

use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{int, truth, word};
use crate::formats::report::KeyStatus;
use crate::value::Value;

const ACTOR: &str = "actor_rollout_ref.actor.megatron";
const REFERENCE: &str = "actor_rollout_ref.ref.megatron";

/// The parallel sizes of a model; those of the reference model are the actor's where they are not given.
const SIZES: [&str; 6] = [
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
];

fn is_on(keys: &Keys<'_>, key: &str) -> Option<bool> {
    keys.last_at(key).and_then(|item| truth(&item.value))
}

/// The reference model is there where a loss or a reward compares with it (`need_reference_policy`); with adapters it
/// is the actor without them (`RayPPOTrainer.ref_in_actor`). Its weights stay on the GPUs unless they are offloaded, by
/// default as the actor's are (`trainer/config/ref/megatron_ref.yaml`), and it has no gradients and no MTP layers.
pub(super) fn reference(draft: &mut JobDraft, keys: &Keys<'_>) {
    let names = ["actor_rollout_ref.actor.use_kl_loss", "algorithm.use_kl_in_reward"];
    let mut needs = names.into_iter();
    let Some(item) = needs.find_map(|key| {
        let item = keys.last_at(key)?;
        (truth(&item.value) == Some(true)).then_some(item)
    }) else {
        return;
    };
    let offload = |model: &str| is_on(keys, &format!("{model}.param_offload"));
    let is_offloaded = offload(REFERENCE).or_else(|| offload(ACTOR)) == Some(true);
    if is_offloaded || draft.has(FieldId::peft_type) {
        return;
    }
    // Sizes are 1 by default, but for that of experts' tensors.
    let of = |model: &str, size: &str| {
        let given = keys.last_at(&format!("{model}.{size}")).and_then(int);
        let is_one = size != "expert_tensor_parallel_size";
        given.or_else(|| is_one.then_some(1))
    };
    let has_own_sizes = SIZES.into_iter().any(|size| {
        let own = keys.last_at(&format!("{REFERENCE}.{size}"));
        own.is_some() && of(REFERENCE, size) != of(ACTOR, size)
    });
    let has_mtp = draft.number(FieldId::mtp_num_layers).unwrap_or(0) > 0;
    if has_own_sizes || has_mtp {
        let reason = "a reference model with parallel sizes or layers of its own is not counted";
        return mark(draft, item, reason);
    }
    let note = "the reference model stays beside the actor";
    count(draft, item, FieldId::ref_model, note);
}

/// The critic is trained on the same GPUs (`need_critic`, and `global_pool` for every role).
pub(super) fn critic(draft: &mut JobDraft, keys: &Keys<'_>) {
    let estimator = keys.last_at("algorithm.adv_estimator");
    let enable = keys.last_at("critic.enable");
    let given = enable.and_then(|item| Some((item, truth(&item.value)?)));
    let needs = match (given, estimator) {
        (Some((item, on)), _) => on.then_some(item),
        (None, Some(item)) => (word(&item.value) == "gae").then_some(item),
        (None, None) => keys.all().iter().find(|item| item.key.starts_with("critic.")),
    };
    let Some(item) = needs else { return };
    let parts = ["param_offload", "grad_offload", "optimizer_offload"];
    let parts = parts.map(|part| is_on(keys, &format!("critic.megatron.{part}")));
    if parts.iter().all(|part| *part == Some(true)) {
        return;
    }
    let stays = parts.iter().all(|part| *part != Some(true));
    if stays && is_like_actor(keys) && !draft.has(FieldId::peft_type) {
        let note = "the critic stays beside the actor";
        return count(draft, item, FieldId::critic, note);
    }
    let reason = "the critic's weights, gradients and optimizer states stay on the same GPUs";
    mark(draft, item, reason);
}

/// Whether the critic is the actor's model with the same parallel sizes and the same optimizer, and has no larger micro
/// batches.
fn is_like_actor(keys: &Keys<'_>) -> bool {
    let path = |model: &str| keys.last_at(&format!("{model}.path")).map(|item| word(&item.value));
    let model = path("critic.model");
    let same_model = model.is_some() && model == path("actor_rollout_ref.model");
    let pairs = [
        ("critic.megatron", ACTOR),
        (
            "critic.optim.override_optimizer_config",
            "actor_rollout_ref.actor.optim.override_optimizer_config",
        ),
    ];
    let others = ["override_config", "lora", "mtp"];
    let changes = keys.all().iter().any(|item| {
        let of_model = item.key.strip_prefix("critic.model.");
        of_model.is_some_and(|key| others.iter().any(|other| key.starts_with(other)))
    });
    let number = |key: &str| keys.last_at(key).and_then(int);
    let of_actor = |key: &str| format!("actor_rollout_ref.actor.{key}");
    let dynamic = is_on(keys, "critic.use_dynamic_bsz");
    let dynamic = dynamic.or_else(|| is_on(keys, &of_actor("use_dynamic_bsz")));
    let (key, defaults) = if dynamic == Some(true) {
        ("ppo_max_token_len_per_gpu", [Some(32_768), Some(16_384)])
    } else {
        ("ppo_micro_batch_size_per_gpu", [None, None])
    };
    let [critic, actor] = defaults;
    let critic = number(&format!("critic.{key}")).or(critic);
    let actor = number(&of_actor(key)).or(actor);
    let no_larger = critic.zip(actor).is_some_and(|(critic, actor)| critic <= actor);
    let same = pairs
        .into_iter()
        .all(|(critic, actor)| settings(keys, critic) == settings(keys, actor));
    same_model && !changes && no_larger && same
}

/// The settings below a key that change memory while a model is trained, in the order of their keys; the last value
/// counts.
fn settings<'a>(keys: &Keys<'a>, key: &str) -> BTreeMap<&'a str, String> {
    let below = keys.all().iter().filter_map(|item| {
        let rest = item.key.strip_prefix(key)?.strip_prefix('.')?;
        (!rest.ends_with("_offload")).then(|| (rest, word(&item.value)))
    });
    below.collect()
}

/// Turns a field on by a key that has a row in the report.
fn count(draft: &mut JobDraft, item: &KeyValue, id: FieldId, note: &'static str) {
    draft.settings.set(id, Value::Bool(true));
    let mut rows = draft.report.iter_mut();
    if let Some(row) = rows.find(|row| row.key == item.key) {
        (row.status, row.field) = (KeyStatus::Derived, Some(id));
        row.note = note.into();
    }
}

/// Marks a job by a key that has a row in the report.
fn mark(draft: &mut JobDraft, item: &KeyValue, reason: &'static str) {
    let mut rows = draft.report.iter_mut();
    if let Some(row) = rows.find(|row| row.key == item.key) {
        (row.status, row.effect) = (KeyStatus::NotModelled, Some(MemoryEffect::More));
        row.note = reason.into();
    }
    draft.marks.push(NotModelled::new(&item.key, reason));
}
