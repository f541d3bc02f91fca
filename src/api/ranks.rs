//! `rankGroups` and `rankInfo`: process groups of a module, and everything about one rank.

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::estimate::by_bucket;
use super::job::Given;
use super::plain_data::ByName;
use super::{Exact, arguments, error, to_js, to_ts};
use megatron_memory::config::check;
use megatron_memory::config::job::{Config, Module};
use megatron_memory::memory::{self, StageEstimate};
use megatron_memory::parallel::groups::{Dim, MemberOrder, View};
use megatron_memory::report::ranks::{RankPlace, places};

/// The most ranks that `rankGroups` lists. More would fill the page's memory.
const MOST_RANKS: u64 = 1 << 20;
/// The size of the largest process group whose members `rankInfo` lists.
const MOST_MEMBERS: u64 = 4096;

/// Everything about one rank. `module`, `coordinates`, `groups` and `seeds` are those of the first of the modules that
/// run on it; `memory` is the sum over all of them.
#[derive(Debug, Serialize, Tsify)]
pub struct RankInfo {
    rank: Exact,
    #[serde(flatten)]
    first_module: RankInModule,
    /// Bytes of the rank by bucket at the peak, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    /// Every module that runs on the rank, each with the memory of its own stage.
    modules: Vec<ModuleOfRank>,
}

/// A rank in one of its modules, with the memory of its stage.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct ModuleOfRank {
    #[serde(flatten)]
    rank: RankInModule,
    /// Bytes of the module's stage by bucket at the peak, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
}

/// The coordinates, process groups and seeds of a rank in one of its modules.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct RankInModule {
    /// The module's name.
    module: String,
    coordinates: Coordinates,
    /// The ranks of each process group that the rank is in, by Megatron's name of the group; without groups of more
    /// than 4096 ranks.
    #[tsify(type = "Record<string, Exact[]>")]
    groups: Groups,
    seeds: Seeds,
}

/// A rank's coordinates in the rank grid of dense layers and in that of experts.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct Coordinates {
    dense: DenseCoordinates,
    expert: ExpertCoordinates,
}

/// A rank's coordinates in the rank grid of dense layers.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct DenseCoordinates {
    tp: u64,
    cp: u64,
    dp: u64,
    pp: u64,
}

/// A rank's coordinates in the rank grid of experts.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct ExpertCoordinates {
    expt_tp: u64,
    ep: u64,
    expt_dp: u64,
    pp: u64,
}

/// The seeds of a rank's random number generators: Megatron's base seed on its pipeline stage, and those of the tensor
/// and expert parallel generators.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct Seeds {
    base: Exact,
    tensor_parallel: Exact,
    expert_parallel: Exact,
}

/// The ranks of process groups, by Megatron's names of the groups.
#[derive(Clone, Debug)]
struct Groups(Vec<(&'static str, Vec<Exact>)>);

impl Serialize for Groups {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, members)| (name, members)))
    }
}

/// The process groups of a module over some dimensions of its dense or expert rank grid, in Megatron's order. `dims`
/// names the dimensions, as an array or joined by hyphens, such as `tp-cp`.
///
/// # Errors
/// Throws a `ConfigError` for a job with mistakes, a `RankError` for an unknown module, view or dimension.
#[wasm_bindgen(js_name = rankGroups, unchecked_return_type = "number[][]")]
pub fn rank_groups(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
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
            return Err(error::rank(&message));
        }
    };
    let names = match dims.as_string() {
        Some(text) => text.split('-').map(str::to_owned).collect(),
        None => arguments::texts(dims, "dims")?,
    };
    let unknown = |name| error::rank(&format!("there is no dimension named {name}"));
    let dims = names.iter();
    let dims: Vec<Dim> = dims
        .map(|name| Dim::from_name(name).ok_or_else(|| unknown(name)))
        .collect::<Result<_, _>>()?;
    let config = checked(job)?;
    let module = config.modules().iter().find(|m| m.name() == module_name);
    let missing = || error::rank(&format!("the job has no module named {module_name}"));
    let module = module.ok_or_else(missing)?;
    let grids = module.rank_grids();
    let grids = grids.map_err(|exception| error::raised(&exception))?;
    let groups = grids.view(view).partition(&dims, MemberOrder::Ascending);
    let groups =
        groups.ok_or_else(|| error::rank("the view does not have all of these dimensions, or one came twice"))?;
    if groups.count().saturating_mul(groups.group_size()) > MOST_RANKS {
        return Err(error::rank("too many ranks to list"));
    }
    let groups = groups.iter();
    let groups: Vec<Vec<Exact>> = groups.map(|group| group.ranks().map(Exact::from).collect()).collect();
    to_js(&groups)
}

/// Everything about one rank: its module, coordinates, process groups, random seeds and memory. Several modules may
/// share the rank: these are then the first module's, with the memory of all, and `modules` has each.
///
/// # Errors
/// Throws a `ConfigError` for a job with mistakes, a `RankError` for a rank that no module has.
#[wasm_bindgen(js_name = rankInfo)]
pub fn rank_info(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "number")] rank: &JsValue,
) -> Result<Ts<RankInfo>, JsValue> {
    let rank = arguments::whole(rank, "rank")?;
    let config = checked(job)?;
    let info = u64::try_from(rank).ok().and_then(|rank| RankInfo::new(&config, rank));
    let info = info.ok_or_else(|| error::no_rank(&config))?;
    to_ts(&info)
}

fn checked(job: &JsValue) -> Result<Config, JsValue> {
    let checked = check(&Given::read(job, None)?.into_job());
    checked.config.ok_or_else(|| error::config(&checked.problems))
}

impl RankInfo {
    /// Everything about a rank; `None` where no module has it.
    fn new(config: &Config, rank: u64) -> Option<Self> {
        let estimate = memory::estimate(config);
        let all = memory::rank_memory(config, &estimate, rank)?;
        let places = places(config, &estimate, rank);
        let modules = places.iter().filter_map(|place| {
            let m = config.modules().get(place.stage.module)?;
            let StageEstimate { memory, total, .. } = estimate.stage(place.stage)?;
            Some(ModuleOfRank {
                rank: RankInModule::new(m, place),
                memory: by_bucket(memory, *total),
            })
        });
        let modules: Vec<ModuleOfRank> = modules.collect();
        Some(Self {
            rank: places.first()?.rank.into(),
            first_module: modules.first()?.rank.clone(),
            memory: by_bucket(&all.memory, all.total),
            modules,
        })
    }
}

impl RankInModule {
    fn new(m: &Module, place: &RankPlace) -> Self {
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
        }
    }
}
