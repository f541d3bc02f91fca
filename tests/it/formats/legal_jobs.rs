//! Links and JSON carry every legal job: it comes back as the same job, with the same estimate.

use std::env;

use megatron_memory::config::field::{Kind, Scope};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, RawModule, Settings};
use megatron_memory::config::{Checked, check};
use megatron_memory::formats::share_url::{Notice, decode, encode};
use megatron_memory::formats::state::{PresetRef, Setup, ShareState};
use megatron_memory::formats::{job_json, json};
use megatron_memory::memory::estimate;
use megatron_memory::presets::PRESETS;
use megatron_memory::presets::jobs::JOBS;
use megatron_memory::value::Value;
use proptest::prelude::*;
use proptest::sample::select;

/// Legal jobs that are tried; `LEGAL_JOBS=50000` tries more.
fn cases() -> u32 {
    let more = env::var("LEGAL_JOBS").ok().and_then(|cases| cases.parse().ok());
    more.unwrap_or(250)
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// Values as jobs have them: small sizes, zeros, defaults that are written out, nothing, and lists.
fn value_of(kind: Kind) -> BoxedStrategy<Value> {
    let stated: BoxedStrategy<Value> = match kind {
        Kind::Int { min, max } => select(vec![0_u64, 1, 2, 3, 4, 8, 16, 64, 1024, 4096, min, max])
            .prop_map(|n| Value::Int(n.into()))
            .boxed(),
        Kind::Flag => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Choice(names) => select(names).prop_map(text).boxed(),
        Kind::Set(names) => proptest::sample::subsequence(names, 0..=names.len())
            .prop_map(|names| Value::List(names.into_iter().map(text).collect()))
            .boxed(),
        Kind::Decimal { min, max } => select(vec![0, 100_000, 1_000_000, 1_250_000, min, max])
            .prop_map(|m: u64| text(format!("{}.{:06}", m / 1_000_000, m % 1_000_000)))
            .boxed(),
        Kind::LayerPattern => {
            let list = proptest::collection::vec(0..=1_i128, 1..40);
            let list = list.prop_map(|list| Value::List(list.into_iter().map(Value::Int).collect()));
            prop_oneof![(1..5_i128).prop_map(Value::Int), list].boxed()
        }
        Kind::Text { .. } => "[Etm|*2-9L(),]{1,12}".prop_map(text).boxed(),
    };
    prop_oneof![6 => stated, 1 => Just(Value::Null)].boxed()
}

fn change(fields: Vec<FieldId>) -> impl Strategy<Value = (FieldId, Value)> {
    select(fields).prop_flat_map(|id| value_of(id.field().kind).prop_map(move |value| (id, value)))
}

/// Fields of which it counts whether they are stated at all, and others that make many jobs.
const FREQUENT: [FieldId; 8] = [
    FieldId::micro_batch_size,
    FieldId::seq_length,
    FieldId::linear_attention_freq,
    FieldId::apply_rope_fusion,
    FieldId::experimental_attention_variant,
    FieldId::moe_layer_freq,
    FieldId::recompute_modules,
    FieldId::global_batch_size,
];

/// A preset, or its settings without its name, with some values changed in the job and in its modules.
fn any_setup() -> impl Strategy<Value = Setup> {
    let presets = PRESETS.iter().map(PresetRef::from);
    let presets: Vec<PresetRef> = presets.chain(JOBS.iter().map(PresetRef::from)).collect();
    let shared = prop_oneof![change(FieldId::ALL.to_vec()), change(FREQUENT.to_vec())];
    let of_modules: Vec<FieldId> = FieldId::ALL
        .iter()
        .copied()
        .filter(|id| id.field().scope == Scope::Module)
        .collect();
    let own = prop_oneof![change(of_modules), change(FREQUENT.to_vec())];
    let own = (0..4_usize, own);
    let lists = (
        proptest::collection::vec(shared, 0..4),
        proptest::collection::vec(own, 0..4),
    );
    (select(presets), any::<bool>(), any::<bool>(), lists).prop_map(|(preset, named, alone, (shared, own))| {
        let mut setup = Setup {
            preset: Some(preset),
            ..Setup::default()
        };
        setup = setup.start();
        if !named {
            setup.preset = None;
        }
        let job = &mut setup.job;
        if alone && job.modules.is_empty() {
            // A plain model in a list of one.
            job.modules.push(RawModule {
                name: "language".to_owned(),
                rank_offset: Some(Value::Int(0)),
                settings: Settings::default(),
            });
        }
        for (id, value) in shared {
            job.shared.set(id, value);
        }
        let count = job.modules.len();
        for (module, (id, value)) in own {
            if let Some(module) = job.modules.get_mut(module % count.max(1)) {
                module.settings.set(id, value);
            }
        }
        setup
    })
}

/// The GPUs of a checked job, their memory, and the estimate.
fn results(checked: &Checked) -> Option<String> {
    let config = checked.config.as_ref()?;
    let (gpus, memory) = (config.world_size(), config.gpu_memory());
    Some(format!("{gpus} {memory:?} {:?}", estimate(config)))
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: u32::MAX, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn links_and_json_carry_every_legal_job(setup in any_setup()) {
        let checked = check(&setup.job);
        prop_assume!(checked.config.is_some());
        let expected = results(&checked);
        let state = ShareState { setup, ..ShareState::default() };

        let link = encode(&state);
        let (of_link, notices) = decode(&link);
        // Of values that every module of the job overrides, and that no job could have.
        prop_assert!(notices.iter().all(|notice| matches!(notice, Notice::BadValue { .. })), "{:?}", notices);
        prop_assert_eq!(&of_link, &state.normalize());
        prop_assert!(results(&check(&of_link.setup.job)) == expected, "{}", link);

        let document = job_json::file(&job_json::document(&state));
        let of_document = job_json::read(&json::parse(&document).unwrap()).unwrap().state;
        prop_assert_eq!(of_document.normalize(), state.normalize());
        prop_assert!(results(&check(&of_document.setup.job)) == expected, "{}", document);

        let plain: Value = serde_json::from_str(&state.setup.job.to_value().to_string()).unwrap();
        prop_assert!(results(&check(&RawJob::from_value(&plain))) == expected, "{}", plain);
    }
}

/// What was lost before: that a value which equals the default, or the value of all modules, was stated.
#[test]
fn what_is_stated_stays_stated() {
    let job = |text: &str| RawJob::from_value(&serde_json::from_str(text).unwrap());
    let freq = job(r#"{"linear_attention_freq": 1, "apply_rope_fusion": true}"#);
    let of_module = job(r#"{"micro_batch_size": 4, "seq_length": 2048, "modules": [
            {"name": "language"}, {"name": "images", "micro_batch_size": null}, {"name": "sounds", "micro_batch_size": 4}
        ]}"#);
    for (job, link) in [
        (freq, "#v1;ropef=1;lafreq=1"),
        (
            of_module,
            "#v1;seq=2048;mbs=4;mod=language,images,sounds;images.mbs=null;sounds.mbs=4",
        ),
    ] {
        let state = ShareState {
            setup: Setup { preset: None, job },
            ..ShareState::default()
        };
        assert_eq!(encode(&state), link);
        assert_eq!(decode(link).0, state.normalize());
    }
}
