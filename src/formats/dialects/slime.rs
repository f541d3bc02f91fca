//! Flags that slime adds to Megatron-LM's.
//!
//! After slime's `slime/utils/arguments.py` and `slime/backends/megatron_utils/arguments.py`. All flags of Megatron-LM
//! work unchanged, with a few defaults set anew. Only the training actor is meant: rollout engines are not.

use super::framework::{Defaults, Framework};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::{Decides, KeyRole, look_up};
use super::megatron_lm;
use crate::config::canonical::is_on;
use crate::config::fields::FieldId;
use crate::config::not_modelled::NotModelled;
use crate::config::raw::{RawJob, Settings};
use crate::formats::derivations::{activation, batch, gpus, hybrid, lengths, model, vocabulary};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::int;
use crate::formats::megatron_args::{self, Arity};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// slime: Megatron-LM's flags and some of its own.
pub static SLIME: Framework = Framework {
    name: "slime",
    find: |name| find(name).or_else(|| megatron_lm::find(name)),
    defaults: &[DEFAULTS],
    derivations: &[
        hybrid::layers,
        vocabulary::of_tokenizer,
        gpus::of_nodes,
        lengths::of_samples,
        pad_rows,
        batch::global,
    ],
    after_defaults: |draft| {
        model::without_question(draft);
        activation::quick_geglu_of_arguments(draft);
    },
    with_model,
    mtp_only_where_asked: true,
    ..Framework::PLAIN
};

/// `data_pad_size_multiplier`: tokens for each tensor-parallel rank that rows are filled up to a multiple of.
const PADDED: KeyRole = KeyRole::kept("padded_rows", Decides::field(FieldId::max_seqlen_per_dp_cp_rank));
/// Its default.
const PADDED_BY: u64 = 128;

/// Fills the fullest micro batch up (`get_batch` in `slime/backends/megatron_utils/data.py`).
fn pad_rows(draft: &mut JobDraft, keys: &Keys<'_>) {
    let id = FieldId::max_seqlen_per_dp_cp_rank;
    let given = keys.get(PADDED);
    let ranks = draft.number(FieldId::tensor_model_parallel_size).unwrap_or(1);
    let multiple = given.and_then(int).unwrap_or(PADDED_BY).saturating_mul(ranks).max(1);
    if let Some(tokens) = draft
        .number(id)
        .and_then(|tokens| tokens.checked_next_multiple_of(multiple))
    {
        draft.settings.set(id, Value::Int(tokens.into()));
    }
    if let Some(item) = given {
        draft.row(
            item,
            KeyStatus::Derived,
            Some(id),
            "rows are filled up to a multiple of it times TP",
        );
    }
}

/// The flags, without leading dashes.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("actor-num-nodes", Role(gpus::NODES)),
    ("actor-num-gpus-per-node", Role(gpus::PER_NODE)),
    ("hf-checkpoint", Role(model::HUGGING_FACE)),
    ("max-tokens-per-gpu", Role(lengths::TOKENS)),
    ("use-dynamic-batch-size", Role(lengths::DYNAMIC)),
    ("data-pad-size-multiplier", Role(PADDED)),
    ("rollout-batch-size", Role(batch::PROMPTS)),
    ("n-samples-per-prompt", Role(batch::SAMPLES)),
    ("rollout-max-response-len", Role(lengths::RESPONSE)),
    ("rollout-max-prompt-len", Role(lengths::PROMPT)),
    ("rollout-max-context-len", Role(lengths::SAMPLE)),
    ("use-gated-attention", Field("attention_output_gate")),
    (
        "colocate",
        KeyMeaning::nothing("rollout engines on the same GPUs sleep while the model is trained"),
    ),
    (
        "offload",
        KeyMeaning::nothing("moves between phases, not during training"),
    ),
    (
        "offload-train",
        KeyMeaning::nothing("moves between phases, not during training"),
    ),
    (
        "offload-rollout",
        KeyMeaning::nothing("moves between phases, not during training"),
    ),
    (
        "freeze-params-name-list",
        KeyMeaning::more("frozen parameters have no gradients"),
    ),
    (
        "only-train-params-name-list",
        KeyMeaning::more("frozen parameters have no gradients"),
    ),
    (
        "freeze-indexer",
        KeyMeaning::less("frozen parameters have no gradients"),
    ),
    ("rollout-temperature", Field("rollout_temperature")),
    ("entropy-coef", Field("entropy_coef")),
    ("log-probs-chunk-size", Role(model::LOSS_CHUNK)),
    ("recompute-loss-function", Field("recompute_loss_function")),
    (
        "ref-load",
        KeyMeaning::nothing("reference models wait in the memory of the host"),
    ),
    (
        "post-self-attn-layernorm",
        KeyMeaning::more("norms after attention are not counted"),
    ),
    (
        "post-mlp-layernorm",
        KeyMeaning::more("norms after the MLP are not counted"),
    ),
    ("num-steps-per-rollout", Role(batch::STEPS)),
    (
        "keep-old-actor",
        KeyMeaning::nothing("copies of the model wait in the memory of the host"),
    ),
    ("use-opd", KeyMeaning::less("teacher models are not counted")),
    ("opd-teacher-load", KeyMeaning::more("teacher models are not counted")),
    ("enable-mtp-training", Role(model::MTP)),
    ("allgather-cp", KeyMeaning::more("another kind of context parallelism")),
    (
        "use-stateless-adam",
        KeyMeaning::more("an optimizer without moments is not followed"),
    ),
    (
        "custom-model-provider-path",
        KeyMeaning::more("code of its own is not read"),
    ),
    (
        "custom-loss-function-path",
        KeyMeaning::more("code of its own is not read"),
    ),
    (
        "custom-megatron-init-path",
        KeyMeaning::less("code of its own is not read"),
    ),
];

