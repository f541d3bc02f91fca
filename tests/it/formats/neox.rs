//! Configurations of GPT-NeoX, which Megatron-LM trains in the place of `DeepSpeed`.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::not_modelled::MemoryEffect;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::{Import, Question};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;

/// A job of two layers with the keys of every job.
const JOB: &str = "\
pipe_parallel_size: 1
num_layers: 2
hidden_size: 768
num_attention_heads: 12
seq_length: 1024
max_position_embeddings: 2048
vocab_file: data/gpt2-vocab.json
train_micro_batch_size_per_gpu: 4
";

#[track_caller]
fn read(text: &str, gpus: u64, fields: &[(FieldId, u64)]) -> Import {
    let value = |(id, number): &(FieldId, u64)| (*id, Value::Int(i128::from(*number)));
    let options = ImportOptions {
        gpus: Some(gpus),
        fields: fields.iter().map(value).collect(),
        ..ImportOptions::default()
    };
    let imported = import_text(text, &options);
    imported.unwrap_or_else(|error| panic!("{error}\n{text}")).import
}

#[track_caller]
fn total(import: &Import) -> u64 {
    let checked = check(&import.state.setup.job);
    let problems: Vec<_> = checked.errors().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
    let estimate = estimate(&checked.config.unwrap());
    estimate.modules[0].parameters.total()
}

fn shown(import: &Import, id: FieldId) -> Option<String> {
    let value = import.state.setup.job.shared.get(id)?;
    Some(match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    })
}

fn marks(import: &Import) -> Vec<&str> {
    let marks = import.state.setup.job.not_modelled.iter();
    marks.map(|mark| mark.key.as_str()).collect()
}

/// Layers, hidden size, heads and ranks of tensor parallelism with the published number of parameters.
#[test]
fn pythia_and_gpt_neox_20b_have_their_published_parameters() {
    for (layers, hidden, heads, ranks, published) in [
        (6, 512, 8, 1, 70_426_624),
        (12, 768, 12, 1, 162_322_944),
        (24, 1024, 16, 1, 405_334_016),
        (16, 2048, 8, 1, 1_011_781_632),
        (24, 2048, 16, 1, 1_414_647_808),
        (32, 2560, 32, 1, 2_775_208_960),
        (32, 4096, 32, 2, 6_857_302_016),
        (36, 5120, 40, 4, 11_846_072_320),
        (44, 6144, 64, 2, 20_554_567_680_u64),
    ] {
        let text = format!(
            "{{\n  \"pipe-parallel-size\": 0,\n  \"model-parallel-size\": {ranks}, # ranks\n  \"num-layers\": {layers},\n  \
            \"hidden-size\": {hidden},\n  \"num-attention-heads\": {heads},\n  \"seq-length\": 2048,\n  \"max-position-embeddings\": 2048,\n  \
            \"pos-emb\": \"rotary\",\n  \"no-weight-tying\": true,\n  \"gpt-j-residual\": true,\n  \"checkpoint-activations\": true,\n  \
            \"tokenizer-type\": \"HFTokenizer\",\n  \"vocab-file\": \"data/20B_tokenizer.json\",\n  \
            \"fp16\": {{ \"enabled\": true, }},\n  \"train_micro_batch_size_per_gpu\": 4,\n}}\n"
        );
        assert_eq!(detect(&text).unwrap().format, Format::NeoxYaml);
        let import = read(&text, 8, &[]);
        assert_eq!(total(&import), published, "{layers} layers");
        assert_eq!(marks(&import), Vec::<&str>::new());
        assert_eq!(import.questions, []);
    }
}

