#!/bin/bash
# Llama 3 8B on a node, with the number of nodes as the only open question.
GPUS_PER_NODE=8
NNODES=${NNODES:-1}
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
    --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 \
    --position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear \
    --untie-embeddings-and-output-weights --attention-dropout 0 --hidden-dropout 0 \
    --micro-batch-size 1 --global-batch-size 128 --bf16 --use-distributed-optimizer \
    --tensor-model-parallel-size 3 --sequence-parallel \
    --vocab-size 128256 --tokenizer-type NullTokenizer
