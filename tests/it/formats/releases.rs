//! Releases that a text names: their own defaults count.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import::Import;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::report::KeyStatus;

const COMMAND: &str = "megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 --max_length 4096";

fn read(text: &str) -> Import {
    import_text(text, &ImportOptions::default()).unwrap().import
}

/// The value of a field and the note of its row.
fn field(import: &Import, id: FieldId) -> (Option<String>, String) {
    let value = import.state.setup.job.shared.get(id).map(ToString::to_string);
    let rows = import.report.iter().filter(|row| row.field == Some(id));
    let notes: Vec<&str> = rows.map(|row| &*row.note).collect();
    (value, notes.join("; "))
}

#[test]
fn the_fused_loss_of_ms_swift_follows_its_release() {
    let id = FieldId::cross_entropy_fusion_impl;
    let cases = [
        ("# the image has ms-swift 4.1.3 and peft", Some("te")),
        ("pip install ms-swift==4.3.0", Some("te")),
        ("| `ms-swift` | `4.0.1` |", Some("te")),
        ("pip install 'ms-swift>=4.1'", None),
        ("ms-swift v4.3.1", None),
        ("ms-swift版本：4.0", None),
        ("git clone https://github.com/modelscope/ms-swift", None),
    ];
    for (line, expected) in cases {
        let text = format!("{line}\n{COMMAND}");
        let import = read(&format!("# {text}"));
        let (value, note) = field(&import, id);
        let is_te = value.as_deref().is_some_and(|value| value.contains("te"));
        assert_eq!(is_te, expected.is_some(), "{line}: {value:?}");
        assert_eq!(
            note.contains("default of ms-swift 4."),
            expected.is_some(),
            "{line}: {note}"
        );
    }
}

#[test]
fn what_a_text_says_goes_before_its_release() {
    let id = FieldId::cross_entropy_fusion_impl;
    let text = format!("# ms-swift 4.1.3\n{COMMAND} --cross_entropy_fusion_impl native");
    let import = read(&text);
    let rows = import.report.iter().filter(|row| row.field == Some(id));
    assert!(rows.into_iter().all(|row| row.status != KeyStatus::Defaulted));
    let (value, _) = field(&import, id);
    assert!(value.is_none_or(|value| value.contains("native")));
}

#[test]
fn ms_swift_before_4_fuses_no_loss_by_default() {
    let id = FieldId::cross_entropy_loss_fusion;
    let of = |version: &str| field(&read(&format!("# ms-swift {version}\n{COMMAND}")), id).0;
    assert_eq!(of("4.1.3").as_deref(), Some("true"));
    assert_eq!(of("3.10.1").as_deref(), Some("false"));
}
