//! What a key decides, known without its value: for keys that have none.

use crate::config::fields::FieldId;
use crate::formats::dialects::{Dialect, KeyMeaning, KeyRule, field_of};

/// What a key decides, independent of its value.
pub(in crate::formats::import) enum Decides {
    /// Nothing that changes memory, or the key is unknown.
    Nothing,
    /// A setting, and its field where it is exactly one.
    Setting(Option<FieldId>),
}

/// What a key decides. Used to report a key that has no value.
pub(in crate::formats::import) fn decides(dialect: Dialect, name: &str) -> Decides {
    let of_field = |destination: &str| match destination {
        "cuda_graph_scope_deprecated" => Decides::Setting(Some(FieldId::cuda_graph_modules)),
        _ => field_of(destination).map_or(Decides::Nothing, |id| Decides::Setting(Some(id))),
    };
    let meaning = match dialect.find(name) {
        Some(KeyMeaning::Retired(Some(successor))) => dialect.find(successor),
        meaning => meaning,
    };
    match meaning {
        None | Some(KeyMeaning::Retired(_) | KeyMeaning::Irrelevant | KeyMeaning::NotModelled { .. }) => {
            Decides::Nothing
        }
        Some(KeyMeaning::Field(destination) | KeyMeaning::Opposite(destination)) => of_field(destination),
        Some(KeyMeaning::Rule(rule)) => of_rule(rule),
    }
}

fn of_rule(rule: KeyRule) -> Decides {
    Decides::Setting(match rule {
        KeyRule::HfModel | KeyRule::TokenizerType | KeyRule::TokenizerModel | KeyRule::ModelProvider => {
            return Decides::Nothing;
        }
        KeyRule::QueryGroups => Some(FieldId::num_query_groups),
        KeyRule::Adapter => Some(FieldId::peft_type),
        KeyRule::CpuOffloading => Some(FieldId::cpu_offloading_num_layers),
        KeyRule::LayerWiseOptimizer => Some(FieldId::use_distributed_optimizer),
        KeyRule::FusedKernels => Some(FieldId::token_loss),
        KeyRule::ReferenceModel => Some(FieldId::ref_model),
        KeyRule::TaskType | KeyRule::NumLabels => Some(FieldId::num_labels),
        KeyRule::VirtualStages => Some(FieldId::virtual_pipeline_model_parallel_size),
        KeyRule::Gradients => Some(FieldId::accumulate_allreduce_grads_in_fp32),
        KeyRule::PaddedVocabulary | KeyRule::PadVocabulary | KeyRule::ExtraVocabulary | KeyRule::PatchTokenizer => {
            Some(FieldId::padded_vocab_size)
        }
        KeyRule::Nodes | KeyRule::GpusPerNode => Some(FieldId::world_size),
        KeyRule::PromptLength | KeyRule::ResponseLength | KeyRule::PackLength => Some(FieldId::seq_length),
        KeyRule::TokensPerGpu | KeyRule::DynamicBatch => Some(FieldId::max_seqlen_per_dp_cp_rank),
        KeyRule::PromptBatch | KeyRule::SamplesPerPrompt | KeyRule::StepsPerRollout | KeyRule::TrainBatch => {
            Some(FieldId::global_batch_size)
        }
        KeyRule::HybridPattern
        | KeyRule::OlderHybridPattern
        | KeyRule::MtpPattern
        | KeyRule::AttentionRatio
        | KeyRule::MlpRatio => Some(FieldId::hybrid_layer_pattern),
        KeyRule::LayerSpec => Some(FieldId::spec),
        KeyRule::GatedLinearUnit
        | KeyRule::ActivationFunction
        | KeyRule::PrecisionPreset
        | KeyRule::Dtype
        | KeyRule::MambaChunkSize
        | KeyRule::RlhfType
        | KeyRule::Nested => None,
        KeyRule::FirstDenseLayers => Some(FieldId::moe_layer_freq),
        KeyRule::SharedExperts => Some(FieldId::moe_shared_expert_intermediate_size),
        KeyRule::NoopLayers => Some(FieldId::num_layers),
        KeyRule::LayerList => Some(FieldId::pipeline_model_parallel_layout),
    })
}
