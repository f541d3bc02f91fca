//! Tests of `parallel::mimo`.

mod specs;

use megatron_memory::parallel::groups::{Dim, Grid, MemberOrder, RankGrids, View};
use megatron_memory::parallel::mimo::spec::{build_layout, parse_component_spec, write_component_spec};
use megatron_memory::parallel::mimo::{Field, MimoInput, ModuleInput, ModuleParallelism, ModuleProblem, Rule};
use megatron_memory::parallel::problem::{Change, Repair};
use megatron_memory::python::PythonError;
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use crate::oracle;

/// The dimension lists of the recorded enumerations, as `build_hypercomm_grids` creates the groups.
const DENSE: [&str; 9] = [
    "tp",
    "cp",
    "pp",
    "dp",
    "dp-cp",
    "tp-cp",
    "tp-pp",
    "tp-dp-cp",
    "tp-cp-dp-pp",
];
const EXPERT: [&str; 6] = ["ep", "expt_tp", "expt_dp", "pp", "expt_tp-ep", "expt_tp-ep-pp"];

fn value(json: &Json) -> Value {
    serde_json::from_value(json.clone()).unwrap()
}

/// Carries out a repair.
fn apply(job: &mut MimoInput, repair: &Repair) {
    for change in &repair.changes {
        match change {
            Change::Set { module, field, value } => job.modules[*module].set(*field, Value::Int(*value)),
            Change::Rename { module, name } => job.modules[*module].name.clone_from(name),
            Change::WorldSize(ranks) => job.world_size = Value::Int(*ranks),
        }
    }
}

fn refused(error: &PythonError) -> Json {
    json!({"type": error.exception.to_string(), "message": error.message})
}

fn number(result: Result<i128, PythonError>) -> Json {
    match result {
        Ok(number) => json!(i64::try_from(number).unwrap()),
        Err(error) => json!({"error": refused(&error)}),
    }
}

fn fields(parallelism: &ModuleParallelism) -> Map<String, Json> {
    let entry = |field: Field| {
        (
            field.name().to_owned(),
            json!(parallelism.get(field).map(|n| i64::try_from(n).unwrap())),
        )
    };
    Field::ALL.into_iter().map(entry).collect()
}

fn derived(parallelism: &ModuleParallelism) -> Json {
    let mut entries = fields(parallelism);
    let size = parallelism.dense_model_parallel_size();
    entries.insert("dense_model_parallel_size".to_owned(), number(size.clone()));
    entries.insert("total_model_parallel_size".to_owned(), number(size));
    entries.insert("total_ranks".to_owned(), number(parallelism.total_ranks()));
    entries.insert(
        "expert_data_parallel_size".to_owned(),
        number(parallelism.expert_data_parallel_size()),
    );
    Json::Object(entries)
}

fn enumerations(grid: &Grid<Dim>, keys: &[&str]) -> Json {
    let groups = |key: &str| {
        let dims: Vec<_> = key.split('-').map(|name| Dim::from_name(name).unwrap()).collect();
        let partition = grid.partition(&dims, MemberOrder::Ascending).unwrap();
        let groups: Vec<Vec<u64>> = partition.iter().map(|group| group.ranks().collect()).collect();
        (key.to_owned(), json!(groups))
    };
    Json::Object(keys.iter().map(|key| groups(key)).collect())
}

fn rank_groups(grids: &RankGrids) -> Json {
    json!({
        "dense": enumerations(grids.view(View::Dense), &DENSE),
        "expert": enumerations(grids.view(View::Expert), &EXPERT),
    })
}

fn records(file: &str, key: &str, count: usize) -> Vec<Json> {
    let records = oracle::json(file)[key].as_array().unwrap().clone();
    assert_eq!(records.len(), count);
    records
}

#[test]
fn modules_are_finalized_as_upstream_does() {
    for record in records("reference/mimo_config.json", "module_parallelism", 34) {
        let module = ModuleInput::read("module", &value(&record["input"])).unwrap();
        let mut ours = json!({"input": record["input"], "world_size": record["world_size"]});
        // Sizes were only recorded where the model-parallel sizes allow a division.
        let before = module
            .as_set()
            .filter(|set| Field::ALL[..5].iter().all(|field| set.get(*field) > Some(0)));
        ours["before"] = before.map_or(Json::Null, |parallelism| derived(&parallelism));
        match module.finalize(&value(&record["world_size"])) {
            Err(error) => ours["error"] = refused(&error),
            Ok(parallelism) => {
                ours["after"] = derived(&parallelism);
                if record.get("rank_groups").is_some() {
                    ours["rank_groups"] = rank_groups(&parallelism.rank_grids().unwrap());
                }
            }
        }
        assert_eq!(ours, record);
    }
}

