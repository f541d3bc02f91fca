//! Encoders of images and sounds that frameworks build beside the language model of a file.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::{ExportFormat, ExportOptions, export_text};
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::memory::bucket::{Bucket, State};
use megatron_memory::memory::{StageEstimate, estimate};
use megatron_memory::value::Value;

const TOKENS: FieldId = FieldId::image_tokens_per_sample;
const AUDIO_TOKENS: FieldId = FieldId::audio_tokens_per_sample;

/// The keys of Qwen3-VL-8B-Instruct's file that decide memory.
const QWEN3_VL: &str = r#"{"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 4096,
    "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288,
    "vocab_size": 151936, "hidden_act": "silu", "attention_bias": false, "rms_norm_eps": 1e-6, "tie_word_embeddings": false,
    "max_position_embeddings": 262144}, "tie_word_embeddings": false, "vision_config": {"depth": 27, "hidden_size": 1152,
    "intermediate_size": 4304, "num_heads": 16, "num_position_embeddings": 2304, "out_hidden_size": 4096, "patch_size": 16,
    "spatial_merge_size": 2, "temporal_patch_size": 2, "deepstack_visual_indexes": [8, 16, 24]}}"#;

/// Parameters of its tower with its four mergers, as the published checkpoint has them.
const TOWER: u64 = 576_388_336;

/// Parameters of the four mergers.
const MERGERS: u64 = 4 * (4_608 * 4_608 + 4_608 + 4_608 * 4_096 + 4_096) + 2 * (1_152 + 3 * 4_608);

const SWIFT: &str = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-VL-8B-Instruct --tensor_model_parallel_size 2 \
    --sequence_parallel true --micro_batch_size 1 --global_batch_size 8 --max_length 4096 --packing true \
    --recompute_granularity full --recompute_method uniform --recompute_num_layers 1";

fn answers(tokens: Option<u64>) -> ImportOptions {
    let tokens = tokens.map(|tokens| (TOKENS, Value::Int(tokens.into())));
    ImportOptions {
        model: Some(QWEN3_VL.to_owned()),
        fields: tokens.into_iter().collect(),
        ..ImportOptions::default()
    }
}

/// The job of a text, with so many image tokens in a sample.
#[track_caller]
fn job(text: &str, tokens: u64) -> RawJob {
    let imported = import_text(text, &answers(Some(tokens))).unwrap().import;
    assert_eq!(imported.questions, [], "{text}");
    imported.state.setup.job
}

/// Parameters of one rank in a state, by module: weights in the training dtype, gradients in fp32.
#[track_caller]
fn on_rank(job: &RawJob, state: State) -> Vec<u64> {
    let checked = check(job);
    let config = checked.config.unwrap_or_else(|| panic!("{:?}", checked.problems));
    let bytes = match state {
        State::Weights => 2,
        _ => 4,
    };
    let estimate = estimate(&config);
    let of = |stage: &StageEstimate| {
        let buckets = Bucket::ALL.into_iter();
        let buckets = buckets.filter(|bucket| bucket.state().is_some_and(|(is, _)| is == state));
        buckets.map(|bucket| stage.bytes(bucket).0).sum::<u64>() / bytes
    };
    let modules = estimate.modules.iter();
    modules.map(|module| of(&module.stages[0])).collect()
}

fn marks(job: &RawJob) -> Vec<&str> {
    job.not_modelled.iter().map(|mark| mark.key.as_str()).collect()
}

#[test]
fn the_image_tokens_of_a_sample_are_asked_for_once() {
    let text = format!("{SWIFT} --max_pixels 1048576");
    let imported = import_text(&text, &answers(None)).unwrap().import;
    let [Question::Field { field, choices }] = imported.questions.as_slice() else {
        panic!("{:?}", imported.questions);
    };
    assert_eq!(*field, TOKENS);
    let values: Vec<u64> = choices.iter().map(|choice| choice.value).collect();
    let why = "none, those of the largest image, and as many as fit";
    assert_eq!(values, [0, 1_024, 4_096], "{why}");
    assert_eq!(marks(&imported.state.setup.job), ["vision_config"]);
    assert!(imported.state.setup.job.modules.is_empty());
    assert_eq!(marks(&job(SWIFT, 1_024)), Vec::<&str>::new());
}

