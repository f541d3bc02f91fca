//! Keys of Megatron-LM's dev branch, which builds layers that the pinned revision does not.

use crate::config::choices::{AttentionVariant, DsaKernelBackend, SoftwareStack};
use crate::config::compress_ratios::CompressRatios;
use crate::config::fields::FieldId;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{truth, word};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// `enable_hyper_connections`: the dev branch's name of `enable_mhc_connections`.
pub(in crate::formats) const HYPER_CONNECTIONS: KeyRole = KeyRole::read(
    "enable_hyper_connections",
    Decides::field(FieldId::enable_mhc_connections),
    hyper_connections,
);

fn hyper_connections(draft: &mut JobDraft, _: &mut Keys<'_>, item: &KeyValue) {
    let is_on = truth(&item.value).unwrap_or(true);
    let note = "of the dev branch; later called enable_mhc_connections";
    let id = FieldId::enable_mhc_connections;
    draft.set(item, id, Value::Bool(is_on), KeyStatus::Mapped, note);
    if is_on {
        trained_with(draft);
    }
}

/// `csa_compress_ratios`: a list, or an expression that makes one.
pub(in crate::formats) const COMPRESS_RATIOS: KeyRole = KeyRole::read(
    "csa_compress_ratios",
    Decides::field(FieldId::csa_compress_ratios),
    compress_ratios,
);

fn compress_ratios(draft: &mut JobDraft, _: &mut Keys<'_>, item: &KeyValue) {
    let id = FieldId::csa_compress_ratios;
    if item.value == Value::Null {
        return draft.row(item, KeyStatus::Ignored, Some(id), "no layer has compressed attention");
    }
    let text = match &item.value {
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("[{}]", items.join(","))
        }
        other => word(other),
    };
    let text = text.parse().map_or(text, |ratios: CompressRatios| ratios.to_string());
    draft.set(item, id, Value::Text(text), KeyStatus::Mapped, "");
}

/// `apply_dsa_kernel_fusion`: an older switch for the kernels of `dsa_kernel_backend`.
pub(in crate::formats) const KERNEL_FUSION: KeyRole = KeyRole::read(
    "apply_dsa_kernel_fusion",
    Decides::field(FieldId::dsa_kernel_backend),
    kernel_fusion,
);

fn kernel_fusion(draft: &mut JobDraft, _: &mut Keys<'_>, item: &KeyValue) {
    let id = FieldId::dsa_kernel_backend;
    if truth(&item.value) == Some(true) && !draft.has(id) {
        let kernels = Value::Text(DsaKernelBackend::Cudnn.name().to_owned());
        draft.set(item, id, kernels, KeyStatus::Derived, "its kernels are those of cuDNN");
    } else {
        draft.row(item, KeyStatus::Ignored, Some(id), "another key names the kernels");
    }
}

/// The dev branch trains a job whose layers only it builds.
pub(in crate::formats) fn stack(draft: &mut JobDraft, _: &Keys<'_>) {
    let variant = draft.settings.get(FieldId::experimental_attention_variant).map(word);
    let compressed = variant.as_deref() == Some(AttentionVariant::Dsv4Hybrid.name());
    if compressed || draft.number(FieldId::moe_n_hash_layers).unwrap_or_default() > 0 {
        trained_with(draft);
    }
}

/// The job is trained with the dev branch, unless it says what it is trained with.
pub(in crate::formats) fn trained_with(draft: &mut JobDraft) {
    let id = FieldId::software_stack;
    if !draft.has(id) {
        let stack = Value::Text(SoftwareStack::MegatronDev.name().to_owned());
        draft.settings.set(id, stack);
    }
}
