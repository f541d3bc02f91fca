//! What recompute saves, and what it costs.

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::estimate;
use megatron_memory::memory::savings::Choice;
use megatron_memory::search::savings;
use megatron_memory::time::step_time;
use proptest::prelude::*;

use super::jobs::{any_job, config};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_savings_are_what_estimates_say(job in any_job()) {
        let now = estimate(&config(&job));
        let at = now.worst;
        let job = RawJob::from_value(&serde_json::from_value(job).unwrap());
        let rows = savings(&job, at);
        prop_assert_eq!(rows.iter().filter(|row| row.current).count(), 1);
        let peak = now.worst_stage().unwrap().total;
        for row in &rows {
            let mut then = job.clone();
            for (field, value) in row.choice.settings() {
                then.put(at.module, field, value);
            }
            let checked = check(&then);
            let Ok(saved) = &row.result else {
                prop_assert!(checked.config.is_none());
                continue;
            };
            let config = checked.config.unwrap();
            let then = estimate(&config);
            prop_assert_eq!(saved.peak, then.stage(at).unwrap().total);
            let time = step_time(&config, &then).ok();
            prop_assert_eq!(saved.step_nanoseconds, time.map(|time| time.nanoseconds()));
            prop_assert_eq!(saved.standing.total, then.worst_rank.total);
            prop_assert_eq!(saved.saves, i64::try_from(peak.0).unwrap() - i64::try_from(saved.peak.0).unwrap());
            if !matches!(row.choice, Choice::Selective(_)) {
                prop_assert!(saved.recomputed_ppm <= 1_000_000);
            }
            // Norms and activation functions take time, but have no matrix products.
            prop_assert!(saved.recomputed_ppm > 0 || saved.recomputed_flops == 0);
            match row.choice {
                Choice::Nothing => prop_assert_eq!(saved.recomputed_ppm, 0),
                Choice::Uniform(_) => prop_assert!(saved.recomputed_ppm > 0),
                _ => {}
            }
        }
    }
}
