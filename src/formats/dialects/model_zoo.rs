//! The launcher of Megatron-MoE-ModelZoo, `sbatch_benchmarking.sh`: it starts Megatron-LM with the flags of a model's
//! file, with values for the variables in it, and with flags of its own.

mod models;

use crate::formats::shell::{Flag, Word};

/// A model of Megatron-MoE-ModelZoo.
pub struct ZooModel {
    /// The name of its file, which is also the value of `MODEL`.
    pub name: &'static str,
    /// Assignments of variables, `NAME=VALUE`: what the launcher takes where nobody sets them.
    variables: &'static str,
    /// Flags of the model's file with their values, beside those that all models have.
    flags: &'static str,
}

/// Variables that the launcher takes for all models where nobody sets them.
const FOR_ALL: &str = "PR=bf16 DISPATCHER=deepep OPTIMIZER_OFFLOAD=0 A2A_OVERLAP=0 GB200_CLUSTER=0";

/// The model with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static ZooModel> {
    models::MODELS.iter().find(|model| model.name == name)
}

/// Whether the program of a command is the launcher.
#[must_use]
pub fn is_launcher(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    matches!(name, "sbatch_benchmarking.sh" | "interactive_benchmarking.sh")
}

impl ZooModel {
    /// The launcher's values of variables, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = FOR_ALL.split(' ').chain(self.variables.split(' '));
        all.filter_map(|assignment| assignment.split_once('='))
    }

    /// The flags of the model's file, with variables in their values.
    pub fn flags(&self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        let all = models::COMMON.split("--").chain(self.flags.split("--"));
        all.map(str::trim)
            .filter(|flag| !flag.is_empty())
            .map(|flag| match flag.split_once(' ') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            })
    }
}

/// One start of the launcher: its model, the values of its variables, and the flags given to it.
pub struct Run<'a> {
    /// The model.
    pub model: &'static ZooModel,
    /// The value of a variable that the launcher's caller sets.
    pub given: &'a dyn Fn(&str) -> Option<Word>,
    /// The line of the command.
    pub line: u32,
}