/// ms-swift runs the whole tower on every tensor-parallel rank, and trains none of it by default.
#[test]
fn parts_that_are_frozen_have_weights_alone() {
    let trained = |flags: &str| {
        let job = job(&format!("{SWIFT} {flags}"), 1_024);
        assert_eq!(on_rank(&job, State::Weights)[1], TOWER, "{flags}");
        let gradients = on_rank(&job, State::MainGrads);
        (gradients[0] > 0, gradients[1])
    };
    assert_eq!(trained(""), (true, 0));
    assert_eq!(trained("--freeze_vit true --freeze_aligner true"), (true, 0));
    assert_eq!(trained("--freeze_vit true --freeze_aligner false"), (true, MERGERS));
    assert_eq!(
        trained("--freeze_vit false --freeze_aligner true"),
        (true, TOWER - MERGERS)
    );
    assert_eq!(trained("--freeze_vit false --freeze_aligner false"), (true, TOWER));
    assert_eq!(
        trained("--freeze_llm true --freeze_vit false --freeze_aligner false"),
        (false, TOWER)
    );
}

#[test]
fn adapters_stay_out_of_a_frozen_tower_and_beside_a_trained_one() {
    let lora = "--lora_rank 8 --lora_alpha 32 --target_modules all-linear --tuner_type";
    let adapters = job(&format!("{SWIFT} {lora} lora"), 1_024);
    let beside = job(&format!("{SWIFT} {lora} lora_llm --merge_lora true"), 1_024);
    for (job, expected) in [(&adapters, 0), (&beside, TOWER)] {
        assert_eq!(marks(job), Vec::<&str>::new());
        let (weights, gradients) = (on_rank(job, State::Weights), on_rank(job, State::MainGrads));
        assert_eq!((weights[1], gradients[1]), (TOWER, expected));
        assert!(gradients[0] > 0 && gradients[0] * 50 < weights[0], "{gradients:?}");
    }
    // Adapters in the tower itself are not followed.
    let inside = job(&format!("{SWIFT} {lora} lora --freeze_vit false"), 1_024);
    assert!(marks(&inside).contains(&"vision_config"));
    assert!(inside.modules.is_empty());
    let alone = job(&format!("{SWIFT} --language_model_only true"), 1_024);
    assert_eq!(marks(&alone), Vec::<&str>::new());
    assert!(alone.modules.is_empty());
}

/// verl has the tower of Megatron-Bridge, with Megatron's layers; ROLL has that of Hugging Face.
#[test]
fn frameworks_have_towers_of_their_own() {
    let verl = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-VL-8B-Instruct \
        data.max_prompt_length=1024 data.max_response_length=1024 data.train_batch_size=64 \
        actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
        actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 actor_rollout_ref.actor.megatron.context_parallel_size=2 \
        trainer.nnodes=1 trainer.n_gpus_per_node=8";
    let verl = job(verl, 1_024);
    assert_eq!(marks(&verl), Vec::<&str>::new());
    let split = on_rank(&verl, State::Weights)[1];
    assert!(split > TOWER / 2 && split < TOWER * 52 / 100, "{split}");
    assert_eq!(on_rank(&verl, State::MainGrads)[1], split);
    let roll = |prefix: &str| {
        format!(
            "pretrain: Qwen/Qwen3-VL-8B-Instruct\nprompt_length: 1024\nresponse_length: 1024\nactor_train:\n  \
             model_args:\n    dtype: bf16\n{prefix}  training_args:\n    per_device_train_batch_size: 1\n    \
             gradient_accumulation_steps: 2\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n      \
             tensor_model_parallel_size: 2\n  device_mapping: list(range(0,8))\n"
        )
    };
    for (prefix, expected) in [("", TOWER), ("    freeze_module_prefix: vision_model,talker\n", 0)] {
        let roll = job(&roll(prefix), 1_024);
        assert_eq!(marks(&roll), Vec::<&str>::new());
        assert_eq!(on_rank(&roll, State::Weights)[1], TOWER);
        assert_eq!(on_rank(&roll, State::MainGrads)[1], expected);
    }
    let part = job(&roll("    freeze_module_prefix: vision_model.blocks\n"), 1_024);
    assert!(marks(&part).contains(&"vision_config"));
}

