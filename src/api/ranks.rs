//! Rank groups, and what one rank is.

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::estimate::by_bucket;
use super::plain_data::ByName;
use super::{Exact, arguments, error, job, to_js, to_ts};
use crate::config::check;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::memory::bucket::Bucket;
use crate::memory::{self, StageEstimate};
use crate::parallel::groups::{Dim, MemberOrder, View};
use crate::report::ranks::{RankPlace, places};
use crate::units::Bytes;

/// Longer lists of ranks than this are refused: they would fill the page's memory.
const MOST_RANKS: u64 = 1 << 20;
/// The largest process group whose members are listed.
const MOST_MEMBERS: u64 = 4096;

/// What one rank is: its first module, and the memory of all its modules.
#[derive(Debug, Serialize, Tsify)]
pub struct RankInfo {
    rank: Exact,
    module: String,
    coordinates: Coordinates,
    /// Members of its process groups, by Megatron's names; groups of more than 4096 ranks are left out.
    #[tsify(type = "Record<string, Exact[]>")]
    groups: Groups,
    seeds: Seeds,
    /// Bytes of the rank by bucket, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    /// Every module that runs on it, each with its own part of the memory.
    modules: Vec<ModuleOfRank>,
}

/// What a rank is to one of its modules.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct ModuleOfRank {
    module: String,
    coordinates: Coordinates,
    /// Members of its process groups, by Megatron's names; groups of more than 4096 ranks are left out.
    #[tsify(type = "Record<string, Exact[]>")]
    groups: Groups,
    seeds: Seeds,
    /// Bytes of its stage by bucket, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
}

/// Where a rank stands, in the view of dense layers and in that of experts.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct Coordinates {
    dense: DenseCoordinates,
    expert: ExpertCoordinates,
}

/// Where a rank stands in the view of dense layers.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct DenseCoordinates {
    tp: u64,
    cp: u64,
    dp: u64,
    pp: u64,
}

/// Where a rank stands in the view of experts.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct ExpertCoordinates {
    expt_tp: u64,
    ep: u64,
    expt_dp: u64,
    pp: u64,
}

/// The seeds of a rank's random number generators.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct Seeds {
    base: Exact,
    tensor_parallel: Exact,
    expert_parallel: Exact,
}

/// Members of process groups, by Megatron's names.
#[derive(Clone, Debug)]
struct Groups(Vec<(&'static str, Vec<Exact>)>);

impl Serialize for Groups {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, members)| (name, members)))
    }
}

/// The rank groups of a module over some dimensions of a view, in Megatron's order.
///
/// # Errors
/// Throws a `ConfigError` for a job that cannot run, an `Error` for names that do not exist.
#[wasm_bindgen(js_name = rankGroups, unchecked_return_type = "number[][]")]
pub fn rank_groups(
    #[wasm_bindgen(unchecked_param_type = "Job")] job: &JsValue,
    #[wasm_bindgen(js_name = moduleName, unchecked_param_type = "string")] module_name: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "'dense' | 'expert'")] view: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "string | string[]")] dims: &JsValue,
) -> Result<JsValue, JsValue> {
    let module_name = arguments::text(module_name, "moduleName")?;
    let view = match arguments::text(view, "view")?.as_str() {
        "dense" => View::Dense,
        "expert" => View::Expert,
        other => {
            let message = format!("there is no view named {other}; use dense or expert");
            return Err(error::plain(&message));
        }
    };
    let names = match dims.as_string() {
        Some(text) => text.split('-').map(str::to_owned).collect(),
        None => arguments::texts(dims, "dims")?,
    };
    let unknown = |name| error::plain(&format!("there is no dimension named {name}"));
    let dims = names.iter();
    let dims: Vec<Dim> = dims
        .map(|name| Dim::from_name(name).ok_or_else(|| unknown(name)))
        .collect::<Result<_, _>>()?;
    let config = checked(job)?;
    let module = config.modules().iter().find(|m| m.name() == module_name);
    let missing = || error::plain(&format!("the job has no module named {module_name}"));
    let module = module.ok_or_else(missing)?;
    let grids = module.rank_grids();
    let grids = grids.map_err(|exception| error::raised(&exception))?;
    let groups = grids.view(view).partition(&dims, MemberOrder::Ascending);
    let groups = groups.ok_or_else(|| {
        error::plain("the view does not have all of these dimensions, or one came twice")
    })?;
    if groups.count().saturating_mul(groups.group_size()) > MOST_RANKS {
        return Err(error::plain("too many ranks to list"));
    }
    let groups = groups.iter();
    let groups: Vec<Vec<Exact>> = groups
        .map(|group| group.ranks().map(Exact::from).collect())
        .collect();
    to_js(&groups)
}

