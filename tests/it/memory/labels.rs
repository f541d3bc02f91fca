//! The head of sequence classification that ms-swift builds in place of an output layer over the vocabulary.

use megatron_memory::memory::{ModuleEstimate, estimate};
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

const HIDDEN: u64 = 64;
const TOKENS: u64 = 4096;
const VOCABULARY: u64 = 131_072;

fn job() -> Json {
    json!({
        "num_layers": 2, "hidden_size": HIDDEN, "num_attention_heads": 4, "padded_vocab_size": VOCABULARY, "seq_length": TOKENS,
        "micro_batch_size": 1, "bf16": true, "position_embedding_type": "rope", "world_size": 1, "expandable_segments": true,
        "untie_embeddings_and_output_weights": true,
    })
}

fn module(settings: &Json) -> ModuleEstimate {
    let mut estimate = estimate(&config(&with(&job(), settings)));
    estimate.modules.remove(0)
}

fn labels(count: u64, settings: &Json) -> ModuleEstimate {
    module(&with(settings, &json!({"num_labels": count})))
}

#[test]
fn the_head_has_a_row_for_each_label_on_every_tensor_parallel_rank() {
    let language_model = module(&json!({})).parameters.total();
    let head = labels(3, &json!({})).parameters.total();
    assert_eq!(language_model - head, (VOCABULARY - 3) * HIDDEN);
    let on_rank = |count| {
        let split = json!({"tensor_model_parallel_size": 2, "sequence_parallel": true, "world_size": 2});
        labels(count, &split).stages[0].parameters().total()
    };
    assert_eq!(on_rank(20) - on_rank(10), 10 * HIDDEN);
}

#[test]
fn beside_adapters_a_copy_of_the_head_is_trained_and_the_first_one_stays_frozen() {
    let lora = |count| {
        let job = with(&job(), &json!({"peft_type": "lora", "num_labels": count}));
        let config = config(&job);
        let module = &estimate(&config).modules[0];
        let parameters = module.stages[0].parameters();
        (parameters.total(), parameters.trainable(&config.modules()[0]))
    };
    let ((few, trained_of_few), (many, trained_of_many)) = (lora(10), lora(30));
    assert_eq!(many - few, 2 * 20 * HIDDEN);
    assert_eq!(trained_of_many - trained_of_few, 20 * HIDDEN);
}

#[test]
fn beside_adapters_whole_modules_are_trained_as_copies() {
    let lora = |settings: Json| {
        let config = config(&with(&with(&job(), &json!({"peft_type": "lora"})), &settings));
        let module = &estimate(&config).modules[0];
        let parameters = module.stages[0].parameters();
        let trainable = parameters.trainable(&config.modules()[0]);
        (parameters.total(), trainable, module.stages[0].total.0)
    };
    let (total, trainable, peak) = lora(json!({}));
    let one = VOCABULARY * HIDDEN;
    for (modules, copies) in [
        ("word_embeddings", 1),
        ("output_layer", 1),
        ("word_embeddings,output_layer", 2),
    ] {
        let (with_copies, trained, more) = lora(json!({"peft_modules_to_save": modules}));
        assert_eq!(
            (with_copies - total, trained - trainable),
            (copies * one, copies * one),
            "{modules}"
        );
        // The copy with its main gradient, main parameter and moments.
        assert!(more - peak >= copies * one * (2 + 4 + 4 + 4 + 4), "{modules}");
    }
}

/// Models for embeddings have no output layer. Generative rerankers have theirs, whose gradient is a tensor of its own
/// and which makes two logits a token.
#[test]
fn embeddings_and_rerankers_make_no_logits_over_the_vocabulary() {
    let of = |loss: &str, vocabulary: u64| module(&json!({"token_loss": loss, "padded_vocab_size": vocabulary}));
    let parameters = |loss: &str| of(loss, VOCABULARY).parameters.total();
    let language_model = parameters("megatron");
    assert_eq!(language_model - parameters("ms_swift_embedding"), VOCABULARY * HIDDEN);
    assert_eq!(language_model, parameters("ms_swift_reranker"));
    let more = |loss: &str| {
        let peak = |vocabulary| of(loss, vocabulary).stages[0].total.0;
        (peak(8 * VOCABULARY) - peak(4 * VOCABULARY)) / (4 * VOCABULARY * HIDDEN)
    };
    // Of each matrix over the vocabulary: itself, main gradient, main parameter and moments; and one gradient in bf16.
    let matrix = 2 + 4 + 4 + 4 + 4;
    assert_eq!(more("ms_swift_embedding"), matrix + 2);
    assert_eq!(more("ms_swift_reranker"), 2 * matrix + 2);
    assert!(more("megatron") > 2 * matrix + TOKENS * 4 / HIDDEN);
}

#[test]
fn logits_are_those_of_labels() {
    let peak = |count: u64, settings: &Json| labels(count, settings).stages[0].total.0;
    let count = VOCABULARY / 2;
    // bf16 logits and their fp32 copy. Of the weight: itself, its stand-in gradient, main gradient, main parameter and
    // moments.
    let each = TOKENS * (2 + 4) + HIDDEN * (2 + 2 + 4 + 4 + 4 + 4);
    let more = |settings: &Json| peak(2 * count, settings) - peak(count, settings);
    assert_eq!(more(&json!({})), count * each);
    // Every rank of sequence parallelism has all logits.
    let split = json!({"tensor_model_parallel_size": 2, "sequence_parallel": true, "world_size": 2});
    assert_eq!(more(&split), count * each);
    // Context-parallel ranks compute those of their own tokens, and gather all in fp32.
    let context = json!({"context_parallel_size": 2, "world_size": 2, "use_distributed_optimizer": false});
    assert!(more(&context) > count * TOKENS * 4 * 2);
    let few = peak(2, &json!({}));
    let language_model = module(&json!({})).stages[0].total.0;
    assert!(language_model - few > TOKENS * VOCABULARY * 6);
}

#[test]
fn mtp_depths_are_built_and_do_not_run() {
    let mtp = json!({"mtp_num_layers": 1});
    let (without, with) = (labels(2, &json!({})), labels(2, &mtp));
    assert!(with.parameters.total() > without.parameters.total());
    let kept = |module: &ModuleEstimate| module.stages[0].chunks[0].kept;
    assert_eq!(kept(&with), kept(&without));
}
