//! How ranks tile the job.

use super::rule::{ERROR, Found, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::{near_matches, or_list};
use crate::units::multiply;
use crate::value::Value;
use crate::words::Gaps;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "world_holds_one_copy",
        fields: COPY,
        broken: |d, f| {
            d.world_size < d.copy
                && f.numbers(&[d.world_size, d.tp, d.pp, d.cp, d.copy])
                && f.fix_each(F::world_size, &[d.copy])
        },
        words: "world_size {} is less than one copy of the model, which takes TP {} · PP {} · CP {} = {} GPUs",
        ..ERROR
    },
    Rule {
        name: "world_by_copy",
        fields: COPY,
        broken: |d, f| {
            let below = d.world_size / d.copy * d.copy;
            d.world_size >= d.copy
                && !d.has_whole_copies()
                && f.numbers(&[d.world_size, d.tp, d.pp, d.cp, d.copy])
                && f.near(vec![below, below.saturating_add(d.copy)])
        },
        words: "world_size {} must be a multiple of TP {} · PP {} · CP {} = {}; {} GPUs would work",
        fixes: &[(F::world_size, To::Near)],
        ..ERROR
    },
    Rule {
        name: "data_parallel_size",
        fields: &[F::data_parallel_size, F::world_size],
        broken: |d, f| {
            d.a.data_parallel_size.is_some_and(|dp| {
                let world = u128::from(d.copy) * u128::from(dp);
                d.has_whole_copies()
                    && dp != d.dp
                    && f.numbers(&[dp, d.world_size, d.tp, d.pp, d.cp, d.dp])
                    && f.fix(
                        F::world_size,
                        Value::Int(world.try_into().unwrap_or(i128::MAX)),
                    )
            })
        },
        words: "data_parallel_size {} does not fit {} GPUs with TP {} · PP {} · CP {}: that gives {}",
        fixes: &[(F::data_parallel_size, To::Default)],
        ..ERROR
    },
    // The expert grid must cover the same ranks as the dense one (`initialize_model_parallel`).
    Rule {
        name: "expert_grid",
        fields: &[
            F::expert_model_parallel_size,
            F::expert_tensor_parallel_size,
            F::tensor_model_parallel_size,
            F::pipeline_model_parallel_size,
            F::context_parallel_size,
            F::world_size,
        ],
        broken: |d, f| {
            let (stage, span) = (d.world_size / d.pp, multiply(d.etp, d.ep));
            d.has_whole_copies()
                && !stage.is_multiple_of(span)
                && f.numbers(&[d.etp, d.ep, span, stage, d.tp, d.cp, d.dp])
                && near_expert_grids(d, f, stage)
        },
        words: "ETP {} · EP {} = {} must divide the {} ranks of a pipeline stage (TP · CP · DP = {} · {} · {}); {}",
        ..ERROR
    },
    Rule {
        name: "sequence_by_cp",
        fields: &[F::seq_length, F::context_parallel_size],
        broken: |d, f| {
            let length = d.a.seq_length;
            d.splits_sequences()
                && f.rest(length, 2 * d.cp)
                && f.fit(
                    F::context_parallel_size,
                    near_matches(d.cp, 4096, 3, &|cp| length.is_multiple_of(2 * cp)),
                    F::seq_length,
                    length,
                    2 * d.cp,
                )
        },
        words: "seq_length {} must be a multiple of 2 · CP = {}; {} {} would work",
        ..ERROR
    },
    Rule {
        name: "sequence_parallel_needs_tp",
        fields: &[F::sequence_parallel, F::tensor_model_parallel_size],
        broken: |d, _| d.a.sequence_parallel && d.tp == 1,
        words: "Megatron-LM turns sequence_parallel off with TP 1",
        fixes: &[(F::sequence_parallel, To::Off)],
        ..WARNING
    },
    Rule {
        name: "sequence_by_tp",
        fields: &[
            F::seq_length,
            F::tensor_model_parallel_size,
            F::sequence_parallel,
        ],
        broken: |d, f| {
            let length = d.a.seq_length;
            d.a.sequence_parallel
                && !(length / d.cp).is_multiple_of(d.tp)
                && f.numbers(&[length, d.cp, d.tp])
                && d.fit_tp(f, F::seq_length, length, multiply(d.tp, d.cp))
        },
        words: "with sequence_parallel, seq_length {} over CP {} must be a multiple of TP {}; {} {} would work",
        ..ERROR
    },
];

const COPY: &[F] = &[
    F::world_size,
    F::tensor_model_parallel_size,
    F::pipeline_model_parallel_size,
    F::context_parallel_size,
];

/// The EP and ETP near by that divide the ranks of a stage.
fn near_expert_grids(d: &Draft<'_>, f: &mut Found, stage: u64) -> bool {
    let fits = |ep: u64| d.a.num_experts.is_none_or(|e| e.is_multiple_of(ep));
    let expert_near = near_matches(d.ep, 4096, 3, &|ep| {
        fits(ep) && stage.is_multiple_of(multiply(d.etp, ep))
    });
    let tensor_near = near_matches(d.etp, 64, 2, &|etp| {
        stage.is_multiple_of(multiply(etp, d.ep))
    });
    let mut gaps = Gaps::default();
    let hint = match (expert_near.as_slice(), tensor_near.as_slice()) {
        ([], []) => {
            let span = multiply(multiply(d.etp, d.ep), d.pp);
            gaps.numbers(&[span])
                .fill("world_size must be a multiple of ETP · EP · PP = {}")
        }
        ([], etp) => gaps.text(&or_list(etp)).fill("ETP {} would work"),
        (ep, _) => gaps.text(&or_list(ep)).fill("EP {} would work"),
    };
    // Where nothing says how many GPUs there are, there can be as many as the experts need.
    if stage < multiply(d.etp, d.ep) && d.a.world_size.is_none() && d.a.data_parallel_size.is_none()
    {
        let ranks = multiply(multiply(d.etp, d.ep), d.pp);
        if ranks.is_multiple_of(d.copy) {
            f.fix_each(F::world_size, &[ranks]);
        }
    }
    f.text(&hint)
        && f.fix_each(F::expert_model_parallel_size, &expert_near)
        && f.fix_each(F::expert_tensor_parallel_size, &tensor_near)
}
