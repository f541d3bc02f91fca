//! Tests of `parallel::groups`.

use std::collections::BTreeSet;

use megatron_memory::parallel::groups::process_groups::ProcessGroup;
use megatron_memory::parallel::groups::seeds::{SeedRule, Seeds};
use megatron_memory::parallel::groups::{Dim, Grid, MemberOrder, ModelParallel, Partition, RankGrids, RankOrder, View};
use proptest::prelude::*;

fn lists(partition: &Partition) -> Vec<Vec<u64>> {
    partition.iter().map(|group| group.ranks().collect()).collect()
}

fn grids(tp: u64, cp: u64, pp: u64, ep: u64, etp: u64, world: u64) -> RankGrids {
    RankGrids::new(&ModelParallel { tp, cp, pp, ep, etp }, world, RankOrder::PpLast, 0).unwrap()
}

#[test]
fn members_follow_the_listed_dimensions_when_asked() {
    // The example in the documentation of `HyperCommGrid._gen_rank_enum`, and its ascending counterpart.
    let grid = Grid::new(0, &[('a', 2), ('b', 2), ('c', 2)]).unwrap();
    let listed = grid.partition(&['a', 'b'], MemberOrder::LastListedFastest).unwrap();
    assert_eq!(lists(&listed), [[0, 2, 1, 3], [4, 6, 5, 7]]);
    let ascending = grid.partition(&['a', 'b'], MemberOrder::Ascending).unwrap();
    assert_eq!(lists(&ascending), [[0, 1, 2, 3], [4, 5, 6, 7]]);
}

#[test]
fn unknown_or_repeated_dimensions_make_no_partition() {
    let grid = Grid::new(0, &[('a', 2), ('b', 3)]).unwrap();
    assert_eq!(grid.partition(&['z'], MemberOrder::Ascending), None);
    assert_eq!(grid.partition(&['a', 'a'], MemberOrder::Ascending), None);
    assert_eq!(
        lists(&grid.partition(&[], MemberOrder::Ascending).unwrap()),
        [[0], [1], [2], [3], [4], [5]]
    );
    assert_eq!(Grid::new(0, &[('a', 2), ('a', 3)]), None);
    assert_eq!(Grid::new(0, &[('a', 0)]), None);
    assert_eq!(Grid::new(u64::MAX, &[('a', 2)]), None);
}

/// The example in the documentation of `initialize_model_parallel`.
#[test]
fn sixteen_ranks_with_tp_2_and_pp_4() {
    let grids = grids(2, 1, 4, 1, 2, 16);
    let groups = |kind| lists(&grids.process_groups(kind));
    let dp = [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]];
    assert_eq!(groups(ProcessGroup::Dp), dp);
    assert_eq!(groups(ProcessGroup::Tp)[0], [0, 1]);
    let pp = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]];
    assert_eq!(groups(ProcessGroup::Pp), pp);
    assert_eq!(groups(ProcessGroup::Embd), [[0, 12], [1, 13], [2, 14], [3, 15]]);
    assert_eq!(groups(ProcessGroup::PosEmbd), [[0], [1], [2], [3]]);
    assert_eq!(grids.process_groups(ProcessGroup::Embd).index_of(4), None);
}

#[test]
fn without_pipeline_the_embedding_group_is_the_rank_itself() {
    let grids = grids(1, 1, 1, 1, 1, 3);
    assert_eq!(lists(&grids.process_groups(ProcessGroup::Embd)), [[0], [1], [2]]);
}

#[test]
fn pipeline_before_data_parallelism_when_dp_is_last() {
    let model = ModelParallel {
        tp: 2,
        pp: 2,
        etp: 2,
        ..ModelParallel::default()
    };
    let grids = RankGrids::new(&model, 8, RankOrder::DpLast, 0).unwrap();
    assert_eq!(
        lists(&grids.process_groups(ProcessGroup::Pp)),
        [[0, 2], [1, 3], [4, 6], [5, 7]]
    );
    assert_eq!(
        lists(&grids.process_groups(ProcessGroup::Dp)),
        [[0, 4], [1, 5], [2, 6], [3, 7]]
    );
    let uneven = ModelParallel { etp: 1, ..model };
    let error = RankGrids::new(&uneven, 8, RankOrder::DpLast, 0).unwrap_err();
    assert!(error.message.contains("pp-last rank ordering"), "{error}");
}

