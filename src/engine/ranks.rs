//! Ranks and modules for JavaScript: component specs, layouts, rank groups, and what one rank is.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use wasm_bindgen::prelude::*;

use super::output::{Buckets, Exact, List};
use super::{arguments, failure, read, refusal, write};
use crate::config::check;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::memory;
use crate::parallel::groups::seeds::Seeds;
use crate::parallel::groups::{Coordinates, Dim, MemberOrder, View};
use crate::parallel::mimo::{Field, ModuleParallelism, spec};
use crate::parallel::python::Refusal;
use crate::report::ranks::{RankPlace, places};

/// Longer lists of ranks than this are refused: they would fill the page's memory.
const MOST_RANKS: u64 = 1 << 20;

/// Reads `name=tp=N[,pp=N,dp=N,cp=N,ep=N,etp=N,rank_offset=N]`.
///
/// # Errors
/// Throws what MegatronMIMO's own parser raises: the exception's class is the error's name.
#[wasm_bindgen(js_name = parseComponentSpec, unchecked_return_type = "ComponentSpec")]
pub fn parse_component_spec(
    #[wasm_bindgen(unchecked_param_type = "string")] spec: &JsValue,
) -> Result<JsValue, JsValue> {
    let text = arguments::text(spec, "spec")?;
    let (name, parallelism) = spec::parse_component_spec(&text).map_err(|r| raised(&r))?;
    write(&ComponentSpec {
        name: &name,
        result: Parallelism(&parallelism),
    })
}

/// Reads the specs of all modules and, with a world size, gives modules without `dp` equal shares.
///
/// # Errors
/// Throws what MegatronMIMO raises.
#[wasm_bindgen(js_name = buildLayout, unchecked_return_type = "Record<string, ModuleParallelism>")]
pub fn build_layout(
    #[wasm_bindgen(unchecked_param_type = "string[]")] specs: &JsValue,
    #[wasm_bindgen(js_name = worldSize, unchecked_optional_param_type = "number | null")]
    world_size: &JsValue,
) -> Result<JsValue, JsValue> {
    let specs = arguments::texts(specs, "specs")?;
    let world_size = if world_size.is_null() || world_size.is_undefined() {
        None
    } else {
        Some(arguments::whole(world_size, "worldSize")?)
    };
    let modules = spec::build_layout(&specs, world_size).map_err(|r| raised(&r))?;
    write(&Layout(&modules))
}

/// The rank groups of a module over some dimensions of a view, in Megatron's order.
///
/// # Errors
/// Throws for a job that cannot run, and for names that do not exist.
#[wasm_bindgen(js_name = rankGroups, unchecked_return_type = "number[][]")]
pub fn rank_groups(
    #[wasm_bindgen(unchecked_param_type = "Job")] job: &JsValue,
    #[wasm_bindgen(js_name = moduleName, unchecked_param_type = "string")] module_name: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "'dense' | 'expert'")] view: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "string | string[]")] dims: &JsValue,
) -> Result<JsValue, JsValue> {
    let module_name = arguments::text(module_name, "moduleName")?;
    let view = arguments::text(view, "view")?;
    let config = checked(job)?;
    let module = config.modules().iter().find(|m| m.name() == module_name);
    let module =
        module.ok_or_else(|| failure(&format!("the job has no module named {module_name}")))?;
    let grids = module.rank_grids().map_err(|r| raised(&r))?;
    let view = match view.as_str() {
        "dense" => View::Dense,
        "expert" => View::Expert,
        other => {
            return Err(failure(&format!(
                "there is no view named {other}; use dense or expert"
            )));
        }
    };
    let names = match dims.as_string() {
        Some(text) => text.split('-').map(str::to_owned).collect(),
        None => arguments::texts(dims, "dims")?,
    };
    let dims: Vec<Dim> = names
        .iter()
        .map(|name| {
            Dim::from_name(name)
                .ok_or_else(|| failure(&format!("there is no dimension named {name}")))
        })
        .collect::<Result<_, _>>()?;
    let groups = grids.view(view).partition(&dims, MemberOrder::Ascending);
    let groups = groups.ok_or_else(|| {
        failure("the view does not have all of these dimensions, or one came twice")
    })?;
    if groups.count().saturating_mul(groups.group_size()) > MOST_RANKS {
        return Err(failure("too many ranks to list"));
    }
    write(&List(|| {
        groups
            .iter()
            .map(|group| group.ranks().map(Exact).collect::<Vec<_>>())
    }))
}

