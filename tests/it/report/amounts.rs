use megatron_memory::report::amount::{Scale, Unit, exact, grouped, parameters, percent};
use megatron_memory::report::headroom::Headroom;
use megatron_memory::report::summary::{Standing, Verdict};
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
    assert_eq!(Scale::fine(Unit::Gib).number(Bytes(GIB / 200)), "<0.01");
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
fn only_zero_prints_as_zero_and_only_equal_amounts_are_unchanged() {
    let scale = Scale::fine(Unit::Gib);
    let (small, gib) = (Bytes(GIB / 300), Bytes(GIB));
    for (from, to, words) in [
        (gib, gib, "no change"),
        (gib, Bytes(GIB + GIB / 4), "+0.25 GiB (+25.0 %)"),
        (gib, Bytes(GIB - GIB / 4), "−0.25 GiB (−25.0 %)"),
        (gib, gib + small, "<0.01 GiB more"),
        (gib + small, gib, "<0.01 GiB less"),
        (Bytes::ZERO, gib, "+1.00 GiB"),
        (Bytes(GIB * 100), Bytes(GIB * 100 + GIB / 50), "+0.02 GiB (<0.1 %)"),
    ] {
        assert_eq!(scale.change(from, to), words);
    }
    assert_eq!(scale.range(gib, gib + small), "1.00 GiB");
    assert_eq!(scale.range(small, gib), "<0.01 to 1.00 GiB");
    assert_eq!(percent(Bytes(1), gib), "<0.1 %");
}

/// A printed number in steps of its last decimal, and the most by which it is off in half steps: an amount below half a
/// step prints as less than one.
fn printed(text: &str) -> (u128, u128) {
    match text.strip_prefix('<') {
        Some(_) => (0, 1),
        None => (text.replace('.', "").parse().unwrap(), 1),
    }
}

proptest! {
    #[test]
    fn numbers_of_equal_bytes_are_equal_and_parts_add_up_within_half_a_step_each(
        parts in prop::collection::vec(prop_oneof![Just(0u64), 0..GIB * 3, 0..1u64 << 58], 0..30),
        unit in prop::sample::select(&Unit::ALL[..]),
        decimals in 0u8..4,
    ) {
        let scale = Scale { unit, decimals };
        let parts: Vec<Bytes> = parts.into_iter().map(Bytes).collect();
        let total: Bytes = parts.iter().copied().sum();
        let numbers: Vec<String> = parts.iter().map(|part| scale.number(*part)).collect();
        for (part, number) in parts.iter().zip(&numbers) {
            for (other, beside) in parts.iter().zip(&numbers) {
                prop_assert!(part != other || number == beside);
                prop_assert!(part > other || printed(number).0 <= printed(beside).0);
            }
            let is_zero = number.chars().all(|c| c == '0' || c == '.');
            prop_assert_eq!(is_zero, *part == Bytes::ZERO, "{} bytes print as {}", part.0, number);
            prop_assert!(scale.amount(*part).starts_with(number.as_str()));
        }
        let sum: u128 = numbers.iter().map(|number| printed(number).0).sum();
        let off: u128 = numbers.iter().map(|number| printed(number).1).sum();
        let all = printed(&scale.number(total)).0;
        // Half a step for each part, and for the total.
        prop_assert!(sum.abs_diff(all) * 2 <= off + 1, "{:?} beside {}", numbers, all);
    }
}

#[test]
fn the_footnote_names_the_rounding() {
    for (decimals, words) in [(0, "to 1 GiB,"), (1, "to 0.1 GiB,"), (2, "up to 0.005 GiB for")] {
        let note = Scale {
            unit: Unit::Gib,
            decimals,
        }
        .rounding_note();
        assert!(note.contains(words), "{note}");
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
        (gib(80) + Bytes(1), gib(85), Some(gib(80)), Verdict::DoesNotFit),
        (gib(80), gib(85), None, Verdict::Unknown),
    ] {
        let device = (low, high);
        let memory = gpu.map(|gpu: Bytes| gpu.0 >> 20);
        let job = Job::small(json!({"gpu_memory_mib": memory}));
        assert_eq!(Verdict::of(&job.config, device), verdict, "{device:?} of {gpu:?}");
    }
}

