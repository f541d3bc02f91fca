//! Ranks and modules for JavaScript: component specs, layouts, rank groups, and what one rank is.

use wasm_bindgen::prelude::*;

use super::output::buckets;
use super::text::{Writer, written};
use super::{arguments, failure, read, refusal};
use crate::config::check;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::memory::bucket::Bucket;
use crate::memory::{self, StageEstimate};
use crate::parallel::groups::{Dim, MemberOrder, View};
use crate::parallel::mimo::{Field, ModuleParallelism, spec};
use crate::parallel::python::Refusal;
use crate::report::ranks::{RankPlace, places};
use crate::units::{Bytes, multiply};

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
    written(|w| {
        w.object(|w| {
            w.key("name").text(&name);
            w.key("result");
            sizes(w, &parallelism);
        });
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
    written(|w| {
        w.object(|w| {
            for (name, parallelism) in &modules {
                w.any_key(name);
                sizes(w, parallelism);
            }
        });
    })
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
    if multiply(groups.count(), groups.group_size()) > MOST_RANKS {
        return Err(failure("too many ranks to list"));
    }
    written(|w| {
        w.list(|w| {
            for group in groups.iter() {
                w.list(|w| group.ranks().for_each(|rank| w.number(rank)));
            }
        });
    })
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
        (Some(first), Some(memory)) => written(|w| {
            w.object(|w| {
                w.key("rank").number(first.place.rank);
                of_module(w, first, &memory.memory, memory.total);
                w.key("modules").list(|w| {
                    for of in &found {
                        let StageEstimate { memory, total, .. } = of.stage;
                        w.object(|w| of_module(w, of, memory, *total));
                    }
                });
            });
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

fn sizes(w: &mut Writer, parallelism: &ModuleParallelism) {
    w.object(|w| {
        for field in Field::ALL {
            w.key(field.name());
            match parallelism.get(field) {
                Some(size) => w.signed(size),
                None => w.null(),
            }
        }
    });
}

/// What a rank is to one of its modules.
struct ModuleOfRank<'a> {
    m: &'a Module,
    place: &'a RankPlace,
    stage: &'a StageEstimate,
}

/// The fields about one of a rank's modules, and the memory of the rank or of its stage of that module.
fn of_module(w: &mut Writer, of: &ModuleOfRank<'_>, memory: &[Bytes; Bucket::COUNT], total: Bytes) {
    let (c, seeds) = (of.place.coordinates, of.place.seeds);
    w.key("module").text(of.m.name());
    w.key("coordinates").object(|w| {
        w.key("dense");
        named(w, &[("tp", c.tp), ("cp", c.cp), ("dp", c.dp), ("pp", c.pp)]);
        w.key("expert");
        let expert = [
            ("expt_tp", c.etp),
            ("ep", c.ep),
            ("expt_dp", c.edp),
            ("pp", c.pp),
        ];
        named(w, &expert);
    });
    w.key("groups").object(|w| {
        // Larger groups are there by their size alone.
        of.place.each_group(|kind, group| {
            if group.size() <= 4096 {
                w.key(kind.name())
                    .list(|w| group.ranks().for_each(|rank| w.number(rank)));
            }
        });
    });
    w.key("seeds");
    let seeds = [
        ("base", seeds.base),
        ("tensor_parallel", seeds.tensor_parallel),
        ("expert_parallel", seeds.expert_parallel),
    ];
    named(w, &seeds);
    w.key("memory");
    buckets(w, memory, total);
}

fn named(w: &mut Writer, numbers: &[(&'static str, u64)]) {
    w.object(|w| {
        for (name, number) in numbers {
            w.key(name).number(*number);
        }
    });
}