#[test]
fn llama_2_has_its_published_parameters_without_biases() {
    for (layers, hidden, heads, groups, width, published) in [
        (32, 4096, 32, 32, 32_768, 6_738_415_616),
        (40, 5120, 40, 40, 41_472, 13_015_864_320),
        (80, 8192, 64, 8, 86_016, 68_976_648_192_u64),
    ] {
        let text = format!(
            "pipe_parallel_size: 1\nmodel_parallel_size: 1\nmake_vocab_size_divisible_by: 1\nnum_layers: {layers}\n\
            hidden_size: {hidden}\nintermediate_size: {width}\nnum_attention_heads: {heads}\nnum_kv_heads: {groups}\nseq_length: 4096\n\
            max_position_embeddings: 4096\npos_emb: rotary\nno_weight_tying: true\nnorm: rmsnorm\nactivation: swiglu\n\
            mlp_multiple_of: 256\nuse_bias_in_attn_linear: false\n"
        );
        let import = read(&text, 8, &[(FieldId::vocab_size, 32_000)]);
        assert_eq!(total(&import), published);
        // Neither batch nor precision: the rest is in another file.
        assert!(import.warning.unwrap().contains("a part of"));
        let rest = "{\n  \"train_micro_batch_size_per_gpu\": 2,\n  \"precision\": \"bfloat16\", # half\n}\n";
        let both = format!("{{\n\"pipe_parallel_size\": 1\n}}\n\n# the rest\n{rest}");
        let import = read(&format!("{text}---\n{rest}"), 8, &[(FieldId::vocab_size, 32_000)]);
        assert_eq!(total(&import), published);
        assert!(import.warning.unwrap().starts_with("GPT-NeoX trains with DeepSpeed."));
        let rows = read(&both, 8, &[]).report;
        let row = rows.iter().find(|row| row.key == "precision").unwrap();
        assert_eq!(row.line, Some(8));
    }
}

#[test]
fn the_batch_follows_from_the_number_of_gpus() {
    let parallel = "model_parallel_size: 2\ngradient_accumulation_steps: 32\n";
    let text = JOB.replace("pipe_parallel_size: 1", "pipe_parallel_size: 2") + parallel;
    for (gpus, global) in [(96, "3072"), (8, "256")] {
        let import = read(&text, gpus, &[]);
        assert_eq!(shown(&import, FieldId::global_batch_size).as_deref(), Some(global));
        assert_eq!(
            shown(&import, FieldId::pipeline_model_parallel_size).as_deref(),
            Some("2")
        );
        total(&import);
    }
    let samples = JOB.replace("train_micro_batch_size_per_gpu: 4", "train_batch_size: 64");
    let import = read(&samples, 8, &[]);
    assert_eq!(shown(&import, FieldId::global_batch_size).as_deref(), Some("64"));
    assert_eq!(shown(&import, FieldId::micro_batch_size).as_deref(), Some("8"));
}

/// What a line more says.
#[test]
fn keys_have_the_meaning_that_gpt_neox_gives_them() {
    for (line, id, value) in [
        ("", FieldId::attention_dropout, "0"),
        ("", FieldId::attention_backend, "unfused"),
        ("", FieldId::vocab_size, "50257"),
        ("", FieldId::ffn_hidden_size, "3072"),
        ("", FieldId::add_bias_linear, "true"),
        ("fp16:\n  enabled: true", FieldId::fp16, "true"),
        ("fp16:\n  enabled: true\n  type: bfloat16", FieldId::bf16, "true"),
        ("precision: bfloat16", FieldId::bf16, "true"),
        (
            "zero_optimization:\n  stage: 1",
            FieldId::use_distributed_optimizer,
            "true",
        ),
        (
            "zero_optimization:\n  stage: 0",
            FieldId::use_distributed_optimizer,
            "false",
        ),
        ("checkpoint_activations: true", FieldId::recompute_granularity, "full"),
        ("checkpoint_activations: true", FieldId::recompute_num_layers, "1"),
        (
            "checkpoint_activations: true\ncheckpoint_num_layers: 2",
            FieldId::recompute_num_layers,
            "2",
        ),
        (
            "checkpoint_activations: true\npartition_activations: true\nmodel_parallel_size: 2",
            FieldId::distribute_saved_activations,
            "true",
        ),
        ("pos_emb: rotary", FieldId::position_embedding_type, "rope"),
        ("norm: te_rmsnorm", FieldId::normalization, "RMSNorm"),
        ("num_kv_heads: 4", FieldId::num_query_groups, "4"),
        (
            "no_weight_tying: true",
            FieldId::untie_embeddings_and_output_weights,
            "true",
        ),
        ("use_bias_in_mlp: false", FieldId::add_qkv_bias, "true"),
        ("intermediate_size: 1024", FieldId::ffn_hidden_size, "1024"),
        ("expansion_factor: 3.5", FieldId::ffn_hidden_size, "2688"),
        (
            "activation: geglu\nintermediate_size: 3072",
            FieldId::ffn_hidden_size,
            "1024",
        ),
        (
            "mlp_type: llama\nactivation: silu\nmlp_multiple_of: 256",
            FieldId::ffn_hidden_size,
            "2048",
        ),
        ("tokenizer_type: CharLevelTokenizer", FieldId::vocab_size, "512"),
        (
            "optimizer:\n  type: SGD\n  params:\n    momentum: 0.5",
            FieldId::sgd_momentum,
            "0.5",
        ),
        (
            "moe_num_experts: 8\nmoe_expert_interval: 2",
            FieldId::moe_layer_freq,
            "2",
        ),
        ("moe_num_experts: 8", FieldId::moe_router_topk, "1"),
        (
            "attention_config: [[[flash], 2]]\nprecision: fp16",
            FieldId::attention_backend,
            "flash",
        ),
    ] {
        let import = read(&format!("{JOB}{line}\n"), 8, &[]);
        assert_eq!(shown(&import, id).as_deref(), Some(value), "{line}");
        assert_eq!(marks(&import), Vec::<&str>::new(), "{line}");
        total(&import);
    }
}

