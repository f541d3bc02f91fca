use megatron_memory::report::amount::{Scale, Unit, exact, grouped, parameters, percent};
use megatron_memory::report::summary::{Summary, Verdict, difference};
use megatron_memory::units::{Bytes, GIB};
use proptest::prelude::*;
use serde_json::json;

use super::Job;

#[test]
fn amounts_carry_their_unit_and_round_to_nearest() {
    let h100 = Bytes::mib(81_559);
    for (scale, text) in [
        (Scale::coarse(Unit::Gib), "79.6 GiB"),
        (Scale::fine(Unit::Gib), "79.65 GiB"),
        (Scale::coarse(Unit::Gb), "85.5 GB"),
        (Scale::fine(Unit::Gb), "85.52 GB"),
        (
            Scale {
                unit: Unit::Gb,
                decimals: 0,
            },
            "86 GB",
        ),
    ] {
        assert_eq!(scale.amount(h100), text);
    }
    assert_eq!(Scale::fine(Unit::Gib).amount(Bytes::ZERO), "0.00 GiB");
    assert_eq!(Scale::fine(Unit::Gib).number(Bytes(GIB / 200 + 1)), "0.01");
    assert_eq!(Scale::fine(Unit::Gib).number(Bytes(GIB / 200)), "0.00");
    assert_eq!(
        Scale {
            unit: Unit::Gb,
            decimals: 9
        }
        .number(Bytes(u64::MAX)),
        "18446744073.709551615"
    );
}

#[test]
fn what_rounding_loses_goes_to_the_largest_remainders() {
    let third = Bytes(GIB / 3);
    let scale = Scale::coarse(Unit::Gib);
    // A third is 0.333…; the sum is 1.0 and its last tenth goes to the first of equals.
    assert_eq!(
        scale.parts(&[third, third, Bytes(GIB - 2 * third.0)]),
        ["0.3", "0.3", "0.4"]
    );
    assert_eq!(scale.parts(&[third, third, third]), ["0.4", "0.3", "0.3"]);
    assert_eq!(scale.parts(&[Bytes::ZERO, Bytes(GIB / 2)]), ["0.0", "0.5"]);
    assert_eq!(scale.parts(&[]), Vec::<String>::new());
    // What is the same in two jobs looks the same, if its remainder is the smallest or not.
    let (less, more) = (Bytes(third.0 - 1), Bytes(third.0 + GIB / 50));
    assert_eq!(scale.parts(&[less, third, third]), ["0.3", "0.4", "0.3"]);
    let beside = scale.parts_beside(&[less, third, more], &[less, third, third]);
    assert_eq!(beside, ["0.3", "0.4", "0.3"]);
    assert_eq!(scale.parts(&[less, third, more]), ["0.3", "0.3", "0.4"]);
}

proptest! {
    #[test]
    fn parts_add_up_to_the_total_as_shown(
        parts in prop::collection::vec(prop_oneof![Just(0u64), 0..GIB * 3, 0..1u64 << 58], 0..30),
        unit in prop::sample::select(&Unit::ALL[..]),
        decimals in 0u8..4,
        beside in prop::bool::ANY,
        changed in prop::collection::vec(prop::option::of(0..GIB * 3), 0..30),
    ) {
        let scale = Scale { unit, decimals };
        let parts: Vec<Bytes> = parts.into_iter().map(Bytes).collect();
        let mut others = parts.clone();
        for (other, changed) in others.iter_mut().zip(changed) {
            *other = changed.map_or(*other, Bytes);
        }
        let digits = |text: &str| text.replace('.', "").parse::<u128>().unwrap();
        let shown = if beside { scale.parts_beside(&parts, &others) } else { scale.parts(&parts) };
        let total: Bytes = parts.iter().copied().sum();
        let sum: u128 = shown.iter().map(|text| digits(text)).sum();
        prop_assert_eq!(sum, digits(&scale.number(total)));
        // No part is off by a whole step, and nothing stays nothing.
        for (part, shown) in parts.iter().zip(&shown) {
            let (exact, shown) = (scale.steps(*part), digits(shown));
            prop_assert!(exact.abs_diff(shown) <= 1, "{} shown as {}", exact, shown);
            prop_assert!(part.0 > 0 || shown == 0);
        }
    }
}

#[test]
fn counts_are_grouped_and_named_by_magnitude() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1_234_567), "1,234,567");
    assert_eq!(exact(Bytes(1)), "1 byte");
    assert_eq!(exact(Bytes(1024)), "1,024 bytes");
    for (count, text) in [
        (999, "999"),
        (1_000, "1.0K"),
        (8_030_261_248, "8.0B"),
        (671_026_419_200, "671.0B"),
        (999_949_999, "999.9M"),
        (999_950_000, "1.0B"),
        (1_043_000_000_000, "1.0T"),
    ] {
        assert_eq!(parameters(count), text);
    }
    assert_eq!(percent(Bytes(1), Bytes(3)), "33.3 %");
    assert_eq!(percent(Bytes(0), Bytes(0)), "0.0 %");
}

#[test]
fn tight_is_what_fits_with_the_least_of_all_allowances_alone() {
    let gib = |n: u64| Bytes(n * GIB);
    for (low, high, gpu, verdict) in [
        (gib(61), gib(70), Some(gib(80)), Verdict::Fits),
        (gib(76), gib(80), Some(gib(80)), Verdict::Fits),
        (gib(76), gib(80) + Bytes(1), Some(gib(80)), Verdict::Tight),
        (gib(80), gib(85), Some(gib(80)), Verdict::Tight),
        (
            gib(80) + Bytes(1),
            gib(85),
            Some(gib(80)),
            Verdict::DoesNotFit,
        ),
        (gib(80), gib(85), None, Verdict::Unknown),
    ] {
        let device = (low, high);
        let memory = gpu.map(|gpu: Bytes| gpu.0 >> 20);
        let job = Job::small(json!({"gpu_memory_mib": memory}));
        assert_eq!(
            Verdict::of(&job.config, device),
            verdict,
            "{device:?} of {gpu:?}"
        );
    }
    // Free beside PyTorch; where it does not fit, what the device lacks at least.
    assert_eq!(difference((gib(76), gib(82)), gib(73), gib(80)), gib(7));
    assert_eq!(difference((gib(82), gib(88)), gib(79), gib(80)), gib(2));
}

#[test]
fn the_headline_is_the_fullest_stage_against_the_gpu() {
    let job = Job::small(json!({"gpu_memory_mib": 8192}));
    let summary = Summary::new(&job.config, &job.estimate);
    let totals: Vec<u64> = job.estimate.modules[0]
        .stages
        .iter()
        .map(|s| s.total.0)
        .collect();
    // Both stages hold two layers and 32,000 rows; the last one has the final norm on top.
    assert_eq!(summary.worst.pp_rank, 1);
    assert!(totals[1] > totals[0]);
    assert_eq!(summary.total, Bytes(totals[1]));
    assert_eq!(summary.difference(), Some(Bytes(8 * GIB - totals[1])));
    assert_eq!(summary.verdict, Verdict::Fits);
}
