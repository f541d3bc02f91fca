#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
SHAPE=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --normalization RMSNorm --swiglu --disable-bias-linear
    --position-embedding-type rope --max-position-embeddings 8192 --untie-embeddings-and-output-weights
    --vocab-size 128256 --tokenizer-type NullTokenizer
)
if [ "${LONG:-0}" = 1 ]; then LENGTH=131072; else LENGTH=8192; fi
srun torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py "${SHAPE[@]}" --seq-length $LENGTH \
    --attention-dropout 0 --hidden-dropout 0 --micro-batch-size 1 --global-batch-size $((8 * 16)) \
    --bf16 --use-distributed-optimizer --tensor-model-parallel-size 2 --sequence-parallel
