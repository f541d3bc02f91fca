//! Flags of Megatron-LM's other programs, which their own parsers add to the common ones.

use super::Arity;

/// The flags of one program.
pub(super) struct Program {
    /// Why the estimate does not follow them.
    pub(super) what: &'static str,
    /// Names by arity, separated by blanks.
    pub(super) flags: &'static [(Arity, &'static str)],
}

/// Of inference, data loading and checkpoints: without effect on a training step's memory.
pub(super) const HARMLESS: &[(Arity, &str)] = &[
    (
        Arity::Switch,
        "\
            allow-checkpoint-without-temporal-compression allow-missing-conv-merge-checkpoint \
            allow-missing-sound-model-checkpoint allow-missing-sound-projection-checkpoint \
            allow-missing-vision-projection-checkpoint apply-data-augment async-mode \
            benchmark-profile drain-between-batches export-legacy-megatron export-te-mcore-model \
            force-system-message greedy inference-ckpt-non-strict log-model-act-norms \
            log-model-grad-norms modelopt-enabled no-calculate-per-token-loss \
            no-record-throughput num-tokens-from-file only-keep-samples-with-img \
            optimize-broadcast output-request-events relax-sender-check \
            relax-thinking-trace-check return-log-probs skip-prompt-log-probs \
            throughput-check-only tokenizer-keep-history-thinking use-coordinator \
            use-flashinfer-fused-rope use-loss-scaling use-mcore-inference \
            use-new-dataloader-path use-tile-tags video-aug-scale-resolution-only \
            video-frame-temporal-jitter",
    ),
    (
        Arity::One,
        "\
            batch-boundaries budget-type config-path coordinator-host coordinator-port \
            coordinator-schedule-output-path curr-iteration data-path dataloader-save \
            dataloader-seed dataset-config dataset-provider engine-type eos-id \
            export-kd-teacher-ckpt-format export-model-type finetune-data-split \
            finetune-hf-dataset genfile gt-path hard-sample-th host image-break-token \
            image-tag-type image-token-id incoming-requests-duration incoming-requests-per-sec \
            incoming-requests-per-step inference-repeat-n input-image-path \
            language-model-checkpoint linear-scaler-end linear-scaler-start loss-alpha \
            lr-data-range-end lr-data-range-start lr-mult-router max-batch-size \
            mock-dataset-size model-provider moe-routing-trace-max-inference-steps \
            num-input-tokens num-partitions num-samples num-samples-per-partition \
            num-tokens-to-generate online-evaluation-config original-model-sample-prob \
            out-seq-length output-every-n-results output-path packing-knapsack-algorithm \
            pad-token-id partition-id port prompt-file prompt-file-num-truncate prompt-path \
            router-beta router-std sample-input-file sample-output-file sound-target-rate \
            suspend-resume-interval suspend-timeout task tau-decay tau-init temperature \
            termination-id tokenizer-prompt-format top-k top-n-logprobs top-p \
            video-aug-scale-frames-up video-aug-scale-resolution-up video-default-fps \
            video-prompt-version",
    ),
    (
        Arity::Many,
        "\
            budget-list budget-probs encoder-prompts finetune-data-files hf-assign-unused-tokens \
            log-budgets num-tokens-to-prompt parsers prompts special-tokens stop-words",
    ),
];

