//! What recompute saves, and what it costs.

use megatron_memory::memory::ledger::{Choice, ledger};
use megatron_memory::memory::{StageRef, estimate};
use proptest::prelude::*;

use super::jobs::{any_job, config};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_ledger_is_what_estimates_say(job in any_job()) {
        let config = config(&job);
        let now = estimate(&config);
        let rows = ledger(&config, StageRef { module: 0, pp_rank: now.worst.pp_rank });
        prop_assert_eq!(rows.iter().filter(|row| row.current).count(), 1);
        let peak = now.worst_stage().unwrap().peak;
        for row in &rows {
            let saves = i64::try_from(peak.0).unwrap() - i64::try_from(row.peak.0).unwrap();
            prop_assert_eq!(row.saves, saves);
            prop_assert!(row.worst >= row.peak);
            prop_assert!(row.recomputed_ppm <= 1_000_000);
            match row.choice {
                Choice::Nothing => prop_assert_eq!((row.saves, row.recomputed_ppm), (0, 0)),
                Choice::Uniform(_) => prop_assert!(row.recomputed_ppm > 0),
                _ => {}
            }
        }
    }
}
