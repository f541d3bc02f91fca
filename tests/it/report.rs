//! Tests of `report` and of the pictures in `export`.

mod amounts;
mod explanations;
mod grouping;
mod pictures;
mod rank_map;
mod reserved;
mod savings;
mod stage_difference;
mod tables;

use megatron_memory::config::check;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{Estimate, StageRef, estimate};
use serde_json::{Value as Json, json};

use crate::{ROOT, oracle};

/// A checked job with its estimate.
pub(crate) struct Job {
    pub(crate) config: Config,
    pub(crate) estimate: Estimate,
}

impl Job {
    pub(crate) fn new(config: &Json) -> Self {
        let value = serde_json::from_value(config.clone()).unwrap();
        let checked = check(&RawJob::from_value(&value));
        let problems = checked.problems;
        let config = checked.config.unwrap_or_else(|| panic!("{problems:?}"));
        Self {
            estimate: estimate(&config),
            config,
        }
    }

    /// A case of the ground truth, with changes.
    pub(crate) fn case(name: &str, changes: Json) -> Self {
        let mut config = oracle::json(&format!("params/{name}.json"))["config"].clone();
        let changes = changes.as_object().unwrap().clone();
        let object = config.as_object_mut().unwrap();
        object.insert(String::from("bf16"), json!(true));
        object.extend(changes);
        Self::new(&config)
    }

    /// A dense model so small that its numbers can be checked by hand.
    pub(crate) fn small(changes: Json) -> Self {
        let mut config = json!({
            "num_layers": 4, "hidden_size": 1024, "ffn_hidden_size": 4096, "num_attention_heads": 16,
            "vocab_size": 32000, "seq_length": 1024, "bf16": true, "use_distributed_optimizer": true,
            "add_bias_linear": false, "normalization": "RMSNorm", "position_embedding_type": "rope",
            "untie_embeddings_and_output_weights": true, "pipeline_model_parallel_size": 2,
            "world_size": 8,
        });
        config
            .as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        Self::new(&config)
    }

    pub(crate) fn lines(&self, pp_rank: usize) -> Vec<Line> {
        stage_lines(&self.config, &self.estimate, StageRef { module: 0, pp_rank })
    }
}

/// Compares a text with the file of that name in `report/snapshots`. With `SNAPSHOTS=write` in the
/// environment the file is written instead, for its author to read.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    let folder = format!("{ROOT}/tests/it/report/snapshots");
    let file = format!("{folder}/{name}.txt");
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "write") {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    assert!(text == expected, "{file}\nexpected\n{expected}\ngot\n{text}");
}
