//! Layers with sizes of their own.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::layer_sizes::{LayerSize, LayerSizes, LayerSizesList};
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::megatron_args;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::share_url::{decode, encode};
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::json;

/// A dense job of four layers with these sizes.
fn job(layer_sizes: &str, tp: u64) -> RawJob {
    let job = json!({
        "num_layers": 4, "hidden_size": 1024, "ffn_hidden_size": 4096, "num_attention_heads": 16,
        "group_query_attention": true, "num_query_groups": 8, "swiglu": true, "normalization": "RMSNorm",
        "position_embedding_type": "rope", "add_bias_linear": false, "vocab_size": 32000, "seq_length": 2048,
        "bf16": true, "world_size": 8, "tensor_model_parallel_size": tp, "layer_sizes": layer_sizes,
    });
    let value: Value = serde_json::from_value(job).unwrap();
    RawJob::from_value(&value)
}

fn first_error(layer_sizes: &str, tp: u64) -> String {
    let checked = check(&job(layer_sizes, tp));
    let error = checked.errors().next().map(|problem| problem.message.clone());
    error.unwrap_or_default()
}

#[test]
fn layers_that_repeat_are_written_once() {
    for (text, written) in [
        ("nkv8.f14336, nkv8.f14336", "nkv8.f14336*2"),
        ("(-*5,nkv4)*8", "(-*5,nkv4)*8"),
        ("f8.nkv4", "nkv4.f8"),
        ("nomlp.noattn*3,-/nkv8.f16384", "noattn.nomlp*3,-/nkv8.f16384"),
        ("-,(nkv8,nkv8,nkv4)*2,nkv4", "-,(nkv8*2,nkv4)*2,nkv4"),
    ] {
        let list: LayerSizesList = text.parse().unwrap();
        assert_eq!(list.to_string(), written);
        assert_eq!(written.parse::<LayerSizesList>().unwrap(), list);
    }
}

#[test]
fn texts_that_are_no_sizes_say_where_they_are_wrong() {
    for (text, message) in [
        (
            "nkv8,heads4",
            "layer_sizes has “heads4” at character 6, which is no size; use nq, nkv, d, f, e, k, fe, fs with a number, noattn, nomlp, sink, window, sharedkv or -",
        ),
        (
            "(nkv8",
            "layer_sizes cannot be read at character 6; write layers such as nkv8.f14336*3,(noattn,-)*2",
        ),
        ("-*20000", "layer_sizes lists more than 10000 layers"),
        (
            "-*3",
            "layer_sizes lists 3 layers, and the model has 4: list one for each",
        ),
        (
            "-*3,f4100",
            "layer_sizes has a layer f4100: ffn_hidden_size 4100 must be a multiple of 8; 4096 or 4104 would work",
        ),
        (
            "-*3,nkv12",
            "layer_sizes has a layer nkv12: num_query_groups 12 must divide num_attention_heads 16; 4, 8 or 16 would work",
        ),
    ] {
        assert_eq!(first_error(text, 8), message);
    }
}

/// A layer costs what the layers of a model with its sizes cost.
#[test]
fn a_layer_is_a_layer_of_a_model_with_its_sizes() {
    let layers_of = |job: &RawJob| {
        let config = check(job).config.unwrap();
        estimate(&config).modules[0].parameters.total()
    };
    let of_model = |groups: u64, width: u64| {
        let mut whole = job("-*4", 2);
        whole.shared.set(FieldId::num_query_groups, Value::Int(groups.into()));
        whole.shared.set(FieldId::ffn_hidden_size, Value::Int(width.into()));
        layers_of(&whole)
    };
    let mixed = layers_of(&job("nkv2.f1024*2,-*2", 2));
    assert_eq!(2 * mixed, of_model(2, 1024) + of_model(8, 4096));
    let without = layers_of(&job("noattn.nomlp*4", 2));
    assert_eq!(
        layers_of(&job("noattn*4", 2)) + layers_of(&job("nomlp*4", 2)),
        layers_of(&job("-*4", 2)) + without
    );
}

/// The activations of a layer are those of a model with its sizes.
#[test]
fn peaks_lie_between_those_of_models_with_either_size() {
    let peak = |job: &RawJob| {
        let config = check(job).config.unwrap();
        estimate(&config).modules[0].stages[0].total
    };
    let [small, mixed, large] = ["f1024*4", "f1024*2,-*2", "-*4"].map(|sizes| peak(&job(sizes, 2)));
    assert!(small < mixed && mixed < large);
}

fn sizes() -> impl Strategy<Value = LayerSizes> {
    let size = || proptest::option::of(1_u64..100_000);
    (any::<bool>(), any::<bool>(), size(), size(), size()).prop_map(|(attention, mlp, groups, width, experts)| {
        LayerSizes {
            no_attention: attention,
            no_mlp: mlp,
            num_query_groups: groups.map(LayerSize::from),
            ffn_hidden_size: width.map(LayerSize::from),
            num_experts: experts.map(LayerSize::from),
            sinks: experts.is_none(),
            ..LayerSizes::default()
        }
    })
}

proptest! {
    #[test]
    fn every_list_is_read_as_it_is_written(
        kinds in proptest::collection::vec(sizes(), 1..4),
        order in proptest::collection::vec(0_usize..4, 1..60),
    ) {
        let decoder: Vec<LayerSizes> = order.iter().map(|kind| kinds[kind % kinds.len()]).collect();
        let list = LayerSizesList { decoder, ..LayerSizesList::default() };
        prop_assert_eq!(list.to_string().parse::<LayerSizesList>().unwrap(), list);
    }
}

#[test]
fn links_carry_sizes_without_escapes() {
    let state = ShareState {
        setup: Setup {
            preset: None,
            job: job("(nkv2.f1024,-)*2", 2),
        },
        ..ShareState::default()
    };
    let link = encode(&state);
    assert!(link.contains("lsizes=@nkv2.f1024,-_~2"), "{link}");
    assert_eq!(decode(&link), (state.normalize(), vec![]));
}

/// Megatron-LM's flags say which layers have no attention or no MLP, and how wide MLPs are.
#[test]
fn flags_carry_blocks() {
    let mut sized = job("f1024,noattn,nomlp,-", 2);
    sized
        .shared
        .set(FieldId::untie_embeddings_and_output_weights, Value::Bool(true));
    let script = megatron_args::script(&sized);
    assert!(
        script.contains("--heterogeneous-layers-config-encoded-json"),
        "{script}"
    );
    let imported = import_text(&script, &ImportOptions::default()).unwrap().import;
    let read = imported.state.setup.job.shared.get(FieldId::layer_sizes).cloned();
    assert_eq!(read, sized.shared.get(FieldId::layer_sizes).cloned());
    // Other sizes have no flag.
    let groups = megatron_args::script(&job("nkv2*4", 2));
    assert!(
        groups.contains("# Megatron-LM has no flag for layer_sizes."),
        "{groups}"
    );
}
