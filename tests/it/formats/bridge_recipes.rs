//! The jobs that Megatron-Bridge publishes, as it writes them to `run_config.yaml`: each imports as the model that
//! Bridge builds, or says what is missing.

use std::collections::BTreeMap;
use std::fs;

use megatron_memory::config::check;
use megatron_memory::config::choices::AdapterType;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::evidence::{Recipe, read_performance, read_recipes};
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;

use crate::oracle;

fn recipes() -> Vec<Recipe> {
    let path = oracle::folder().join("bridge_recipes.json");
    read_recipes(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What became of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The parameters of the real model.
    Right,
    /// A job with marks: parts of it are not modelled.
    Marked,
    /// Megatron would refuse the job, or the text is refused.
    Refused,
    /// Another model, and nothing says so.
    Silent,
}

/// Parameters of all modules. Published numbers are those of models without adapters.
fn parameters(config: &Config) -> u64 {
    let counted = estimate(config);
    let modules = counted.modules.iter().zip(config.modules());
    let each = modules.map(|(counted, module)| match module.args().peft_type {
        AdapterType::None => counted.parameters.total(),
        _ => counted.parameters.total() - counted.parameters.trainable(module),
    });
    each.sum()
}

/// Published numbers are those of models with their own vocabulary. Recipes that leave it to `NullTokenizer` run with
/// fewer rows of the word embedding and of the output layer; all of them are of Nemotron's, with 131,072 tokens.
fn beyond_null_tokenizer(recipe: &Recipe, config: &Config) -> u64 {
    let leaves = |key: &str| recipe.text.lines().any(|line| line.trim() == key);
    let is_null = leaves("tokenizer_type: \"NullTokenizer\"") || leaves("tokenizer_type: NullTokenizer");
    if !(is_null && leaves("vocab_size: null")) {
        return 0;
    }
    let module = &config.modules()[0];
    let rows = 131_072 - module.derived().padded_vocab_size;
    2 * rows * module.args().hidden_size
}

fn outcome(recipe: &Recipe, expected: u64) -> (Outcome, String) {
    let found = detect(&recipe.text).unwrap();
    assert_eq!(found.format, Format::BridgeYaml, "{}", recipe.id);
    let options = ImportOptions {
        gpus: recipe.gpus,
        ..ImportOptions::default()
    };
    let mut import = match import_text(&recipe.text, &options) {
        Ok(imported) => imported.import,
        Err(error) => return (Outcome::Refused, error.to_string()),
    };
    let tokens = [FieldId::image_tokens_per_sample, FieldId::audio_tokens_per_sample];
    let asks = |asked: &Question| matches!(asked, Question::Field { field, .. } if tokens.contains(field));
    if import.questions.iter().any(asks) {
        let options = ImportOptions {
            fields: tokens.map(|tokens| (tokens, Value::Int(1_024))).to_vec(),
            ..options
        };
        import = import_text(&recipe.text, &options).unwrap().import;
        assert!(!import.questions.iter().any(asks), "{}", recipe.id);
    }
    let job = &import.state.setup.job;
    let checked = check(job);
    let Some(config) = &checked.config else {
        let errors: Vec<_> = checked.errors().map(|p| p.message.as_str()).collect();
        return (Outcome::Refused, errors.join("; "));
    };
    let parameters = parameters(config);
    let expected = expected - beyond_null_tokenizer(recipe, config);
    let is_same = parameters.abs_diff(expected) * 1000 <= expected;
    let count = format!("{parameters}, not {expected}");
    match (job.not_modelled.is_empty(), is_same) {
        (false, _) => (Outcome::Marked, job.not_modelled[0].to_string()),
        (true, true) => (Outcome::Right, String::new()),
        (true, false) => (Outcome::Silent, count),
    }
}

#[test]
fn published_recipes_are_the_models_that_they_build() {
    let mut outcomes: BTreeMap<Outcome, Vec<String>> = BTreeMap::new();
    for recipe in recipes().iter().filter(|recipe| recipe.launches) {
        let Some(expected) = recipe.parameters else {
            continue;
        };
        let (outcome, why) = outcome(recipe, expected);
        outcomes
            .entry(outcome)
            .or_default()
            .push(format!("{}: {why}", recipe.id));
    }
    let count = |outcome| outcomes.get(&outcome).map_or(0, Vec::len);
    let list = |outcome| outcomes.get(&outcome).map_or(String::new(), |all| all.join("\n"));
    assert_eq!(count(Outcome::Silent), 0, "{}", list(Outcome::Silent));
    assert!(count(Outcome::Refused) == 0, "{}", list(Outcome::Refused));
    // The others have marks: encoders of other families, paged stash, a tokenizer that stands in for another.
    assert!(count(Outcome::Right) >= 353, "{}", count(Outcome::Right));
}

/// Every row of the table of container 26.08 is a job: the recipe that it was run with, or where that is not among the
/// recipes one of the same model with what its own sets otherwise.
#[test]
fn rows_of_the_performance_table_are_jobs() {
    let path = oracle::folder().join("bridge_performance_rows.json");
    let rows = read_performance(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(rows.len(), 18);
    let recipes = recipes();
    for row in rows {
        let name = format!("line {}: {}", row.line, row.recipe);
        let (recipe, settings) = row.job(&recipes).expect(&name);
        let options = ImportOptions {
            gpus: row.gpus,
            fields: settings.to_vec(),
            ..ImportOptions::default()
        };
        let imported = import_text(&recipe.text, &options);
        let import = imported.unwrap_or_else(|error| panic!("{name}: {error}")).import;
        let checked = check(&import.state.setup.job);
        let problems: Vec<_> = checked.errors().map(|p| p.message.clone()).collect();
        assert_eq!(problems, [""; 0], "{name}");
        let config = checked.config.unwrap();
        for size in &row.layout {
            let (name, size) = size.split_once(' ').unwrap();
            let field = match name {
                "TP" => FieldId::tensor_model_parallel_size,
                "PP" => FieldId::pipeline_model_parallel_size,
                "VP" => FieldId::virtual_pipeline_model_parallel_size,
                "CP" => FieldId::context_parallel_size,
                _ => FieldId::expert_model_parallel_size,
            };
            let own = import.state.setup.job.shared.get(field);
            let size = Value::Int(size.parse().unwrap());
            assert_eq!(*own.unwrap_or(&Value::Int(1)), size, "{}: {name}", row.recipe);
        }
        let parameters = parameters(&config);
        let is_same = |real: u64| parameters.abs_diff(real) * 1000 <= real;
        let is_marked = !import.state.setup.job.not_modelled.is_empty();
        assert!(
            is_marked || recipe.parameters.is_some_and(is_same),
            "{name}: {parameters}"
        );
    }
}

/// The class of MiMo-V2-Flash builds layers of MTP without experts; without such layers there is nothing to say.
#[test]
fn the_predicted_layers_of_mimo_have_no_experts() {
    for (layers, expected) in [(1, Some(Value::Bool(true))), (0, None)] {
        let text = format!(
            "model:\n  _target_: megatron.bridge.models.mimo_v2_flash.mimo_v2_flash_provider.MiMoV2FlashModelProvider\n  \
             num_layers: 4\n  hidden_size: 512\n  num_attention_heads: 8\n  num_moe_experts: 8\n  mtp_num_layers: {layers}\n  \
             seq_length: 1024\n  vocab_size: 32000\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
        );
        let imported = import_text(&text, &ImportOptions::default()).unwrap().import;
        let job = &imported.state.setup.job;
        assert_eq!(job.get(0, FieldId::mtp_dense).cloned(), expected, "{layers}");
    }
}