#[test]
fn more_image_tokens_take_more_memory_and_survive_links_and_files() {
    let text = format!("{SWIFT} --freeze_vit false --vit_gradient_checkpointing false");
    let peak = |job: &RawJob| estimate(&check(job).config.unwrap()).worst_rank.total;
    let (few, many) = (job(&text, 64), job(&text, 4_096));
    assert!(peak(&few) < peak(&many));
    let state = ShareState {
        setup: Setup {
            preset: None,
            job: many.clone(),
        },
        ..ShareState::default()
    };
    let (again, notices) = share_url::decode(&share_url::encode(&state));
    assert_eq!(notices, []);
    let format = ExportFormat::by_id("json").unwrap();
    let json = export_text(&state, format, &ExportOptions::default()).unwrap();
    let read = import_text(&json, &ImportOptions::default()).unwrap();
    for copy in [again.setup.job, read.import.state.setup.job] {
        assert_eq!(copy.number(1, TOKENS), Some(4_096));
        assert_eq!(peak(&copy), peak(&many));
    }
}

/// `FlagScale`'s trainers have the sizes of their towers in their source.
#[test]
fn towers_of_flag_scale_follow_from_its_keys() {
    let common = "attention_dropout: 0.0\n  disable_vision_class_token: true\n  global_batch_size: 64\n  hidden_size: 3584\n  \
        num_layers: 28\n  num_attention_heads: 28\n  group_query_attention: true\n  num_query_groups: 4\n  \
        max_position_embeddings: 32768\n  micro_batch_size: 1\n  normalization: RMSNorm\n  seq_length: 4096\n  swiglu: true\n  \
        ffn_hidden_size: 18944\n  untie_embeddings_and_output_weights: true\n";
    let system =
        "system:\n  disable_bias_linear: true\n  tensor_model_parallel_size: 2\n  precision:\n    bf16: true\n";
    let read = |tokenizer: &str, keys: &str, field: FieldId| {
        let data = format!("data:\n  tokenizer:\n    tokenizer_type: {tokenizer}\n    vocab_size: 152064\n");
        let text = format!("{data}model:\n  {common}{keys}{system}");
        let options = ImportOptions {
            gpus: Some(8),
            fields: vec![(field, Value::Int(2))],
            ..ImportOptions::default()
        };
        import_text(&text, &options).unwrap().import.state.setup.job
    };
    let qwen = read("Qwen2VLTokenizer", "  mrope_section: [16, 24, 24]\n", TOKENS);
    let keys = "  vision_model_type: siglip\n  language_model_type: qwen2_7b\n  img_h: 384\n  img_w: 384\n  patch_dim: 14\n  \
        freeze_ViT: true\n";
    let llava = read("Qwen2TokenizerFS", keys, FieldId::items_per_sample);
    // SigLIP without its last layer, and a projector of two layers.
    let layer = 4 * 1_152 * 1_153 + 1_152 * 4_304 * 2 + 4_304 + 1_152 + 4 * 1_152;
    let projector = 1_153 * 3_584 + 3_585 * 3_584;
    for (job, expected, trained) in [
        (qwen, 676_550_144, 676_550_144),
        (llava, 412_987_248 - layer + projector, projector),
    ] {
        assert_eq!(marks(&job), Vec::<&str>::new());
        let config = check(&job).config.unwrap();
        assert_eq!(estimate(&config).modules[1].parameters.total(), expected);
        let gradients = on_rank(&job, State::MainGrads)[1];
        assert!(gradients > trained / 2 && gradients < trained * 52 / 100, "{gradients}");
    }
}

