//! Hybrid models in every format that programs read.

use megatron_memory::config::canonical::{hybrid_pattern, is_on, meaning};
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::{bridge, bridge_recipe, launcher_changes, megatron_args};
use megatron_memory::formats::import::{Options, import};
use megatron_memory::formats::share_url::{decode, encode};
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::formats::{job_json, json};
use megatron_memory::value::Value;

use super::{check_back, needs, nothing_to_fuse, state, without_effect};
use crate::oracle;

/// The jobs of all real hybrid models that were built for their parameters.
fn jobs() -> Vec<(String, RawJob)> {
    let jobs = oracle::files("params_hybrid").into_iter().map(|file| {
        let config = oracle::json(&file)["config"].clone();
        let config = serde_json::from_value(config).unwrap();
        let mut job = RawJob::from_value(&config);
        // Arguments of layers that the calculator does not know.
        job.unknown.clear();
        (file, job)
    });
    let jobs: Vec<_> = jobs
        .filter(|(_, job)| hybrid_pattern(&job.shared).is_some())
        // Values that the calculator does not know are written nowhere.
        .filter(|(_, job)| {
            let mut all = FieldId::ALL.iter();
            all.all(|id| !meaning(*id, job.shared.get(*id)).is_bad())
        })
        .collect();
    assert!(jobs.len() > 50, "{}", jobs.len());
    jobs
}

/// What the pattern decides, and what no format says.
const DECIDED: [FieldId; 7] = [
    FieldId::num_layers,
    FieldId::mtp_num_layers,
    FieldId::virtual_pipeline_model_parallel_size,
    FieldId::world_size,
    FieldId::gpu,
    FieldId::gpus_per_node,
    FieldId::gpu_memory_mib,
];

#[test]
fn every_hybrid_model_comes_back_from_every_format() {
    for (name, job) in jobs() {
        let mut lost = DECIDED.to_vec();
        // A command says itself what starts the job.
        lost.extend([FieldId::launcher, FieldId::launcher_arguments]);
        if job.shared.get(FieldId::max_position_embeddings).is_none() {
            lost.push(FieldId::max_position_embeddings);
        }
        lost.extend(megatron_args::without_flag(&job));
        let (accepted, _) = launcher_changes::accepted(&job);
        let unused = without_effect(&accepted.shared);
        for text in [megatron_args::script(&job), megatron_args::yaml(&job)] {
            check_back(&name, &text, &accepted.shared, &[lost.as_slice(), &unused].concat());
            assert!(
                !text.contains("--num-layers") && !text.contains("pretrain_gpt"),
                "{text}"
            );
        }
        // The precision preset says both; positions are as many as a sequence has tokens.
        lost.extend([
            FieldId::accumulate_allreduce_grads_in_fp32,
            FieldId::grad_reduce_in_bf16,
            FieldId::max_position_embeddings,
            FieldId::expandable_segments,
        ]);
        if !is_on(&job.shared, FieldId::group_query_attention) {
            lost.push(FieldId::num_query_groups);
        }
        lost.extend(nothing_to_fuse(&job.shared));
        let recipe = bridge_recipe::recipe(&job);
        assert!(recipe.contains("    cfg.model = HybridModelProvider()\n"), "{recipe}");
        lost.extend(named(&recipe));
        check_back(&name, &recipe, &job.shared, &lost);
        let overrides = bridge::overrides(&job);
        lost.extend(named(&overrides));
        check_back(&name, &overrides, &job.shared, &lost);
    }
}

/// The fields that comments name.
fn named(text: &str) -> Vec<FieldId> {
    let comments = text
        .lines()
        .filter_map(|line| line.strip_prefix("# Megatron-Bridge has no key for "));
    let names = comments.map(|name| FieldId::by_name(name.trim_end_matches('.')).unwrap());
    names.collect()
}

