python3 -m verl.trainer.main_ppo --config-path=config --config-name=ppo_megatron_trainer.yaml \
    actor_rollout_ref.model.path=meta-llama/Meta-Llama-3-8B \
    actor_rollout_ref.actor.strategy=megatron \
    actor_rollout_ref.actor.ppo_mini_batch_size=128 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \
    data.max_prompt_length=4096 data.max_response_length=4096 \
    trainer.n_gpus_per_node=8 trainer.nnodes=1