impl Run<'_> {
    /// The value of a variable. Empty ones count as not set.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Word> {
        let given = (self.given)(name).filter(|word| !word.text.is_empty());
        given.or_else(|| {
            let mut known = self.model.variables();
            let (_, value) = known.find(|(known, _)| *known == name)?;
            Some(self.word(value))
        })
    }

    fn word(&self, text: &str) -> Word {
        Word {
            text: text.to_owned(),
            line: self.line,
            ..Word::default()
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.variable(name)?.text.parse().ok()
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.variable(name).is_some_and(|word| word.text == value)
    }

    /// The number of nodes, and that of GPUs of each.
    #[must_use]
    pub fn nodes(&self) -> Option<(Word, u64)> {
        let each = if self.is("GB200_CLUSTER", "1") { 4 } else { 8 };
        Some((self.variable("NNODES")?, each))
    }

    /// The value of a flag of the model's file: with the values of its variables; `None` where the launcher leaves the
    /// flag out.
    #[must_use]
    pub fn value(&self, written: &str) -> Option<Word> {
        let name = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let Some(name) = name else {
            return Some(self.word(written));
        };
        let parts = self.number("NUM_LAYERS").zip(self.number("PP"));
        let word = match name {
            "LAYERS_PER_VP" => {
                let (layers, stages) = parts?;
                let chunks = self.number("VPP").filter(|chunks| *chunks > 1)?;
                let each = layers.checked_div(stages)?.checked_div(chunks)?;
                self.variable(name).unwrap_or_else(|| self.word(&each.to_string()))
            }
            "PP_FIRST" | "PP_LAST" => {
                parts.filter(|(layers, stages)| layers % (*stages).max(1) != 0)?;
                self.variable(name)?
            }
            _ => self.variable(name)?,
        };
        (word.text != "false").then_some(word)
    }

    /// The flags of the model's file, as the launcher gives them to Megatron-LM.
    #[must_use]
    pub fn flags_of_model(&self) -> Vec<Flag> {
        let flags = self.model.flags();
        let flag = |(name, value): (&str, Option<&str>)| {
            let value = value.map(|value| self.value(value));
            match value {
                // Left out.
                Some(None) => None,
                Some(Some(word)) if word.text == "true" => Some(self.flag(name, Vec::new())),
                Some(Some(word)) => Some(self.flag(name, vec![word])),
                None => Some(self.flag(name, Vec::new())),
            }
        };
        flags.filter_map(flag).collect()
    }

    fn flag(&self, name: &str, values: Vec<Word>) -> Flag {
        Flag {
            name: name.to_owned(),
            values,
            line: self.line,
        }
    }

    /// The flags that the launcher adds to those in `flags`, of the model's file and of its caller.
    #[must_use]
    pub fn added_flags(&self, flags: &[Flag]) -> Vec<Flag> {
        let has = |name: &str| flags.iter().any(|flag| flag.name == name);
        let layout = has("pipeline-model-parallel-layout");
        let mut text = String::new();
        let mut add = |flags: &str| {
            text.push(' ');
            text.push_str(flags);
        };
        let mut words = Vec::new();
        let chunked = [
            "num-virtual-stages-per-pipeline-rank",
            "num-layers-per-virtual-pipeline-stage",
        ];
        if self.number("VPP").is_some_and(|chunks| chunks > 1) && !layout && !chunked.into_iter().any(has) {
            words.push(("num-virtual-stages-per-pipeline-rank", "VPP"));
        }
        if !layout {
            words.push(("decoder-first-pipeline-num-layers", "PP_FIRST"));
            words.push(("decoder-last-pipeline-num-layers", "PP_LAST"));
        }
        let offloads = self.is("OPTIMIZER_OFFLOAD", "1");
        if offloads {
            add("--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d");
        }
        match self.variable("DISPATCHER").map(|word| word.text).as_deref() {
            Some("alltoall") => add("--moe-token-dispatcher-type alltoall"),
            Some(backend @ ("deepep" | "hybridep")) => {
                add("--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend");
                add(backend);
            }
            _ => {}
        }
        match self.variable("PR").map(|word| word.text).as_deref() {
            Some("bf16") => add("--tp-comm-overlap"),
            Some(recipe @ ("fp8" | "mxfp8")) => {
                let is_mxfp8 = recipe == "mxfp8";
                add(if is_mxfp8 {
                    "--fp8-recipe mxfp8"
                } else {
                    "--fp8-recipe blockwise"
                });
                add("--fp8-format e4m3 --use-precision-aware-optimizer --main-grads-dtype fp32");
                add("--main-params-dtype fp32 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16");
                add("--moe-router-padding-for-quantization");
                if !offloads {
                    add("--fp8-param-gather");
                }
                if is_mxfp8 && !offloads {
                    add("--reuse-grad-buf-for-mxfp8-param-ag --overlap-grad-reduce --overlap-param-gather");
                }
            }
            _ => {}
        }
        if self.is("A2A_OVERLAP", "1") {
            add("--delay-wgrad-compute --overlap-moe-expert-parallel-comm");
        }
        let longest = flags.iter().rev().find(|flag| flag.name == "max-position-embeddings");
        let longest = longest.and_then(|flag| flag.values.first()?.text.parse::<u64>().ok());
        if self
            .number("SEQ_LEN")
            .zip(longest)
            .is_some_and(|(tokens, longest)| tokens > longest)
        {
            words.push(("max-position-embeddings", "SEQ_LEN"));
        }
        let words = words
            .into_iter()
            .filter_map(|(flag, variable)| Some(self.flag(flag, vec![self.value(&format!("${{{variable}}}"))?])));
        let texts = text.split("--").map(str::trim).filter(|flag| !flag.is_empty());
        let texts = texts.map(|flag| match flag.split_once(' ') {
            Some((name, value)) => self.flag(name, vec![self.word(value)]),
            None => self.flag(flag, Vec::new()),
        });
        words.chain(texts).collect()
    }
}