/// What one rank is: its module, coordinates, process groups, random seeds and memory. On a rank that several modules share,
/// these are the first module's, `modules` has all, and the memory is the rank's.
///
/// # Errors
/// Throws a `ConfigError` for a job that cannot run, an `Error` for a rank that no module has.
#[wasm_bindgen(js_name = rankInfo)]
pub fn rank_info(
    #[wasm_bindgen(unchecked_param_type = "Job")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "number")] rank: &JsValue,
) -> Result<Ts<RankInfo>, JsValue> {
    let rank = arguments::whole(rank, "rank")?;
    let config = checked(job)?;
    let info = u64::try_from(rank)
        .ok()
        .and_then(|rank| RankInfo::new(&config, rank));
    let info = info.ok_or_else(|| {
        let last = config.world_size().saturating_sub(1);
        error::plain(&format!(
            "no module has this rank; the job has ranks 0 to {last}"
        ))
    })?;
    to_ts(&info)
}

fn checked(job: &JsValue) -> Result<Config, JsValue> {
    let checked = check(&RawJob::from_value(&job::read(job)?));
    checked
        .config
        .ok_or_else(|| error::config(&checked.problems))
}

impl RankInfo {
    /// What a rank is; `None` where no module has it.
    fn new(config: &Config, rank: u64) -> Option<Self> {
        let estimate = memory::estimate(config);
        let all = memory::rank_memory(config, &estimate, rank)?;
        let places = places(config, &estimate, rank);
        let modules = places.iter().filter_map(|place| {
            let m = config.modules().get(place.stage.module)?;
            let StageEstimate { memory, total, .. } = estimate.stage(place.stage)?;
            Some(ModuleOfRank::new(m, place, memory, *total))
        });
        let modules: Vec<ModuleOfRank> = modules.collect();
        let first = modules.first()?.clone();
        Some(Self {
            rank: places.first()?.rank.into(),
            module: first.module,
            coordinates: first.coordinates,
            groups: first.groups,
            seeds: first.seeds,
            memory: by_bucket(&all.memory, all.total),
            modules,
        })
    }
}

impl ModuleOfRank {
    fn new(m: &Module, place: &RankPlace, memory: &[Bytes; Bucket::COUNT], total: Bytes) -> Self {
        let (at, seeds) = (place.coordinates, place.seeds);
        let mut groups = Vec::new();
        place.each_group(|kind, group| {
            if group.size() <= MOST_MEMBERS {
                groups.push((kind.name(), group.ranks().map(Exact::from).collect()));
            }
        });
        Self {
            module: m.name().to_owned(),
            coordinates: Coordinates {
                dense: DenseCoordinates {
                    tp: at.tp,
                    cp: at.cp,
                    dp: at.dp,
                    pp: at.pp,
                },
                expert: ExpertCoordinates {
                    expt_tp: at.etp,
                    ep: at.ep,
                    expt_dp: at.edp,
                    pp: at.pp,
                },
            },
            groups: Groups(groups),
            seeds: Seeds {
                base: seeds.base.into(),
                tensor_parallel: seeds.tensor_parallel.into(),
                expert_parallel: seeds.expert_parallel.into(),
            },
            memory: by_bucket(memory, total),
        }
    }
}