#[test]
fn sets_of_modules_are_finalized_as_upstream_does() {
    // Read without the detour through serde_json's maps, which forget the order of modules.
    let text = std::fs::read_to_string(oracle::folder().join("reference/mimo_config.json")).unwrap();
    let ordered: Value = serde_json::from_str(&text).unwrap();
    let Some(Value::List(ordered)) = ordered.get("mimo_parallelism") else {
        panic!("no records")
    };
    let records = records("reference/mimo_config.json", "mimo_parallelism", 24);
    for (record, ordered) in records.into_iter().zip(ordered) {
        let input = MimoInput::read(ordered.get("input").unwrap(), &value(&record["world_size"])).unwrap();
        let names: Vec<_> = input.modules.iter().map(|module| &module.name).collect();
        let mut ours = json!({"input": record["input"], "world_size": record["world_size"], "module_names": names});
        ours["total_world_size_before"] = number(input.total_world_size());
        match input.finalize() {
            Err(error) => ours["error"] = refused(&error),
            Ok(layout) => {
                ours["total_world_size"] = json!(layout.world_size());
                for module in layout.modules() {
                    ours["modules"][&module.name] = derived(&module.parallelism);
                    ours["rank_groups"][&module.name] = rank_groups(&module.grids);
                }
            }
        }
        assert_eq!(ours, record);
    }
}

fn input(modules: &Json, world_size: i64) -> MimoInput {
    let read = |module: &Json| {
        let name = module["name"].as_str().unwrap();
        ModuleInput::pick(name, &value(module))
    };
    let modules = modules.as_array().unwrap().iter().map(read).collect();
    MimoInput {
        modules,
        world_size: Value::Int(world_size.into()),
    }
}

fn rules<T>(checked: &Result<T, Vec<ModuleProblem>>) -> Vec<&'static str> {
    checked
        .as_ref()
        .err()
        .map(|problems| problems.iter().map(|p| p.rule).collect())
        .unwrap_or_default()
}

#[test]
fn every_problem_is_found_at_its_module() {
    let job = input(
        &json!([
            {"name": "language", "tensor_model_parallel_size": 3, "data_parallel_size": 2},
            {"name": "images", "data_parallel_size": 3, "rank_offset": 5, "expert_model_parallel_size": 3},
            {"name": "audio", "data_parallel_size": 3, "rank_offset": 9},
        ]),
        16,
    );
    let problems = job.check().unwrap_err();
    let found: Vec<_> = problems
        .iter()
        .map(|p| (p.rule, job.modules[p.module].name.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (Rule::NoOverlap, "images"),
            (Rule::NoGap, "audio"),
            // The whole job's.
            (Rule::CoverWorld, "language"),
            (Rule::DenseEncoders, "images"),
            (Rule::TensorParallelPowerOfTwo, "language"),
            (Rule::DataParallelDivides, "images"),
        ]
        .map(|(rule, module)| (rule.name(), module))
    );
}

#[test]
fn wrong_types_are_refused_as_python_refuses_them() {
    let message = |module: Json| {
        let module = ModuleInput::read("m", &value(&module))?;
        module.finalize(&Value::Int(8)).map(|_| String::new())
    };
    for (module, expected) in [
        (
            json!({"context_parallel_size": "2"}),
            "'<=' not supported between instances of 'str' and 'int'",
        ),
        (
            json!({"data_parallel_size": [2]}),
            "'<=' not supported between instances of 'list' and 'int'",
        ),
        (
            json!({"rank_offset": null}),
            "'<' not supported between instances of 'NoneType' and 'int'",
        ),
        (
            json!({"tensor_model_parallel_size": 2.0}),
            "'float' object cannot be interpreted as an integer",
        ),
        (
            json!({"tensor_model_parallel_size": -0.5}),
            "tensor_model_parallel_size must be positive.",
        ),
        (
            json!({"tensor_model_parallel_size": false}),
            "tensor_model_parallel_size must be positive.",
        ),
        (
            json!({"tp": 2}),
            "ModuleParallelismConfig.__init__() got an unexpected keyword argument 'tp'",
        ),
    ] {
        assert_eq!(message(module).unwrap_err().message, expected);
    }
}

