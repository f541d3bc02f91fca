//! Flags that do not change memory, and flags of earlier versions.

use super::Arity;

/// Flags without a value.
pub(super) const SWITCHES: &str = "\
    no-initialization use-cpu-initialization no-tp-comm-bulk-wgrad \
    disable-tp-comm-bulk-wgrad no-tp-comm-bulk-dgrad disable-tp-comm-bulk-dgrad \
    no-tp-comm-overlap-ag disable-tp-comm-overlap-ag no-tp-comm-overlap-rs \
    disable-tp-comm-overlap-rs tp-comm-overlap-rs-dgrad no-tp-comm-split-ag \
    disable-tp-comm-split-ag no-tp-comm-split-rs disable-tp-comm-split-rs use-ring-exchange-p2p \
    mtp-detach-heads mtp-hsm rotary-interleaved qk-clip dsa-indexer-rope-interleaved \
    no-dsa-indexer-rotate-activation disable-dsa-indexer-rotate-activation \
    no-dsa-indexer-scoring-relu disable-dsa-indexer-scoring-relu dsa-indexer-k-norm-fp32 \
    use-mup is-hybrid-model \
    disable-bf16-reduced-precision-matmul high-priority-a2a-comm-stream \
    moe-enable-routing-replay moe-router-pre-softmax moe-hybridep-pad-uneven-dispatch-inputs \
    moe-per-layer-logging moe-pad-experts-for-cuda-graph-inference moe-ncclep-zero-copy \
    no-clone-scatter-output-in-embedding disable-clone-scatter-output-in-embedding flash-decode \
    batch-invariant-mode nccl-all-reduce-for-prefill inference-fuse-tp-communication \
    inference-disable-triton-nvls-kernels inference-moe-disable-fused-quant-kernels \
    gdp-cutedsl-kernel yarn-correction-range-round-to-int no-yarn-correction-range-round-to-int \
    use-rope-scaling bert-no-binary-head apply-wd-to-qk-layernorm muon-nesterov muon-use-syrk \
    profile use-pytorch-profiler pytorch-profiler-collect-shapes \
    pytorch-profiler-collect-callstack pytorch-profiler-collect-chakra record-memory-history \
    record-shapes nvtx-ranges exit-signal-handler exit-signal-handler-for-dataloader \
    exit-signal-handler-for-training manual-gc no-manual-gc-eval disable-manual-gc-eval \
    no-check-for-nan-in-loss-and-grad check-for-large-grads no-pin-cpu-grads no-pin-cpu-params \
    rl-durable-rollout-bank grpo-filter-groups-with-same-reward \
    rl-offload-optimizer-during-inference rl-persist-cuda-graphs no-rl-persist-cuda-graphs \
    rl-partial-rollouts no-rl-partial-rollouts rl-inference-logprobs-is-correction \
    no-rl-inference-logprobs-is-correction rl-use-sequence-packing no-rl-use-sequence-packing \
    rl-training-cuda-graphs no-rl-training-cuda-graphs \
    rl-offload-inference-model-weights-when-idle \
    no-rl-offload-inference-model-weights-when-idle rl-verify-model-weights-swap \
    no-rl-verify-model-weights-swap rl-skip-bos-token no-rl-skip-bos-token rl-profile \
    te-rng-tracker inference-rng-tracker init-method-xavier-uniform \
    override-opt_param-scheduler override-opt-param-scheduler \
    use-checkpoint-opt_param-scheduler use-checkpoint-opt-param-scheduler freeze-all-layers \
    finetune no-use-tokenizer-model-from-checkpoint-args \
    disable-use-tokenizer-model-from-checkpoint-args exit-on-missing-checkpoint \
    auto-detect-ckpt-format ckpt-convert-update-legacy-dist-opt-format \
    no-ckpt-fully-parallel-save async-save use-persistent-ckpt-worker async-ckpt-use-cpu-shm \
    ckpt-fully-parallel-load ckpt-fully-parallel-load-per-rank-objects \
    ckpt-assume-constant-structure ckpt-pg-tensors-cache-create \
    no-ckpt-load-validate-sharding-integrity disable-ckpt-load-validate-sharding-integrity \
    no-strict-fsdp-dtensor-load disable-strict-fsdp-dtensor-load dist-ckpt-save-pre-mcore-014 \
    dist-ckpt-optim-fully-reshardable distrib-optim-fully-reshardable-mem-efficient \
    no-save-tokenizer-assets disable-save-tokenizer-assets replication verify-integrity \
    no-save-optim no-save-rng no-load-optim no-load-rng use-dist-ckpt ckpt-fully-parallel-save \
    ckpt-drop-redundant-extra-state no-align-grad-reduce disable-align-grad-reduce \
    lazy-mpu-init disable-gloo-process-groups use-sharp no-flight-recorder-dump-on-timeout \
    disable-flight-recorder-dump-on-timeout flight-recorder-include-stack-trace \
    no-flight-recorder-include-only-active disable-flight-recorder-include-only-active \
    no-flight-recorder-extra-dump-on-exec disable-flight-recorder-extra-dump-on-exec \
    disable-jit-fuser ddp-average-in-collective no-align-param-gather \
    no-gradient-reduce-div-fusion skip-train test-mode full-validation multiple-validation-sets \
    dataloader-fast-cache-load dataloader-defer-npy-index-mmap no-mmap-bin-files mock-data \
    reset-attention-mask dataloader-inter-document-masking eod-mask-loss \
    allow-ambiguous-pad-tokens fim-data tokenizer-sentencepiece-legacy \
    no-tokenizer-sentencepiece-ignore-extra-whitespaces \
    disable-tokenizer-sentencepiece-ignore-extra-whitespaces tokenizer-hf-no-use-fast \
    tokenizer-hf-no-include-special-tokens trust-remote-code use-gigatoken adlr-autoresume \
    biencoder-shared-query-context-model use-one-sent-docs retriever-score-scaling \
    no-data-sharding vision-pretraining dino-norm-last-layer log-params-norm log-throughput \
    log-progress log-timers-to-tensorboard no-log-loss-scale-to-tensorboard \
    disable-log-loss-scale-to-tensorboard log-validation-ppl-to-tensorboard \
    log-memory-to-tensorboard log-device-memory-used log-num-zeros-in-grad \
    log-max-attention-logit no-barrier-with-level-1-timing log-world-size-to-tensorboard \
    log-energy moe-routing-trace-capture-logits moe-routing-trace-capture-hidden-states \
    moe-routing-trace-dump-weights otel-enabled logits-load-ignore-errors log-straggler \
    disable-straggler-on-startup run-workload-inspector-server output-bert-embeddings \
    use-legacy-static-engine inference-dynamic-batching \
    inference-dynamic-batching-track-paused-request-events \
    inference-dynamic-batching-track-generated-token-events decode-only-cuda-graphs \
    inference-cuda-graph-all-prefills enable-chunked-prefill \
    inference-dynamic-batching-prefix-caching no-inference-dynamic-batching-prefix-caching \
    use-same-sampling-seed-across-dp-ranks inference-text-gen-server-logging \
    no-inference-text-gen-server-logging inference-wandb-logging no-inference-wandb-logging \
    inference-use-synchronous-zmq-collectives no-inference-use-synchronous-zmq-collectives \
    inference-disable-ep-consensus no-inference-disable-ep-consensus enable-experimental \
    no-one-logger one-logger-async inprocess-restart inprocess-empty-cuda-cache \
    enable-ft-package calc-ft-timeouts check-for-spiky-loss enable-msc disable-msc";