#[test]
fn what_megatron_lm_lacks_marks_the_job() {
    for (line, key) in [
        ("zero_optimization:\n  stage: 2", "zero_optimization.stage"),
        ("zero_optimization:\n  stage: 3", "zero_optimization.stage"),
        (
            "zero_optimization:\n  stage: 1\n  offload_optimizer:\n    device: cpu",
            "zero_optimization.offload_optimizer.device",
        ),
        ("train_impl: dpo", "train_impl"),
        ("optimizer:\n  type: OneBitAdam", "optimizer.type"),
        ("use_bnb_optimizer: true", "use_bnb_optimizer"),
        ("attention_config: [[[sparse_fixed, global], 1]]", "attention_config"),
        ("pos_emb: alibi", "pos_emb"),
        ("gpt_j_residual: true\nnum_unheard_of: 3", "num_unheard_of"),
        (
            "soft_prompt_tuning:\n  enabled: true\n  num_tokens: 10",
            "soft_prompt_tuning.enabled",
        ),
    ] {
        let import = read(&format!("{JOB}{line}\n"), 8, &[]);
        assert_eq!(marks(&import), [key], "{line}");
        total(&import);
    }
}

/// Attention and MLP side by side keep less than Megatron-LM's layers, which counts where layers are not recomputed and
/// the vocabulary is small beside them.
#[test]
fn layers_with_attention_beside_the_mlp_are_marked_where_it_counts() {
    let deep = JOB.replace("num_layers: 2", "num_layers: 24");
    for (text, more, effect) in [
        (JOB, "", MemoryEffect::BelowTwoPercent),
        (&deep, "", MemoryEffect::More),
        (&deep, "checkpoint_activations: true\n", MemoryEffect::BelowTwoPercent),
    ] {
        let import = read(&format!("{text}gpt_j_residual: true\n{more}"), 8, &[]);
        let row = import.report.iter().find(|row| row.key == "gpt_j_residual").unwrap();
        assert_eq!(row.effect, Some(effect));
        assert_eq!(marks(&import).is_empty(), effect != MemoryEffect::More);
    }
}

/// Versions of GPT-NeoX have different widths of gated MLPs where the file gives none, or one that is not divided by
/// three.
#[test]
fn the_width_of_a_gated_mlp_is_asked_for_where_versions_differ() {
    let question = |import: &Import| {
        import.questions.iter().find_map(|asked| match asked {
            Question::Field { field, choices } if *field == FieldId::ffn_hidden_size => {
                Some(choices.iter().map(|choice| choice.value).collect::<Vec<_>>())
            }
            _ => None,
        })
    };
    for (lines, choices) in [
        ("mlp_multiple_of: 256", vec![2048, 1024]),
        ("intermediate_size: 2048", vec![2048]),
    ] {
        let text = format!("{JOB}activation: swiglu\n{lines}\n");
        assert_eq!(question(&read(&text, 8, &[])), Some(choices), "{lines}");
        let import = read(&text, 8, &[(FieldId::ffn_hidden_size, 2048)]);
        assert_eq!(question(&import), None);
        assert_eq!(shown(&import, FieldId::ffn_hidden_size).as_deref(), Some("2048"));
    }
    let text = format!("{JOB}activation: swiglu\nintermediate_size: 6144\n");
    assert_eq!(question(&read(&text, 8, &[])), None);
}

#[test]
fn other_layers_are_refused_by_name() {
    for (kind, expected) in [("mamba", "Mamba 1"), ("rwkv", "RWKV"), ("gmlp", "gMLP")] {
        let text = format!("{JOB}attention_config: [[[\"{kind}\"], 2]]\n");
        let error = import_text(&text, &ImportOptions::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