/// The keys of Qwen3-Omni-30B-A3B-Instruct's file that decide memory.
const QWEN3_OMNI: &str = r#"{"model_type": "qwen3_omni_moe", "thinker_config": {"text_config": {"hidden_size": 2048,
    "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 152064,
    "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "max_position_embeddings": 65536},
    "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "out_hidden_size": 2048,
    "patch_size": 16, "spatial_merge_size": 2, "deepstack_visual_indexes": [8, 16, 24]}, "audio_config": {"d_model": 1280,
    "encoder_layers": 32, "encoder_ffn_dim": 5120, "encoder_attention_heads": 20, "num_mel_bins": 128, "output_dim": 2048,
    "downsample_hidden_size": 480, "n_window": 50}}, "talker_config": {"num_code_groups": 16}, "code2wav_config": {}}"#;

/// Parameters of its thinker, as transformers counts them.
const THINKER: u64 = 31_719_205_488;

/// Parameters of the projections of its audio tower.
const PROJECTIONS: u64 = 1_281 * 1_280 + 1_281 * 2_048;

/// A job of Qwen3-Omni, with so many audio tokens in a sample.
fn omni(text: &str, sounds: u64) -> RawJob {
    let options = ImportOptions {
        model: Some(QWEN3_OMNI.to_owned()),
        fields: vec![(TOKENS, Value::Int(64)), (AUDIO_TOKENS, Value::Int(sounds.into()))],
        ..ImportOptions::default()
    };
    let imported = import_text(text, &options).unwrap().import;
    assert_eq!(imported.questions, [], "{text}");
    imported.state.setup.job
}

#[test]
fn the_towers_of_qwen3_omni_come_along_without_what_speaks() {
    let options = ImportOptions {
        model: Some(QWEN3_OMNI.to_owned()),
        ..ImportOptions::default()
    };
    let open = import_text(SWIFT, &options).unwrap().import;
    let asked = open.questions.iter().map(|asked| match asked {
        Question::Field { field, choices } => {
            let values = choices.iter().map(|choice| choice.value);
            (*field, values.collect::<Vec<u64>>())
        }
        other => panic!("{other:?}"),
    });
    let expected = [(TOKENS, vec![0, 4_096]), (AUDIO_TOKENS, vec![0, 4_096])];
    assert_eq!(asked.collect::<Vec<_>>(), expected);
    let job = omni(SWIFT, 130);
    assert_eq!(marks(&job), Vec::<&str>::new());
    let names: Vec<&str> = job.modules.iter().map(|module| &*module.name).collect();
    assert_eq!(names, ["language", "images", "sounds"]);
    let config = check(&job).config.unwrap();
    let parts = estimate(&config).modules;
    let parts = parts.iter().map(|module| module.parameters.total());
    assert_eq!(parts.sum::<u64>(), THINKER);
}

#[test]
fn the_audio_tower_is_frozen_by_parts() {
    let trained = |flags: &str| {
        let job = omni(&format!("{SWIFT} {flags}"), 130);
        let (weights, gradients) = (on_rank(&job, State::Weights), on_rank(&job, State::MainGrads));
        (weights[2], gradients[2])
    };
    let whole = trained("").0;
    for (flags, expected) in [
        ("", 0),
        ("--freeze_aligner false", PROJECTIONS),
        ("--freeze_vit false --freeze_aligner true", whole - PROJECTIONS),
        ("--freeze_vit false --freeze_aligner false", whole),
    ] {
        assert_eq!(trained(flags), (whole, expected), "{flags}");
    }
    let roll = |prefix: &str| {
        let text = format!(
            "pretrain: Qwen/Qwen3-Omni-30B-A3B\nprompt_length: 1024\nresponse_length: 1024\nactor_train:\n  model_args:\n    \
             dtype: bf16\n    freeze_module_prefix: {prefix}\n  training_args:\n    per_device_train_batch_size: 1\n    \
             gradient_accumulation_steps: 2\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n      \
             expert_model_parallel_size: 8\n  device_mapping: list(range(0,8))\n"
        );
        omni(&text, 130)
    };
    for (prefix, expected) in [("vision_model", whole), ("audio_model,vision_model", 0)] {
        let job = roll(prefix);
        assert_eq!(on_rank(&job, State::MainGrads)[1..], [0, expected]);
        // ROLL builds what speaks where the model has it.
        assert_eq!(marks(&job), ["talker_config", "code2wav_config"]);
    }
}