/// Flags with one value.
pub(super) const ONE: &str = "\
    pipeline-model-parallel-comm-backend tp-comm-bootstrap-backend mtp-loss-scaling-factor \
    flash-attention-version norm-epsilon glu-linear-offset qk-clip-alpha qk-clip-threshold \
    dsa-indexer-k-norm-epsilon init-method-std embedding-init-method-std mup-width-mult \
    mup-base-hidden-size mup-embedding-mult mup-output-mult mup-base-head-dim \
    mup-attn-scale-power fp8-quantizer-factory fp8-margin fp8-interval fp8-amax-compute-algo \
    fp4-quantizer-factory moe-shared-expert-glu-interleave-size moe-router-topk-scaling-factor \
    moe-router-bias-update-rate moe-router-quantile-balancing-ema moe-router-force-biased \
    moe-z-loss-coeff moe-input-jitter-eps moe-token-drop-policy moe-flex-dispatcher-num-sms \
    moe-deepep-num-sms moe-hybridep-num-sms moe-hybridep-num-blocks-permute \
    moe-hybridep-num-blocks-unpermute moe-hybridep-num-sms-preprocessing \
    moe-mlp-glu-interleave-size inference-cuda-graph-scope mhc-sinkhorn-iterations \
    mhc-init-gating-factor config-logger-dir batch-invariant-backend symmetric-ar-type \
    inference-grouped-gemm-backend inference-moe-token-dispatcher-type mlp-chunks-for-prefill \
    yarn-original-max-position-embeddings yarn-beta-fast yarn-beta-slow \
    relative-attention-max-distance rotary-base rotary-percent \
    rotary-seq-len-interpolation-factor rope-scaling-factor no-rope-freq onnx-safe weight-decay \
    clip-grad adam-beta1 adam-beta2 adam-eps muon-scale-mode muon-fp32-matmul-prec \
    muon-coefficient-type muon-num-ns-steps muon-extra-scale-factor lion-beta1 lion-beta2 \
    no-weight-decay-cond-type profile-step-start profile-step-end memory-snapshot-path \
    check-weight-hash-across-dp-replicas-interval gpu-sniff-test-interval train-sync-interval \
    train-iters train-samples exit-interval exit-duration-in-mins exit-signal \
    manual-gc-interval batch-size result-rejected-tracker-filename tp-comm-overlap-cfg \
    dump-param-to-param-group-map dataloader-type rl-prompts-per-eval \
    grpo-prompts-per-step grpo-group-size rl-generation-lag rl-max-inflight-requests \
    rl-submission-granularity rl-consumption-granularity rl-rollout-bank-dir \
    rl-rollout-bank-max-bytes grpo-iterations grpo-clamp-eps-lower grpo-clamp-eps-upper \
    grpo-kl-beta grpo-entropy-term-weight langrl-env-config rl-default-temperature \
    rl-default-top-p rl-default-top-k rl-kv-cache-management-mode \
    rl-importance-sampling-truncation-coef rl-sequence-packing-max-sequences-per-bin \
    rl-sequence-packing-algo rl-inference-tensor-model-parallel-size \
    rl-inference-pipeline-model-parallel-size rl-inference-expert-model-parallel-size \
    rl-inference-expert-tensor-model-parallel-size rl-inference-model-unified-memory-level \
    refit-method rl-profile-dir lr-decay-style lr-wsd-decay-style lr-decay-iters \
    lr-decay-samples lr-wsd-decay-iters lr-wsd-decay-samples lr-warmup-fraction lr-warmup-iters \
    lr-warmup-samples lr-warmup-init start-weight-decay end-weight-decay \
    weight-decay-incr-style lr warmup min-lr decoupled-lr decoupled-min-lr save save-interval \
    persistent-save-interval save-params-interval save-activations-interval \
    save-tokens-per-expert-interval save-wgrads-interval save-dgrads-interval \
    save-retain-interval load non-persistent-save-interval non-persistent-ckpt-type \
    non-persistent-global-ckpt-dir non-persistent-local-ckpt-dir non-persistent-local-ckpt-algo \
    pretrained-checkpoint ckpt-step ckpt-format ckpt-convert-format ckpt-convert-save \
    async-strategy async-ckpt-cpu-priority async-ckpt-io-priority \
    ckpt-fully-parallel-load-exchange-algo ckpt-fully-parallel-save-process-group \
    ckpt-fully-parallel-load-process-group ckpt-pg-tensors-cache-path dist-ckpt-strictness \
    replication-jump replication-factor override-ckpt-iteration dist-ckpt-format \
    dist-ckpt-workers loss-scale initial-loss-scale min-loss-scale loss-scale-window hysteresis \
    distributed-backend distributed-timeout-minutes local-rank nccl-communicator-config-path \
    sharp-enabled-group distributed-timeout-seconds-after-init flight-recorder-dump-path \
    flight-recorder-trace-buffer-size eval-iters eval-interval start-eval-at-iter \
    eval-global-batch-size eval-micro-batch-size phase-transition-iterations split \
    data-args-path per-split-data-args-path per-dataset-sequences-path data-cache-path \
    sample-rate mask-prob short-seq-prob num-workers num-dataset-builder-threads \
    object-storage-cache-path mid-level-dataset-surplus fim-rate fim-spm-rate fim-split-sample \
    fim-fragment-rate fim-no-prefix fim-prefix-token fim-middle-token fim-suffix-token \
    fim-pad-token fim-eod-token vocab-file merge-file tokenizer-model tokenizer-metadata \
    tiktoken-pattern tiktoken-num-special-tokens null-tokenizer-eod-id null-tokenizer-pad-id \
    chat-template adlr-autoresume-interval ict-head-size biencoder-projection-dim ict-load \
    bert-load titles-data-path query-in-block-prob evidence-data-path block-data-path \
    embedding-path indexer-batch-size indexer-log-interval num-classes \
    classes-fraction data-per-class-fraction head-lr-mult vision-pretraining-type \
    vision-backbone-type swin-backbone-type mask-type mask-factor iter-per-epoch \
    dino-local-img-size dino-local-crops-number dino-head-hidden-size dino-bottleneck-size \
    dino-freeze-last-layer dino-warmup-teacher-temp dino-teacher-temp \
    dino-warmup-teacher-temp-epochs rotary-scaling-factor mscale mscale-all-dim log-interval \
    timing-log-level timing-log-option tensorboard-dir tensorboard-log-interval \
    tensorboard-queue-size log-memory-interval wandb-project wandb-exp-name wandb-save-dir \
    wandb-entity logging-level moe-routing-trace-path moe-routing-trace-max-training-iters \
    otel-service-name otel-span-groups logits-save-top-k logits-save-top-p \
    logits-save-top-p-min-k logits-save-dir logits-save-dtype logits-load-dir \
    logits-load-decode-threads logits-load-prefetch-factor logits-load-msc-prefetch-depth \
    logits-load-kd-loss-alpha straggler-ctrlr-port straggler-minmax-count \
    inference-batch-times-seqlen-threshold max-tokens-to-oom bert-embedder-type \
    inference-max-requests inference-max-seq-length inference-dynamic-batching-buffer-size-gb \
    inference-dynamic-batching-paused-buffer-size-gb \
    inference-dynamic-batching-mamba-memory-ratio inference-dynamic-batching-block-size \
    inference-dynamic-batching-max-requests inference-dynamic-batching-max-tokens \
    inference-dynamic-batching-num-cuda-graphs inference-cuda-graph-max-tokens \
    inference-dynamic-batching-unified-memory-level num-speculative-tokens \
    inference-dynamic-batching-prefix-caching-eviction-policy \
    inference-dynamic-batching-prefix-caching-coordinator-policy \
    inference-dynamic-batching-prefix-caching-routing-alpha \
    inference-dynamic-batching-prefix-caching-mamba-gb \
    inference-dynamic-batching-cuda-graph-mixed-prefill-count \
    inference-dynamic-batching-cuda-graph-sizing-distribution \
    inference-dynamic-batching-sampling-backend inference-dynamic-batching-async-sched-mode \
    inference-dynamic-batching-logprobs-mode inference-logging-step-interval \
    inference-coordinator-port mamba-inference-conv-states-dtype \
    mamba-inference-ssm-states-dtype inference-shards one-logger-project one-logger-run-name \
    app-tag-run-name app-tag-run-version inprocess-max-iterations \
    inprocess-monitor-thread-interval inprocess-monitor-process-interval \
    inprocess-progress-watchdog-interval inprocess-heartbeat-interval inprocess-soft-timeout \
    inprocess-hard-timeout inprocess-heartbeat-timeout inprocess-barrier-timeout \
    inprocess-completion-timeout inprocess-last-call-wait inprocess-termination-grace-time \
    inprocess-granularity inprocess-active-world-size ft-num-warmup-iters error-injection-rate \
    error-injection-type rerun-mode sft-tokenizer-prompt-format fault-injector-ranks \
    fault-injector-num-ranks fault-injector-fault-types fault-injector-fault-probabilities \
    fault-injector-fault-delay fault-injector-delay-start-iteration fault-injector-mtti-seconds \
    fault-injector-offset-seconds fault-injector-seed";