#[test]
fn free_memory_is_a_range_on_the_basis_of_the_verdict() {
    let scale = Scale::coarse(Unit::Gib);
    let gib = |n: u64| Bytes(n * GIB);
    for (low, high, words) in [
        (61, 70, "10.0 to 19.0 GiB free"),
        (70, 80, "0.0 to 10.0 GiB free"),
        (60, 60, "20.0 GiB free"),
        (76, 82, "4.0 GiB free to 2.0 over"),
        (80, 82, "0.0 GiB free to 2.0 over"),
        (82, 88, "over by 2.0 to 8.0 GiB"),
        (1_880, 1_990, "over by 1.8 to 1.9 TiB"),
    ] {
        let headroom = Headroom::of((gib(low), gib(high)), gib(80));
        assert_eq!(headroom.words(scale), words);
        let job = Job::small(json!({"gpu_memory_mib": 80 * 1024}));
        let verdict = Verdict::of(&job.config, (gib(low), gib(high)));
        let expected = match headroom {
            Headroom::Free { .. } => Verdict::Fits,
            Headroom::Uncertain { .. } => Verdict::Tight,
            Headroom::Missing { .. } => Verdict::DoesNotFit,
        };
        assert_eq!(verdict, expected, "{low} to {high}");
    }
}

/// Drivers report different amounts of the same kind of GPU: what fits some of them is tight.
#[test]
fn a_job_that_only_some_gpus_of_a_kind_hold_is_tight() {
    let of = |hundredths: u64| Bytes(hundredths * GIB / 100);
    let job = Job::small(json!({"gpu": "h20"}));
    let gpu = job.config.reported_gpu_memory().unwrap();
    assert_eq!((gpu.least, gpu.most), (of(9_500), of(9_522)));
    assert_eq!(job.config.gpu_memory(), Some(gpu.least));
    for (low, expected, words) in [
        (9_400, Verdict::Tight, "of 95.0 GiB"),
        (9_510, Verdict::Tight, "of 95.0 to 95.2 GiB"),
        (9_523, Verdict::DoesNotFit, "of 95.0 GiB"),
    ] {
        let device = (of(low), of(9_900));
        let verdict = Verdict::of(&job.config, device);
        assert_eq!(verdict, expected, "{low}");
        let summary = Standing {
            device,
            verdict,
            ..Standing::new(&job.config, &job.estimate)
        };
        let said = summary.device_words(Scale::coarse(Unit::Gib));
        assert!(said.ends_with(words), "{said}");
    }
    assert_eq!(Verdict::of(&job.config, (of(9_000), gpu.least)), Verdict::Fits);
}

#[test]
fn the_headline_is_the_fullest_stage_against_the_gpu() {
    let job = Job::small(json!({"gpu_memory_mib": 8192}));
    let summary = Standing::new(&job.config, &job.estimate);
    let totals: Vec<u64> = job.estimate.modules[0].stages.iter().map(|s| s.total.0).collect();
    // Both stages hold two layers and 32,000 rows; the last one has the final norm on top.
    assert_eq!(summary.worst.pp_rank, 1);
    assert!(totals[1] > totals[0]);
    assert_eq!(summary.total, Bytes(totals[1]));
    let free = Headroom::Free {
        least: Bytes(8 * GIB - summary.device.1.0),
        most: Bytes(8 * GIB - summary.device.0.0),
    };
    assert_eq!(summary.headroom(), Some(free));
    assert!(summary.device.0 > summary.total);
    let sentence = summary.sentence(&job.config, Scale::coarse(Unit::Gib));
    assert!(
        sentence.starts_with("Fits, ") && sentence.ends_with(" of 8.0 GiB."),
        "{sentence}"
    );
    assert_eq!(summary.verdict, Verdict::Fits);
}
