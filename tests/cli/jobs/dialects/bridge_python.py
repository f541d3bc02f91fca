import torch.nn.functional as F
from megatron.bridge.recipes.gpt.vanilla_gpt import vanilla_gpt_pretrain_config
from megatron.bridge.training.mixed_precision import bf16_mixed


def pretrain_config():
    cfg = vanilla_gpt_pretrain_config()
    cfg.model.num_layers = 32
    cfg.model.hidden_size = 4096
    cfg.model.ffn_hidden_size = 14336
    cfg.model.num_attention_heads = 32
    cfg.model.num_query_groups = 8
    cfg.model.gated_linear_unit = True
    cfg.model.activation_func = F.silu
    cfg.model.normalization = "RMSNorm"
    cfg.model.position_embedding_type = "rope"
    cfg.model.add_bias_linear = False
    cfg.model.share_embeddings_and_output_weights = False
    cfg.model.vocab_size = 128256
    cfg.model.seq_length = 8192
    cfg.dataset.seq_length = 8192
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.sequence_parallel = True
    cfg.model.attention_dropout = 0.0
    cfg.model.hidden_dropout = 0.0
    cfg.train.micro_batch_size = 1
    cfg.train.global_batch_size = 128
    cfg.mixed_precision = bf16_mixed()
    return cfg
