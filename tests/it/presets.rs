//! Tests of `presets`.

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use megatron_memory::config::raw::{RawJob, RawModule};
use megatron_memory::formats::preset_files::{PresetContents, lines, settings};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::formats::share_url::{decode, encode};
use megatron_memory::memory::estimate;
use megatron_memory::presets::encoders::ENCODERS;
use megatron_memory::presets::gpus::{self, GPUS, GpuMemory};
use megatron_memory::presets::jobs::JOBS;
use megatron_memory::presets::{PRESETS, Preset, by_id};
use megatron_memory::report::summary::{Standing, Verdict};
use megatron_memory::value::Value;
use serde_json::Value as Json;

use crate::{ROOT, oracle};

fn contents(preset: &Preset) -> PresetContents {
    preset
        .contents()
        .unwrap_or_else(|| panic!("{} cannot be read", preset.id))
}

/// The preset's file, read by an independent reader.
fn file(preset: &Preset) -> Json {
    file_of("models", preset.id)
}

fn file_of(folder: &str, id: &str) -> Json {
    let path = format!("{ROOT}/src/presets/{folder}/{id}.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_list_is_the_folder() {
    let folder = format!("{ROOT}/src/presets/models");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut listed: Vec<_> = PRESETS.iter().map(|preset| format!("{}.json", preset.id)).collect();
    files.sort();
    listed.sort();
    assert_eq!(files, listed);
}

#[test]
fn the_list_says_what_the_files_say() {
    for preset in PRESETS {
        let file = file(preset);
        let said = |key: &str| file[key].as_str().unwrap().to_owned();
        assert_eq!(
            [
                preset.id,
                preset.name,
                preset.organization,
                preset.family,
                preset.released
            ],
            ["id", "name", "organization", "family", "released"].map(said)
        );
        assert_eq!(u64::from(preset.version), file["version"].as_u64().unwrap());
        let published = contents(preset).published;
        assert_eq!(Some(preset.parameters), file["published_parameters"]["total"].as_u64());
        assert_eq!(preset.parameters, published.total, "{}", preset.id);
        assert_eq!(preset.active_parameters, published.active, "{}", preset.id);
        assert!(std::ptr::eq(by_id(preset.id).unwrap(), preset), "{}", preset.id);
        let token = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        assert!(
            preset.id.chars().all(token),
            "{} must need no escape in a link",
            preset.id
        );
    }
    for job in JOBS {
        let file = file_of("jobs", job.id);
        let said = |key: &str| file[key].as_str().unwrap().to_owned();
        assert_eq!(
            [job.id, job.name, job.family, job.released],
            ["id", "name", "family", "released"].map(said)
        );
        assert_eq!(u64::from(job.version), file["version"].as_u64().unwrap());
    }
}

#[test]
fn every_file_has_a_source_and_no_unexplained_key() {
    for preset in PRESETS {
        let contents = contents(preset);
        assert!(contents.source_url.starts_with("https://"), "{}", preset.id);
        assert_eq!(contents.source_date, "2026-11", "{}", preset.id);
        assert!(!contents.job_source.is_empty(), "{}", preset.id);
        for row in &contents.report {
            let unclear = match row.status {
                KeyStatus::Unknown | KeyStatus::Conflicting => true,
                // Norms stand after attention and MLP there: as many, and they keep as much.
                KeyStatus::NotModelled => preset.family != "OLMo",
                _ => false,
            };
            assert!(!unclear, "{}: {row:?}", preset.id);
            let sized = [
                "hidden_size",
                "intermediate_size",
                "num_hidden_layers",
                "vocab_size",
                "num_attention_heads",
            ];
            let guessed = row.status == KeyStatus::Defaulted && sized.contains(&&*row.key);
            assert!(!guessed, "{}: {} should be in the file", preset.id, row.key);
        }
    }
}

#[test]
fn every_job_is_valid_and_its_model_states_fit() {
    for preset in PRESETS {
        let contents = contents(preset);
        let checked = check(&contents.raw_job());
        assert_eq!(checked.problems, [], "{}", preset.id);
        let config = checked.config.unwrap();
        let Some(Value::Text(gpu)) = contents.job.get(FieldId::gpu) else {
            panic!("{} names no GPU", preset.id)
        };
        let gpu = gpus::by_id(gpu).unwrap_or_else(|| panic!("{} names an unknown GPU", preset.id));
        let estimate = estimate(&config);
        let worst = estimate.worst_stage().unwrap().total.0;
        assert!(
            worst < gpu.memory_bytes(),
            "{}: {worst} of {}",
            preset.id,
            gpu.memory_bytes()
        );
    }
}

/// The whole model without any parallelism, so that the vocabulary is padded as little as possible.
fn alone(contents: &PresetContents) -> RawJob {
    let mut shared = contents.model.clone();
    for (field, value) in [
        (FieldId::seq_length, 1024),
        (FieldId::world_size, 1),
        (FieldId::micro_batch_size, 1),
    ] {
        shared.set(field, Value::Int(value));
    }
    RawJob {
        shared,
        ..RawJob::default()
    }
}

#[test]
fn parameters_are_the_published_ones() {
    for preset in PRESETS {
        let contents = contents(preset);
        let published = contents.published.clone();
        let mut job = alone(&contents);
        if !published.with_mtp {
            job.shared.unset(FieldId::mtp_num_layers);
        }
        // Megatron-LM pads the vocabulary of GPT-2; the published number is without.
        job.shared.set(FieldId::make_vocab_size_divisible_by, Value::Int(1));
        let checked = check(&job);
        let config = checked
            .config
            .unwrap_or_else(|| panic!("{}: {:?}", preset.id, checked.problems));
        let estimate = estimate(&config);
        let total = estimate.modules[0].parameters.total();
        let off = total.abs_diff(published.total);
        assert!(
            off <= published.tolerance,
            "{}: {total}, published {}, off by {off}",
            preset.id,
            published.total
        );
        if let Some(active) = published.active {
            let ours = estimate.modules[0].active_parameters;
            // Published numbers differ in whether they count embeddings.
            let args = config.modules()[0].args();
            let embedding = args.vocab_size.unwrap() * args.hidden_size;
            let is_close = [0, 1, 2]
                .map(|embeddings| ours - embeddings * embedding)
                .into_iter()
                .any(|ours| ours.abs_diff(active) * 4 <= active);
            assert!(is_close, "{}: {ours} active, published {active}", preset.id);
        }
    }
}

/// Models of sparse attention with multi-token prediction, and without it: the layer for it has an indexer of its own.
const SPARSE: [(&str, u64, u64); 3] = [
    ("deepseek-v3.2", 671_877_929_216, 683_501_956_608),
    ("glm-5", 743_911_199_232, 753_864_119_552),
    // The published checkpoint has 256 routing bias values more in each of 76 layers.
    ("glm-5.2", 743_377_000_704, 753_329_940_480 - 76 * 256),
];

#[test]
fn models_of_sparse_attention_have_the_published_elements() {
    for (id, without, with) in SPARSE {
        let mut job = alone(&contents(by_id(id).unwrap()));
        let total = |job: &RawJob| {
            let config = check(job).config.unwrap();
            estimate(&config).modules[0].parameters.total()
        };
        assert_eq!(total(&job), with, "{id}");
        job.shared.unset(FieldId::mtp_num_layers);
        assert_eq!(total(&job), without, "{id}");
    }
}

/// Published checkpoints of hybrid models hold the routers' expert biases too, one number for each expert of a layer,
/// which are buffers and no parameters.
#[test]
fn elements_of_hybrid_checkpoints_are_exact() {
    let exact = [
        ("nemotron-3.5-lightning-30b-a3b", 32_913_266_240),
        ("nemotron-3-super-120b-a12b", 123_611_033_088),
    ];
    for (id, elements) in exact {
        let preset = by_id(id).unwrap();
        assert_eq!(preset.parameters, elements);
        let config = check(&alone(&contents(preset))).config.unwrap();
        let module = &config.modules()[0];
        let pattern = module.args().hybrid_layer_pattern.clone().unwrap();
        let pattern: HybridPattern = pattern.parse().unwrap();
        // All MTP depths share one layer.
        assert!(module.args().mtp_use_repeated_layer && pattern.depths() == 2);
        let layers = pattern.layers().chain(pattern.mtp().iter().copied());
        let routers = layers.filter(|layer| *layer == LayerSymbol::Moe).count() as u64;
        let biases = routers * module.args().num_experts.unwrap();
        let parameters = estimate(&config).modules[0].parameters.total();
        assert_eq!(parameters + biases, elements, "{id}");
    }
}

/// The real models, and the presets that have as many parameters.
#[test]
fn hybrid_presets_are_the_real_models() {
    for (file, id) in [
        ("nemotronh_8b_tp2", "nemotron-h-8b"),
        ("nemotronh_47b_tp8", "nemotron-h-47b"),
        ("nemotronh_56b_tp8", "nemotron-h-56b"),
        ("nemotron3_nano_30b_tp4_ep8_etp1", "nemotron-3-nano-30b-a3b"),
        (
            "nemotron3_super_120b_tp8_ep16_mtp2_repeated",
            "nemotron-3-super-120b-a12b",
        ),
    ] {
        let case = oracle::json(&format!("params_hybrid/{file}.json"));
        let config = check(&alone(&contents(by_id(id).unwrap()))).config.unwrap();
        let total = estimate(&config).modules[0].parameters.total();
        assert_eq!(Some(total), case["global_total_parameters"].as_u64(), "{id}");
    }
}

/// The start of an oracle case's file name, and the preset of the same model.
const SAME_MODEL: &[(&str, &str)] = &[
    ("dsv2_lite", "deepseek-v2-lite"),
    ("dsv2", "deepseek-v2"),
    ("dsv3", "deepseek-v3"),
    ("gemma_2b", "gemma-2b"),
    ("gemma_7b", "gemma-7b"),
    ("gpt3_175b", "gpt3-175b"),
    ("gpt_oss_120b", "gpt-oss-120b"),
    ("gpt_oss_20b", "gpt-oss-20b"),
    ("kimi_k2", "kimi-k2"),
    ("llama31_405b", "llama3.1-405b"),
    ("llama3_70b", "llama3-70b"),
    ("mixtral_8x22b", "mixtral-8x22b"),
    ("mixtral_8x7b", "mixtral-8x7b"),
    ("qwen15_moe", "qwen1.5-moe-a2.7b"),
    ("qwen25_72b", "qwen2.5-72b"),
    ("qwen3_235b", "qwen3-235b-a22b"),
    ("qwen3_30b_a3b", "qwen3-30b-a3b"),
    ("qwen3_8b", "qwen3-8b"),
];

#[test]
fn shapes_are_those_of_the_real_models() {
    let mut compared = 0;
    for path in oracle::files("params") {
        let name = path.trim_start_matches("params/");
        let Some((_, id)) = SAME_MODEL
            .iter()
            .find(|(case, _)| name.starts_with(&format!("{case}_tp")))
        else {
            continue;
        };
        let case = oracle::json(&path)["config"].clone();
        let model = contents(by_id(id).unwrap()).model;
        let flag = |name: &str| model.get(FieldId::by_name(name).unwrap()) == Some(&Value::Bool(true));
        let json = |name: &str| {
            let value = model.get(FieldId::by_name(name).unwrap());
            value.map_or(Json::Null, |value| serde_json::from_str(&value.to_string()).unwrap())
        };
        let same = |field: &str| assert_eq!(json(field), case[field], "{id} {field}");
        for field in [
            "num_layers",
            "hidden_size",
            "ffn_hidden_size",
            "num_attention_heads",
            "normalization",
            "add_bias_linear",
            "qk_layernorm",
            "untie_embeddings_and_output_weights",
            "position_embedding_type",
            "vocab_size",
            "num_experts",
            "mtp_num_layers",
            "moe_shared_expert_intermediate_size",
        ] {
            same(field);
        }
        for field in [
            "geglu",
            "squared_relu",
            "moe_shared_expert_gate",
            "moe_router_enable_expert_bias",
        ] {
            assert_eq!(flag(field), case[field].as_bool().unwrap(), "{id} {field}");
        }
        // The family's own quick GELU has the same gate as the SwiGLU of the case.
        assert_eq!(
            flag("swiglu") || flag("quick_geglu"),
            case["swiglu"].as_bool().unwrap(),
            "{id} gate"
        );
        if case["num_experts"].is_u64() {
            for field in [
                "moe_router_topk",
                "moe_ffn_hidden_size",
                "moe_layer_freq",
                "moe_router_score_function",
            ] {
                same(field);
            }
        }
        if case["multi_latent_attention"].as_bool().unwrap() {
            for field in [
                "multi_latent_attention",
                "q_lora_rank",
                "kv_lora_rank",
                "qk_head_dim",
                "qk_pos_emb_head_dim",
                "v_head_dim",
            ] {
                same(field);
            }
        } else {
            same("kv_channels");
            same("group_query_attention");
            if flag("group_query_attention") {
                same("num_query_groups");
            }
            // GPT-3's key and value biases come with its other biases there.
            if !flag("add_bias_linear") {
                assert_eq!(
                    flag("add_qkv_bias"),
                    case["add_qkv_bias"].as_bool().unwrap(),
                    "{id} add_qkv_bias"
                );
            }
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn gpus_have_plausible_memory() {
    let mut ids: Vec<_> = GPUS.iter().map(|gpu| gpu.id).chain([gpus::CUSTOM]).collect();
    for gpu in GPUS {
        assert_eq!(gpus::by_id(gpu.id), Some(gpu));
        let gb = u64::from(gpu.advertised_gb);
        assert!(
            gpu.memory_bytes() <= gb << 30,
            "{} has more than it is sold with",
            gpu.id
        );
        assert!(
            gpu.memory_bytes() > gb * 1_000_000_000,
            "{} has less than it is sold with",
            gpu.id
        );
        assert!(!gpu.certainty.note().is_empty());
        let page = gpus::source_of_reported(gpu.id);
        assert!(page.is_none_or(|page| page.starts_with("https://")));
        if let Some(GpuMemory { least, most }) = gpus::reported_to_processes(gpu.id) {
            // The driver's total has what it keeps for itself too.
            assert!(least <= most && most.0 < gpu.memory_bytes(), "{}", gpu.id);
        }
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), GPUS.len() + 1);
    assert_eq!(gpus::by_id(gpus::CUSTOM), None);
}

/// The job of a link.
fn linked(link: &str) -> RawJob {
    let (state, notices) = decode(link);
    assert_eq!(notices, [], "{link}");
    state.setup.job
}

#[test]
fn every_job_fits_its_gpu_with_what_the_device_shows_at_least() {
    for preset in PRESETS {
        let config = check(&contents(preset).raw_job()).config.unwrap();
        let summary = Standing::new(&config, &estimate(&config));
        // The recipe that leaves the least room.
        let expected = match preset.id {
            "llama3.1-405b" => Verdict::Tight,
            _ => Verdict::Fits,
        };
        assert_eq!(summary.verdict, expected, "{}", preset.id);
    }
}

#[test]
fn experts_are_trained_as_in_published_recipes() {
    let mut mixtures = 0;
    for preset in PRESETS {
        let settings = preset.settings();
        if settings.get(FieldId::num_experts).is_none() {
            continue;
        }
        // Megatron-Bridge builds two pools of experts one expert at a time.
        let has_pools = settings.get(FieldId::moe_vision_ffn_hidden_size).is_some();
        let grouped = settings.get(FieldId::moe_grouped_gemm);
        let expected = (!has_pools).then_some(&Value::Bool(true));
        assert_eq!(grouped, expected, "{}", preset.id);
        let dispatcher = settings.get(FieldId::moe_token_dispatcher_type).cloned();
        let named = ["alltoall", "flex"].map(|name| Some(Value::Text(name.to_owned())));
        assert!(named.contains(&dispatcher), "{}: {dispatcher:?}", preset.id);
        mixtures += 1;
    }
    assert_eq!(mixtures, 53);
}

/// Versions that newer ones have taken the place of, and a sum over what `settings.txt` says of each. Lines are only
/// ever added.
const REPLACED: &[(&str, u64)] = &[
    ("llama3-8b@1", 0x5f0e_047f_4dd3_20f0),
    ("llama3-70b@1", 0x50b1_1f3c_ccad_f73f),
    ("llama3.1-8b@1", 0x1d46_b03c_67e6_3a6d),
    ("llama3.1-405b@1", 0xf430_bcbc_b417_86e0),
    ("llama3.2-1b@1", 0x48c1_cf5e_0197_f116),
    ("llama3.2-3b@1", 0x97c9_ef36_a5af_8573),
    ("qwen2.5-7b@1", 0xa075_8825_ff90_b1f7),
    ("qwen2.5-32b@1", 0x15a0_3109_a1d0_5826),
    ("qwen2.5-72b@1", 0xb90c_9653_1a93_214e),
    ("qwen3-8b@1", 0x8406_d29e_4434_8cad),
    ("qwen3-14b@1", 0x829d_e0bb_e674_d23b),
    ("qwen3-32b@1", 0x06ae_8a22_82b2_7f9b),
    ("qwen3-30b-a3b@1", 0xca71_5348_ad54_45d3),
    ("qwen3-30b-a3b@2", 0x5bac_84a3_b773_b5a8),
    ("qwen3-235b-a22b@1", 0x51b0_15e5_5430_3026),
    ("qwen3-235b-a22b@2", 0xc165_ecf1_b2f4_dc05),
    ("mixtral-8x7b@1", 0x2dcb_a239_6048_1870),
    ("mixtral-8x22b@1", 0x1895_3e7c_b4c1_b2a4),
    ("deepseek-v2@1", 0xdbc6_78d1_4939_43c4),
    ("deepseek-v2@2", 0x836e_437b_da32_1901),
    ("deepseek-v2-lite@1", 0x66f4_35ca_5781_6e5c),
    ("deepseek-v2-lite@2", 0x836e_437b_da32_1901),
    ("deepseek-v3@1", 0x81a4_755c_64a7_5db6),
    ("deepseek-v3@2", 0xa9f3_b442_746e_aaa8),
    ("deepseek-r1@1", 0x44d7_51cc_9b36_b46e),
    ("deepseek-r1@2", 0xa9f3_b442_746e_aaa8),
    ("moonlight-16b-a3b@1", 0xcd23_2055_92af_eb93),
    ("moonlight-16b-a3b@2", 0x14f0_a664_352a_7d3d),
    ("kimi-k2@1", 0x8733_51bc_a655_df90),
    ("kimi-k2@2", 0x8a3a_ff53_535e_be05),
    ("gpt-oss-20b@1", 0x7fb5_f8b3_ecd5_c829),
    ("gpt-oss-20b@2", 0x4573_ecfb_1843_3934),
    ("gpt-oss-120b@1", 0x9a1a_b5a1_32d1_ebb8),
    ("gpt-oss-120b@2", 0x4573_ecfb_1843_3934),
    ("glm-4.5@1", 0x17b6_45c4_900b_d3e7),
    ("glm-4.5-air@1", 0xb7c8_c259_1161_ef13),
    ("qwen1.5-moe-a2.7b@1", 0xf902_90d4_736f_202f),
    ("qwen2.5-0.5b@1", 0xfc88_7aef_b604_55fc),
    ("qwen3-0.6b@1", 0xf230_fd92_f970_b7cc),
    ("qwen3-4b@1", 0x7edf_2241_62f7_2bc3),
    ("glm-5@1", 0x7ace_fc54_6f8a_63c8),
    ("glm-5.2@1", 0xb001_94ed_5a1d_1928),
    ("qwen2.5-1.5b@1", 0x8531_2b52_0d8c_a294),
    ("qwen2.5-14b@1", 0x4449_46c0_af08_3583),
    ("qwen3.5-4b@1", 0x3c1a_2832_16d7_98f4),
    ("kimi-k2-thinking@1", 0x8962_e5d5_91f6_de2e),
    ("kimi-k2.5@1", 0x8b8c_5b17_2e95_76bc),
    ("gemma-2-2b@1", 0xe4f8_3cc8_8c8c_e19a),
    ("gemma-2-9b@1", 0xfb81_6f26_4088_6001),
    ("gemma-2-27b@1", 0xd19c_9730_7f58_cfaa),
    ("gemma-3-1b@1", 0x8135_34f5_d0d3_ec97),
    ("gemma-3-27b@1", 0xcd1e_dfd0_1a03_e5f5),
    ("ministral-3-3b@1", 0x09ae_ef7e_fbe6_876a),
    ("ministral-3-8b@1", 0xd648_7cfc_7345_93f1),
    ("ministral-3-14b@1", 0x13b2_a031_1086_2c34),
    ("exaone-4.0-1.2b@1", 0x76b7_ad7a_54e0_2eb8),
    ("k-exaone-236b-a23b@1", 0x8eea_a066_eeaf_db0f),
    ("deepseek-v4-flash@1", 0x7c0e_d33f_d4bb_2a74),
    ("deepseek-v4-flash@2", 0xd8ec_8098_4c78_a74a),
    ("deepseek-v4-pro@1", 0xe069_b856_37e6_7e4a),
    ("deepseek-v4-pro@2", 0x1cc5_2180_e7cf_2cff),
    ("gemma-4-26b-a4b@1", 0x3740_f42d_625f_af8f),
    ("gemma-4-e2b@1", 0xcf7f_c58e_d62d_6c89),
    ("gemma-4-e4b@1", 0x080f_edf6_5e9e_034e),
    ("minimax-m3@1", 0x5af6_d9a6_c648_8463),
    ("llava-7b@1", 0x644f_7140_7f2a_cdff),
    ("llava-audio-7b@1", 0xf2c4_bf6c_051e_5e42),
    ("qwen2.5-vl-3b@1", 0xb84f_6071_f197_94ba),
    ("qwen2.5-vl-7b@1", 0xadf7_f1b7_fe58_1dfa),
    ("qwen2.5-vl-32b@1", 0xfd54_b9bc_46e5_aa73),
    ("qwen2.5-vl-72b@1", 0x7ab6_cb4e_c038_12fe),
];

#[test]
fn replaced_versions_never_change() {
    let models = PRESETS.iter().map(|preset| (preset.id, preset.version));
    let jobs = JOBS.iter().map(|job| (job.id, job.version));
    let replaced: Vec<String> = models
        .chain(jobs)
        .flat_map(|(id, newest)| (1..newest).map(move |version| format!("{id}@{version}")))
        .collect();
    let pinned: Vec<&str> = REPLACED.iter().map(|(name, _)| *name).collect();
    assert_eq!(replaced, pinned);
    let kept = include_str!("../../src/presets/settings.txt");
    for (name, sum) in REPLACED {
        let line = |line: &'static str| line.strip_prefix(name)?.strip_prefix(' ');
        let job = kept.lines().find_map(line).unwrap();
        // FNV-1a.
        let found = job.bytes().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(found, *sum, "{name}: {found:#x}");
        // A link has what the lines up to its version say, later ones in place of earlier ones.
        let mut said = RawJob::default();
        let (id, version) = name.split_once('@').unwrap();
        for number in 1..=version.parse::<u32>().unwrap() {
            let start = format!("{id}@{number} ");
            let line = kept.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
            let line: RawJob = serde_json::from_str(line).unwrap();
            said.shared.overlay(&line.shared);
            if !line.modules.is_empty() {
                said.modules = line.modules;
            }
        }
        let of_link = linked(&format!("#v1;m={name}"));
        let modules = |job: &RawJob| {
            let module = |module: &RawModule| (module.name.clone(), module.rank_offset.clone());
            job.modules.iter().map(module).collect::<Vec<_>>()
        };
        assert_eq!(modules(&of_link), modules(&said), "{name}");
        for module in 0..said.modules.len().max(1) {
            for field in FieldId::ALL.iter().copied() {
                let [ours, theirs] = [&of_link, &said].map(|job| meaning(field, job.get(module, field)));
                assert_eq!(ours, theirs, "{name}: module {module}, {}", field.field().name);
            }
        }
    }
}

#[test]
fn a_link_has_the_version_that_it_names() {
    let dispatcher = |link: &str| {
        let value = linked(link).shared.get(FieldId::moe_token_dispatcher_type).cloned();
        value.map(|value| value.to_string())
    };
    let flex = Some("\"flex\"".to_owned());
    assert_eq!(dispatcher("#v1;m=deepseek-v3@1"), None);
    assert_eq!(dispatcher("#v1;m=deepseek-v3@2"), flex);
    assert_eq!(dispatcher("#v1;m=deepseek-v3"), flex);
    for link in [
        "#v1;m=deepseek-v3@1",
        "#v1;m=deepseek-v3@1;disp=flex",
        "#v1;m=deepseek-v3@2",
        "#v1;m=deepseek-v3@2;disp=allgather",
        "#v1;m=deepseek-v3@2;vs;m=deepseek-v3@1",
    ] {
        assert_eq!(encode(&decode(link).0), link);
    }
    let newest = by_id("deepseek-v3").unwrap().version;
    for version in ["0", "99", "x"] {
        let (state, notices) = decode(&format!("#v1;m=deepseek-v3@{version}"));
        assert_eq!(notices.len(), 1, "{version}: {notices:?}");
        assert_eq!(encode(&state), format!("#v1;m=deepseek-v3@{newest}"));
    }
}

#[test]
fn the_settings_are_what_the_files_say() {
    let path = format!("{ROOT}/{}", settings::PATH);
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(kept, lines().unwrap(), "`cargo xtask presets` writes them anew");
    for preset in PRESETS {
        let job = contents(preset).raw_job();
        assert_eq!(preset.settings(), job.shared, "{}", preset.id);
    }
    for encoder in ENCODERS {
        let contents = encoder.contents().unwrap();
        assert_eq!(encoder.settings(), contents.settings, "{}", encoder.id);
    }
    for job in JOBS {
        assert_eq!(job.job(), job.contents().unwrap().job, "{}", job.id);
    }
}