/// A class whose tower is not followed leaves a mark, also where its name says nothing of images or sounds.
#[test]
fn a_model_with_a_tower_that_is_not_followed_is_marked() {
    for class in [
        "qwen3_asr_provider.Qwen3ASRModelProvider",
        "qwen25_omni_provider.Qwen25OmniModelProvider",
    ] {
        let text = format!(
            "model:\n  _target_: megatron.bridge.models.{class}\n  num_layers: 28\n  hidden_size: 2048\n  \
             ffn_hidden_size: 6144\n  num_attention_heads: 16\n  num_query_groups: 8\n  vocab_size: 151936\n  \
             seq_length: 4096\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
        );
        let imported = import_text(&text, &ImportOptions::default()).unwrap().import;
        assert_eq!(marks(&imported.state.setup.job), ["model._target_"], "{class}");
    }
}

/// A recipe of Megatron-Bridge in Python names its model alone, and says little of the towers that this brings along.
#[test]
fn towers_of_a_model_that_a_recipe_only_names_are_marked() {
    for (model, wanted) in [
        ("Qwen/Qwen2-Audio-7B-Instruct", vec!["audio_config"]),
        ("Qwen/Qwen2.5-Omni-7B", vec!["audio_config", "vision_config"]),
        ("Qwen/Qwen3.5-27B", vec!["vision_config"]),
        ("Qwen/Qwen3-8B", vec![]),
    ] {
        let text = format!(
            "def acme_sft_8gpu_h100_bf16_config() -> ConfigContainer:\n    cfg = _sft_common()\n    \
             cfg.model = AutoBridge.from_hf_pretrained(\"{model}\").to_megatron_provider(load_weights=False)\n    \
             cfg.model.tensor_model_parallel_size = 2\n    return cfg\n"
        );
        let imported = import_text(&text, &ImportOptions::default()).unwrap().import;
        let job = &imported.state.setup.job;
        let mut marked: Vec<&str> = marks(job).into_iter().filter(|key| key.ends_with("_config")).collect();
        marked.sort_unstable();
        assert_eq!(marked, wanted, "{model}: {:?}", job.not_modelled);
        assert!(job.modules.is_empty());
    }
}

/// The part of a configuration of Qwen2.5-Omni that has its towers.
const THINKER_OF_OMNI: &str = "  thinker_config:\n    audio_config:\n      d_model: 1280\n      encoder_layers: 32\n      \
    encoder_ffn_dim: 5120\n      encoder_attention_heads: 20\n      num_mel_bins: 128\n      n_window: 100\n      \
    output_dim: 3584\n    vision_config:\n      depth: 32\n      hidden_size: 1280\n      intermediate_size: 3420\n      \
    num_heads: 16\n      out_hidden_size: 3584\n      patch_size: 14\n      spatial_merge_size: 2\n";

/// A configuration of Megatron-Bridge with sounds: the class, the language model, the towers, and other keys of the
/// model.
fn with_sounds(class: &str, language: &str, towers: &str, more: &str) -> String {
    format!(
        "model:\n  _target_: megatron.bridge.models.{class}\n{language}{towers}{more}  normalization: RMSNorm\n  \
         gated_linear_unit: true\n  add_bias_linear: false\n  seq_length: 4096\n  bf16: true\n  \
         tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n  sequence_parallel: true\n\
         train:\n  micro_batch_size: 1\n  global_batch_size: 8\nddp:\n  use_distributed_optimizer: true\n  \
         grad_reduce_in_fp32: true\n"
    )
}