#[test]
fn optimizer_instances_cut_the_data_parallel_groups() {
    // As `initialize_model_parallel` with 16 ranks and two instances creates them.
    let grids = grids(2, 2, 1, 2, 1, 16).with_optimizer_instances(2).unwrap();
    let groups = |kind| lists(&grids.process_groups(kind));
    let intra = [[0, 2, 4, 6], [8, 10, 12, 14], [1, 3, 5, 7], [9, 11, 13, 15]];
    assert_eq!(groups(ProcessGroup::IntraDpCp), intra);
    let intra_expert = [[0, 2, 4, 6], [8, 10, 12, 14], [1, 3, 5, 7], [9, 11, 13, 15]];
    assert_eq!(groups(ProcessGroup::IntraExptDp), intra_expert);
    assert_eq!(groups(ProcessGroup::InterDistOpt)[..3], [[0, 8], [2, 10], [4, 12]]);
    let instances = [(0..8).collect::<Vec<_>>(), (8..16).collect()];
    assert_eq!(groups(ProcessGroup::IntraDistOpt), instances);
    assert!(grids.with_optimizer_instances(3).is_err());
}

#[test]
fn sizes_that_do_not_divide_the_world_are_refused() {
    let error = |model, world| RankGrids::new(&model, world, RankOrder::PpLast, 0).unwrap_err().message;
    let model = ModelParallel {
        tp: 3,
        ..ModelParallel::default()
    };
    assert_eq!(error(model, 8), "world_size (8) is not divisible by 3");
    let model = ModelParallel {
        ep: 3,
        ..ModelParallel::default()
    };
    let message = "world_size (8) is not divisible by expert_tensor_model_pipeline_parallel size (3)";
    assert_eq!(error(model, 8), message);
    let huge = ModelParallel {
        tp: u64::MAX,
        cp: u64::MAX,
        ..ModelParallel::default()
    };
    assert!(error(huge, 8).starts_with("world_size (8) is not divisible by "));
    assert_eq!(
        error(ModelParallel { cp: 0, ..model }, 8),
        "context_parallel_size must be positive."
    );
}

#[test]
fn seeds_differ_where_weights_differ() {
    let grids = grids(2, 1, 2, 2, 2, 16);
    let rule = SeedRule {
        seed: 1234,
        data_parallel_random_init: false,
    };
    // Rank 15: tp 1, dp 3, pp 1; etp 1, ep 1, edp 1.
    let seeds = Seeds {
        base: 1334,
        tensor_parallel: 1334 + 2718 + 1,
        expert_parallel: 1334 + 1024 + 100 + 1,
    };
    let place = grids.coordinates(15).unwrap();
    assert_eq!(rule.seeds(&place), seeds);
    let rule = SeedRule {
        data_parallel_random_init: true,
        ..rule
    };
    assert_eq!(rule.seeds(&place).base, 1334 + 10 * 3);
    assert_eq!(grids.coordinates(16), None);
}

#[test]
fn ten_million_ranks_cost_nothing() {
    let world = 10_000_000;
    let grids = grids(8, 1, 10, 1, 1, world);
    let data = grids.process_groups(ProcessGroup::Dp);
    assert_eq!((data.count(), data.group_size()), (80, world / 80));
    assert_eq!(data.group_of(world - 1).unwrap().rank(0), Some(9_000_007));
    assert_eq!(
        grids
            .process_groups(ProcessGroup::Pp)
            .iter()
            .nth(999_999)
            .unwrap()
            .size(),
        10
    );
}

#[test]
fn names_read_back() {
    for &kind in ProcessGroup::ALL {
        assert_eq!(ProcessGroup::from_name(kind.name()), Some(kind));
        assert!(
            kind.dims()
                .iter()
                .all(|dim| grids(1, 1, 1, 1, 1, 1).view(kind.view()).has(*dim))
        );
        assert!(kind.dims().iter().all(|dim| Dim::from_name(dim.name()) == Some(*dim)));
    }
}