#[test]
fn one_click_puts_it_right() {
    let cases = [
        // A gap: everything after it moves.
        (
            json!([{"name": "language", "data_parallel_size": 4}, {"name": "a", "data_parallel_size": 2, "rank_offset": 5},
                {"name": "b", "data_parallel_size": 2, "rank_offset": 7}]),
            8,
        ),
        // An overlap.
        (
            json!([{"name": "language", "data_parallel_size": 4}, {"name": "a", "data_parallel_size": 4, "rank_offset": 2}]),
            8,
        ),
        // More ranks than the world has.
        (
            json!([{"name": "language", "data_parallel_size": 4}, {"name": "a", "data_parallel_size": 8, "rank_offset": 4}]),
            8,
        ),
        // An encoder with experts.
        (
            json!([{"name": "language", "data_parallel_size": 4}, {"name": "a", "data_parallel_size": 4, "rank_offset": 4,
                "expert_model_parallel_size": 2, "expert_tensor_parallel_size": 2}]),
            8,
        ),
        (json!([{"name": "llm", "data_parallel_size": 8}]), 8),
        (
            json!([{"name": "language", "data_parallel_size": 4, "expert_model_parallel_size": 3}]),
            4,
        ),
        (json!([{"name": "language", "tensor_model_parallel_size": 2}]), 8),
        (
            json!([{"name": "language", "data_parallel_size": 8, "rank_offset": -1}]),
            8,
        ),
        (
            json!([
                {"name": "images", "data_parallel_size": 4},
                {"name": "", "data_parallel_size": 4, "rank_offset": 4},
            ]),
            8,
        ),
    ];
    for (modules, world) in cases {
        let mut job = input(&modules, world);
        let problems = job.check().unwrap_err();
        apply(&mut job, problems[0].repair.as_ref().unwrap());
        assert_eq!(rules(&job.check()), [""; 0], "{modules}");
    }
}

#[test]
fn repairs_stay_close_to_what_was_set() {
    let label = |modules: Json, world| {
        let problems = input(&modules, world).check().unwrap_err();
        problems
            .iter()
            .filter_map(|problem| problem.repair.clone())
            .map(|repair| repair.label)
            .collect::<Vec<_>>()
    };
    let language = |dp: i64| json!({"name": "language", "data_parallel_size": dp});
    let images = json!({"name": "images", "data_parallel_size": 3, "rank_offset": 4});
    assert_eq!(
        label(json!([language(4), images]), 7),
        ["Set data_parallel_size of images to 2"]
    );
    let tp = |tp: i64| json!([{"name": "language", "tensor_model_parallel_size": tp, "data_parallel_size": 1}]);
    assert_eq!(label(tp(7), 7), ["Set tensor_model_parallel_size of language to 8"]);
    assert_eq!(label(tp(6), 6), ["Set tensor_model_parallel_size of language to 4"]);
    let images = json!({"name": "images", "data_parallel_size": 4, "rank_offset": 6});
    assert_eq!(
        label(json!([language(4), images]), 8),
        ["Move images to rank 4", "Lay the modules out one after another"]
    );
    let twice = json!([language(4), {"name": "language", "data_parallel_size": 4, "rank_offset": 4}]);
    assert_eq!(label(twice, 8), ["Rename language to language_2"]);
}

