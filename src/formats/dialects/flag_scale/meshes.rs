//! `FlagScale`'s process meshes: groups of pipeline stages, each with its own parallel sizes and on devices of its own
//! kind (`FSTrainArguments.pre_validate_args` in `flagscale/train/arguments.py`).

use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::derivations::stages::{numbers, set_stages};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::is_off;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// The keys of process meshes.
const KEYS: [&str; 7] = [
    SWITCH,
    MESHES,
    SPLIT,
    DEVICES,
    EXPERT_TENSOR,
    "hetero_current_device_type",
    "hetero_use_cpu_communication",
];
const SWITCH: &str = "enable_hetero";
const MESHES: &str = "hetero_process_meshes";
const SPLIT: &str = "hetero_pipeline_layer_split";
const DEVICES: &str = "hetero_device_types";
const EXPERT_TENSOR: &str = "expert_tensor_parallel_size_per_process_mesh";

/// TP, CP, EP, DP and PP of one mesh.
type Mesh = [usize; 5];

/// Reports the keys that [`sizes`] reads. Returns whether the key is one of them.
pub(super) fn special(draft: &mut JobDraft, item: &KeyValue, name: &str) -> bool {
    let is_key = KEYS.contains(&name);
    // Those with a value of their own are reported with it.
    if is_key && !matches!(name, MESHES | SPLIT | DEVICES) {
        draft.row(item, KeyStatus::Derived, None, "");
    }
    is_key
}

fn is_on(keys: &Keys<'_>) -> bool {
    keys.named(SWITCH).is_some_and(|item| !is_off(&item.value))
}

/// The meshes, in the order of pipeline stages.
fn meshes(keys: &Keys<'_>) -> Vec<Mesh> {
    let given = keys.named(MESHES).map(|item| numbers(&item.value));
    let given = given.unwrap_or_default();
    let (meshes, rest) = given.as_chunks();
    if rest.is_empty() { meshes.to_vec() } else { Vec::new() }
}

/// Why a configuration is not read: its stages have different parallel sizes, or none that are given.
pub(super) fn refused(keys: &Keys<'_>) -> Option<&'static str> {
    if !is_on(keys) {
        return None;
    }
    let meshes = meshes(keys);
    let Some((first, others)) = meshes.split_first() else {
        return Some("a FlagScale configuration for devices of several kinds without its meshes");
    };
    let expert_tensor = keys.named(EXPERT_TENSOR).map(|item| numbers(&item.value));
    let expert_tensor = expert_tensor.unwrap_or_default();
    let sizes = |[tp, cp, ep, dp, _]: &Mesh| [*tp, *cp, *ep, *dp];
    let equal = others.iter().all(|mesh| sizes(mesh) == sizes(first))
        && expert_tensor.windows(2).all(|pair| matches!(pair, [a, b] if a == b));
    (!equal).then_some(
        "a FlagScale configuration whose pipeline stages have different parallel sizes (hetero_process_meshes)",
    )
}

/// Sets the parallel sizes that all meshes have, and the layers of each stage.
pub(super) fn sizes(draft: &mut JobDraft, keys: &Keys<'_>) {
    let on = is_on(keys);
    let items = [MESHES, SPLIT, DEVICES].map(|name| keys.named(name));
    let [Some(item), split, devices] = items else {
        return;
    };
    let meshes = meshes(keys);
    let (Some([tp, cp, ep, dp, _]), true) = (meshes.first(), on) else {
        for item in items.into_iter().flatten() {
            draft.row(item, KeyStatus::Ignored, None, "without enable_hetero");
        }
        return;
    };
    let pp: usize = meshes.iter().map(|[.., pp]| pp).sum();
    let ranks = [*tp, *cp, *dp, pp].into_iter().fold(1, usize::saturating_mul);
    for (id, size) in [
        (FieldId::tensor_model_parallel_size, *tp),
        (FieldId::context_parallel_size, *cp),
        (FieldId::expert_model_parallel_size, *ep),
        (FieldId::pipeline_model_parallel_size, pp),
        (FieldId::world_size, ranks),
    ] {
        let size = i128::try_from(size).unwrap_or(i128::MAX);
        draft.settings.set(id, Value::Int(size));
    }
    if *tp == 1 {
        let id = FieldId::sequence_parallel;
        draft.settings.set(id, Value::Bool(false));
    }
    let expert_tensor = keys.named(EXPERT_TENSOR).map(|item| numbers(&item.value));
    if let Some(size) = expert_tensor.and_then(|sizes| sizes.first().copied()) {
        let size = i128::try_from(size).unwrap_or(i128::MAX);
        let id = FieldId::expert_tensor_parallel_size;
        draft.settings.set(id, Value::Int(size));
    }
    let id = FieldId::pipeline_model_parallel_size;
    draft.row(item, KeyStatus::Derived, Some(id), "sizes of every stage");
    if let Some(item) = split {
        match numbers(&item.value) {
            stages if stages.len() > 1 => set_stages(draft, item, &stages),
            _ => draft.row(item, KeyStatus::Ignored, None, "one stage has all layers"),
        }
    }
    let Some(item) = devices else { return };
    let names = match &item.value {
        Value::List(names) => names.iter().map(shown).collect(),
        other => vec![shown(other)],
    };
    if names.windows(2).all(|pair| matches!(pair, [a, b] if a == b)) {
        draft.row(item, KeyStatus::Derived, None, "");
    } else {
        let reason = "stages on devices of other kinds are counted like the others";
        draft.not_modelled(item, MemoryEffect::More, reason);
    }
}