/// With parts of a model that this estimate does not know.
pub(super) const PROGRAMS: &[Program] = &[
    // megatron/post_training/arguments.py
    Program {
        what: "what ModelOpt changes is not counted",
        flags: &[
            (
                Arity::Switch,
                "\
                    enable-gpt-oss export-default-te-spec export-force-local-attention \
                    export-moe-apply-probs-on-input export-offline-model export-qk-l2-norm \
                    freeze-base-for-mtp",
            ),
            (
                Arity::One,
                "\
                    export-kd-cfg export-kd-teacher-load export-kd-teacher-model-config \
                    export-kv-cache-quant export-quant-cfg export-real-quant-cfg \
                    qad-train-target",
            ),
        ],
    },
    // megatron/elastification/arguments.py
    Program {
        what: "Flextron's routers and masks are not counted",
        flags: &[
            (
                Arity::Switch,
                "\
                    add-skipping binary-mask disable-budget distill-only distillation \
                    enable-router flex-hetero-ffn flex-hetero-mamba flex-hetero-moe-expert \
                    flex-strict flextron freeze-model freeze-router is-flex-eval no-attn-skip \
                    normalize-router-logits slice soft-mask",
            ),
            (
                Arity::One,
                "\
                    basemodel-type bpe-kv-cache bpe-max-buffer bpe-params bpe-ssm-cache \
                    distill-coeff flextron-config-file mem-batch-size mem-infer-seq-len \
                    memory-profile memory-profile-path param-budget-target prefill-chunk-size \
                    router-gbs router-inter-dim skip-num-attn-layer-constraint \
                    skip-total-layer-constraint",
            ),
            (
                Arity::Many,
                "\
                    emb-int-list emb-per-list force-emb force-mamba force-mlp force-router-skip \
                    layer-ranking-list mamba-int-list mamba-per-list mlp-int-list mlp-per-list \
                    moe-expert-int-list moe-expert-per-list override-selected-budget",
            ),
        ],
    },
    // examples/multimodal/multimodal_args.py, pretrain_vlm.py
    Program {
        what: "encoders beside the language model are modules of their own",
        flags: &[
            (
                Arity::Switch,
                "\
                    allow-cross-sample-attention allow-large-videos conv-merging \
                    decoder-tp-comm-overlap disable-vision-class-token dynamic-resolution \
                    dynamic-resolution-no-truncate enable-fusions freeze-LM freeze-ViT \
                    freeze-sound-model freeze-sound-projection freeze-vision-projection \
                    masked-tiling-dynamic-resolution match-tiling-dynamic-resolution \
                    pixel-shuffle radio-cpe-aspect-ratio-select radio-disable-cpe \
                    radio-force-cpe-eval-mode radio-force-eval-mode radio-interpolate-only-cpe \
                    recompute-sound recompute-sound-projection recompute-vision \
                    recompute-vision-projection separate-video-embedder \
                    sound-pad-to-clip-duration unfreeze-router use-area-weighted-aspect-ratio \
                    use-packed-sequence use-te use-thumbnail use-tiling \
                    use-vision-backbone-fp8-arch video-maintain-aspect-ratio",
            ),
            (
                Arity::One,
                "\
                    class-token-len dataloader-seq-length dynamic-resolution-max-patches \
                    dynamic-resolution-min-patches dynamic-resolution-min-side \
                    efficient-video-sampling-variant language-model-type max-num-tiles \
                    num-frames packing-buffer-size packing-seq-length \
                    recompute-granularity-vision recompute-method-vision \
                    recompute-vision-num-layers sound-batch-split sound-clip-duration \
                    sound-embedding-size sound-min-duration sound-model-type \
                    thumbnail-area-threshold video-max-num-frames video-min-num-frames \
                    video-target-img-size video-target-num-patches video-temporal-patch-size \
                    vision-model-type",
            ),
        ],
    },
    // examples/mimo/training/args.py
    Program {
        what: "the ranks of one module among others, whose encoder stands in the example's program and in no flag: \
               add the modules on the page, each with its own sizes",
        flags: &[
            (Arity::Switch, "encoder-ddp-overlap llm-only"),
            (
                Arity::One,
                "encoder-dp encoder-tp llm-cp llm-dp llm-ep llm-expt-tp llm-offset llm-pp llm-tp",
            ),
        ],
    },
    // examples/mimo/train.py
    Program {
        what: "the modules of this example are added one by one",
        flags: &[
            (Arity::Switch, "freeze-lm freeze-projection freeze-vit"),
            (
                Arity::One,
                "\
                    audio-encoder-model image-seq-length image-size total-seq-length \
                    vision-projection-type",
            ),
        ],
    },
];