#[test]
fn a_rank_belongs_to_one_module() {
    let specs = ["language=tp=4,pp=2,dp=2", "images=tp=1,dp=1,rank_offset=16"];
    let layout = MimoInput::new(&build_layout(&specs, Some(17)).unwrap(), 17)
        .finalize()
        .unwrap();
    let names = |rank| {
        layout
            .modules_at(rank)
            .map(|module| module.name.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(15), ["language"]);
    assert_eq!(names(16), ["images"]);
    assert_eq!(names(17), [""; 0]);
    assert_eq!(layout.module("language").unwrap().grids.coordinates(13).unwrap().dp, 1);
}

#[test]
fn colocated_modules_share_every_rank() {
    let language = json!({"name": "language", "tensor_model_parallel_size": 4});
    let images = |dp: i64| json!({"name": "images", "data_parallel_size": dp});
    let layout = input(&json!([language, images(8)]), 8).check_colocated().unwrap();
    assert_eq!(layout.modules_at(7).count(), 2);
    assert_eq!(layout.modules()[0].parallelism.data_parallel_size, Some(2));
    let staged =
        json!({"name": "images", "pipeline_model_parallel_size": 2, "rank_offset": 1, "data_parallel_size": 3});
    let problems = input(&json!([language, staged]), 8).check_colocated();
    let expected = [
        Rule::SameRanks,
        Rule::SameRanks,
        Rule::NoPipelineOrContext,
        Rule::DataParallelDivides,
    ];
    assert_eq!(rules(&problems), expected.map(Rule::name));
}

#[test]
fn one_click_lays_modules_out() {
    let modules = json!([
        {"name": "images", "data_parallel_size": 4},
        {"name": "language", "tensor_model_parallel_size": 2},
        {"name": "audio"},
    ]);
    let mut job = input(&modules, 12);
    let layout = job.lay_out().unwrap();
    apply(&mut job, &layout);
    assert_eq!(rules(&job.check()), [""; 0]);
    assert_eq!(job.lay_out(), None);
    assert_eq!(input(&modules, 13).lay_out(), None);
    assert_eq!(input(&modules, 4).lay_out(), None);
}

fn any_size() -> impl Strategy<Value = i128> {
    prop_oneof![4 => 1..9_i128, 1 => -2..40_i128, 1 => any::<i128>()]
}

prop_compose! {
    fn any_parallelism()(
        sizes in proptest::array::uniform5(any_size()),
        dp in proptest::option::weighted(0.8, any_size()),
        rank_offset in any_size(),
    ) -> ModuleParallelism {
        let [tp, pp, cp, ep, etp] = sizes;
        ModuleParallelism {
            tensor_model_parallel_size: tp,
            pipeline_model_parallel_size: pp,
            context_parallel_size: cp,
            expert_model_parallel_size: ep,
            expert_tensor_parallel_size: etp,
            data_parallel_size: dp,
            rank_offset,
        }
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any_size().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        ".*".prop_map(Value::Text),
    ];
    let key = prop_oneof![
        Just("language".to_owned()),
        proptest::sample::select(&Field::ALL[..]).prop_map(|field| { field.name().to_owned() }),
        ".{0,4}"
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            proptest::collection::vec((key.clone(), inner), 0..6).prop_map(Value::Map),
        ]
    })
}

proptest! {
    #[test]
    fn specs_are_read_back(name in "[^=\\s\\x1c-\\x1f]{1,8}", parallelism in any_parallelism()) {
        let spec = write_component_spec(&name, &parallelism).unwrap();
        prop_assert_eq!(parse_component_spec(&spec), Ok((name, parallelism)));
    }

    #[test]
    fn names_that_no_spec_carries_are_not_written(name in "[ =a]{0,4}") {
        if let Some(spec) = write_component_spec(&name, &ModuleParallelism::default()) {
            prop_assert_eq!(parse_component_spec(&spec).unwrap().0, name);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(texts in proptest::collection::vec("([a-z]*=)?(tp|dp|ep)?=?.*", 0..4),
        world in proptest::option::of(any_size())) {
        if let (Ok(modules), Some(world)) = (build_layout(&texts, world), world) {
            let _ = MimoInput::new(&modules, world).check();
        }
    }

    #[test]
    fn any_value_is_accepted_or_refused(modules in any_value(), world in any_value()) {
        if let Ok(input) = MimoInput::read(&modules, &world) {
            let _ = input.total_world_size();
            prop_assert_eq!(input.check().is_ok(), input.finalize().is_ok());
            let _ = (input.check_colocated(), input.lay_out());
        }
        let _ = ModuleInput::pick("language", &modules).check(&world);
    }

    /// What passes the rules tiles the world; whatever a repair does, it applies.
    #[test]
    fn accepted_layouts_tile_the_world(modules in proptest::collection::vec(any_parallelism(), 1..4), world in any_size()) {
        let names = ["language", "images", "audio"];
        let modules: Vec<_> = names.into_iter().map(str::to_owned).zip(modules).collect();
        let mut input = MimoInput::new(&modules, world);
        for _ in 0..12 {
            match input.check() {
                Ok(layout) => {
                    let total: u64 = layout.modules().iter().map(|m| m.grids.ranks().end - m.grids.ranks().start).sum();
                    prop_assert_eq!(total, layout.world_size());
                    prop_assert_eq!(&input.world_size, &Value::Int(total.into()));
                    break;
                }
                Err(problems) => {
                    let Some(repair) = problems.iter().find_map(|problem| problem.repair.clone()) else { break };
                    apply(&mut input, &repair);
                }
            }
        }
    }
}
