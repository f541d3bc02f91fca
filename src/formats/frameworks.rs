//! Configurations of frameworks around Megatron, recognized by their sections. Some are read, the others refused by
//! name: keys of theirs are called like keys of formats that are read, and would otherwise become a job that nobody
//! wrote.

use super::detect::Format;

/// A framework and the keys at the top of its YAML files.
struct Framework {
    /// Its kind of file, with an article.
    what: &'static str,
    /// The format, where such files are read.
    format: Option<Format>,
    /// Top-level keys that the file has, all of them.
    all: &'static [&'static str],
    /// Keys, of which the file has at least one at any depth.
    any: &'static [&'static str],
}

const FRAMEWORKS: &[Framework] = &[
    Framework {
        what: "a ROLL configuration",
        format: Some(Format::RollYaml),
        all: &["actor_train"],
        any: &["actor_infer", "strategy_args", "rollout_batch_size"],
    },
    Framework {
        what: "a ROLL configuration",
        format: Some(Format::RollYaml),
        all: &["student"],
        any: &["strategy_args"],
    },
    Framework {
        what: "a FlagScale configuration",
        format: Some(Format::FlagScaleYaml),
        all: &["system", "model"],
        any: &[
            "tensor_model_parallel_size",
            "precision",
            "make_vocab_size_divisible_by",
        ],
    },
    Framework {
        what: "the part of a FlagScale configuration that says how it is launched",
        format: None,
        all: &["experiment", "action"],
        any: &["defaults"],
    },
    Framework {
        what: "the template of a ChatLearn job (paste the script with its overrides)",
        format: None,
        all: &["runtime_args", "models"],
        any: &["policy_trainer"],
    },
    Framework {
        what: "a NeMo-RL configuration",
        format: Some(Format::NemoRlYaml),
        all: &["policy"],
        any: &["megatron_cfg"],
    },
    Framework {
        what: "a NeMo-RL configuration",
        format: Some(Format::NemoRlYaml),
        all: &["defaults"],
        any: &[
            "grpo",
            "dpo",
            "sft",
            "distillation",
            "max_total_sequence_length",
            "train_global_batch_size",
        ],
    },
    Framework {
        what: "a NeMo-RL configuration that does not train with Megatron",
        format: None,
        all: &["policy"],
        any: &["dtensor_cfg"],
    },
    Framework {
        what: "a Primus configuration",
        format: Some(Format::PrimusYaml),
        all: &["work_group", "modules"],
        any: &["pre_trainer", "post_trainer", "framework"],
    },
    Framework {
        what: "a NeMo 1 configuration",
        format: Some(Format::NemoYaml),
        all: &["trainer", "exp_manager"],
        any: &["encoder_seq_length", "restore_from_path", "optim", "model"],
    },
    Framework {
        what: "a NeMo Framework Launcher configuration",
        format: Some(Format::NemoYaml),
        all: &["run", "trainer", "exp_manager"],
        any: &["model"],
    },
];

/// How much of a text is looked at, in bytes.
const MAX_LOOK: usize = 200_000;

/// The kind of configuration that a text is, where it is one that is not read.
#[must_use]
pub fn recognize(text: &str) -> Option<&'static str> {
    // Its lines end in what the argument was before: `1....default`.
    if text.contains("pipe_parallel_size ...") {
        return Some("a log of GPT-NeoX");
    }
    let framework = framework(text)?;
    framework.format.is_none().then_some(framework.what)
}

/// Whether a text has the key for the pipeline stages of GPT-NeoX, which every model of it has.
#[must_use]
pub fn is_neox(text: &str) -> bool {
    let stages = ["pipe_parallel_size", "pipe-parallel-size"];
    let mut keys = stages
        .into_iter()
        .flat_map(|key| [format!("{key}\""), format!("{key}:")]);
    keys.any(|key| text.contains(&key))
}

/// Whether a text is Python that configures a job of `NeMo` 2.
#[must_use]
pub fn is_nemo2(text: &str) -> bool {
    let is_python = text.contains("import nemo_run") || text.contains("from nemo.collections");
    is_python && text.contains("run.")
}

/// The format of a text of a framework that is read.
#[must_use]
pub fn format(text: &str) -> Option<Format> {
    framework(text)?.format
}

/// The framework that a text belongs to.
fn framework(text: &str) -> Option<&'static Framework> {
    let look = text.get(..text.floor_char_boundary(MAX_LOOK))?;
    let key = |line: &str| {
        let (key, rest) = line.trim().trim_start_matches("- ").split_once(':')?;
        let is_key = (rest.is_empty() || rest.starts_with(' ')) && !key.contains([' ', '"', '{']);
        is_key.then(|| key.to_owned())
    };
    let indented = |line: &&str| line.starts_with([' ', '\t', '#']);
    let top: Vec<String> = look.lines().filter(|line| !indented(line)).filter_map(key).collect();
    if top.is_empty() {
        return None;
    }
    let keys: Vec<String> = look.lines().filter_map(key).collect();
    let has = |keys: &[String], wanted: &str| keys.iter().any(|key| key == wanted);
    FRAMEWORKS.iter().find(|framework| {
        framework.all.iter().all(|wanted| has(&top, wanted)) && framework.any.iter().any(|wanted| has(&keys, wanted))
    })
}
