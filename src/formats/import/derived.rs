//! Arguments that Megatron-LM's `validate_args` has derived from others, in a list of all arguments. Left in, they
//! would stand in the job as if a user had set them, and would contradict the next setting that is changed.

use super::draft::JobDraft;
use crate::config::canonical::{is_on, meaning};
use crate::config::field::Group;
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The sizes of latent attention. Its arguments have defaults in models without it too.
const LATENT: [FieldId; 5] = [
    FieldId::q_lora_rank,
    FieldId::kv_lora_rank,
    FieldId::qk_head_dim,
    FieldId::qk_pos_emb_head_dim,
    FieldId::v_head_dim,
];

/// Takes out of a draft what follows from the rest of it.
pub(super) fn remove(draft: &mut JobDraft) {
    let id = FieldId::multi_latent_attention;
    if !is_on(&draft.settings, id) && !has_latent_letters(draft) {
        for id in LATENT {
            forget(draft, id, "for latent attention alone");
        }
    }
    for id in FieldId::ALL {
        if id.field().group == Group::Encoder {
            forget(draft, *id, "of a vision model");
        }
    }
    let rope = FieldId::position_embedding_type;
    let rotary = Value::Text("rope".to_owned());
    if meaning(rope, draft.settings.get(rope)) != meaning(rope, Some(&rotary)) {
        forget(draft, FieldId::apply_rope_fusion, "for rotary positions alone");
    }
    for id in derived(draft) {
        forget(draft, id, "as Megatron-LM derives it");
    }
}

/// Whether the pattern of a hybrid model has layers with latent attention.
fn has_latent_letters(draft: &JobDraft) -> bool {
    let id = FieldId::hybrid_layer_pattern;
    let Some(Value::Text(text)) = draft.settings.get(id) else {
        return false;
    };
    let pattern = text.parse::<HybridPattern>();
    pattern.is_ok_and(|pattern| {
        pattern.has(LayerSymbol::MultiLatentAttention) || pattern.has(LayerSymbol::SparseAttention)
    })
}

/// The fields whose value is what Megatron-LM would derive.
fn derived(draft: &JobDraft) -> Vec<FieldId> {
    let number = |id| draft.number(id);
    let one = |id| draft.number(id).unwrap_or(1);
    let hidden = number(FieldId::hidden_size);
    let wide = hidden.map(|hidden| {
        if is_on(&draft.settings, FieldId::swiglu) {
            hidden.saturating_mul(8) / 3 / 64 * 64
        } else {
            hidden.saturating_mul(4)
        }
    });
    let heads = number(FieldId::num_attention_heads).filter(|heads| *heads > 0);
    let ffn = number(FieldId::ffn_hidden_size);
    let is_given = |id| draft.settings.get(id).is_some_and(|value| *value != Value::Null);
    let splits = [
        FieldId::num_layers_per_virtual_pipeline_stage,
        FieldId::num_virtual_stages_per_pipeline_rank,
        FieldId::pipeline_model_parallel_layout,
        FieldId::hybrid_layer_pattern,
    ];
    let split = splits.into_iter().any(is_given);
    let ranks = one(FieldId::tensor_model_parallel_size)
        .saturating_mul(one(FieldId::pipeline_model_parallel_size))
        .saturating_mul(one(FieldId::context_parallel_size));
    let copies = number(FieldId::world_size).map(|world| world / ranks.max(1));
    let batch = copies.map(|copies| copies.saturating_mul(one(FieldId::micro_batch_size)));
    let explicit = draft
        .report
        .iter()
        .any(|row| row.key == "_is_global_batch_size_explicitly_specified" && row.value == "false");
    let in_fp32 = is_on(&draft.settings, FieldId::bf16)
        && !is_on(&draft.settings, FieldId::grad_reduce_in_bf16)
        && is_default(draft, FieldId::main_grads_dtype);
    let candidates = [
        (FieldId::ffn_hidden_size, wide),
        (
            FieldId::kv_channels,
            hidden.zip(heads).map(|(hidden, heads)| hidden / heads),
        ),
        (FieldId::moe_ffn_hidden_size, ffn),
        (
            FieldId::expert_tensor_parallel_size,
            Some(one(FieldId::tensor_model_parallel_size)),
        ),
        (FieldId::data_parallel_size, copies),
        (FieldId::global_batch_size, batch.filter(|_| explicit)),
    ];
    let equal = candidates
        .into_iter()
        .filter(|(id, value)| value.is_some() && number(*id) == *value)
        .map(|(id, _)| id);
    let id = FieldId::virtual_pipeline_model_parallel_size;
    let virtual_stages = (split && is_given(id)).then_some(id);
    let id = FieldId::accumulate_allreduce_grads_in_fp32;
    let gradients = (in_fp32 && is_on(&draft.settings, id)).then_some(id);
    equal.chain(virtual_stages).chain(gradients).collect()
}

/// Whether a field has its default.
fn is_default(draft: &JobDraft, id: FieldId) -> bool {
    meaning(id, draft.settings.get(id)) == meaning(id, None)
}

/// Takes a field out; its report rows say why.
fn forget(draft: &mut JobDraft, id: FieldId, why: &'static str) {
    if draft.settings.get(id).is_none_or(|value| *value == Value::Null) {
        return;
    }
    draft.settings.set(id, Value::Null);
    let rows = draft.report.iter_mut();
    for row in rows.filter(|row| row.field == Some(id) && row.status == KeyStatus::Mapped) {
        row.status = KeyStatus::Derived;
        row.note = why.into();
    }
}
