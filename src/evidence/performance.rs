//! The rows of NVIDIA's table of training throughput, as jobs of [`Recipe`]s.
//!
//! The rows are data, in `tests/oracle/bridge_performance_rows.json`, and not compiled in.

use super::recipes::{Recipe, count, word};
use super::record::ReadError;
use crate::config::fields::FieldId;
use crate::formats::json;
use crate::value::Value;

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct PerformanceRow {
    /// The machine, as the table writes it: `DGX-GB300`.
    pub system: String,
    /// The model, as the table writes it.
    pub model: String,
    /// As the table writes it: `MXFP8`, `NVFP4`, …
    pub precision: String,
    /// How many GPUs it ran on.
    pub gpus: Option<u64>,
    /// The table's document in Megatron-Bridge's repository, and the row's line there.
    pub document: String,
    /// The row's line in the document.
    pub line: u64,
    /// The parallel sizes that the row says, such as `TP 2`.
    pub layout: Vec<String>,
    /// The id of the recipe that the row was run with.
    pub recipe: String,
    /// The id of a recipe of the same model, where the row's own is not among the recipes.
    pub like: Option<String>,
    /// Fields with which that recipe becomes the row's.
    settings: Vec<(FieldId, Value)>,
}

/// The sizes of a row, each with the field that it is in a job.
const SIZES: [(&str, FieldId); 8] = [
    ("tp", FieldId::tensor_model_parallel_size),
    ("pp", FieldId::pipeline_model_parallel_size),
    ("vp", FieldId::virtual_pipeline_model_parallel_size),
    ("cp", FieldId::context_parallel_size),
    ("ep", FieldId::expert_model_parallel_size),
    ("global_batch_size", FieldId::global_batch_size),
    ("micro_batch_size", FieldId::micro_batch_size),
    ("seq_length", FieldId::seq_length),
];

/// Reads all rows.
///
/// # Errors
///
/// When the text is not JSON, or has no list of rows.
pub fn read_performance(text: &str) -> Result<Vec<PerformanceRow>, ReadError> {
    match json::parse(text)?.to_value().get("rows") {
        Some(Value::List(rows)) => Ok(rows.iter().map(read).collect()),
        _ => Err(ReadError::NotARecord),
    }
}

fn read(row: &Value) -> PerformanceRow {
    let system = word(row, "system");
    let sizes = SIZES.iter().take(5);
    let layout = sizes.filter_map(|(key, _)| Some(format!("{} {}", key.to_uppercase(), count(row.get(key)?)?)));
    let said = SIZES.iter().filter_map(|(key, id)| Some((*id, row.get(key)?.clone())));
    let gpu = system.trim_start_matches("DGX-").to_lowercase();
    // Those of the other recipe follow from its own parallel sizes.
    let pipeline = [
        FieldId::pipeline_model_parallel_layout,
        FieldId::microbatch_group_size_per_virtual_pipeline_stage,
    ];
    let mut settings: Vec<(FieldId, Value)> = said
        .chain(pipeline.map(|id| (id, Value::Null)))
        .chain([(FieldId::gpu, Value::Text(gpu))])
        .collect();
    if let Some(Value::Map(own)) = row.get("settings") {
        for (name, value) in own {
            if let Some(id) = FieldId::by_name(name) {
                settings.retain(|(other, _)| *other != id);
                settings.push((id, value.clone()));
            }
        }
    }
    let like = word(row, "like");
    PerformanceRow {
        layout: layout.collect(),
        model: word(row, "model"),
        precision: word(row, "precision"),
        gpus: row.get("gpus").and_then(count),
        document: word(row, "document"),
        line: row.get("line").and_then(count).unwrap_or_default(),
        recipe: word(row, "recipe"),
        like: (!like.is_empty()).then_some(like),
        settings,
        system,
    }
}

impl PerformanceRow {
    /// The recipe of the row, with the fields that are otherwise in it. `None` where the recipes have none for it.
    #[must_use]
    pub fn job<'r>(&self, recipes: &'r [Recipe]) -> Option<(&'r Recipe, &[(FieldId, Value)])> {
        let find = |id: &str| recipes.iter().find(|recipe| recipe.id == id);
        match &self.like {
            None => find(&self.recipe).map(|recipe| (recipe, [].as_slice())),
            Some(like) => find(like).map(|recipe| (recipe, self.settings.as_slice())),
        }
    }
}
