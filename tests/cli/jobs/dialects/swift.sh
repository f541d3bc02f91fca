NPROC_PER_NODE=8 megatron sft \
    --model /models/our-8b \
    --dataset own.jsonl \
    --tensor_model_parallel_size 2 --sequence_parallel true \
    --micro_batch_size 1 --global_batch_size 128 --max_length 8192
