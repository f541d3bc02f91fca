//! Exports: their exact text, and that what is structured imports back to the same job.

mod chart_file;
mod export_text;
mod hybrid;
mod launchers;
mod not_modelled;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::check;
use megatron_memory::config::field::Group;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::config::relevance::Relevance;
use megatron_memory::evidence::{self, MeasuredStage, Software};
use megatron_memory::export::{
    EXPORTS, Refusal, bridge, bridge_recipe, launcher_changes, links, megatron_args, one_gpu, tables,
};
use megatron_memory::formats::import::{Options, import};
use megatron_memory::formats::share_url::decode;
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::presets::PRESETS;
use megatron_memory::report::amount::Unit;
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;

use crate::ROOT;

fn state(link: &str) -> ShareState {
    let (state, notices) = decode(link);
    assert_eq!(notices, []);
    state
}

fn presets() -> impl Iterator<Item = (&'static str, ShareState)> {
    PRESETS.iter().map(|preset| {
        let setup = Setup::of_preset(preset);
        let state = ShareState {
            setup,
            ..ShareState::default()
        };
        (preset.id, state)
    })
}

/// The fields that mean different things in two jobs.
fn difference(a: &Settings, b: &Settings) -> Vec<String> {
    let differs = FieldId::ALL
        .iter()
        .filter(|id| meaning(**id, a.get(**id)) != meaning(**id, b.get(**id)));
    differs
        .map(|id| format!("{}: {:?} {:?}", id.field().name, a.get(*id), b.get(*id)))
        .collect()
}

/// The fields without an effect on a job, which are in no export of arguments, and the job's changes for Megatron-LM's
/// launcher.
fn without_effect(settings: &Settings) -> Vec<FieldId> {
    let relevance = Relevance::of_settings(settings);
    FieldId::ALL.iter().copied().filter(|id| !relevance.has(*id)).collect()
}

/// What a format has no word for.
fn without(settings: &Settings, lost: &[FieldId]) -> Settings {
    let mut kept = settings.clone();
    for id in lost {
        kept.unset(*id);
    }
    kept
}

/// The kernels that a job has nothing for: Megatron-Bridge says of none of them that they are on.
fn nothing_to_fuse(settings: &Settings) -> Vec<FieldId> {
    let is = |id, value: Value| meaning(id, settings.get(id)) == meaning(id, Some(&value));
    let gated = [FieldId::swiglu, FieldId::geglu, FieldId::quick_geglu];
    let gated = gated.into_iter().any(|id| is(id, Value::Bool(true)));
    let rotary = is(FieldId::position_embedding_type, Value::Text("rope".to_owned()));
    let kimi = settings.get(FieldId::kimi_attn_res_block_size).is_some();
    let kernels = [
        (FieldId::bias_swiglu_fusion, gated && !kimi),
        (FieldId::apply_rope_fusion, rotary),
    ];
    kernels.into_iter().filter(|(_, has)| !has).map(|(id, _)| id).collect()
}