/// Flags with several values.
pub(super) const MANY: &str = "\
    mrope-section profile-ranks iterations-to-skip rl-inference-parsers \
    high-priority-stream-groups validation-set-names data-path train-data-path valid-data-path \
    test-data-path tokenizer-special-tokens retriever-report-topk-accuracies moe-aux-loss-coeff";

/// Flags that scripts written for earlier versions still have: name, arity, successor.
pub(super) const RETIRED: &[(&str, Arity, Option<&str>)] = &[
    ("layernorm-epsilon", Arity::One, Some("norm-epsilon")),
    ("use-custom-fsdp", Arity::Switch, Some("use-megatron-fsdp")),
    ("use-legacy-models", Arity::Switch, None),
    ("moe-use-legacy-grouped-gemm", Arity::Switch, None),
    ("moe-extended-tp", Arity::Switch, Some("expert-tensor-parallel-size")),
    ("no-async-tensor-model-parallel-allreduce", Arity::Switch, None),
    ("encoder-tensor-model-parallel-size", Arity::One, None),
    ("encoder-pipeline-model-parallel-size", Arity::One, None),
    ("pipeline-model-parallel-split-rank", Arity::One, None),
    ("standalone-embedding-stage", Arity::Switch, None),
    (
        "distribute-checkpointed-activations",
        Arity::Switch,
        Some("distribute-saved-activations"),
    ),
    ("no-delay-grad-reduce", Arity::Switch, None),
    ("delay-param-gather", Arity::Switch, None),
    ("hybrid-attention-ratio", Arity::One, Some("hybrid-layer-pattern")),
    ("hybrid-mlp-ratio", Arity::One, Some("hybrid-layer-pattern")),
    ("fp8-e4m3", Arity::Switch, Some("fp8-format")),
    ("fp8-hybrid", Arity::Switch, Some("fp8-format")),
    ("log-batch-size-to-tensorboard", Arity::Switch, None),
    ("DDP-impl", Arity::One, None),
];
