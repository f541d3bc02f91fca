//! Tests of `parallel::stages`.

use megatron_memory::parallel::problem::Fix;
use megatron_memory::parallel::stages::{
    Chunk, PipelineLayout, StageInput, StageLayout, StageProblem, VppChoice, resolve_vpp, stage_layout,
};
use proptest::prelude::*;
use serde_json::Value;

use super::in_layer_order;
use crate::oracle;

fn number(config: &Value, key: &str) -> Option<u32> {
    config[key].as_u64().map(|n| u32::try_from(n).unwrap())
}

fn truth(config: &Value, key: &str) -> bool {
    config[key].as_bool().unwrap_or(false)
}

fn layout(text: &str) -> PipelineLayout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn split(input: &StageInput<'_>) -> StageLayout {
    stage_layout(input).unwrap_or_else(|p| panic!("{input:?}: {p:?}"))
}

fn problems(input: &StageInput<'_>) -> Vec<StageProblem> {
    stage_layout(input).expect_err(&format!("{input:?} is refused"))
}

/// A component of that name among the real model's parameters, with at least one element.
fn has(rank: &Value, component: &str) -> bool {
    rank["counts"][component].as_u64().is_some_and(|n| n > 0)
}

#[test]
fn every_rank_holds_what_the_real_model_built() {
    let mut compared = 0;
    for entry in std::fs::read_dir(oracle::folder().join("params")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let case = oracle::json(&format!("params/{name}"));
        let config = &case["config"];
        let pipeline_layout = config["pipeline_model_parallel_layout"].as_str().map(layout);
        let mut input = StageInput {
            num_layers: number(config, "num_layers").unwrap(),
            pp: number(config, "pipeline_model_parallel_size").unwrap(),
            vpp: None,
            decoder_first_pipeline_num_layers: number(config, "decoder_first_pipeline_num_layers"),
            decoder_last_pipeline_num_layers: number(config, "decoder_last_pipeline_num_layers"),
            account_for_embedding_in_pipeline_split: truth(config, "account_for_embedding_in_pipeline_split"),
            account_for_loss_in_pipeline_split: truth(config, "account_for_loss_in_pipeline_split"),
            mtp_num_layers: number(config, "mtp_num_layers"),
            layout: pipeline_layout.as_ref(),
            hybrid_segments: None,
        };
        let vpp = number(config, "virtual_pipeline_model_parallel_size");
        let choice = VppChoice {
            num_virtual_stages_per_pipeline_rank: vpp.filter(|_| input.layout.is_none()),
            ..VppChoice::default()
        };
        assert_eq!(resolve_vpp(&input, &choice), Ok(vpp), "{name}");
        input.vpp = vpp;

        let stages = split(&input);
        let ranks = case["ranks"].as_array().map_or(&[][..], Vec::as_slice);
        if ranks.is_empty() {
            assert!(case["error"].is_string(), "{name}");
            continue;
        }
        assert_eq!(stages.chunks().len(), ranks.len(), "{name}");
        for rank in ranks {
            let pp_rank = number(rank, "pp_rank").unwrap();
            let vp_stage = number(rank, "vpp").unwrap_or(0);
            let chunk = stages.chunk(pp_rank, vp_stage).unwrap();
            let at = format!("{name} rank {pp_rank} stage {vp_stage}");
            let layers: Vec<u32> = serde_json::from_value(rank["layers"].clone()).unwrap();
            assert_eq!(chunk.layers.clone().collect::<Vec<_>>(), layers, "{at}");
            assert_eq!(chunk.embedding, truth(rank, "pre_process"), "{at}");
            assert_eq!(chunk.output, truth(rank, "post_process"), "{at}");
            assert_eq!(chunk.word_embedding(), has(rank, "embedding"), "{at}");
            assert_eq!(chunk.final_layernorm, has(rank, "final_layernorm"), "{at}");
            assert_eq!(chunk.mtp > 0, has(rank, "mtp_eh_proj"), "{at}");
            if chunk.mtp > 0 {
                assert_eq!(Some(chunk.mtp), number(config, "mtp_num_layers"), "{at}");
            }
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn chunks_are_dealt_out_before_ranks_repeat() {
    let stages = split(&StageInput {
        num_layers: 8,
        pp: 2,
        vpp: Some(2),
        ..StageInput::default()
    });
    let held = |rank| -> Vec<_> { stages.rank(rank).iter().map(|c| c.layers.clone()).collect() };
    assert_eq!(held(0), [0..2, 4..6]);
    assert_eq!(held(1), [2..4, 6..8]);
    assert_eq!(held(2), []);
    assert_eq!(stages.chunk(0, 2), None);
}

#[test]
fn uneven_ranks_share_their_layers_over_chunks() {
    let stages = split(&StageInput {
        num_layers: 20,
        pp: 4,
        vpp: Some(2),
        decoder_first_pipeline_num_layers: Some(2),
        decoder_last_pipeline_num_layers: Some(6),
        ..StageInput::default()
    });
    let order: Vec<_> = in_layer_order(&stages)
        .into_iter()
        .map(|c| (c.pp_rank, c.vp_stage, c.layers.clone()))
        .collect();
    assert_eq!(
        order,
        [
            (0, 0, 0..1),
            (1, 0, 1..4),
            (2, 0, 4..7),
            (3, 0, 7..10),
            (0, 1, 10..11),
            (1, 1, 11..14),
            (2, 1, 14..17),
            (3, 1, 17..20),
        ]
    );
}

#[test]
fn embedding_and_loss_may_leave_no_layer_beside_them() {
    let stages = split(&StageInput {
        num_layers: 6,
        pp: 4,
        vpp: Some(2),
        account_for_embedding_in_pipeline_split: true,
        account_for_loss_in_pipeline_split: true,
        mtp_num_layers: Some(1),
        ..StageInput::default()
    });
    let first = stages.chunk(0, 0).unwrap();
    let last = stages.chunk(3, 1).unwrap();
    assert_eq!((first.num_layers(), last.num_layers()), (0, 0));
    assert!(first.embedding && last.output && last.mtp == 1);
    assert!(last.word_embedding_copy_for_mtp());
    assert!(!last.final_layernorm, "it follows the last decoder layer");
    assert!(stages.chunk(2, 1).unwrap().final_layernorm);
}

#[test]
fn mtp_on_a_rank_of_its_own_has_an_embedding() {
    let text = layout("Et*4|t*4|mm|L");
    let stages = split(&StageInput {
        num_layers: 8,
        pp: 4,
        mtp_num_layers: Some(2),
        layout: Some(&text),
        ..StageInput::default()
    });
    let held: Vec<_> = stages.chunks().iter().map(|c| (c.mtp, c.word_embedding())).collect();
    assert_eq!(held, [(0, true), (0, false), (2, true), (0, false)]);
}

#[test]
fn the_only_rank_shares_one_embedding_with_mtp() {
    let stages = split(&StageInput {
        num_layers: 3,
        pp: 1,
        mtp_num_layers: Some(1),
        ..StageInput::default()
    });
    let only = Chunk {
        pp_rank: 0,
        vp_stage: 0,
        layers: 0..3,
        embedding: true,
        output: true,
        final_layernorm: true,
        mtp: 1,
    };
    assert_eq!(stages.chunks(), std::slice::from_ref(&only));
    assert!(only.word_embedding() && !only.word_embedding_copy_for_mtp());
}

#[test]
fn an_uneven_number_of_layers_names_what_would_fit() {
    let found = problems(&StageInput {
        num_layers: 61,
        pp: 16,
        ..StageInput::default()
    });
    assert_eq!(
        found[0].to_string(),
        "num_layers 61 must be divisible by pipeline_model_parallel_size 16; near: 1, 61; \
         or set decoder_last_pipeline_num_layers 1"
    );
    let found = problems(&StageInput {
        num_layers: 94,
        pp: 8,
        ..StageInput::default()
    });
    assert_eq!(
        found[0].to_string(),
        "num_layers 94 must be divisible by pipeline_model_parallel_size 8; near: 1, 2, 47, 94; \
         or count both embedding and loss as layers; or set decoder_last_pipeline_num_layers 10"
    );
    let fixes: Vec<_> = found[0]
        .fixes
        .iter()
        .map(|fix| (fix.field, fix.value.to_string()))
        .collect();
    let pp = "pipeline_model_parallel_size";
    assert_eq!(
        fixes,
        [
            (pp, "1".to_owned()),
            (pp, "2".to_owned()),
            (pp, "47".to_owned()),
            (pp, "94".to_owned()),
            ("decoder_last_pipeline_num_layers", "10".to_owned()),
        ]
    );
    assert_eq!(found[0].fields, ["pipeline_model_parallel_size", "num_layers"]);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one row for each rule")]
fn splits_that_megatron_refuses_are_refused() {
    let base = StageInput {
        num_layers: 8,
        pp: 4,
        ..StageInput::default()
    };
    let uneven = |first, last| StageInput {
        decoder_first_pipeline_num_layers: first,
        decoder_last_pipeline_num_layers: last,
        ..base
    };
    let cases: Vec<(StageInput<'_>, &[&str], &str)> = vec![
        (
            StageInput { pp: 0, ..base },
            &["pipeline_model_parallel_size"],
            "must be at least 1",
        ),
        (
            StageInput { num_layers: 0, ..base },
            &["num_layers"],
            "must be at least 1",
        ),
        (
            StageInput {
                pp: 1,
                vpp: Some(2),
                ..base
            },
            &["pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"],
            "2 virtual stages need at least 2 pipeline ranks, and there are 1",
        ),
        (
            StageInput {
                num_layers: 24,
                vpp: Some(4),
                ..base
            },
            &[
                "virtual_pipeline_model_parallel_size",
                "num_layers",
                "pipeline_model_parallel_size",
            ],
            "each pipeline rank has 6 layers, which must be divisible by its 4 virtual stages; near: 1, 2, 3, 6",
        ),
        (
            StageInput {
                account_for_loss_in_pipeline_split: true,
                ..uneven(Some(2), None)
            },
            &[
                "decoder_first_pipeline_num_layers",
                "decoder_last_pipeline_num_layers",
                "account_for_embedding_in_pipeline_split",
                "account_for_loss_in_pipeline_split",
            ],
            "cannot be combined with",
        ),
        (
            uneven(Some(0), None),
            &["decoder_first_pipeline_num_layers"],
            "must be at least 1",
        ),
        (
            uneven(Some(4), Some(4)),
            &[
                "decoder_first_pipeline_num_layers",
                "decoder_last_pipeline_num_layers",
                "pipeline_model_parallel_size",
            ],
            "0 layers are left for 2 ranks",
        ),
        (
            uneven(Some(9), None),
            &[
                "decoder_first_pipeline_num_layers",
                "decoder_last_pipeline_num_layers",
                "pipeline_model_parallel_size",
            ],
            "-1 layers are left for 3 ranks",
        ),
        (
            StageInput {
                pp: 1,
                ..uneven(Some(4), Some(4))
            },
            &[
                "decoder_first_pipeline_num_layers",
                "decoder_last_pipeline_num_layers",
                "pipeline_model_parallel_size",
            ],
            "0 layers are left for -1 ranks",
        ),
        (
            uneven(None, Some(1)),
            &[
                "decoder_first_pipeline_num_layers",
                "decoder_last_pipeline_num_layers",
                "pipeline_model_parallel_size",
            ],
            "the 7 layers that are left must be divisible by the 3 pipeline ranks that are left; near: decoder_last_pipeline_num_layers 2",
        ),
        (
            StageInput {
                pp: 2,
                vpp: Some(2),
                ..uneven(Some(6), Some(2))
            },
            &[
                "virtual_pipeline_model_parallel_size",
                "decoder_first_pipeline_num_layers",
                "decoder_last_pipeline_num_layers",
            ],
            "2 virtual stages need a pipeline rank between the first and the last, and there are 2 ranks in all",
        ),
        (
            StageInput {
                num_layers: 15,
                vpp: Some(2),
                ..uneven(Some(3), None)
            },
            &[
                "virtual_pipeline_model_parallel_size",
                "decoder_first_pipeline_num_layers",
            ],
            "the first pipeline rank has 3 layers, which must be divisible by its 2 virtual stages; near: 1",
        ),
        (
            StageInput {
                num_layers: 9,
                vpp: Some(u32::MAX),
                ..base
            },
            &["pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"],
            "4 pipeline ranks of 4294967295 virtual stages are more than the 65536",
        ),
    ];
    for (input, fields, part) in cases {
        let found = problems(&input);
        let named = |problem: &&StageProblem| problem.fields == fields && problem.message.contains(part);
        assert!(found.iter().any(|problem| named(&problem)), "{input:?}: {found:?}");
        assert!(found.iter().all(|problem| !problem.fields.is_empty()));
    }
}

#[test]
fn virtual_stages_come_from_any_of_three_arguments() {
    let base = StageInput {
        num_layers: 24,
        pp: 4,
        ..StageInput::default()
    };
    let by_stage = |n| VppChoice {
        num_layers_per_virtual_pipeline_stage: Some(n),
        ..VppChoice::default()
    };
    let by_rank = |n| VppChoice {
        num_virtual_stages_per_pipeline_rank: Some(n),
        ..VppChoice::default()
    };
    assert_eq!(resolve_vpp(&base, &VppChoice::default()), Ok(None));
    assert_eq!(resolve_vpp(&base, &by_stage(2)), Ok(Some(3)));
    assert_eq!(resolve_vpp(&base, &by_stage(6)), Ok(None));
    assert_eq!(resolve_vpp(&base, &by_rank(6)), Ok(Some(6)));
    assert_eq!(resolve_vpp(&base, &by_rank(1)), Ok(None));
    let counted = StageInput {
        num_layers: 22,
        account_for_embedding_in_pipeline_split: true,
        account_for_loss_in_pipeline_split: true,
        ..base
    };
    assert_eq!(resolve_vpp(&counted, &by_stage(3)), Ok(Some(2)));
    let three = layout("Et*2|(t*2|)*10,t*2L");
    let by_layout = StageInput {
        layout: Some(&three),
        ..base
    };
    assert_eq!(resolve_vpp(&by_layout, &VppChoice::default()), Ok(Some(3)));
}

#[test]
fn virtual_stages_that_megatron_refuses_are_refused() {
    let base = StageInput {
        num_layers: 24,
        pp: 4,
        ..StageInput::default()
    };
    let choice = |stage, rank, overlap_p2p_comm| VppChoice {
        num_layers_per_virtual_pipeline_stage: stage,
        num_virtual_stages_per_pipeline_rank: rank,
        overlap_p2p_comm,
    };
    let two = layout("Et*12|t*12L");
    let cases = [
        (base, choice(Some(2), Some(3), true), "only one of these"),
        (
            StageInput {
                layout: Some(&two),
                ..base
            },
            choice(None, Some(2), true),
            "num_virtual_stages_per_pipeline_rank (2), pipeline_model_parallel_layout",
        ),
        (
            StageInput {
                layout: Some(&two),
                ..base
            },
            choice(None, None, true),
            "2 stages must be divisible by pipeline_model_parallel_size 4; near: 1, 2",
        ),
        (
            base,
            choice(Some(4), None, true),
            "6 layers, which num_layers_per_virtual_pipeline_stage 4 does not divide; near: 1, 2, 3, 6",
        ),
        (
            StageInput { num_layers: 26, ..base },
            choice(Some(2), None, true),
            "num_layers 26 must be divisible",
        ),
        (base, choice(Some(0), None, true), "must be at least 1"),
        (base, choice(None, Some(0), true), "must be at least 1"),
        (
            StageInput {
                decoder_first_pipeline_num_layers: Some(6),
                ..base
            },
            choice(Some(2), None, true),
            "give num_virtual_stages_per_pipeline_rank instead",
        ),
        (
            StageInput { pp: 1, ..base },
            choice(None, Some(2), true),
            "at least 2 pipeline ranks",
        ),
        (
            StageInput { pp: 2, ..base },
            choice(None, Some(2), false),
            "at least 3 pipeline ranks",
        ),
    ];
    for (input, choice, part) in cases {
        let found = resolve_vpp(&input, &choice).expect_err(part);
        assert!(found[0].to_string().contains(part), "{part}: {}", found[0]);
    }
}

proptest! {
    #[test]
    fn stages_partition_the_layers(
        num_layers in 1u32..200,
        pp in 1u32..20,
        vpp in prop::option::of(1u32..6),
        first in prop::option::weighted(0.3, 0u32..12),
        last in prop::option::weighted(0.3, 0u32..12),
        embedding: bool,
        loss: bool,
        mtp_num_layers in 0u32..3,
    ) {
        let input = StageInput {
            num_layers,
            pp,
            vpp,
            decoder_first_pipeline_num_layers: first,
            decoder_last_pipeline_num_layers: last,
            account_for_embedding_in_pipeline_split: embedding && first.or(last).is_none(),
            account_for_loss_in_pipeline_split: loss && first.or(last).is_none(),
            mtp_num_layers: Some(mtp_num_layers),
            layout: None,
            hybrid_segments: None,
        };
        match stage_layout(&input) {
            Ok(stages) => {
                let mut next = 0;
                for chunk in in_layer_order(&stages) {
                    prop_assert_eq!(chunk.layers.start, next);
                    next = chunk.layers.end;
                }
                prop_assert_eq!(next, num_layers);
                let count = |f: fn(&Chunk) -> bool| stages.chunks().iter().filter(|c| f(c)).count();
                prop_assert_eq!(count(|c| c.embedding), 1);
                prop_assert_eq!(count(|c| c.output), 1);
                prop_assert_eq!(count(|c| c.final_layernorm), 1);
                prop_assert_eq!(stages.chunks().iter().map(|c| c.mtp).sum::<u32>(), mtp_num_layers);
                if let Some(first) = first {
                    let held: u32 = stages.rank(0).iter().map(Chunk::num_layers).sum();
                    prop_assert_eq!(held, first);
                }
                if let Some(last) = last {
                    let held: u32 = stages.rank(pp - 1).iter().map(Chunk::num_layers).sum();
                    prop_assert_eq!(held, last);
                }
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    prop_assert!(!problem.to_string().is_empty());
                    // What a message proposes must work.
                    if problem.message.starts_with("num_layers") {
                        let of_pp = |fix: &&Fix<&str>| fix.field == "pipeline_model_parallel_size";
                        for fix in problem.fixes.iter().filter(of_pp) {
                            let pp = fix.value.to_string().parse().unwrap();
                            let near = StageInput { pp, vpp: None, ..input };
                            prop_assert!(stage_layout(&near).is_ok());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_layout_says_the_same_as_the_split_it_spells_out(
        per_rank in 1u32..6,
        pp in 2u32..9,
        vpp in 1u32..4,
    ) {
        let even = split(&StageInput {
            num_layers: per_rank * pp * vpp,
            pp,
            vpp: (vpp > 1).then_some(vpp),
            ..StageInput::default()
        });
        let rows = in_layer_order(&even).into_iter().map(|c| {
            let mut row = vec!["decoder"; c.num_layers() as usize];
            if c.embedding { row.insert(0, "embedding"); }
            if c.output { row.push("loss"); }
            row
        });
        let layout = PipelineLayout::from_names(rows).unwrap();
        let spelled = split(&StageInput {
            num_layers: per_rank * pp * vpp,
            pp,
            layout: Some(&layout),
            ..StageInput::default()
        });
        prop_assert_eq!(even, spelled);
    }
}