#[track_caller]
fn check_back(name: &str, text: &str, settings: &Settings, lost: &[FieldId]) {
    let back = import(text, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    let back = without(&back.state.setup.job.shared, lost);
    let difference = difference(&without(settings, lost), &back);
    assert!(difference.is_empty(), "{name}: {difference:#?}\n{text}");
}

#[test]
fn the_launcher_gets_what_it_asks_for() {
    const CONNECTIONS: &str = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
    let script = |more: &str| {
        let job = state(&format!("#v1;L=4;h=1024;nq=8;seq=2048;gpus=8;{more}")).setup.job;
        megatron_args::script(&job)
    };
    assert!(!script("tp=1").contains("export"));
    for more in ["tp=2", "cp=2", "tp=2;gpu=h200"] {
        assert!(script(more).contains(CONNECTIONS), "{more}");
    }
    for more in ["tp=2;gpu=b200", "pp=2"] {
        assert!(!script(more).contains(CONNECTIONS), "{more}");
    }
    for (more, asked) in [
        ("qkls=1", "export NVTE_APPLY_QK_LAYER_SCALING=1\n"),
        (
            "fine_grained_activation_offloading=1;offload_modules=core_attn",
            "export NVTE_CPU_OFFLOAD_V1=1\n",
        ),
        ("E=4;k=1", "    --moe-router-pre-softmax\n"),
        ("transformer_impl=local;norm=RMSNorm", "    --no-persist-layer-norm\n"),
        ("det=1", "    --deterministic-mode\n"),
        ("cp=4;cpcomm=a2a+p2p", "    --hierarchical-context-parallel-sizes 2 2\n"),
    ] {
        let script = script(more);
        assert!(script.contains(asked), "{more}: {script}");
        assert!(!script.contains("has no flag"), "{more}: {script}");
    }
    for more in ["E=4;k=1;score=sigmoid", "E=4;k=2", "k=1"] {
        assert!(!script(more).contains("pre-softmax"), "{more}");
    }
}

#[test]
fn flags_are_those_that_differ_from_the_defaults() {
    let job = state("#v1;L=4;h=1024;nq=8;seq=2048;tp=2;vpp=2;bias=0;ropef=0;swiglu=1;E=8;freq=0~1,1~3;rcmod=moe_act,core_attn;rc=selective;adrop=0;gpus=32;bf16=1;fp8=hybrid;layout=Et,tL;mbs=1").setup.job;
    let expected = r#"export CUDA_DEVICE_MAX_CONNECTIONS=1
MEGATRON_ARGS=(
    --num-layers 4
    --hidden-size 1024
    --swiglu
    --disable-bias-linear
    --num-attention-heads 8
    --num-experts 8
    --moe-layer-freq '([0]+[1]*3)'
    --tensor-model-parallel-size 2
    --pipeline-model-parallel-layout 'Et|tL'
    --seq-length 2048
    --micro-batch-size 1
    --recompute-granularity selective
    --recompute-modules core_attn moe_act
    --bf16
    --fp8-format hybrid
    --attention-dropout 0
    --no-rope-fusion
    --max-position-embeddings 2048
)
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py "${MEGATRON_ARGS[@]}"
"#;
    assert_eq!(megatron_args::script(&job), expected);
    let yaml = megatron_args::yaml(&job);
    assert!(yaml.starts_with("ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n  --num-layers: 4\n"));
    assert!(yaml.contains("  --recompute-modules: \"[core_attn moe_act]\"\n"));
    assert!(yaml.contains("  --disable-bias-linear: true\n"));
    let set = bridge::overrides(&job);
    for line in [
        "model.num_moe_experts=8",
        "model.gated_linear_unit=true",
        "model.activation_func=silu",
        "model.add_bias_linear=false",
        "'model.moe_layer_freq=\"([0]+[1]*3)\"'",
        "mixed_precision=bf16_mixed",
        "mixed_precision.fp8=hybrid",
        "model.virtual_pipeline_model_parallel_size=2",
    ] {
        assert!(set.lines().any(|l| l == line), "{line}\n{set}");
    }
}

#[test]
fn every_preset_comes_back_from_flags_and_yaml() {
    for (id, state) in presets() {
        let (accepted, _) = launcher_changes::accepted(&state.setup.job);
        let job = &accepted;
        let mut lost = megatron_args::without_flag(job);
        lost.extend(without_effect(&job.shared));
        // A command says itself what starts the job.
        lost.extend([FieldId::launcher, FieldId::launcher_arguments]);
        // Interleaving by the other of its two names.
        lost.push(FieldId::virtual_pipeline_model_parallel_size);
        lost.push(FieldId::num_virtual_stages_per_pipeline_rank);
        if job.shared.get(FieldId::max_position_embeddings).is_none() {
            // As long as the sequence, which is then said.
            lost.push(FieldId::max_position_embeddings);
        }
        check_back(id, &megatron_args::script(job), &job.shared, &lost);
        lost.extend([FieldId::world_size, FieldId::gpus_per_node]);
        check_back(id, &megatron_args::yaml(job), &job.shared, &lost);
    }
}

#[test]
fn every_preset_comes_back_from_bridge_overrides() {
    let lost = [
        FieldId::world_size,
        FieldId::gpu,
        FieldId::gpus_per_node,
        FieldId::gpu_memory_mib,
        // The precision preset says both, in one word of its own: here the one or the other is set, or neither where it
        // follows from what gradients are kept in. The test below says that the need is the same.
        FieldId::accumulate_allreduce_grads_in_fp32,
        FieldId::grad_reduce_in_bf16,
        // Of no consequence where positions are not learned, and else named in a comment.
        FieldId::max_position_embeddings,
        // The environment's to say.
        FieldId::expandable_segments,
        // The model's class says it, and a comment names it.
        FieldId::post_layernorm,
        FieldId::qk_layernorm_all_heads,
        FieldId::mtp_dense,
        FieldId::kimi_attn_res_block_size,
        FieldId::moe_router_weight_in_fp32,
        FieldId::moe_vision_ffn_hidden_size,
        FieldId::separate_moe_norms,
        FieldId::value_layernorm,
        FieldId::mamba_beside_attention,
        FieldId::mamba_chunk_size,
        FieldId::layer_norms_in_fp32,
        FieldId::per_layer_embed_dim,
        FieldId::per_layer_embed_vocab_size,
        FieldId::layer_sizes,
        FieldId::v_channels,
        FieldId::attention_value_scale,
    ];
    for (id, state) in presets() {
        let job = &state.setup.job;
        let lost = [lost.as_slice(), &nothing_to_fuse(&job.shared)].concat();
        check_back(id, &bridge::overrides(job), &job.shared, &lost);
        check_back(id, &bridge_recipe::recipe(job), &job.shared, &lost);
    }
}

/// What a job needs, on every stage of every module.
fn needs(job: &RawJob) -> Result<Vec<Vec<u64>>, String> {
    let checked = check(job);
    let Some(config) = checked.config else {
        return Err(checked.problems.iter().map(ToString::to_string).collect());
    };
    let modules = estimate(&config).modules;
    let stages = modules.iter().flat_map(|module| &module.stages);
    Ok(stages
        .map(|stage| Bucket::ALL.iter().map(|bucket| stage.bytes(*bucket).0).collect())
        .collect())
}

#[test]
fn every_preset_golden_link_and_measured_job_needs_the_same_after_every_format() {
    let runs = crate::evidence::runs();
    let measured = runs
        .iter()
        .filter_map(|run| Some((run.id.clone(), run.job.as_deref()?.clone())))
        // These formats know one model.
        .filter(|(_, job)| job.modules.is_empty());
    let presets = presets().map(|(id, state)| (id.to_owned(), state.setup.job));
    let golden = include_str!("../golden_links.txt").lines();
    let golden = golden
        .filter(|line| line.starts_with('#'))
        .map(|link| (link.to_owned(), decode(link).0.setup.job))
        .filter(|(_, job)| job.modules.is_empty() && check(job).config.is_some());
    let jobs: Vec<_> = measured.chain(presets).chain(golden).collect();
    assert!(jobs.len() > 140, "{}", jobs.len());
    let mut broken = BTreeMap::new();
    for (id, job) in &jobs {
        let expected = needs(job).unwrap();
        let config = check(job).config.unwrap();
        let measurable = one_gpu::script(job, &config, &estimate(&config));
        let texts = [
            ("check", measurable),
            ("recipe", bridge_recipe::recipe(job)),
            ("flags", megatron_args::script(job)),
            ("YAML", megatron_args::yaml(job)),
            ("overrides", bridge::overrides(job)),
        ];
        for (format, text) in texts {
            // What stands in for a setting needs another amount.
            if text.contains(", in the numbers too.") {
                continue;
            }
            let (accepted, changes) = launcher_changes::accepted(job);
            let is_changed = matches!(format, "flags" | "YAML") && !changes.is_empty();
            let expected = if is_changed {
                needs(&accepted).unwrap()
            } else {
                expected.clone()
            };
            let mut back = import(&text, &Options::default()).unwrap().state.setup.job;
            // No format has a word for the cluster; a comment names what else it has none for.
            let cluster = FieldId::ALL
                .iter()
                .copied()
                .filter(|id| id.field().group == Group::Hardware);
            let mut unsaid: Vec<FieldId> = cluster.chain([FieldId::world_size]).collect();
            let comments = text.lines().filter_map(|line| line.strip_prefix("# Megatron-"));
            let named = comments.map(|comment| comment.trim_end_matches('.').rsplit(' ').next());
            unsaid.extend(named.map(|name| FieldId::by_name(name.unwrap()).unwrap()));
            for id in unsaid {
                match job.shared.get(id) {
                    Some(value) => back.shared.set(id, value.clone()),
                    None => back.shared.unset(id),
                }
            }
            let now = needs(&back);
            if now.as_ref() != Ok(&expected) {
                let difference = difference(&job.shared, &back.shared);
                broken
                    .entry(format!("{format}: {difference:?} {}", now.err().unwrap_or_default()))
                    .or_insert(id);
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_recipe_is_python_that_sets_every_part_of_the_configuration() {
    let job = state("#v1;L=4;h=1024;nq=8;seq=2048;maxpos=2048;tp=2;pp=2;bias=0;swiglu=1;E=8;freq=0~1,1~3;rcmod=mlp,core_attn;rc=selective;gpus=32;bf16=1;fp8=hybrid;layout=Ett,ttL;mbs=1;v=1000;disp=alltoall;sp=1;attn=flash;do=1;pao=1;ead=bf16").setup.job;
    assert_eq!(check(&job).problems, []);
    let recipe = bridge_recipe::recipe(&job);
    for line in [
        "import torch",
        "import torch.nn.functional as F",
        "from megatron.core.transformer.enums import AttnBackend",
        "    cfg = vanilla_gpt_pretrain_config()",
        "    cfg.train.micro_batch_size = 1",
        "    cfg.train.global_batch_size = 8",
        "    cfg.ddp.use_distributed_optimizer = True",
        "    cfg.optimizer.use_distributed_optimizer = True",
        "    cfg.optimizer.exp_avg_dtype = torch.bfloat16",
        "    cfg.model.num_layers = 4",
        "    cfg.model.activation_func = F.silu",
        "    cfg.model.add_bias_linear = False",
        "    cfg.model.attention_backend = AttnBackend.flash",
        "    cfg.model.moe_layer_freq = ([0]+[1]*3)",
        "    cfg.model.pipeline_model_parallel_layout = \"Ett|ttL\"",
        "    cfg.model.recompute_modules = [\"core_attn\", \"mlp\"]",
        "    cfg.model.vocab_size = None",
        "    cfg.tokenizer.vocab_size = 1000",
        "    cfg.mixed_precision = bf16_mixed()",
        "    cfg.mixed_precision.fp8 = \"hybrid\"",
        "    return cfg",
    ] {
        assert!(recipe.lines().any(|l| l == line), "{line}\n{recipe}");
    }
    // Parts that are set before the whole would be gone.
    let whole = recipe.find("cfg.mixed_precision = ").unwrap();
    assert!(whole < recipe.find("cfg.mixed_precision.fp8").unwrap());
    let plain = bridge_recipe::recipe(&state("#v1;m=llama3-8b@1;bf16=0").setup.job);
    assert!(plain.contains("    cfg.mixed_precision = None\n    cfg.optimizer.bf16 = False\n"));
    assert!(!plain.contains("import torch\n") && !plain.contains("MLAModelProvider"));
    let latent = bridge_recipe::recipe(&state("#v1;m=deepseek-v3@1").setup.job);
    assert!(latent.contains("    cfg.model = MLAModelProvider()\n"));
}

#[test]
fn what_a_link_has_instead_of_a_value_is_written_into_no_program() {
    let hostile = "4\"\n__import__('os').system('$(true)')#";
    let mut job = state("#v1;m=llama3-8b@1;bf16=0").setup.job;
    for id in FieldId::ALL {
        job.shared.set(*id, Value::Text(hostile.to_owned()));
    }
    for text in [
        bridge_recipe::recipe(&job),
        bridge::overrides(&job),
        megatron_args::script(&job),
        megatron_args::yaml(&job),
    ] {
        assert!(!text.contains("__import__") && !text.contains("$("), "{text}");
    }
}

#[test]
fn a_check_on_one_gpu_names_the_rank_and_both_figures_of_every_stage() {
    let script = |link: &str| {
        let job = state(link).setup.job;
        let config = check(&job).config.unwrap();
        let result = estimate(&config);
        (one_gpu::script(&job, &config, &result), result)
    };
    let mib = |bytes: u64| {
        let hundredths = (u128::from(bytes) * 100 + (1 << 19)) / (1 << 20);
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    let (text, result) = script("#v1;m=llama3-8b@1;tp=2;pp=4;gpus=32");
    for (pp_rank, stage) in result.modules[0].stages.iter().enumerate() {
        let row = format!(
            "# {:>6} {pp_rank:>6} {:>12} {:>14}",
            8 * pp_rank,
            mib(stage.steady.0),
            mib(stage.total.0)
        );
        assert!(text.lines().any(|line| line == row), "{row}\n{text}");
    }
    let worst = 8 * result.worst.pp_rank;
    let environment = format!("export WORLD_SIZE=32 RANK=${{RANK:-{worst}}} LOCAL_RANK=0\n");
    assert!(text.contains(&environment), "{text}");
    assert!(text.contains("    --fake-process-group\n") && text.contains("--num-layers 32\n"));
    assert!(!text.contains("--moe-router-force-load-balancing"));
    let (text, _) = script("#v1;m=deepseek-v3@1;disp=alltoall");
    assert!(text.contains("    --moe-router-force-load-balancing\n"));
    // The numbers are those of the job that can be measured.
    let (flex, _) = script("#v1;m=deepseek-v3@1;disp=flex");
    let (remark, rest) = flex.split_once('\n').unwrap();
    assert!(remark.contains("with the flex dispatcher"), "{remark}");
    assert_eq!(rest, text);
    assert!(
        text.starts_with("# Megatron-LM refuses Transformer Engine's cross entropy"),
        "{text}"
    );
    assert!(!text.contains("cross-entropy-fusion-impl te"));
}

/// The end of the script, run with a log in place of the one that Megatron-LM writes and with stand-ins for PyTorch.
#[test]
fn a_check_on_one_gpu_ends_in_a_record() {
    let job = state("#v1;m=llama3-8b@1;tp=2;pp=4;gpus=32;gpu=h100-80gb").setup.job;
    let config = check(&job).config.unwrap();
    let result = estimate(&config);
    let script = one_gpu::script(&job, &config, &result);
    let (_, end) = script.split_once("# A record of the run").unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("one_gpu");
    fs::create_dir_all(folder.join("transformer_engine")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write(
        "torch.py",
        "from types import SimpleNamespace\n__version__ = \"2.8.0\"\nversion = SimpleNamespace(cuda=\"12.9\")\n\
         cuda = SimpleNamespace(get_device_name=lambda: \"NVIDIA H100 80GB HBM3\")\n",
    );
    write("transformer_engine/__init__.py", "");
    write(
        "check_on_one_gpu.log",
        "iteration 1\n[Rank 16] (after 2 iterations) memory (MB) | allocated: 8123.45 | max allocated: 31234.50 | reserved: \
         33000.00 | max reserved: 33000.00\n",
    );
    write("end.sh", &format!("# A record{end}"));
    let run = |rank: &str| {
        let mut bash = Command::new("bash");
        let bash = bash.arg("end.sh").current_dir(&folder).env("RANK", rank);
        // The script calls `python`, as the containers do.
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        bash.env("PATH", path).output().unwrap()
    };
    let python = folder.join("python");
    fs::write(&python, "#!/bin/sh\nexec python3 \"$@\"\n").unwrap();
    fs::set_permissions(&python, Permissions::from_mode(0o755)).unwrap();
    let output = run("16");
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(folder.join("check_on_one_gpu.json")).unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with(&text));
    let with_source = text.replace("\"source\": \"\"", "\"source\": \"https://example.com/log\"");
    let [record] = &evidence::read(&with_source).unwrap()[..] else {
        panic!("{text}")
    };
    assert_eq!(evidence::mistakes(record), []);
    assert_eq!(record.job.as_deref(), Some(&job));
    assert_eq!(record.confidence, evidence::Confidence::A);
    assert_eq!(record.stage, Some(MeasuredStage::At(2)));
    assert_eq!(record.measured.peak_allocated, Some(Bytes(32_751_747_072)));
    assert_eq!(record.hardware.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    assert_eq!(
        record.software,
        [
            (Software::Cuda, "12.9".to_owned()),
            (Software::Pytorch, "2.8.0".to_owned())
        ]
        .into()
    );
    assert_eq!(record.predicted, evidence::predicted(record));
    assert!(!run("17").status.success(), "only first ranks of stages print");
}

#[test]
fn a_check_on_one_gpu_is_for_one_model() {
    let state = state("#v1;m=llava-7b@1");
    let config = check(&state.setup.job).config.unwrap();
    let result = estimate(&config);
    let export = EXPORTS.iter().find(|export| export.id == "one_gpu").unwrap();
    let refusal = export
        .write(&state, Some(0), Some((&config, &result)), Unit::Gib)
        .unwrap_err();
    let Refusal::OneModelOnly(names) = &refusal else {
        panic!("{refusal:?}");
    };
    assert!(names.len() > 1 && refusal.to_string().contains("pretrain_gpt.py"));
}

#[test]
fn every_export_is_the_same_every_time_and_has_a_name() {
    for export in EXPORTS {
        assert!(!export.label.is_empty() && !export.extension.is_empty());
        for (id, state) in presets().take(5) {
            let config = check(&state.setup.job).config.unwrap();
            let result = estimate(&config);
            let text = export.write(&state, None, Some((&config, &result)), Unit::Gib).unwrap();
            assert!(!text.is_empty() && text.ends_with('\n'), "{} of {id}", export.id);
            assert_eq!(
                export.write(&state, None, Some((&config, &result)), Unit::Gib),
                Ok(text.clone())
            );
            if export.complete {
                let back = import(&text, &Options::default()).unwrap();
                assert_eq!(back.state.normalize(), state.normalize(), "{} of {id}", export.id);
            }
        }
    }
}

#[test]
fn tables_have_exact_bytes_and_no_formulas() {
    let mut state = state("#v1;m=llama3-8b@1;tp=2;mod=language");
    "=1+1,\"x\"".clone_into(&mut state.setup.job.modules[0].name);
    let checked = check(&state.setup.job);
    if let Some(config) = checked.config {
        let csv = tables::csv(&config, &estimate(&config));
        assert!(
            csv.lines().nth(1).unwrap().starts_with("\"'=1+1,\"\"x\"\"\",0,"),
            "{csv}"
        );
    }
    let state = decode("#v1;m=llama3-70b@1").0;
    let config = check(&state.setup.job).config.unwrap();
    let result = estimate(&config);
    let csv = tables::csv(&config, &result);
    let stages = &result.modules[0].stages;
    assert_eq!(csv.matches("\r\n").count(), stages.len() + 1);
    for (line, stage) in csv.split("\r\n").skip(1).zip(stages) {
        let cells: Vec<&str> = line.split(',').collect();
        let bytes: Vec<u64> = cells[2..].iter().map(|cell| cell.parse().unwrap()).collect();
        let (total, buckets) = bytes.split_last().unwrap();
        assert_eq!(*total, stage.total.0);
        assert_eq!(buckets.iter().sum::<u64>(), *total);
    }
    let markdown = tables::markdown(&config, &result, Unit::Gib);
    assert!(markdown.starts_with("| GiB | stage 0 |"), "{markdown}");
    assert!(markdown.ends_with("0.0005 GiB for each number.\n"), "{markdown}");
    let markdown = tables::markdown(&config, &result, Unit::Gb);
    assert!(
        markdown.starts_with("| GB | stage 0 |") && !markdown.contains("GiB"),
        "{markdown}"
    );
    let megabytes = (stages[0].total.0 + 500_000) / 1_000_000;
    let total = format!("{}.{:03}", megabytes / 1000, megabytes % 1000);
    assert!(markdown.contains(&format!("| **total** | {total} |")), "{markdown}");
}

#[test]
fn links_come_in_several_dressings() {
    let state = state("#v1;m=llama3-8b@1;tp=2");
    let page = "https://host/calc/#old";
    let link = "https://host/calc/#v1;m=llama3-8b@1;tp=2";
    assert_eq!(links::plain(page, &state), link);
    assert_eq!(
        links::pinned("https://host/calc/index.html?theme=dark#old", &state),
        format!(
            "https://host/calc/v/{}/#v1;m=llama3-8b@1;tp=2",
            env!("CARGO_PKG_VERSION")
        )
    );
    let pinned = links::pinned(page, &state);
    assert_eq!(links::pinned(&pinned, &state), pinned);
    let other = pinned.replace("/v/", "/dev/");
    assert!(links::pinned(&other, &state).contains("/v/"), "{other}");
    assert_eq!(links::markdown(page, &state, "a [b]"), format!("[a  b ]({link})"));
    assert_eq!(links::with_summary(page, &state, "Fits."), format!("Fits.\n{link}\n"));
    let embed = links::embed(
        "https://host/calc/index.html?theme=dark#old",
        &state,
        "a \"b\" <c>",
        "bar",
    );
    let src = "https://host/calc/embed.html?view=bar#v1;m=llama3-8b@1;tp=2";
    assert!(
        embed.starts_with(&format!("<iframe title=\"a &quot;b&quot; &lt;c&gt;\" src=\"{src}\"\n")),
        "{embed}"
    );
    let element = links::element(page, &state, "a & b", "table");
    let expected = "<script async src=\"https://host/calc/embed.js\"></script>\n\
        <megatron-memory config=\"#v1;m=llama3-8b@1;tp=2\" view=\"table\">\n  \
        <a href=\"https://host/calc/#v1;m=llama3-8b@1;tp=2\">a &amp; b</a>\n</megatron-memory>\n";
    assert_eq!(element, expected);
}

/// The words of the first sandbox in a text.
fn sandbox(text: &str) -> BTreeSet<&str> {
    let start = text.find("allow-scripts").expect("a sandbox");
    let words = &text[start..];
    let end = words.find(['"', '`']).unwrap();
    let words = words[..end].split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
    words.filter(|word| word.starts_with("allow-")).collect()
}

#[test]
fn every_frame_has_the_same_sandbox_without_an_origin() {
    let root = Path::new(ROOT);
    let snippet = links::embed("https://host/", &ShareState::default(), "", "bar");
    let words = sandbox(&snippet);
    assert!(!words.contains("allow-same-origin"), "{words:?}");
    for file in [
        "src/bin/xtask/guide/page.md",
        "src/web/embed.js",
        "tests/embed/plain/index.html",
        "tests/embed/sphinx/index.md",
        "tests/embed/mkdocs/docs/index.md",
        "tests/embed/mdbook/src/index.md",
        "tests/embed/docusaurus/docs/index.mdx",
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert_eq!(sandbox(&text), words, "{file}");
    }
}

/// As `validate_args` of Megatron-LM has it, which Megatron-Bridge does not call.
#[test]
fn flags_that_the_launcher_refuses_say_what_to_change() {
    let remark = "# Changed, since the launcher of Megatron-LM cannot train the job";
    for (link, refused) in [
        ("#v1;m=deepseek-v3@1", true),
        ("#v1;m=deepseek-v3@1;cefi=native", false),
        ("#v1;m=deepseek-v3@3;cefi=native", true),
        ("#v1;m=deepseek-v3@1;cef=0", false),
        ("#v1;m=llama3-8b@1;cef=0;cefi=te", false),
        ("#v1;m=llama3-8b@1;cefi=te", true),
    ] {
        let job = state(link).setup.job;
        for text in [megatron_args::script(&job), megatron_args::yaml(&job)] {
            let said: Vec<&str> = text.lines().filter(|line| line.starts_with(remark)).collect();
            assert_eq!(said.len(), usize::from(refused), "{link}\n{text}");
        }
        assert!(!bridge_recipe::recipe(&job).contains(remark));
    }
}