#[test]
fn every_hybrid_model_needs_the_same_after_every_format() {
    let mut compared = 0;
    for (name, job) in jobs() {
        // The largest ones take long.
        let Some(config) = check(&job).config.filter(|config| config.world_size() <= 16) else {
            continue;
        };
        let latent = config.modules()[0].args().multi_latent_attention;
        compared += 1;
        let expected = needs(&job).unwrap();
        let texts = [
            ("flags", megatron_args::script(&job)),
            ("YAML", megatron_args::yaml(&job)),
            ("recipe", bridge_recipe::recipe(&job)),
            ("overrides", bridge::overrides(&job)),
        ];
        for (format, text) in texts {
            if latent && matches!(format, "recipe" | "overrides") {
                assert!(text.contains("HybridModelProvider has no multi-latent attention"));
                continue;
            }
            if text.contains("# Megatron-Bridge has no key for spec.\n") {
                continue;
            }
            let mut back = import(&text, &Options::default()).unwrap().state.setup.job;
            let world = job.shared.get(FieldId::world_size).unwrap();
            back.shared.set(FieldId::world_size, world.clone());
            assert_eq!(needs(&back).as_ref(), Ok(&expected), "{name} {format}\n{text}");
        }
        let state = ShareState {
            setup: Setup {
                preset: None,
                job: job.clone(),
            },
            ..ShareState::default()
        };
        let (link, notices) = decode(&encode(&state));
        assert_eq!(notices, [], "{name}");
        assert_eq!(link, state.normalize(), "{name}");
        let document = json::parse(&job_json::document(&state).to_string()).unwrap();
        let document = job_json::read(&document).unwrap();
        assert_eq!(document.state.normalize(), state.normalize(), "{name}");
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn a_hybrid_model_is_launched_as_its_program_asks() {
    let expected = [
        "    --hybrid-layer-pattern 'M-M*-|M-M*-/*-'\n",
        "    --spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec\n",
        " pretrain_hybrid.py \"${MEGATRON_ARGS[@]}\"\n",
    ];
    let mut job = state("#v1;h=1024;nq=8;seq=2048;gpus=8;pp=2").setup.job;
    let pattern = |job: &mut RawJob, pattern: &str| {
        let value = Value::Text(pattern.to_owned());
        job.shared.set(FieldId::hybrid_layer_pattern, value);
    };
    pattern(&mut job, "M-M*-|M-M*-/*-");
    let link = encode(&ShareState {
        setup: Setup {
            preset: None,
            job: job.clone(),
        },
        ..ShareState::default()
    });
    assert!(link.ends_with(";hyb=M-Ma-,M-Ma-:a%2D"), "{link}");
    let text = megatron_args::script(&job);
    for part in expected {
        assert!(text.contains(part), "{part}{text}");
    }
    let yaml = megatron_args::yaml(&job);
    for part in [
        "  --hybrid-layer-pattern: \"M-M*-|M-M*-/*-\"\n",
        "  --spec: \"[megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec]\"\n",
    ] {
        assert!(yaml.contains(part), "{part}{yaml}");
    }
    let overrides = bridge::overrides(&job);
    for part in [
        "'model.hybrid_layer_pattern=\"M-M*-|M-M*-/*-\"'\n",
        "model.mtp_num_layers=1\n",
    ] {
        assert!(overrides.contains(part), "{part}{overrides}");
    }
    assert!(!overrides.contains("refuses virtual"), "{overrides}");
    pattern(&mut job, "-M|*-|M-|*-");
    let text = megatron_args::script(&job);
    assert!(text.contains("    --hybrid-layer-pattern='-M|*-|M-|*-'\n"), "{text}");
    assert!(bridge::overrides(&job).contains("refuses virtual pipeline stages"));
    let value = Value::Text("gated_delta_product_stack_spec".to_owned());
    job.shared.set(FieldId::spec, value);
    assert!(megatron_args::script(&job).contains(" gated_delta_product_stack_spec\n"));
    assert!(bridge::overrides(&job).contains("# Megatron-Bridge has no key for spec.\n"));
    let recipe = bridge_recipe::recipe(&job);
    for part in [
        "from megatron.core.models.hybrid.hybrid_layer_specs import gated_delta_product_stack_spec\n",
        "    cfg.model.hybrid_stack_spec = gated_delta_product_stack_spec\n",
    ] {
        assert!(recipe.contains(part), "{part}{recipe}");
    }
}
