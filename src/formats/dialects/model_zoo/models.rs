//! The models of Megatron-MoE-ModelZoo: what its launcher and its files of flags say about each (commit e8650517).

use super::ZooModel;

/// Flags that the files of all models have.
pub(super) const COMMON: &str = "--tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} --expert-model-parallel-size ${EP} \
    --context-parallel-size ${CP} --expert-tensor-parallel-size 1 --use-distributed-optimizer --sequence-parallel \
    --disable-bias-linear --micro-batch-size ${MBS} --global-batch-size ${GBS} --transformer-impl transformer_engine \
    --seq-length ${SEQ_LEN} --normalization RMSNorm --swiglu --untie-embeddings-and-output-weights \
    --attention-dropout 0.0 --hidden-dropout 0.0 --moe-permute-fusion --bf16";

/// The models, each with the launcher's values of its variables and the flags of its file beside [`COMMON`].
pub(super) const MODELS: &[ZooModel] = &[
    ZooModel {
        name: "DeepSeek-V2-Lite",
        variables: "TP=1 PP=1 EP=8 CP=1 VPP=1 MBS=1 GBS=512 NUM_LAYERS=27 MOE_TOKEN_DISPATCHER=alltoall MOE_GROUPED_GEMM=true \
            NNODES=1 SEQ_LEN=4096",
        flags: "--no-bias-swiglu-fusion --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V2 \
            --no-create-attention-mask-in-dataloader --num-layers 27 --hidden-size 2048 --ffn-hidden-size 10944 \
            --num-attention-heads 16 --kv-channels 128 --max-position-embeddings 4096 --position-embedding-type rope \
            --make-vocab-size-divisible-by 3200 --multi-latent-attention --qk-layernorm --num-experts 64 \
            --moe-layer-freq ([0]+[1]*26) --moe-ffn-hidden-size 1408 --moe-shared-expert-intermediate-size 2816 \
            --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 6 \
            --moe-token-dispatcher-type ${MOE_TOKEN_DISPATCHER} --moe-router-pre-softmax \
            --moe-grouped-gemm ${MOE_GROUPED_GEMM} --moe-router-dtype fp32 --kv-lora-rank 512 --qk-head-dim 128 \
            --qk-pos-emb-head-dim 64 --v-head-dim 128",
    },
    ZooModel {
        name: "DeepSeek-V2",
        variables: "TP=1 PP=16 EP=8 CP=1 VPP=2 MBS=1 GBS=1024 NUM_LAYERS=60 MOE_TOKEN_DISPATCHER=alltoall \
            MOE_GROUPED_GEMM=true NNODES=32 SEQ_LEN=4096 PP_FIRST=2 PP_LAST=2",
        flags: "--decoder-first-pipeline-num-layers ${PP_FIRST} --decoder-last-pipeline-num-layers ${PP_LAST} \
            --num-layers-per-virtual-pipeline-stage ${LAYERS_PER_VP} --overlap-grad-reduce --overlap-param-gather \
            --no-bias-swiglu-fusion --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
            --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V2 \
            --no-create-attention-mask-in-dataloader --num-layers 60 --hidden-size 5120 --ffn-hidden-size 12288 \
            --num-attention-heads 128 --kv-channels 128 --max-position-embeddings 4096 --position-embedding-type rope \
            --make-vocab-size-divisible-by 3200 --multi-latent-attention --qk-layernorm --num-experts 160 \
            --moe-layer-freq ([0]+[1]*59) --moe-ffn-hidden-size 1536 --moe-shared-expert-intermediate-size 3072 \
            --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 6 \
            --moe-token-dispatcher-type ${MOE_TOKEN_DISPATCHER} --moe-router-pre-softmax \
            --moe-grouped-gemm ${MOE_GROUPED_GEMM} --moe-shared-expert-overlap --moe-router-dtype fp32 \
            --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128",
    },
    ZooModel {
        name: "DeepSeek-V3-Proxy",
        variables: "TP=1 PP=4 EP=16 CP=1 VPP=1 MBS=1 GBS=512 NUM_LAYERS=14 MOE_TOKEN_DISPATCHER=flex MOE_GROUPED_GEMM=true \
            NNODES=8 SEQ_LEN=4096 PP_FIRST=2 PP_LAST=2",
        flags: "--cross-entropy-loss-fusion --cross-entropy-fusion-impl native --tokenizer-type HuggingFaceTokenizer \
            --tokenizer-model deepseek-ai/DeepSeek-V3 --no-create-attention-mask-in-dataloader --num-layers 14 \
            --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128 \
            --max-position-embeddings 4096 --position-embedding-type rope --make-vocab-size-divisible-by 3232 \
            --multi-latent-attention --qk-layernorm --num-experts 64 --moe-layer-freq ([0]*3+[1]*11) \
            --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 \
            --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 8 --moe-token-dispatcher-type flex \
            --moe-enable-deepep --moe-router-pre-softmax --moe-grouped-gemm --moe-router-score-function sigmoid \
            --moe-router-enable-expert-bias --moe-router-dtype fp32 --q-lora-rank 1536 --kv-lora-rank 512 \
            --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --mtp-num-layers 1 \
            --mtp-loss-scaling-factor 0.1",
    },
    ZooModel {
        name: "DeepSeek-V3",
        variables: "TP=1 PP=16 EP=64 CP=1 VPP=1 MBS=1 GBS=8192 NUM_LAYERS=61 MOE_TOKEN_DISPATCHER=flex MOE_GROUPED_GEMM=true \
            NNODES=128 SEQ_LEN=4096 PP_FIRST=4 PP_LAST=1",
        flags: "--overlap-grad-reduce --overlap-param-gather --cross-entropy-loss-fusion \
            --cross-entropy-fusion-impl native --tokenizer-type HuggingFaceTokenizer \
            --tokenizer-model unsloth/DeepSeek-V3 --no-create-attention-mask-in-dataloader --num-layers 61 \
            --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128 \
            --max-position-embeddings 4096 --position-embedding-type rope --make-vocab-size-divisible-by 3232 \
            --multi-latent-attention --qk-layernorm --num-experts 256 --moe-layer-freq ([0]*3+[1]*58) \
            --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 \
            --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 8 --moe-grouped-gemm \
            --moe-router-score-function sigmoid --moe-router-enable-expert-bias --moe-router-dtype fp32 \
            --moe-router-fusion --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 \
            --v-head-dim 128",
    },
    ZooModel {
        name: "Kimi-K2",
        variables: "TP=1 PP=4 EP=64 CP=1 VPP=4 MBS=1 GBS=128 NUM_LAYERS=61 MOE_TOKEN_DISPATCHER=deepep MOE_GROUPED_GEMM=true \
            NNODES=16 SEQ_LEN=4096 PP_FIRST=4 PP_LAST=1",
        flags: "--overlap-grad-reduce --overlap-param-gather --cross-entropy-loss-fusion \
            --cross-entropy-fusion-impl native --tokenizer-type HuggingFaceTokenizer \
            --tokenizer-model moonshotai/Kimi-K2-Instruct --no-create-attention-mask-in-dataloader --num-layers 61 \
            --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 64 --kv-channels 64 \
            --max-position-embeddings 4096 --position-embedding-type rope --make-vocab-size-divisible-by 1280 \
            --multi-latent-attention --qk-layernorm --num-experts 384 --moe-layer-freq ([0]*1+[1]*60) \
            --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 \
            --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 8 --moe-grouped-gemm \
            --moe-router-score-function sigmoid --moe-router-enable-expert-bias --moe-router-dtype fp32 \
            --moe-router-fusion --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 \
            --v-head-dim 128",
    },
    ZooModel {
        name: "Mixtral-8x22B",
        variables: "TP=2 PP=8 EP=8 CP=1 VPP=7 MBS=1 GBS=256 NUM_LAYERS=56 MOE_TOKEN_DISPATCHER=alltoall MOE_GROUPED_GEMM=true \
            NNODES=16 SEQ_LEN=4096",
        flags: "--overlap-grad-reduce --overlap-param-gather --cross-entropy-loss-fusion \
            --cross-entropy-fusion-impl native --tokenizer-type Llama2Tokenizer --tokenizer-model ${TOKENIZER_MODEL} \
            --position-embedding-type rope --num-layers 56 --hidden-size 6144 --ffn-hidden-size 16384 \
            --num-attention-heads 48 --group-query-attention --num-query-groups 8 --max-position-embeddings 4096 \
            --make-vocab-size-divisible-by 128 --num-experts 8 --moe-router-load-balancing-type aux_loss \
            --moe-router-topk 2 --moe-grouped-gemm ${MOE_GROUPED_GEMM} --moe-router-fusion",
    },
    ZooModel {
        name: "Mixtral-8x2B",
        variables: "TP=1 PP=1 EP=8 CP=1 VPP=1 MBS=2 GBS=256 NUM_LAYERS=24 MOE_TOKEN_DISPATCHER=alltoall MOE_GROUPED_GEMM=false \
            NNODES=8 SEQ_LEN=4096",
        flags: "--overlap-grad-reduce --overlap-param-gather --tokenizer-type Llama2Tokenizer \
            --tokenizer-model ${TOKENIZER_MODEL} --use-rotary-position-embeddings --num-layers 24 --hidden-size 2048 \
            --num-attention-heads 16 --group-query-attention --num-query-groups 8 --max-position-embeddings 4096 \
            --num-experts 8 --moe-router-load-balancing-type aux_loss --moe-router-topk 2 \
            --moe-grouped-gemm ${MOE_GROUPED_GEMM} --moe-token-dispatcher-type ${MOE_TOKEN_DISPATCHER}",
    },
    ZooModel {
        name: "Mixtral-8x7B",
        variables: "TP=1 PP=4 EP=8 CP=1 VPP=8 MBS=1 GBS=256 NUM_LAYERS=32 MOE_TOKEN_DISPATCHER=alltoall MOE_GROUPED_GEMM=true \
            NNODES=8 SEQ_LEN=4096",
        flags: "--num-layers-per-virtual-pipeline-stage ${LAYERS_PER_VP} --overlap-grad-reduce --overlap-param-gather \
            --tokenizer-type Llama2Tokenizer --tokenizer-model ${TOKENIZER_MODEL} --position-embedding-type rope \
            --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
            --group-query-attention --num-query-groups 8 --max-position-embeddings 4096 \
            --make-vocab-size-divisible-by 128 --num-experts 8 --moe-router-load-balancing-type aux_loss \
            --moe-router-topk 2 --moe-grouped-gemm ${MOE_GROUPED_GEMM} \
            --moe-token-dispatcher-type ${MOE_TOKEN_DISPATCHER}",
    },
    ZooModel {
        name: "Qwen3-235B-A22B",
        variables: "TP=2 PP=8 EP=32 CP=1 VPP=4 MBS=1 GBS=256 NUM_LAYERS=96 MOE_TOKEN_DISPATCHER=flex MOE_GROUPED_GEMM=true \
            NNODES=32 SEQ_LEN=4096",
        flags: "--num-layers-per-virtual-pipeline-stage ${LAYERS_PER_VP} --overlap-grad-reduce --overlap-param-gather \
            --no-create-attention-mask-in-dataloader --account-for-embedding-in-pipeline-split \
            --account-for-loss-in-pipeline-split --cross-entropy-loss-fusion --cross-entropy-fusion-impl te \
            --tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-235B-A22B \
            --position-embedding-type rope --num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 \
            --num-attention-heads 64 --kv-channels 128 --group-query-attention --num-query-groups 4 --qk-layernorm \
            --max-position-embeddings ${SEQ_LEN} --make-vocab-size-divisible-by 1187 --num-experts 128 \
            --moe-ffn-hidden-size 1536 --moe-router-load-balancing-type aux_loss --moe-router-topk 8 \
            --moe-grouped-gemm ${MOE_GROUPED_GEMM} --moe-router-fusion --moe-router-dtype fp32",
    },
    ZooModel {
        name: "Qwen3-30B-A3B",
        variables: "TP=1 PP=1 EP=8 CP=1 VPP=1 MBS=1 GBS=256 NUM_LAYERS=48 MOE_TOKEN_DISPATCHER=alltoall MOE_GROUPED_GEMM=true \
            NNODES=4 SEQ_LEN=4096",
        flags: "--num-layers-per-virtual-pipeline-stage ${LAYERS_PER_VP} --overlap-grad-reduce --overlap-param-gather \
            --no-create-attention-mask-in-dataloader --cross-entropy-loss-fusion --cross-entropy-fusion-impl te \
            --tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-30B-A3B --position-embedding-type rope \
            --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32 --group-query-attention \
            --num-query-groups 4 --kv-channels 128 --qk-layernorm --max-position-embeddings 40960 \
            --make-vocab-size-divisible-by 1187 --num-experts 128 --moe-ffn-hidden-size 768 \
            --moe-router-load-balancing-type aux_loss --moe-router-topk 8 --moe-grouped-gemm ${MOE_GROUPED_GEMM} \
            --moe-token-dispatcher-type ${MOE_TOKEN_DISPATCHER} --moe-router-dtype fp32 --moe-router-fusion",
    },
    ZooModel {
        name: "Qwen3-Next-80B-A3B",
        variables: "TP=1 PP=4 EP=8 CP=1 VPP=3 MBS=1 GBS=256 NUM_LAYERS=48 MOE_TOKEN_DISPATCHER=flex MOE_GROUPED_GEMM=true \
            NNODES=8 SEQ_LEN=4096",
        flags: "--num-layers-per-virtual-pipeline-stage ${LAYERS_PER_VP} --no-create-attention-mask-in-dataloader \
            --cross-entropy-loss-fusion --cross-entropy-fusion-impl te --tokenizer-type HuggingFaceTokenizer \
            --tokenizer-model Qwen3-Next-80B-A3B-Instruct --position-embedding-type rope --apply-layernorm-1p \
            --num-layers 48 --hidden-size 2048 --ffn-hidden-size 5120 --num-attention-heads 16 --group-query-attention \
            --num-query-groups 2 --kv-channels 256 --qk-layernorm --attention-output-gate \
            --max-position-embeddings 262144 --make-vocab-size-divisible-by 1187 \
            --linear-attention-type gated_delta_net --linear-attention-freq 4 --linear-conv-kernel-dim 4 \
            --linear-key-head-dim 128 --linear-value-head-dim 128 --linear-num-key-heads 16 \
            --linear-num-value-heads 32 --num-experts 512 --moe-ffn-hidden-size 512 \
            --moe-shared-expert-intermediate-size 512 --moe-shared-expert-gate \
            --moe-router-load-balancing-type aux_loss --moe-router-topk 10 --moe-grouped-gemm ${MOE_GROUPED_GEMM} \
            --moe-token-dispatcher-type flex --moe-enable-deepep --moe-router-dtype fp32 --moe-router-fusion \
            --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1",
    },
];