const QWEN2_AUDIO: [&str; 3] = [
    "qwen_audio.qwen2_audio_provider.Qwen2AudioModelProvider",
    "  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 11008\n  num_attention_heads: 32\n  vocab_size: 156032\n  \
     add_qkv_bias: true\n  share_embeddings_and_output_weights: false\n  position_embedding_type: rope\n",
    "  hf_config:\n    audio_config:\n      d_model: 1280\n      encoder_layers: 32\n      encoder_ffn_dim: 5120\n      \
     encoder_attention_heads: 20\n      num_mel_bins: 128\n",
];

const QWEN2_5_OMNI: [&str; 3] = [
    "qwen_omni.qwen25_omni_provider.Qwen25OmniModelProvider",
    "  num_layers: 28\n  hidden_size: 3584\n  ffn_hidden_size: 18944\n  num_attention_heads: 28\n  num_query_groups: 4\n  \
     vocab_size: 152064\n  add_qkv_bias: true\n  share_embeddings_and_output_weights: false\n  \
     position_embedding_type: mrope\n",
    THINKER_OF_OMNI,
];

const QWEN3_ASR: [&str; 3] = [
    "qwen3_asr.qwen3_asr_provider.Qwen3ASRModelProvider",
    "  num_layers: 28\n  hidden_size: 2048\n  ffn_hidden_size: 6144\n  num_attention_heads: 16\n  num_query_groups: 8\n  \
     kv_channels: 128\n  vocab_size: 151936\n  qk_layernorm: true\n  share_embeddings_and_output_weights: true\n  \
     position_embedding_type: mrope\n",
    "  thinker_config:\n    audio_config:\n      d_model: 1024\n      encoder_layers: 24\n      encoder_ffn_dim: 4096\n      \
     encoder_attention_heads: 16\n      num_mel_bins: 128\n      downsample_hidden_size: 480\n      n_window: 50\n      \
     output_dim: 2048\n",
];

/// The job of such a configuration on eight GPUs.
#[track_caller]
fn job_with_sounds([class, language, towers]: [&str; 3], more: &str) -> RawJob {
    let options = ImportOptions {
        gpus: Some(8),
        fields: vec![(TOKENS, Value::Int(64)), (AUDIO_TOKENS, Value::Int(130))],
        ..ImportOptions::default()
    };
    let text = with_sounds(class, language, towers, more);
    let imported = import_text(&text, &options).unwrap().import;
    assert_eq!(imported.questions, [], "{class}");
    imported.state.setup.job
}

/// Positions in the tower of Qwen2-Audio, which are parameters that are never trained.
const POSITIONS: u64 = 1_500 * 1_280;

/// As many parameters as the real modules have on the first tensor-parallel rank of two stages, by module: the language
/// model split over four ranks, and whole towers of Hugging Face beside its first stage.
#[test]
fn towers_of_sounds_in_configurations_are_those_of_the_real_modules() {
    // Without the 7168 parameters of `audio_bos_eos_token`, which no pass reads.
    let omni = vec![952_026_880, 676_550_144, 639_647_232 - 7_168];
    for (model, mut first, last, fixed) in [
        (QWEN2_AUDIO, vec![969_457_664, 642_215_936], 969_461_760, POSITIONS),
        (QWEN2_5_OMNI, omni, 952_030_464, 0),
        (QWEN3_ASR, vec![254_012_928, 317_477_504], 254_014_976, 0),
    ] {
        let job = job_with_sounds(model, "");
        assert_eq!(marks(&job), Vec::<&str>::new(), "{}", model[0]);
        assert_eq!(on_rank(&job, State::Weights), first, "{}", model[0]);
        first[1] -= fixed;
        assert_eq!(on_rank(&job, State::MainGrads), first, "{}", model[0]);
        let config = check(&job).config.unwrap();
        let language = &estimate(&config).modules[0];
        assert_eq!(language.stages[1].parameters().total(), last, "{}", model[0]);
    }
}

