//! Sources in frameworks around Megatron, each at the commit in its address.

use super::Source;

/// Attention of `NeMo` 2 for Gemma 2.
pub const GEMMA_2_ATTENTION: Source = Source::page(
    "https://github.com/NVIDIA/NeMo/blob/8cfedd7203/nemo/collections/llm/gpt/model/gemma2.py",
    "Gemma2DotProductAttention.forward",
);
/// The output layer of `NeMo` 2 and of Megatron-Bridge for Gemma 2.
pub const GEMMA_2_OUTPUT_LAYER: Source = Source::page(
    "https://github.com/NVIDIA/NeMo/blob/8cfedd7203/nemo/collections/llm/gpt/model/gemma2.py",
    "Gemma2OutputLayer.forward",
);
/// `NeMo` 1's layers of Falcon.
pub const FALCON_LAYER: Source = Source::page(
    "https://github.com/NVIDIA/NeMo/blob/8cfedd7203462cb251a914e700e5605444277561/nemo/collections/nlp/models/language_modeling/megatron/falcon/falcon_decoder_layer.py",
    "FalconTransformerLayer",
);
/// NeMo-RL's log-probabilities of tokens.
pub const NEMO_RL_LOGPROBS: Source = Source::page(
    "https://github.com/NVIDIA-NeMo/RL/blob/7ea279abfb/nemo_rl/distributed/model_utils.py",
    "DistributedLogprob",
);
/// The same, some tokens at a time.
pub const NEMO_RL_CHUNKED_LOGPROBS: Source = Source::page(
    "https://github.com/NVIDIA-NeMo/RL/blob/7ea279abfb/nemo_rl/distributed/model_utils.py",
    "ChunkedDistributedLogprob",
);
/// slime's log-probabilities and entropies of tokens.
pub const SLIME_LOGPROBS: Source = Source::page(
    "https://github.com/THUDM/slime/blob/624b824a/slime/utils/ppo_utils.py",
    "_VocabParallelLogProbEntropy, calculate_log_probs_and_entropy",
);
/// The logits that slime's loss takes, divided by the temperature of rollouts.
pub const SLIME_TEMPERATURE: Source = Source::page(
    "https://github.com/THUDM/slime/blob/624b824a/slime/backends/megatron_utils/loss.py",
    "get_log_probs_and_entropy",
);
/// ms-swift's log-probabilities of tokens, which its trainers of GRPO and GKD make of logits.
pub const SWIFT_LOGPROBS: Source = Source::page(
    "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/trainers/vocab_parallel_utils.py",
    "vocab_parallel_log_softmax, vocab_parallel_gather_logps",
);
/// verl's output layer and log-probabilities in one.
pub const VERL_FUSED_LOGPROBS: Source = Source::page(
    "https://github.com/verl-project/verl/blob/1dda039b9c/verl/utils/kernel/kernels.py",
    "efficient_entropy_forward, efficient_entropy_backward",
);
/// The reference model of ms-swift's reinforcement learning.
pub const SWIFT_REF_MODELS: Source = Source::page(
    "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/trainers/rlhf_mixin.py",
    "MegatronRLHFTrainer.prepare_model",
);
/// The output layer of sequence classification, as ms-swift's models have it.
pub const LABEL_LAYER: Source = Source::page(
    "https://github.com/modelscope/mcore-bridge/blob/f020e479a2/src/mcore_bridge/model/gpt_model.py",
    "OutputLayerLinear, GPTModel._postprocess",
);
/// The copies of whole modules that are trained beside adapters.
pub const MODULES_TO_SAVE: Source = Source::page(
    "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/utils/utils.py",
    "get_modules_to_save",
);
/// The output of models for embeddings, and that of generative rerankers.
pub const EMBEDDING_OUTPUT: Source = Source::page(
    "https://github.com/modelscope/mcore-bridge/blob/f020e479a2/src/mcore_bridge/model/gpt_model.py",
    "GPTModel._postprocess, GPTModel._forward_generative_reranker",
);
/// The loss of sequence classification.
pub const LABEL_LOSS: Source = Source::page(
    "https://github.com/modelscope/ms-swift/blob/3602360a56/swift/megatron/trainers/trainer.py",
    "MegatronTrainer.seq_cls_loss_func",
);
/// The critic of verl's PPO.
pub const VERL_CRITIC: Source = Source::page(
    "https://github.com/verl-project/verl/blob/1dda039b9c/verl/workers/engine/megatron/transformer_impl.py",
    "MegatronEngineWithValueHead",
);
/// `ChatLearn`'s log-probabilities and entropies.
pub const CHATLEARN_LOSSES: Source = Source::page(
    "https://github.com/alibaba/ChatLearn/blob/b7af31a972/chatlearn/algorithm/grpo_utils/megatron_utils/train_helper.py",
    "_compute_all_losses, _VocabParallelEntropy",
);
