//! Texts with what copying puts around and into them: they are the job without it.

use megatron_memory::config::fields::FieldId;
use megatron_memory::export::{ExportFormat, ExportOptions, LinkForm, export_text};
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};
use megatron_memory::formats::share_url::visit;
use megatron_memory::presets;
use megatron_memory::value::Value;

#[track_caller]
fn read(text: &str) -> ImportedText {
    let options = ImportOptions::default();
    import_text(text, &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn has(text: &str, wanted: &[(FieldId, i128)]) -> ImportedText {
    let imported = read(text);
    let settings = &imported.import.state.setup.job.shared;
    for (id, value) in wanted {
        let value = Value::Int(*value);
        let name = id.field().name;
        assert_eq!(
            settings.get(*id).map(ToString::to_string),
            Some(value.to_string()),
            "{name} of\n{text}"
        );
    }
    imported
}

/// The line of the report's row for a key.
fn line(imported: &ImportedText, key: &str) -> Option<u32> {
    let mut rows = imported.import.report.iter();
    rows.find(|row| row.key == key).and_then(|row| row.line)
}

const SHAPE: [(FieldId, i128); 3] = [
    (FieldId::num_layers, 32),
    (FieldId::hidden_size, 4096),
    (FieldId::world_size, 16),
];

#[test]
fn the_code_block_of_markdown_is_the_text() {
    let script = "torchrun --nproc_per_node 16 pretrain_gpt.py \\\n  --num-layers 32 \\\n  --hidden-size 4096";
    for around in [
        ("```\n", "\n```"),
        ("```bash\n", "\n```\n"),
        ("Here is my job, why is it out of memory?\n\n~~~sh\n", "\n~~~\nThanks!"),
        ("# Notes\n\n```text\nhello\n```\n\n```bash\n", "\n```"),
        // Copied without its end.
        ("```bash\n", ""),
    ] {
        let text = format!("{}{script}{}", around.0, around.1);
        let imported = has(&text, &SHAPE);
        let before = u32::try_from(around.0.matches('\n').count()).unwrap();
        assert_eq!(line(&imported, "--num-layers"), Some(before + 2), "{text}");
    }
    // A fence in a comment of a script is no code block.
    let commented = format!("{script}\n: '\n```\nother --num-layers 1\n```\n'");
    has(&commented, &SHAPE);
}

#[test]
fn characters_of_word_processors_are_those_that_were_typed() {
    for text in [
        "torchrun\u{a0}--nproc_per_node\u{a0}16 pretrain_gpt.py --num-layers\u{202f}32 --hidden-size 4096",
        "torchrun \u{2014}nproc_per_node 16 pretrain_gpt.py \u{2013}num-layers 32 \u{2014}hidden-size 4096\u{200b}",
        "torchrun --nproc_per_node=\u{201c}16\u{201d} pretrain_gpt.py --num-layers \u{201c}32\u{201d} --hidden-size 4096",
    ] {
        has(text, &SHAPE);
    }
    // Curly quotes inside straight ones belong to the value.
    let text = "{\"num_layers\": 32, \"hidden_size\": 4096, \"world_size\": 16, \"note\": \"\u{201c}x\u{201d}\"}";
    has(text, &SHAPE);
}

#[test]
fn a_list_of_words_is_a_command() {
    for text in [
        r#"["torchrun", "--nproc_per_node=16", "pretrain_gpt.py", "--num-layers", "32", "--hidden-size", "4096"]"#,
        "['torchrun', '--nproc_per_node', 16, 'pretrain_gpt.py', '--num-layers', 32, '--hidden-size', 4096]",
        "[\n  \"torchrun\", \"--nproc_per_node=16\",\n  \"pretrain_gpt.py\",\n  \"--num-layers=32\",\n  \"--hidden-size=4096\"\n]",
        r#"["bash", "-c", "torchrun --nproc_per_node 16 pretrain_gpt.py --num-layers 32 --hidden-size 4096"]"#,
    ] {
        has(text, &SHAPE);
    }
    let imported = read("[\n\"pretrain_gpt.py\",\n\"--num-layers=32\",\n\"--hidden-size=4096\"]");
    assert_eq!(line(&imported, "--hidden-size"), Some(4));
}

#[test]
fn the_command_of_a_manifest_is_read_with_its_gpus() {
    let split = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: x\nspec:\n  pytorchReplicaSpecs:\n    Master:\n      \
        replicas: 1\n      template:\n        spec:\n          containers:\n          - name: a\n            image: i\n            \
        command: [torchrun, pretrain_gpt.py]\n            args:\n            - --num-layers\n            - \"32\"\n            \
        - --hidden-size=4096\n            resources:\n              limits:\n                nvidia.com/gpu: 8\n    Worker:\n      \
        replicas: 1\n      template:\n        spec:\n          containers:\n          - name: a\n            image: i\n            \
        command: [torchrun, pretrain_gpt.py]\n            resources:\n              limits:\n                nvidia.com/gpu: 8\n";
    let imported = has(split, &SHAPE);
    assert_eq!(line(&imported, "--hidden-size"), Some(18));
    let script = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: batch/v1\nkind: Job\nspec:\n  parallelism: 2\n  \
        template:\n    spec:\n      containers:\n      - name: a\n        env:\n        - name: LAYERS\n          value: \"32\"\n        \
        command: [bash, -c]\n        args:\n        - |\n          torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py \\\n            \
        --num-layers $LAYERS --hidden-size 4096\n        resources:\n          limits:\n            nvidia.com/gpu: 8\n";
    has(script, &SHAPE);
    let variable = "apiVersion: batch/v1\nkind: Job\nspec:\n  parallelism: 2\n  template:\n    spec:\n      containers:\n      - name: a\n        \
        env:\n        - name: LAYERS\n          value: \"32\"\n        command: [torchrun, pretrain_gpt.py, --num-layers=$(LAYERS), \
        --hidden-size, 4096]\n        resources:\n          limits:\n            amd.com/gpu: 8\n";
    has(variable, &SHAPE);
}

#[test]
fn own_embeds_and_markdown_are_the_job_of_their_link() {
    let state = visit("#v1;m=llama3-8b@1;tp=2").state;
    let options = ExportOptions {
        page: "https://example.org/memory/".to_owned(),
        ..ExportOptions::default()
    };
    for form in LinkForm::ALL {
        let text = export_text(&state, ExportFormat::Link(form), &options).unwrap();
        assert_eq!(detect(&text).unwrap().format, Format::ShareLink, "{text}");
        let imported = read(&text);
        assert_eq!(
            imported.import.state.setup.start().job,
            state.setup.start().job,
            "{text}"
        );
    }
    // In a message.
    let told = "Look at https://example.org/memory/#v1;m=llama3-8b@1;tp=2 please";
    assert_eq!(read(told).import.state.setup.start().job, state.setup.start().job);
}

#[test]
fn a_name_on_the_hub_is_a_model() {
    for name in [
        "Qwen/Qwen3-8B",
        "https://huggingface.co/Qwen/Qwen3-8B/blob/main/config.json",
        "hf.co/Qwen/Qwen3-8B",
        "unsloth/Qwen3-8B-Base-bnb-4bit",
        "qwen3-8b",
    ] {
        let imported = has(name, &[(FieldId::num_layers, 36), (FieldId::vocab_size, 151_936)]);
        assert_eq!(imported.import.format, Format::HubModel, "{name}");
    }
    let unknown = read("acme/Unheard-7B");
    let asked = Question::Model {
        name: "acme/Unheard-7B".to_owned(),
    };
    assert!(unknown.import.questions.contains(&asked));
    let options = ImportOptions {
        model: Some("llama3-8b".to_owned()),
        ..ImportOptions::default()
    };
    let answered = import_text("acme/Unheard-7B", &options).unwrap();
    let settings = &answered.import.state.setup.job.shared;
    assert_eq!(settings.get(FieldId::num_layers), Some(&Value::Int(32)));
    assert!(!answered.import.questions.contains(&asked));
    for id in presets::PRESETS {
        assert_eq!(read(id.id).import.format, Format::HubModel, "{}", id.id);
    }
}
