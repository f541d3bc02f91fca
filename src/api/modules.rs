//! `parseComponentSpec` and `buildLayout`: the modules of a `MegatronMIMO` job, written as component specs.

use serde::{Serialize, Serializer};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::plain_data::serialize_entries;
use super::{Exact, arguments, error, to_js, to_ts};
use megatron_memory::parallel::mimo::{self, Field, spec};

/// The parallel sizes and the first rank of one module, under Megatron's names.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct ModuleParallelism {
    #[tsify(type = "number")]
    tensor_model_parallel_size: Option<Exact>,
    #[tsify(type = "number")]
    pipeline_model_parallel_size: Option<Exact>,
    #[tsify(type = "number")]
    context_parallel_size: Option<Exact>,
    #[tsify(type = "number")]
    expert_model_parallel_size: Option<Exact>,
    #[tsify(type = "number")]
    expert_tensor_parallel_size: Option<Exact>,
    /// `null` where the spec leaves it to be derived from the world size.
    #[tsify(type = "number | null")]
    data_parallel_size: Option<Exact>,
    #[tsify(type = "number")]
    rank_offset: Option<Exact>,
}

/// The name and the parallelism that a component spec states.
#[derive(Debug, Serialize, Tsify)]
pub struct ComponentSpec {
    name: String,
    result: ModuleParallelism,
}

/// Modules by name, which serialize as one object.
struct Modules(Vec<(String, ModuleParallelism)>);

impl Serialize for Modules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_entries(self.0.iter().map(|(name, of)| (&**name, of)), serializer)
    }
}

/// Reads a component spec: `name=tp=N[,pp=N,dp=N,cp=N,ep=N,etp=N,rank_offset=N]`.
///
/// # Errors
/// Throws the exception that `MegatronMIMO`'s own parser raises, as an error whose `name` is the exception's class.
#[wasm_bindgen(js_name = parseComponentSpec)]
pub fn parse_component_spec(
    #[wasm_bindgen(unchecked_param_type = "string")] spec: &JsValue,
) -> Result<Ts<ComponentSpec>, JsValue> {
    let spec = arguments::text(spec, "spec")?;
    let read = spec::parse_component_spec(&spec);
    let (name, parallelism) = read.map_err(|exception| error::raised(&exception))?;
    to_ts(&ComponentSpec {
        name,
        result: ModuleParallelism::from(&parallelism),
    })
}

/// Reads the component specs of all modules. With a world size, the modules without `dp` get equal shares of its ranks.
///
/// # Errors
/// Throws the exception that `MegatronMIMO` raises, as an error whose `name` is the exception's class.
#[wasm_bindgen(
    js_name = buildLayout,
    unchecked_return_type = "Record<string, ModuleParallelism>"
)]
pub fn build_layout(
    #[wasm_bindgen(unchecked_param_type = "string[]")] specs: &JsValue,
    #[wasm_bindgen(js_name = worldSize, unchecked_optional_param_type = "number | null")] world_size: &JsValue,
) -> Result<JsValue, JsValue> {
    let specs = arguments::texts(specs, "specs")?;
    let world_size = if world_size.is_null() || world_size.is_undefined() {
        None
    } else {
        Some(arguments::whole(world_size, "worldSize")?)
    };
    let modules = spec::build_layout(&specs, world_size);
    let modules = modules.map_err(|exception| error::raised(&exception))?;
    let modules = modules.iter();
    let modules = modules.map(|(name, of)| (name.clone(), ModuleParallelism::from(of)));
    to_js(&Modules(modules.collect()))
}

impl From<&mimo::ModuleParallelism> for ModuleParallelism {
    fn from(parallelism: &mimo::ModuleParallelism) -> Self {
        let size = |field| parallelism.get(field).map(Exact::from);
        Self {
            tensor_model_parallel_size: size(Field::TensorModelParallelSize),
            pipeline_model_parallel_size: size(Field::PipelineModelParallelSize),
            context_parallel_size: size(Field::ContextParallelSize),
            expert_model_parallel_size: size(Field::ExpertModelParallelSize),
            expert_tensor_parallel_size: size(Field::ExpertTensorParallelSize),
            data_parallel_size: size(Field::DataParallelSize),
            rank_offset: size(Field::RankOffset),
        }
    }
}