prop_compose! {
    /// A model whose sizes divide its world.
    fn any_model()(
        dense in [1..4_u64, 1..4, 1..4],
        expert in [1..3_u64, 1..3],
        more in 1..3_u64,
        offset in 0..50_u64,
        order in prop_oneof![Just(RankOrder::PpLast), Just(RankOrder::DpLast)],
    ) -> (ModelParallel, u64, RankOrder, u64) {
        let ([tp, cp, pp], [ep, etp]) = (dense, expert);
        (ModelParallel { tp, cp, pp, ep, etp }, tp * cp * pp * ep * etp * more, order, offset)
    }
}

proptest! {
    #[test]
    fn groups_partition_the_ranks((model, world, order, offset) in any_model()) {
        let Ok(grids) = RankGrids::new(&model, world, order, offset) else { return Ok(()) };
        prop_assert_eq!(grids.view(View::Dense).ranks(), grids.view(View::Expert).ranks());
        for &kind in ProcessGroup::ALL {
            let partition = grids.process_groups(kind);
            let mut seen = BTreeSet::new();
            for (index, group) in partition.iter().enumerate() {
                prop_assert_eq!(group.size(), partition.group_size());
                for rank in group.ranks() {
                    prop_assert!(seen.insert(rank));
                    prop_assert_eq!(partition.index_of(rank), Some(index as u64));
                }
            }
            let everyone = !matches!(kind, ProcessGroup::Embd | ProcessGroup::PosEmbd);
            let expected: BTreeSet<_> = grids.ranks().collect();
            prop_assert!(seen.is_subset(&expected));
            prop_assert!(!everyone || seen == expected);
        }
    }

    /// A group is every rank that agrees with it in all other dimensions, ascending; groups come in the
    /// order of their lowest ranks.
    #[test]
    fn groups_are_what_the_coordinates_say((model, world, order, offset) in any_model(), chosen in 0..16_u8) {
        let Ok(grids) = RankGrids::new(&model, world, order, offset) else { return Ok(()) };
        for view in [View::Dense, View::Expert] {
            let grid = grids.view(view);
            let all: Vec<Dim> = grid.coordinates(offset).unwrap().iter().map(|(dim, _)| *dim).collect();
            let dims: Vec<Dim> = (0..4).filter(|bit| chosen >> bit & 1 == 1).map(|bit| all[bit]).collect();
            let others = |rank: u64| -> Vec<u64> {
                let fixed = all.iter().filter(|dim| !dims.contains(dim));
                fixed.map(|dim| grid.coordinate(rank, *dim).unwrap()).collect()
            };
            let mut expected: Vec<Vec<u64>> = Vec::new();
            for rank in grid.ranks() {
                match expected.iter_mut().find(|group| others(group[0]) == others(rank)) {
                    Some(group) => group.push(rank),
                    None => expected.push(vec![rank]),
                }
            }
            prop_assert_eq!(lists(&grid.partition(&dims, MemberOrder::Ascending).unwrap()), expected);
            let mut shuffled = dims.clone();
            shuffled.reverse();
            let same = grid.partition(&shuffled, MemberOrder::Ascending);
            prop_assert_eq!(same, grid.partition(&dims, MemberOrder::Ascending));
        }
    }

    #[test]
    fn ranks_and_coordinates_are_a_bijection((model, world, order, offset) in any_model()) {
        let Ok(grids) = RankGrids::new(&model, world, order, offset) else { return Ok(()) };
        for view in [View::Dense, View::Expert] {
            let grid = grids.view(view);
            let mut seen = BTreeSet::new();
            for rank in grid.ranks() {
                let coordinates = grid.coordinates(rank).unwrap();
                prop_assert_eq!(grid.rank_at(&coordinates), Some(rank));
                prop_assert!(seen.insert(coordinates.iter().map(|(_, position)| *position).collect::<Vec<_>>()));
            }
            prop_assert_eq!(seen.len() as u64, world);
            prop_assert_eq!(grid.coordinates(offset + world), None);
        }
    }
}