/// Flags of [`KEYS`] with several values.
const MANY: &[&str] = &["freeze-params-name-list", "only-train-params-name-list"];

/// Flags of [`KEYS`] without a value.
const SWITCHES: &[&str] = &[
    "allgather-cp",
    "colocate",
    "enable-mtp-training",
    "freeze-indexer",
    "offload-rollout",
    "offload-train",
    "keep-old-actor",
    "offload",
    "recompute-loss-function",
    "use-dynamic-batch-size",
    "use-opd",
    "use-stateless-adam",
];

/// Flags of rollouts, rewards, data and logs, by the number of their words.
const ELSEWHERE: &[(Arity, &str)] = &[
    (
        Arity::Switch,
        "\
            apply-chat-template balance-by-flops balance-data check-weight-update-equal \
            ci-disable-kl-checker ci-test debug-rollout-only debug-train-only \
            disable-compute-advantages-and-returns disable-grpo-std-normalization disable-rewards-normalization \
            disable-rollout-global-dataset disable-wandb-random-suffix get-mismatch-metrics group-rm \
            log-correct-samples log-multi-turn log-passrate mask-offpolicy-in-partial-rollout \
            no-offload-rollout no-offload-train normalize-advantages partial-rollout release-train reset-optimizer-states rollout-shuffle \
            rollout-skip-special-tokens skip-eval-before-train update-weight-disk-keep-files \
            use-distributed-post use-fault-tolerance use-kl-loss use-opsm use-rollout-entropy \
            use-rollout-logprobs use-rollout-routing-replay use-routing-replay use-tensorboard use-tis \
            use-unbiased-kl use-wandb wandb-always-use-train-step",
    ),
    (
        Arity::One,
        "\
            advantage-estimator apply-chat-template-kwargs buffer-filter-path ci-load-grad-norm \
            ci-save-grad-norm ci-train-rollout-logprob-abs-diff-threshold custom-advantage-function-path \
            custom-config-path custom-convert-samples-to-train-data-path custom-eval-rollout-log-function-path \
            custom-generate-function-path custom-megatron-before-log-prob-hook-path \
            custom-megatron-before-train-step-hook-path custom-pg-loss-reducer-function-path \
            custom-reward-post-process-path custom-rm-path custom-rollout-log-function-path \
            custom-tis-function-path custom-update-weight-post-write-path \
            data-source-path dump-details dynamic-sampling-filter-path eps-clip eps-clip-c \
            eps-clip-high eval-config eval-function-path eval-input-key eval-label-key eval-max-context-len \
            eval-max-prompt-len eval-max-response-len eval-min-new-tokens eval-reward-key eval-temperature \
            eval-tool-key eval-top-k eval-top-p fetch-trajectory-retry-times gamma http-proxy input-key kl-coef \
            kl-loss-coef kl-loss-type label-key lambd load-debug-rollout-data load-debug-rollout-data-subsample \
            load-forge-rollout-data log-probs-max-tokens-per-gpu log-reward-category loss-mask-type loss-type \
            megatron-config-path memory-recorder memory-snapshot-dir memory-snapshot-num-steps metadata-key \
            min-batch-collection-ratio model-name multimodal-keys n-samples-per-eval-prompt \
            num-critic-only-steps num-epoch num-gpus-per-node num-rollout opd-kl-coef opd-teacher-ckpt-step \
            opd-type opsm-delta over-sampling-batch-size prefill-num-servers prompt-data qwen-gdn-backend ref-ckpt-step \
            ref-update-interval reward-key rm-type rm-url rollout-all-samples-process-path rollout-buffer-url \
            rollout-data-postprocess-path rollout-data-transport rollout-function-path \
            rollout-health-check-first-wait rollout-health-check-interval rollout-health-check-timeout \
            rollout-num-gpus rollout-num-gpus-per-engine rollout-sample-filter-path \
            rollout-sample-hook-path rollout-seed rollout-task-type rollout-top-k \
            rollout-top-p save-debug-rollout-data save-debug-train-data save-hf start-rollout-id \
            tb-experiment-name tb-project-name tis-clip tis-clip-low tool-key train-backend train-env-vars \
            update-weight-buffer-size update-weight-delta-checksum update-weight-delta-encoding \
            update-weight-disk-dir update-weight-local-checkpoint-dir update-weight-mode update-weight-transport \
            update-weights-interval value-clip wandb-dir wandb-group wandb-host wandb-key wandb-mode \
            wandb-run-id wandb-team",
    ),
    (
        Arity::Many,
        "\
            eval-prompt-data megatron-deepgemm-forward-layers megatron-deepgemm-forward-modules \
            megatron-deepgemm-moe-forward-layers megatron-deepgemm-moe-forward-modules profile-target \
            rollout-external-engine-addrs rollout-stop rollout-stop-token-ids",
    ),
];

