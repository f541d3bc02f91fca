//! Tests of `parallel::schedule`.

use std::collections::BTreeSet;

use megatron_memory::parallel::schedule::{ChunkBytes, MAX_VPP, Moment, Pass, Phase, Schedule, ScheduleInput, Step};
use proptest::prelude::*;

fn plain(pp: u32, pp_rank: u32, num_microbatches: u32) -> ScheduleInput {
    ScheduleInput {
        pp,
        pp_rank,
        num_microbatches,
        ..ScheduleInput::default()
    }
}

fn interleaved(pp: u32, pp_rank: u32, vpp: u32, num_microbatches: u32) -> ScheduleInput {
    ScheduleInput {
        vpp: Some(vpp),
        ..plain(pp, pp_rank, num_microbatches)
    }
}

/// The most microbatches that are alive at once, over some of the chunks together.
fn most_alive(schedule: &Schedule, counts: impl Fn(u32) -> bool) -> u64 {
    let weigh = |chunk| ChunkBytes {
        stored: u64::from(counts(chunk)),
        ..ChunkBytes::default()
    };
    let weights: Vec<_> = (0..schedule.num_chunks()).map(weigh).collect();
    schedule.peak(&weights).bytes.try_into().unwrap()
}

/// The steps as a drawing: `f` and `b`, microbatch, chunk; `+` joins what runs at once.
fn drawn(input: ScheduleInput) -> String {
    let pass = |direction, pass: Option<Pass>| {
        pass.map(|p| format!("{direction}{}{}", p.microbatch, ["", "'", "\""][p.chunk as usize]))
    };
    let step = |step: Step| {
        let passes = [pass("f", step.forward), pass("b", step.backward)];
        passes.into_iter().flatten().collect::<Vec<_>>().join("+")
    };
    Schedule::new(input).steps().map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn without_a_pipeline_every_microbatch_is_finished_before_the_next() {
    assert_eq!(drawn(plain(1, 0, 3)), "f0 b0 f1 b1 f2 b2");
    let overlapped = ScheduleInput {
        overlap_moe_expert_parallel_comm: true,
        ..plain(1, 0, 4)
    };
    assert_eq!(drawn(overlapped), "f0 f1+b0 f2+b1 f3+b2 b3");
    assert_eq!(drawn(plain(1, 0, 0)), "");
}

#[test]
fn one_forward_one_backward() {
    assert_eq!(drawn(plain(4, 0, 5)), "f0 f1 f2 f3 b0 f4 b1 b2 b3 b4");
    assert_eq!(drawn(plain(4, 2, 3)), "f0 f1 b0 f2 b1 b2");
    assert_eq!(drawn(plain(4, 3, 2)), "f0 b0 f1 b1");
    assert_eq!(drawn(plain(4, 0, 2)), "f0 f1 b0 b1", "fewer microbatches than ranks");
}

#[test]
fn interleaving_hands_out_groups() {
    assert_eq!(
        drawn(interleaved(2, 1, 2, 4)),
        "f0 f1 f0' b0' f1' b1' f2 b0 f3 b1 f2' b2' f3' b3' b2 b3"
    );
    assert_eq!(
        drawn(interleaved(2, 0, 2, 2)),
        "f0 f1 f0' f1' b0' b1' b0 b1",
        "all microbatches are warm-up"
    );
    // A last group smaller than the others.
    let groups_of_three = ScheduleInput {
        microbatch_group_size_per_vp_stage: Some(3),
        ..interleaved(2, 1, 2, 5)
    };
    assert_eq!(
        drawn(groups_of_three),
        "f0 f1 f2 f0' b0' f1' b1' f2' b2' f3 b0 f4 b1 f3' b2 f4' b3' b4' b3 b4"
    );
}

#[test]
fn overlap_brings_one_more_microbatch_and_joins_the_passes() {
    let input = ScheduleInput {
        overlap_moe_expert_parallel_comm: true,
        ..interleaved(2, 1, 2, 4)
    };
    assert_eq!(drawn(input), "f0 f1 f0' f1'+b0' f2+b1' f3+b0 f2'+b1 f3'+b2' b3' b2 b3");
    assert_eq!(
        most_alive(&Schedule::new(input), |_| true),
        3,
        "as many as without overlap"
    );
}

#[test]
fn warm_up_counts_as_megatron_counts_it() {
    for pp in 2..9 {
        for pp_rank in 0..pp {
            for m in 1..20 {
                let schedule = Schedule::new(plain(pp, pp_rank, m));
                assert_eq!(schedule.warm_up(), u64::from((pp - pp_rank - 1).min(m)));
                assert_eq!(most_alive(&schedule, |_| true), u64::from((pp - pp_rank).min(m)));
                for vpp in 1..4 {
                    for overlap in [false, true] {
                        let input = ScheduleInput {
                            overlap_moe_expert_parallel_comm: overlap,
                            microbatch_group_size_per_vp_stage: Some(pp + 1),
                            ..interleaved(pp, pp_rank, vpp, m)
                        };
                        let count = (pp - pp_rank - 1) * 2 + (vpp - 1) * (pp + 1) + u32::from(overlap);
                        let schedule = Schedule::new(input);
                        assert_eq!(schedule.warm_up(), u64::from(count.min(m * vpp)));
                    }
                }
            }
        }
    }
}

#[test]
fn live_microbatches_of_a_large_job() {
    let alive = |schedule: &Schedule| {
        let of = |chunk| most_alive(schedule, |other| other == chunk);
        (most_alive(schedule, |_| true), of(0), of(1))
    };
    // 16 ranks, 2 chunks, 240 microbatches: warm-up of 46 on the first rank.
    let first = Schedule::new(interleaved(16, 0, 2, 240));
    assert_eq!(alive(&first), (47, 32, 16));
    let last = Schedule::new(interleaved(16, 15, 2, 240));
    assert_eq!(alive(&last), (17, 17, 1));
    assert_eq!(first.len(), 960);
}

#[test]
fn schedules_that_megatron_refuses_are_refused() {
    let grouped = |group, input| ScheduleInput {
        microbatch_group_size_per_vp_stage: Some(group),
        ..input
    };
    let cases = [
        (plain(4, 0, 1), None),
        (interleaved(4, 3, 2, 8), None),
        (grouped(5, interleaved(4, 0, 2, 9)), None), // the last group has 4
        (plain(0, 0, 4), Some("pipeline_model_parallel_size must be at least 1")),
        (plain(4, 0, 0), Some("num_microbatches must be at least 1")),
        (plain(4, 4, 8), Some("no pipeline rank 4 among 4")),
        (
            interleaved(4, 0, 2, 3),
            Some("at least as many microbatches as pipeline ranks, 4"),
        ),
        (grouped(3, interleaved(4, 0, 2, 8)), Some("must be between")),
        (grouped(9, interleaved(4, 0, 2, 8)), Some("must be between")),
        (interleaved(4, 0, 2, 10), Some("leave 2 for the last group")),
        (interleaved(4, 0, 2, 10), Some("near: 8, 12")),
        (grouped(5, interleaved(4, 0, 2, 11)), Some("near: 10, 14")),
        (
            ScheduleInput {
                overlap_moe_expert_parallel_comm: true,
                ..plain(2, 0, 4)
            },
            Some("needs virtual stages"),
        ),
    ];
    for (input, expected) in cases {
        let found = input.problems();
        let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert_eq!(found.is_empty(), expected.is_none(), "{input:?}: {text}");
        assert!(text.contains(expected.unwrap_or_default()), "{input:?}: {text}");
        assert!(found.iter().all(|p| !p.fields.is_empty()));
        for problem in found {
            for fix in problem.fixes {
                assert_eq!(fix.field, "num_microbatches");
                let num_microbatches = fix.value.to_string().parse().unwrap();
                let input = ScheduleInput {
                    num_microbatches,
                    ..input
                };
                assert_eq!(input.problems(), []);
            }
        }
    }
}

#[test]
fn any_size_is_answered_at_once() {
    let input = ScheduleInput {
        pp: u32::MAX,
        pp_rank: 7,
        vpp: Some(u32::MAX),
        num_microbatches: u32::MAX,
        microbatch_group_size_per_vp_stage: Some(3),
        overlap_moe_expert_parallel_comm: false,
    };
    let weight = ChunkBytes {
        stored: u64::MAX,
        forward: u64::MAX,
        backward: u64::MAX,
        idle: u64::MAX,
        input_grad: u64::MAX,
        output: u64::MAX,
        deferred: u64::MAX,
        deferrals: u64::MAX,
    };
    // As many chunks as there may be, the first of which weigh something; and fewer, all of which do.
    for (vpp, heavy) in [(MAX_VPP, 32), (512, 512)] {
        let schedule = Schedule::new(ScheduleInput {
            vpp: Some(vpp),
            ..input
        });
        assert!(schedule.peak(&vec![weight; heavy]).bytes > 0, "{vpp}");
    }
    let schedule = Schedule::new(input);
    assert_eq!(schedule.num_chunks(), MAX_VPP);
    assert_eq!(schedule.timeline(&[weight], 3).len(), 3);
    assert_eq!(schedule.step(u64::MAX), None);
    assert_eq!(
        Schedule::new(ScheduleInput::default()).peak(&[weight]),
        Moment {
            live: vec![0],
            ..Moment::default()
        }
    );
}

/// The passes of a rank written down one by one, as `schedules.py` does it.
fn walked(input: ScheduleInput) -> Vec<(Vec<(bool, Pass)>, Phase)> {
    let chunks = input.vpp.filter(|_| input.pp > 1).unwrap_or(1);
    let group = (input.microbatch_group_size_per_vp_stage).map_or(input.pp, |g| g.max(input.pp));
    let mut table = Vec::new();
    let mut start = 0;
    while start < input.num_microbatches {
        let end = (start + group).min(input.num_microbatches);
        for chunk in 0..chunks {
            table.extend((start..end).map(|microbatch| Pass { microbatch, chunk }));
        }
        start = end;
    }
    let total = table.len();
    let overlap = input.overlap_moe_expert_parallel_comm && (input.pp == 1 || input.vpp.is_some());
    let after = (input.pp - 1 - input.pp_rank) as usize;
    let warm_up = if input.pp > 1 && input.vpp.is_some() {
        after * 2 + ((chunks - 1) * group) as usize
    } else {
        after
    };
    let warm_up = (warm_up + usize::from(overlap)).min(total);
    let forward = |k: usize| (true, table[k]);
    let backward = |k: usize| {
        let Pass { microbatch, chunk } = table[k];
        (
            false,
            Pass {
                microbatch,
                chunk: chunks - 1 - chunk,
            },
        )
    };
    let mut steps = Vec::new();
    for k in 0..warm_up {
        steps.push((vec![forward(k)], Phase::WarmUp));
    }
    for k in 0..total - warm_up {
        if overlap {
            steps.push((vec![forward(warm_up + k), backward(k)], Phase::Steady));
        } else {
            steps.push((vec![forward(warm_up + k)], Phase::Steady));
            steps.push((vec![backward(k)], Phase::Steady));
        }
    }
    for k in total - warm_up..total {
        steps.push((vec![backward(k)], Phase::CoolDown));
    }
    steps
}

/// What is alive during each step of a walk: the first moment with most bytes among steps `from..to`.
fn heaviest(input: ScheduleInput, chunks: &[ChunkBytes], from: usize, to: usize) -> Moment {
    let count = input.vpp.filter(|_| input.pp > 1).unwrap_or(1);
    let mut live = vec![0u32; count as usize];
    let kept = |live: &[u32]| -> u128 {
        let pairs = live.iter().zip(chunks);
        pairs.map(|(n, w)| u128::from(*n) * u128::from(w.stored)).sum()
    };
    let weight = |chunk: u32| chunks.get(chunk as usize).copied().unwrap_or_default();
    let mut best: Option<Moment> = None;
    let mut behind = ChunkBytes::default();
    let mut ended = vec![0u64; count as usize];
    for (index, (passes, _)) in walked(input).into_iter().enumerate() {
        let mut after = live.clone();
        let mut only_now = 0u128;
        for (forward, pass) in &passes {
            if *forward {
                after[pass.chunk as usize] += 1;
                only_now += u128::from(weight(pass.chunk).forward);
            } else {
                after[pass.chunk as usize] -= 1;
                only_now += u128::from(weight(pass.chunk).backward);
            }
        }
        let single_forward = passes.len() == 1 && passes[0].0;
        let during = if single_forward { &after } else { &live };
        let mut left = u128::from(behind.input_grad);
        if single_forward {
            left += u128::from(behind.output);
        }
        for (chunk, n) in (0u32..).zip(&live) {
            if *n == 0 && passes.iter().all(|(_, pass)| pass.chunk != chunk) {
                left += u128::from(weight(chunk).idle);
            }
        }
        // While both run at once, the larger of what is kept before and after.
        let most = if passes.len() == 2 {
            kept(&after).max(kept(&live))
        } else {
            kept(during)
        };
        let deferred = ended
            .iter()
            .zip(chunks)
            .map(|(ended, w)| u128::from(w.deferrals.min(*ended)) * u128::from(w.deferred));
        let deferred: u128 = deferred.sum();
        let bytes = most + only_now + left + deferred;
        if (from..to).contains(&index) && best.as_ref().is_none_or(|b| bytes > b.bytes) {
            best = Some(Moment {
                step: index as u64,
                bytes,
                live: during.clone(),
                left,
                deferred,
            });
        }
        if let Some((_, pass)) = passes.iter().find(|(forward, _)| !forward) {
            behind = weight(pass.chunk);
            ended[pass.chunk as usize] += 1;
        }
        live = after;
    }
    assert!(live.iter().all(|n| *n == 0));
    best.unwrap_or(Moment {
        live,
        ..Moment::default()
    })
}

fn any_input() -> impl Strategy<Value = ScheduleInput> {
    let sizes = (1u32..9, prop::option::of(1u32..5), 1u32..50);
    sizes
        .prop_flat_map(|(pp, vpp, num_microbatches)| {
            let group = prop::option::weighted(0.6, 1u32..14);
            (Just((pp, vpp, num_microbatches)), 0..pp, group, any::<bool>())
        })
        .prop_map(|((pp, vpp, num_microbatches), pp_rank, group, overlap)| ScheduleInput {
            pp,
            pp_rank,
            vpp,
            num_microbatches,
            microbatch_group_size_per_vp_stage: group,
            overlap_moe_expert_parallel_comm: overlap,
        })
}

fn any_weights() -> impl Strategy<Value = Vec<ChunkBytes>> {
    let small = || prop_oneof![0u64..4, 0u64..100];
    let (passes, behind) = ((small(), small(), small()), (small(), small(), small()));
    // Weight gradients that are put off, a few times or always, on one chunk.
    let deferral = prop_oneof![
        3 => Just((0, 0)),
        2 => (1u64..50, 1u64..9),
        1 => (1u64..50, Just(u64::MAX)),
    ];
    let weight = (passes, behind, deferral).prop_map(
        |((stored, forward, backward), (idle, input_grad, output), (deferred, deferrals))| ChunkBytes {
            deferred,
            deferrals,
            stored,
            forward,
            backward,
            idle,
            input_grad,
            output,
        },
    );
    prop::collection::vec(weight, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn steps_are_the_walk(input in any_input()) {
        let schedule = Schedule::new(input);
        let steps: Vec<_> = schedule.steps().collect();
        let walk = walked(input);
        prop_assert_eq!(schedule.len(), walk.len() as u64);
        prop_assert_eq!(steps.len(), walk.len());
        for (step, (passes, phase)) in steps.iter().zip(walk) {
            let found: Vec<_> = (step.forward.map(|p| (true, p)).into_iter())
                .chain(step.backward.map(|p| (false, p)))
                .collect();
            prop_assert_eq!(found, passes);
            prop_assert_eq!(step.phase, phase);
        }
        for (index, step) in (0..).zip(&steps) {
            prop_assert_eq!(schedule.step(index), Some(*step));
        }
        prop_assert_eq!(schedule.step(schedule.len()), None);
    }

    #[test]
    fn every_pass_happens_once_and_forward_comes_first(input in any_input()) {
        let schedule = Schedule::new(input);
        let mut waiting = BTreeSet::new();
        let mut done = 0u64;
        let mut most = 0;
        for step in schedule.steps() {
            if let Some(Pass { microbatch, chunk }) = step.forward {
                prop_assert!(waiting.insert((microbatch, chunk)));
                if step.backward.is_none() {
                    most = most.max(waiting.len());
                }
            }
            if let Some(Pass { microbatch, chunk }) = step.backward {
                prop_assert!(waiting.remove(&(microbatch, chunk)));
                done += 1;
            }
            most = most.max(waiting.len());
        }
        prop_assert!(waiting.is_empty());
        prop_assert_eq!(done, u64::from(input.num_microbatches) * u64::from(schedule.num_chunks()));
        prop_assert_eq!(most_alive(&schedule, |_| true), most as u64);
    }

    #[test]
    fn the_peak_is_the_heaviest_step_of_the_walk(
        input in any_input(),
        weights in any_weights(),
    ) {
        let peak = Schedule::new(input).peak(&weights);
        prop_assert_eq!(peak, heaviest(input, &weights, 0, usize::MAX));
    }

    #[test]
    fn no_peak_is_above_its_bound(input in any_input(), weights in any_weights()) {
        let schedule = Schedule::new(ScheduleInput { overlap_moe_expert_parallel_comm: false, ..input });
        prop_assert!(schedule.peak(&weights).bytes <= schedule.at_most(&weights));
    }

    /// Of each chunk alone, what keeps bytes for its microbatches is bounded by as many as are ever alive.
    #[test]
    fn the_bound_of_one_chunk_is_its_peak(input in any_input(), chunk in 0usize..5) {
        let schedule = Schedule::new(ScheduleInput { overlap_moe_expert_parallel_comm: false, ..input });
        let mut weights = vec![ChunkBytes::default(); 5];
        weights[chunk].stored = 1;
        let (peak, bound) = (schedule.peak(&weights).bytes, schedule.at_most(&weights));
        prop_assert!(peak <= bound);
        let group = input.microbatch_group_size_per_vp_stage.unwrap_or(input.pp).max(input.pp);
        if input.num_microbatches.is_multiple_of(group) && schedule.warm_up() < schedule.len() / 2 {
            prop_assert_eq!(peak, bound);
        }
    }

    #[test]
    fn a_timeline_has_the_peak_of_each_share(
        input in any_input(),
        weights in any_weights(),
        points in 1u32..40,
    ) {
        let schedule = Schedule::new(input);
        let timeline = schedule.timeline(&weights, points);
        let len = usize::try_from(schedule.len()).unwrap();
        let count = timeline.len();
        prop_assert_eq!(count, len.min(points as usize));
        for (i, moment) in timeline.iter().enumerate() {
            let share = heaviest(input, &weights, len * i / count, len * (i + 1) / count);
            prop_assert_eq!(moment, &share);
        }
        let most = timeline.iter().map(|m| m.bytes).max();
        prop_assert_eq!(most, Some(schedule.peak(&weights).bytes));
    }
}
