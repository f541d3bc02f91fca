//! What an import asks for: the fields that a job needs and the text leaves out, and the variables that decide
//! something.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};
use megatron_memory::value::Value;

#[track_caller]
fn read(text: &str, options: &ImportOptions) -> ImportedText {
    import_text(text, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The questions in short: the field, the variable, or the kind.
fn asked(imported: &ImportedText) -> Vec<String> {
    let name = |question: &Question| match question {
        Question::Field { field, .. } => field.field().name.to_owned(),
        Question::Variable { name, .. } => format!("${name}"),
        Question::Branch { line, .. } => format!("branch {line}"),
        Question::Gpus => "gpus".to_owned(),
        Question::Model { name } => format!("model {name}"),
    };
    imported.import.questions.iter().map(name).collect()
}

fn value(imported: &ImportedText, id: FieldId) -> Option<String> {
    let settings = &imported.import.state.setup.job.shared;
    settings.get(id).map(ToString::to_string)
}

const SHAPE: &str = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 \
    --micro-batch-size 1 --global-batch-size 8";

#[test]
fn the_vocabulary_and_the_sequence_length_are_asked_for() {
    let imported = read(SHAPE, &ImportOptions::default());
    assert_eq!(asked(&imported), ["vocab_size", "seq_length"]);
    for question in &imported.import.questions {
        let Question::Field { field, choices } = question else {
            panic!("{question:?}");
        };
        assert!(choices.len() > 4, "{question:?}");
        let named = choices.iter().all(|choice| !choice.label.is_empty());
        assert_eq!(named, *field == FieldId::vocab_size);
    }
    let answers = ImportOptions {
        fields: vec![
            (FieldId::vocab_size, Value::Int(128_256)),
            (FieldId::seq_length, Value::Int(4_096)),
        ],
        ..ImportOptions::default()
    };
    let imported = read(SHAPE, &answers);
    assert_eq!(asked(&imported), Vec::<String>::new());
    let checked = check(&imported.import.state.setup.job);
    assert!(checked.config.is_some(), "{:?}", checked.problems);
    // A variable that stands for the field is asked for in its place, and answered by either.
    let text = format!("{SHAPE} --seq-length $SEQ --vocab-size 1000");
    let imported = read(&text, &ImportOptions::default());
    assert_eq!(asked(&imported), ["$SEQ"]);
    // A given size, and a text that only changes the current job, leave nothing to ask for.
    let text = format!("{SHAPE} --seq-length 8 --padded-vocab-size 1024");
    assert_eq!(asked(&read(&text, &ImportOptions::default())), Vec::<String>::new());
}

#[test]
fn a_model_alone_is_asked_how_it_is_trained() {
    let config = r#"{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 99,
        "intermediate_size": 128, "max_position_embeddings": 8192}"#;
    let imported = read(config, &ImportOptions::default());
    assert_eq!(asked(&imported), ["gpus", "seq_length"]);
    let Some(Question::Field { choices, .. }) = imported.import.questions.last() else {
        panic!("{:?}", imported.import.questions);
    };
    assert_eq!(choices.last().map(|choice| choice.value), Some(8_192));
}

#[test]
fn slurm_directives_answer_the_variables_of_slurm() {
    let text = format!(
        "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n#SBATCH --ntasks-per-node=1\nsrun torchrun --nnodes $SLURM_NNODES \
         --nproc_per_node ${{SLURM_GPUS_PER_NODE}} {} --seq-length 8 --vocab-size 9",
        SHAPE.split_once("8 ").unwrap().1
    );
    let imported = read(&text, &ImportOptions::default());
    assert_eq!(asked(&imported), Vec::<String>::new());
    assert_eq!(value(&imported, FieldId::world_size).as_deref(), Some("32"));
    // What the user says counts.
    let options = ImportOptions {
        variables: vec![("SLURM_NNODES".to_owned(), "2".to_owned())],
        ..ImportOptions::default()
    };
    assert_eq!(
        value(&read(&text, &options), FieldId::world_size).as_deref(),
        Some("16")
    );
}

#[test]
fn variables_that_decide_nothing_are_not_asked_for() {
    let text = "DIR=${DIR:-/data}\nRUN=${RUN:-run}\ntorchrun --nproc_per_node 8 -m trainer model.num_layers=${LAYERS:-4} \
        checkpoint.save=$DIR/$RUN logger.wandb_project=$PROJECT model.hidden_size=$HIDDEN train.micro_batch_size=1";
    let imported = read(text, &ImportOptions::default());
    let variables: Vec<String> = asked(&imported)
        .into_iter()
        .filter(|name| name.starts_with('$'))
        .collect();
    assert_eq!(variables, ["$LAYERS", "$HIDDEN"]);
}

#[test]
fn variables_in_yaml_are_asked_for_and_replaced() {
    let text = "ENV_VARS:\n  NCCL_DEBUG: WARN\nMODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 512\n  --num-attention-heads: 8\n  \
        --tensor-model-parallel-size: ${TP}\n  --micro-batch-size: ${MBS:-2}\n  --seq-length: 8\n  --vocab-size: 9\n  \
        --save: ${OUTPUT_PATH}/x\n  --moe-layer-freq: \"'([0]*1+[1]*3)'\"\n";
    let imported = read(text, &ImportOptions::default());
    assert_eq!(asked(&imported), ["$TP", "$MBS", "gpus"]);
    assert_eq!(value(&imported, FieldId::micro_batch_size).as_deref(), Some("2"));
    assert_eq!(
        value(&imported, FieldId::moe_layer_freq).as_deref(),
        Some("\"([0]+[1]*3)\"")
    );
    let options = ImportOptions {
        variables: vec![("TP".to_owned(), "4".to_owned()), ("MBS".to_owned(), "1".to_owned())],
        ..ImportOptions::default()
    };
    let imported = read(text, &options);
    assert_eq!(asked(&imported), ["gpus"]);
    assert_eq!(
        value(&imported, FieldId::tensor_model_parallel_size).as_deref(),
        Some("4")
    );
    assert_eq!(value(&imported, FieldId::micro_batch_size).as_deref(), Some("1"));
}

#[test]
fn references_in_yaml_are_values_of_the_file() {
    let text = "model:\n  num_layers: 4\n  hidden_size: 512\n  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n  \
        num_attention_heads: ${model.num_layers}\n  seq_length: ${dataset.sequence_length}\ndataset:\n  sequence_length: ${oc.env:SEQ,2048}\n\
        train:\n  micro_batch_size: ${nowhere.at_all}\n";
    let imported = read(text, &ImportOptions::default());
    for (id, wanted) in [
        (FieldId::ffn_hidden_size, "2048"),
        (FieldId::num_attention_heads, "4"),
        (FieldId::seq_length, "2048"),
    ] {
        assert_eq!(value(&imported, id).as_deref(), Some(wanted), "{}", id.field().name);
    }
}

#[test]
fn classes_of_pai_add_tokens_to_those_of_the_tokenizer() {
    for (flags, wanted) in [
        (
            "--patch-tokenizer-type Qwen2Tokenizer --extra-vocab-size 421",
            Some("152064"),
        ),
        (
            "--patch-tokenizer-type LLama3Tokenizer --extra-vocab-size 256",
            Some("128256"),
        ),
        (
            "--patch-tokenizer-type DeepSeekV2Tokenizer --extra-vocab-size 2400",
            Some("102400"),
        ),
        (
            "--tokenizer-type DeepSeekV2Tokenizer --extra-vocab-size 467",
            Some("129280"),
        ),
        ("--patch-tokenizer-type DeepSeekV2Tokenizer --extra-vocab-size 5", None),
        ("--patch-tokenizer-type FalconTokenizer --extra-vocab-size 5", None),
        (
            "--patch-tokenizer-type Qwen2Tokenizer --extra-vocab-size 421 --padded-vocab-size 7",
            Some("7"),
        ),
    ] {
        let imported = read(&format!("{SHAPE} --seq-length 8 {flags}"), &ImportOptions::default());
        assert_eq!(
            value(&imported, FieldId::padded_vocab_size).as_deref(),
            wanted,
            "{flags}"
        );
        let open = asked(&imported);
        assert_eq!(open.is_empty(), wanted.is_some(), "{flags}: {open:?}");
    }
}
