//! The layers of a `GPTModel` as a pattern.

use megatron_memory::config::choices::{AttentionVariant, RecomputeMethod};
use megatron_memory::config::fields::FieldId as F;
use megatron_memory::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use megatron_memory::config::job::Module;
use megatron_memory::config::layer_sizes::{LayerSizes, LayerSizesList};
use megatron_memory::config::layers::Layer;
use megatron_memory::config::raw::RawJob;
use megatron_memory::value::Value;

/// Fields that split layers over stages or say what layers are, which `hybrid_layer_pattern` does instead.
const REPLACED: &[F] = &[
    F::num_layers,
    F::mtp_num_layers,
    F::pipeline_model_parallel_layout,
    F::virtual_pipeline_model_parallel_size,
    F::num_layers_per_virtual_pipeline_stage,
    F::num_virtual_stages_per_pipeline_rank,
    F::decoder_first_pipeline_num_layers,
    F::decoder_last_pipeline_num_layers,
];

/// Whether letters stand for all that the layers of a module are: not for hyper-connections, a Mamba mixer beside
/// attention, the layers of dense Gemma 4, and two pools of experts, with which Megatron-Bridge builds no hybrid model.
pub(super) fn has_letters(module: &Module) -> bool {
    let a = module.args();
    let of_gpt_alone = a.enable_mhc_connections
        || a.mamba_beside_attention
        || a.layer_norms_in_fp32
        || a.moe_vision_ffn_hidden_size.is_some();
    module.layers().have_symbols() && !of_gpt_alone
}

/// Gives module `index` of a job the layers of `module` as a pattern, with the same layers on each pipeline chunk.
pub(super) fn as_pattern(job: &mut RawJob, index: usize, module: &Module) -> HybridPattern {
    let pattern = pattern_of(module);
    for field in REPLACED {
        if job.get(index, *field).is_some() {
            job.put(index, *field, Value::Null);
        }
    }
    for field in [
        F::account_for_embedding_in_pipeline_split,
        F::account_for_loss_in_pipeline_split,
    ] {
        if job.get(index, field).is_some() {
            job.put(index, field, Value::Bool(false));
        }
    }
    for field in [F::moe_layer_freq, F::linear_attention_freq] {
        if job.get(index, field).is_some() {
            job.put(index, field, Value::Int(1));
        }
    }
    // Only `GPTModel` has a schedule plan (`build_schedule_plan`), by which all-to-alls run behind another pass.
    let overlap = F::overlap_moe_expert_parallel_comm;
    if job.get(index, overlap).is_some() {
        job.put(index, overlap, Value::Bool(false));
    }
    // Fields that count layers: each layer of a `GPTModel` is two letters.
    let a = module.args();
    let recomputed = a.recompute_num_layers;
    // With MTP, Megatron recomputes layers one by one.
    let is_uniform = a.recompute_method == Some(RecomputeMethod::Uniform);
    let recomputed = recomputed.filter(|_| !is_uniform || module.mtp_num_layers == 0);
    let in_bf16 = |count| module.has_bf16_layers().then_some(count);
    for (field, count) in [
        (F::recompute_num_layers, recomputed),
        (F::cpu_offloading_num_layers, Some(a.cpu_offloading_num_layers)),
        (F::num_layers_at_start_in_bf16, in_bf16(a.num_layers_at_start_in_bf16)),
        (F::num_layers_at_end_in_bf16, in_bf16(a.num_layers_at_end_in_bf16)),
    ] {
        if let Some(count) = count.filter(|count| *count > 0) {
            job.put(index, field, Value::Int(i128::from(count) * 2));
        }
    }
    // Which gated delta net the letter G stands for is not in the pattern.
    let variant = a.experimental_attention_variant;
    if variant.is_some_and(|variant| variant != AttentionVariant::Gdn2) {
        job.put(index, F::experimental_attention_variant, Value::Null);
    }
    // Layer n of sparse attention, from 1, is letter 2·n - 1.
    if module.layers().has_sparse_attention() && a.dsa_indexer_topk_freq > 1 {
        let offset = i128::from(a.dsa_indexer_skip_topk_offset.max(1)) * 2 - 1;
        let freq = i128::from(a.dsa_indexer_topk_freq) * 2;
        job.put(index, F::dsa_indexer_skip_topk_offset, Value::Int(offset));
        job.put(index, F::dsa_indexer_topk_freq, Value::Int(freq));
    }
    if a.layer_sizes.is_some() {
        let of_letters = |layers: &[Layer]| -> Vec<LayerSizes> {
            let each = layers.iter().flat_map(|layer| layer.symbols().map(|_| layer.sizes));
            each.collect()
        };
        let sizes = LayerSizesList {
            decoder: of_letters(module.layers().decoder()),
            mtp: of_letters(module.layers().mtp()),
        };
        job.put(index, F::layer_sizes, Value::Text(sizes.to_string()));
    }
    job.put(index, F::hybrid_layer_pattern, Value::Text(pattern.to_string()));
    pattern
}

/// The layers of a module, with `|` where its pipeline chunks end.
fn pattern_of(module: &Module) -> HybridPattern {
    let letters = |layers: &[Layer]| -> Vec<LayerSymbol> { layers.iter().flat_map(|layer| layer.symbols()).collect() };
    let mut chunks: Vec<_> = module.stages.chunks().iter().collect();
    chunks.sort_by_key(|chunk| (chunk.vp_stage, chunk.pp_rank));
    let decoder = module.layers().decoder();
    let segments = chunks.into_iter().map(|chunk| {
        let (start, end) = (chunk.layers.start as usize, chunk.layers.end as usize);
        letters(decoder.get(start..end).unwrap_or_default())
    });
    let segments = segments.collect();
    match module.mtp_num_layers {
        0 => HybridPattern::new(segments, Vec::new(), 0),
        depths => HybridPattern::new(segments, letters(module.layers().mtp()), depths),
    }
}

#[cfg(test)]
mod tests {
    use super::{as_pattern, has_letters};
    use megatron_memory::config::check;
    use megatron_memory::config::job::Config;
    use megatron_memory::config::raw::RawJob;
    use megatron_memory::memory::estimate;
    use megatron_memory::presets::PRESETS;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test(unsupported = test)]
    fn a_preset_written_as_a_pattern_runs_and_has_as_many_parameters() {
        let mut written = 0;
        for preset in PRESETS {
            let mut job = RawJob {
                shared: preset.settings(),
                ..RawJob::default()
            };
            let checked = check(&job).config;
            let config = checked.filter(|config| config.modules().len() == 1);
            let Some(module) = config.as_ref().and_then(|c| c.modules().first()) else {
                continue;
            };
            if module.hybrid().is_some() || !has_letters(module) {
                continue;
            }
            as_pattern(&mut job, 0, module);
            let checked = check(&job);
            assert_eq!(checked.problems, [], "{}", preset.id);
            let parameters = |config: Option<&Config>| {
                let estimate = estimate(config?);
                estimate.modules.first().map(|m| m.parameters.total())
            };
            // A hybrid model's MLA has a norm on queries also where they are not compressed.
            let a = module.args();
            if !a.multi_latent_attention || a.q_lora_rank.is_some() {
                assert_eq!(
                    parameters(checked.config.as_ref()),
                    parameters(config.as_ref()),
                    "{}",
                    preset.id
                );
            }
            written += 1;
        }
        assert!(written > 30, "{written}");
    }
}
