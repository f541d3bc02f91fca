//! Every field's declaration knows its facts: its flag, when it matters, and whether it belongs to the model.

use std::collections::BTreeSet;

use megatron_memory::config::condition::Condition;
use megatron_memory::config::field::{Arity, Aspect, Field, Group, Kind};
use megatron_memory::config::fields::{FIELDS, FieldId};
use megatron_memory::config::relevance::Relevance;
use megatron_memory::formats::megatron_args::{self, Known};
use megatron_memory::presets;
use strum::VariantArray;

/// Settings of Megatron-LM that no flag sets: other arguments give them, or the parser leaves them out.
const WITHOUT_FLAG: [&str; 8] = [
    "world_size",
    "virtual_pipeline_model_parallel_size",
    "data_parallel_size",
    "deallocate_pipeline_outputs",
    "disable_parameter_transpose_cache",
    "activation_func_fp8_input_store",
    "fp8_dot_product_attention",
    "fp8_multi_head_attention",
];

fn of_group(group: Group) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.group == group)
}

#[test]
fn every_setting_of_megatron_has_its_flag() {
    let mut destinations = BTreeSet::new();
    for id in FieldId::ALL {
        let field = id.field();
        let name = field.name;
        let expected = field.megatron && !WITHOUT_FLAG.contains(&name);
        assert_eq!(id.flag().is_some(), expected, "{name}");
        assert!(destinations.insert(id.destination()), "{name}");
        let Some(flag) = id.flag() else { continue };
        let turns_off = flag.name.starts_with("no-") || flag.name.contains("-no-") || flag.name.starts_with("disable-");
        assert_eq!(flag.arity == Arity::InvertedSwitch, turns_off, "{name}");
        assert!(turns_off || flag.name == name.replace('_', "-"), "{name}");
        let switch = matches!(flag.arity, Arity::Switch | Arity::InvertedSwitch);
        assert_eq!(switch, field.kind == Kind::Flag, "{name}");
        let known = megatron_args::find(flag.name);
        match known {
            Some(Known::Relevant(spec)) => {
                assert!(flag.changes_memory, "{name}");
                assert_eq!((spec.dest.as_ref(), spec.arity), (flag.destination, flag.arity));
            }
            Some(Known::Irrelevant(arity)) => {
                assert!(!flag.changes_memory && arity == flag.arity, "{name}");
            }
            known => panic!("{name}: {known:?}"),
        }
    }
}

/// Fields in the group of attention that say how the indexer of sparse attention is trained.
const LOSS_OF_THE_INDEXER: &[&str] = &["dsa_indexer_loss_coeff", "dsa_indexer_use_sparse_loss"];

#[test]
fn every_field_says_whether_it_is_of_the_model() {
    for field in &FIELDS {
        let of_model = matches!(field.group, Group::Model | Group::Attention | Group::Moe);
        let expected = match field.aspect {
            Aspect::Model => of_model,
            Aspect::ExpertTraining => field.group == Group::Moe,
            Aspect::LayerSplit => field.group == Group::Parallelism,
            Aspect::Training => !of_model || LOSS_OF_THE_INDEXER.contains(&field.name),
        };
        assert!(expected, "{}: {:?}", field.name, field.aspect);
    }
    let trained = of_group(Group::Moe).filter(|field| field.aspect == Aspect::ExpertTraining);
    assert!(trained.count() >= 10);
}

#[test]
fn every_field_of_a_part_waits_for_the_part() {
    let waits = |field: &Field| field.relevant_if.is_some() || field.name == "num_experts";
    for field in of_group(Group::Moe) {
        assert!(waits(field), "{} matters without experts", field.name);
    }
    let encoder = |field: &&Field| field.relevant_if != Some(Condition::Encoder);
    assert!(of_group(Group::Encoder).find(encoder).is_none());
    for condition in Condition::VARIANTS {
        let used = |field: &Field| field.relevant_if == Some(*condition);
        assert!(FIELDS.iter().any(used), "{condition:?}");
    }
}

#[test]
fn a_field_matters_where_its_part_is_there() {
    let of = |id: &str| {
        let preset = presets::by_id(id).unwrap().contents().unwrap();
        Relevance::of(&preset.raw_job(), 0)
    };
    let (dense, sparse) = (of("llama3-8b"), of("deepseek-v3"));
    for id in [
        FieldId::moe_router_topk,
        FieldId::expert_model_parallel_size,
        FieldId::kv_lora_rank,
    ] {
        assert!(!dense.has(id) && sparse.has(id), "{id:?}");
    }
    assert!(dense.has(FieldId::num_query_groups) && !sparse.has(FieldId::num_query_groups));
    for id in [FieldId::num_experts, FieldId::multi_latent_attention] {
        assert!(dense.has(id) && sparse.has(id), "{id:?}");
    }
}