/// What one rank is: its module, coordinates, process groups, random seeds and memory. On a rank that
/// several modules share, these are the first module's, `modules` has all, and the memory is the rank's.
///
/// # Errors
/// Throws for a job that cannot run, and for a rank that no module has.
#[wasm_bindgen(js_name = rankInfo, unchecked_return_type = "RankInfo")]
pub fn rank_info(
    #[wasm_bindgen(unchecked_param_type = "Job")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "number")] rank: &JsValue,
) -> Result<JsValue, JsValue> {
    let rank = arguments::whole(rank, "rank")?;
    let config = checked(job)?;
    // No module has a rank that does not fit.
    let rank = u64::try_from(rank).unwrap_or(u64::MAX);
    let estimate = memory::estimate(&config);
    let places = places(&config, &estimate, rank);
    let found: Vec<ModuleOfRank> = places
        .iter()
        .filter_map(|place| {
            Some(ModuleOfRank {
                m: config.modules().get(place.stage.module)?,
                stage: estimate.stage(place.stage)?,
                place,
            })
        })
        .collect();
    match (found.first(), memory::rank_memory(&config, &estimate, rank)) {
        (Some(first), Some(memory)) => write(&RankInfo {
            first,
            modules: &found,
            memory: &memory,
        }),
        _ => Err(failure(&format!(
            "no module has this rank; the job has ranks 0 to {}",
            config.world_size().saturating_sub(1)
        ))),
    }
}

fn checked(job: &JsValue) -> Result<Config, JsValue> {
    let checked = check(&RawJob::from_value(&read(job)?));
    match checked.config {
        Some(config) => Ok(config),
        None => Err(refusal(&checked.problems)?),
    }
}

/// The error that a refusal of the framework becomes.
fn raised(refusal: &Refusal) -> JsValue {
    let error = js_sys::Error::new(&refusal.message);
    error.set_name(&refusal.exception.to_string());
    error.into()
}

struct ComponentSpec<'a> {
    name: &'a str,
    result: Parallelism<'a>,
}

impl Serialize for ComponentSpec<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(serializer, { "name": self.name, "result": self.result })
    }
}

struct Layout<'a>(&'a [(String, ModuleParallelism)]);

impl Serialize for Layout<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(name, parallelism)| (name, Parallelism(parallelism))),
        )
    }
}

struct Parallelism<'a>(&'a ModuleParallelism);

impl Serialize for Parallelism<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |n: i128| {
            u64::try_from(n).map_or_else(|_| Number::Other(n), |n| Number::Exact(Exact(n)))
        };
        serializer
            .collect_map(Field::ALL.map(|field| (field.name(), self.0.get(field).map(number))))
    }
}

enum Number {
    Exact(Exact),
    Other(i128),
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Exact(n) => n.serialize(serializer),
            Self::Other(n) => match i32::try_from(*n) {
                Ok(n) => serializer.serialize_i32(n),
                Err(_) => serializer.serialize_i128(*n),
            },
        }
    }
}

struct RankInfo<'a> {
    first: &'a ModuleOfRank<'a>,
    modules: &'a [ModuleOfRank<'a>],
    memory: &'a memory::RankMemory,
}

impl Serialize for RankInfo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = self.first;
        object!(serializer, {
            "rank": Exact(first.place.rank),
            "module": first.m.name(),
            "coordinates": Views(first.place.coordinates),
            "groups": Groups(first),
            "seeds": SeedsOf(first.place.seeds),
            "memory": Buckets(&self.memory.memory, self.memory.total),
            "modules": self.modules,
        })
    }
}

/// What a rank is to one of its modules.
struct ModuleOfRank<'a> {
    m: &'a Module,
    place: &'a RankPlace,
    stage: &'a memory::StageEstimate,
}

impl Serialize for ModuleOfRank<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(serializer, {
            "module": self.m.name(),
            "coordinates": Views(self.place.coordinates),
            "groups": Groups(self),
            "seeds": SeedsOf(self.place.seeds),
            "memory": super::output::Memory(self.stage),
        })
    }
}

struct Views(Coordinates);

impl Serialize for Views {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let c = self.0;
        let dense = [("tp", c.tp), ("cp", c.cp), ("dp", c.dp), ("pp", c.pp)];
        let expert = [
            ("expt_tp", c.etp),
            ("ep", c.ep),
            ("expt_dp", c.edp),
            ("pp", c.pp),
        ];
        object!(serializer, { "dense": Named(&dense), "expert": Named(&expert) })
    }
}

struct Named<'a>(&'a [(&'static str, u64)]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Exact(*value))))
    }
}

struct SeedsOf(Seeds);

impl Serialize for SeedsOf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Seeds {
            base,
            tensor_parallel,
            expert_parallel,
        } = self.0;
        object!(serializer, {
            "base": Exact(base),
            "tensor_parallel": Exact(tensor_parallel),
            "expert_parallel": Exact(expert_parallel),
        })
    }
}

/// The members of every process group that the rank is in; groups of more than 4096 ranks by size only.
struct Groups<'a>(&'a ModuleOfRank<'a>);

impl Serialize for Groups<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(info) = self;
        let mut map = serializer.serialize_struct("", 0)?;
        let mut done = Ok(());
        info.place.each_group(|kind, group| {
            if done.is_ok() && group.size() <= 4096 {
                let ranks = group.ranks().map(Exact).collect::<Vec<_>>();
                done = map.serialize_field(kind.name(), &ranks);
            }
        });
        done?;
        map.end()
    }
}