/// The meaning of a flag of slime's own (no leading dashes; underscores count as dashes); none for flags of
/// Megatron-LM and unknown ones.
#[must_use]
pub fn find(name: &str) -> Option<KeyMeaning> {
    let name = name.replace('_', "-");
    let elsewhere = || {
        // Options of the rollout engine have a prefix.
        let engine = name.starts_with("sglang-");
        (engine || elsewhere(&name).is_some()).then_some(Irrelevant)
    };
    look_up(KEYS, &name).or_else(elsewhere)
}

/// How many words a flag of slime's own takes.
#[must_use]
pub fn arity(name: &str) -> Option<Arity> {
    let name = name.replace('_', "-");
    let known = || match name.as_str() {
        name if SWITCHES.contains(&name) => Some(Arity::Switch),
        name if MANY.contains(&name) => Some(Arity::Many),
        name => look_up(KEYS, name).map(|_| Arity::One),
    };
    elsewhere(&name).or_else(known)
}

/// The arity of a flag that does not change memory.
fn elsewhere(name: &str) -> Option<Arity> {
    let holds = |names: &str| names.split_ascii_whitespace().any(|one| one == name);
    let found = ELSEWHERE.iter().find(|(_, names)| holds(names));
    found.map(|(arity, _)| *arity)
}

/// Fields whose default differs from that of Megatron-LM's command line; the first two are fixed unless
/// `fp16` is chosen.
pub const DEFAULTS: Defaults = &[
    ("use_distributed_optimizer", "True"),
    ("bf16", "True"),
    ("seq_length", "4096"),
    ("micro_batch_size", "1"),
    ("moe_token_dispatcher_type", "alltoall"),
    ("token_loss", "slime"),
];

/// A chosen model gives what the text leaves open: its vocabulary, or all of a model whose arguments are in a file that
/// the script sources. What slime's own files of models (`scripts/models`) have in common comes with it.
fn with_model(job: &mut RawJob, model: &mut Settings, _: &str) {
    if model::has_sizes(&job.shared) {
        let vocabulary = model.get(FieldId::vocab_size).cloned();
        *model = Settings::default();
        if let Some(size) = vocabulary.filter(|_| job.shared.get(FieldId::padded_vocab_size).is_none()) {
            model.set(FieldId::vocab_size, size);
        }
        return;
    }
    if model.get(FieldId::num_experts).is_some() {
        model.set(FieldId::moe_grouped_gemm, Value::Bool(true));
        model.set(FieldId::moe_permute_fusion, Value::Bool(true));
        model.set(FieldId::moe_router_dtype, Value::Text("fp32".to_owned()));
    }
    if model.get(FieldId::experimental_attention_variant).is_some() {
        let reason = "slime builds linear and sparse attention from modules of its own";
        job.mark(NotModelled::new("spec", reason));
    } else if is_on(model, FieldId::multi_latent_attention) {
        model.set(FieldId::apply_rope_fusion, Value::Bool(false));
    }
}

/// Whether a flag is one that only slime has.
pub(in crate::formats) fn is_own(name: &str) -> bool {
    let is_setting = matches!(find(name), Some(Role(_) | KeyMeaning::NotModelled { .. }));
    megatron_args::find(name).is_none() && is_setting
}