/// A thinker freezes its towers with their projections, and Qwen2-Audio each alone.
#[test]
fn towers_of_sounds_in_configurations_are_frozen_by_parts() {
    let (projector, whole) = (5_246_976, 642_215_936 - POSITIONS);
    let (images, sounds) = (676_550_144, 639_647_232 - 7_168);
    for (model, key, expected) in [
        (QWEN2_AUDIO, "freeze_audio_model", vec![projector]),
        (QWEN2_AUDIO, "freeze_audio_projection", vec![whole - projector]),
        (QWEN2_5_OMNI, "freeze_audio_model", vec![images, 0]),
        (QWEN2_5_OMNI, "freeze_vision_model", vec![0, sounds]),
        (QWEN3_ASR, "freeze_audio_model", vec![0]),
    ] {
        let job = job_with_sounds(model, &format!("  {key}: true\n"));
        let gradients = on_rank(&job, State::MainGrads);
        assert!(gradients[0] > 0, "{}: {key}", model[0]);
        assert_eq!(gradients[1..], expected, "{}: {key}", model[0]);
    }
    let frozen = job_with_sounds(QWEN3_ASR, "  freeze_language_model: true\n");
    assert_eq!(on_rank(&frozen, State::MainGrads), [0, 317_477_504]);
}

/// One tower of two does not make the model: a thinker with a part of no known sizes stays marked.
#[test]
fn a_thinker_with_a_tower_of_unknown_sizes_is_marked() {
    let towers = THINKER_OF_OMNI.replace("      d_model: 1280\n", "");
    let [class, language, _] = QWEN2_5_OMNI;
    let job = job_with_sounds([class, language, &towers], "");
    assert_eq!(marks(&job), ["model._target_"]);
    assert!(job.modules.is_empty());
}

/// Models with sounds that are presets come with their towers, and are as large as the published ones then.
#[test]
fn presets_with_sounds_are_whole_models_of_texts() {
    for (model, published) in [
        ("qwen2-audio-7b", 8_397_094_912),
        ("qwen2.5-omni-7b", 7_615_616_512 + 676_550_144 + 639_647_232 - 7_168),
        ("qwen3-asr-1.7b", 2_038_052_480),
        ("qwen3-asr-0.6b", 782_426_112),
    ] {
        let options = ImportOptions {
            model: Some(model.to_owned()),
            fields: vec![(TOKENS, Value::Int(64)), (AUDIO_TOKENS, Value::Int(130))],
            ..ImportOptions::default()
        };
        // Without tensor parallelism, so that the vocabulary is not padded.
        let text = SWIFT.replace("--tensor_model_parallel_size 2 --sequence_parallel true ", "");
        let imported = import_text(&text, &options).unwrap().import;
        let config = check(&imported.state.setup.job).config.unwrap();
        let parts = estimate(&config).modules;
        let total: u64 = parts.iter().map(|module| module.parameters.total()).sum();
        assert_eq!(total, published, "{model}");
    }
}

/// A model that is chosen as a preset is that of its file: the same tower, and the same memory.
#[test]
fn presets_with_encoders_are_models_of_texts() {
    let with = |model: &str| {
        let options = ImportOptions {
            model: Some(model.to_owned()),
            ..answers(Some(1024))
        };
        let imported = import_text(SWIFT, &options).unwrap();
        let config = check(&imported.import.state.setup.job).config.unwrap();
        let estimate = estimate(&config);
        estimate.worst_stage().unwrap().total
    };
    assert_eq!(with("qwen3-vl-8b"), with(QWEN3_VL));
    for model in ["qwen2.5-vl-7b", "qwen3-vl-4b", "qwen3-vl-30b-a3b", "qwen3-omni-30b-a3b"] {
        let asking = ImportOptions {
            model: Some(model.to_owned()),
            ..ImportOptions::default()
        };
        let imported = import_text(SWIFT, &asking).unwrap().import;
        let asks = |asked: &Question| matches!(asked, Question::Field { field, .. } if *field == TOKENS);
        assert!(imported.questions.iter().any(asks), "{model}: {:?}", imported.questions);
        assert!(
            imported
                .questions
                .iter()
                .all(|asked| !matches!(asked, Question::Model { .. }))
        );
    }
}
