//! Laws of the time of a step, for any job: with every pass replayed, as for the job on the page, and with the closed form
//! of its pipeline, as in searches.

use std::panic::Location;

use megatron_memory::config::check;
use megatron_memory::config::choices::RecomputeModule;
use megatron_memory::config::fields::FieldId;
use megatron_memory::memory::estimate;
use megatron_memory::search::{Candidate, ranking};
use megatron_memory::time::{Part, TimeTables, step_time};
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use strum::IntoEnumIterator;

use crate::memory::jobs::{any_job, config, raw, with};

/// Times are sums of seconds in another order, so that the last digits may differ.
const ROUNDING: f64 = 1e-9;

/// A job on a GPU whose times are predicted.
fn timed_job() -> impl Strategy<Value = Json> {
    any_job().prop_map(|job| match job.get("gpu") {
        Some(_) => job,
        None => with(&job, &json!({ "gpu": "h100-80gb" })),
    })
}

/// The seconds of a step, replayed and in the closed form.
fn times(job: &Json) -> [f64; 2] {
    let config = config(job);
    let estimate = estimate(&config);
    let stages = estimate.modules[0].stages.iter().map(|stage| stage.memory);
    let closed = TimeTables::default().step_nanoseconds(&config, stages).unwrap();
    [step_time(&config, &estimate).unwrap().seconds, closed as f64 * 1e-9]
}

/// Asserts that no time is longer than the other one of its kind.
#[track_caller]
fn never_longer(times: [f64; 2], than: [f64; 2], job: &Json) -> Result<(), TestCaseError> {
    for (time, than) in times.into_iter().zip(than) {
        // Nanoseconds are whole.
        let most = than * (1.0 + ROUNDING) + 1e-9;
        prop_assert!(time <= most, "{}: {time} s and {than} s: {job}", Location::caller());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_sum_to_the_whole(job in timed_job()) {
        let config = config(&job);
        let time = step_time(&config, &estimate(&config)).unwrap();
        let sum: f64 = time.parts.iter().sum();
        prop_assert!((sum - time.seconds).abs() <= ROUNDING * time.seconds);
        for part in Part::iter() {
            prop_assert!(time.part(part) >= -ROUNDING * time.seconds, "{part:?}: {:?} of {job}", time.parts);
        }
    }

    #[test]
    fn a_network_that_is_twice_as_fast_slows_no_job(job in timed_job(), gb in 1u64..100) {
        let on = |gb: u64| times(&with(&job, &json!({ "network_gb_per_second": gb })));
        never_longer(on(2 * gb), on(gb), &job)?;
    }

    #[test]
    fn more_micro_batches_never_cost_more_a_token(job in timed_job(), factor in 2u64..9) {
        let batch = job["global_batch_size"].as_u64().unwrap();
        let larger = with(&job, &json!({ "global_batch_size": factor * batch }));
        never_longer(times(&larger).map(|time| time / factor as f64), times(&job), &job)?;
    }

    #[test]
    fn recomputing_more_is_never_faster(job in timed_job(), chosen in any::<u32>(), more in any::<u32>()) {
        let selective = |chosen: u32| {
            let modules = RecomputeModule::NAMES.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1);
            let modules: Vec<&str> = modules.map(|(_, module)| *module).collect();
            with(&job, &json!({ "recompute_granularity": "selective", "recompute_modules": modules }))
        };
        let full = |method: &str, layers: u64| {
            let settings = json!({
                "recompute_granularity": "full", "recompute_method": method, "recompute_num_layers": layers,
            });
            with(&job, &settings)
        };
        // Each way recomputes at least what the one before does.
        for ways in [
            vec![job.clone(), selective(chosen & more), selective(chosen)],
            vec![job.clone(), full("block", 1), full("block", 2), full("uniform", 1)],
        ] {
            let legal: Vec<&Json> = ways.iter().filter(|way| check(&raw(way)).config.is_some()).collect();
            for pair in legal.windows(2) {
                never_longer(times(pair[0]), times(pair[1]), pair[1])?;
            }
        }
    }

    /// A size of 1 that is given takes as long as one that is not, and searches take both for a tie.
    #[test]
    fn equal_layouts_tie(job in timed_job()) {
        let sizes = [
            FieldId::tensor_model_parallel_size,
            FieldId::pipeline_model_parallel_size,
            FieldId::context_parallel_size,
            FieldId::expert_model_parallel_size,
        ];
        let said = sizes.map(|field| {
            let given = job.get(field.field().name).and_then(Json::as_u64);
            let otherwise = match given {
                None => Value::Int(1),
                Some(1) => Value::Null,
                Some(size) => Value::Int(size.into()),
            };
            (field, otherwise)
        });
        let job = raw(&job);
        let both = [Candidate::with_settings(0, &job, 0, &[]), Candidate::with_settings(1, &job, 0, &said)];
        let [one, other] = both.map(Option::unwrap);
        prop_assert_eq!(one.step_nanoseconds, other.step_nanoseconds);
        prop_assert!(one.step_nanoseconds.is_some());
        for ranked in ranking(&both) {
            let rank = ranked.rank.unwrap();
            prop_assert_eq!((rank.number, rank.is_tie), (1, true));
        }
    }
}
