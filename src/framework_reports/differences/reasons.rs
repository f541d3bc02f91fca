//! The reasons, one function each.

use super::Framework::{self, MegatronBridge, MegatronLm};
use super::{Difference, Effect, Elements, Job};
use crate::config::choices::{Normalization, RecomputeGranularity, TransformerImpl};
use crate::config::field::Decimal;
use crate::config::job::Activation;
use crate::memory::bucket::{Bucket, State};
use crate::memory::states::{AppliesTo, StateRule};
use crate::model::tensor::Component;
use crate::parallel::groups::View;
use crate::units::Bytes;

const BOTH: &[Framework] = &[MegatronLm, MegatronBridge];

/// Every reason.
pub(super) const ALL: &[fn(&Job<'_>) -> Option<Difference>] = &[
    optimizer_shard,
    bytes_of_a_parameter,
    latent_attention,
    latent_attention_split,
    third_projection,
    average_stage,
    unread_split,
    ends_added_up,
    mtp_projection,
    mtp_embedding,
    router,
    norms,
    latent_projections,
    biases,
    qk_norms,
    sinks,
    positions,
    shared_expert_gate,
    formula_of_megatron_lm,
    formula_of_megatron_bridge,
];

/// Weights and gradients are whole on every rank.
const fn is_split(state: State) -> bool {
    !matches!(state, State::Weights | State::MainGrads)
}

fn optimizer_shard(job: &Job<'_>) -> Option<Difference> {
    let m = job.m;
    if m.cp == 1 || !m.args().use_distributed_optimizer {
        return None;
    }
    let dense = Elements {
        expert: 0,
        ..job.on_stage(&|_, _| true)
    };
    let theirs = job.bytes_by(dense, &|state, _, rule| {
        let shard = if is_split(state) { m.dp } else { 1 };
        StateRule { shard, ..rule }
    });
    Some(Difference {
        id: "optimizer_shard",
        frameworks: &[MegatronLm],
        text: format!(
            "It splits the optimizer states of dense parameters over DP = {} ranks; Megatron splits them over DP·CP = {}.",
            m.dp,
            m.dp * m.cp
        ),
        effect: Effect::of(theirs, job.bytes(dense)),
    })
}

fn bytes_of_a_parameter(job: &Job<'_>) -> Option<Difference> {
    let theirs = job.bytes_by(job.on_stage(&|_, _| true), &|state, held, _| StateRule {
        fp8_saving: 0,
        applies_to: AppliesTo::All,
        bytes: if state == State::Weights { 2 } else { 4 },
        shard: match held {
            _ if !is_split(state) => 1,
            View::Dense => job.m.dense_shard(),
            View::Expert => job.m.expert_shard(),
        },
        on_gpu: Decimal::ONE,
    });
    let states = Bucket::ALL
        .into_iter()
        .filter(|bucket| bucket.state().is_some());
    let ours: Bytes = states.map(|bucket| job.stage.bytes(bucket)).sum();
    (theirs != ours).then(|| Difference {
        id: "bytes_of_a_parameter",
        frameworks: BOTH,
        text: String::from(
            "It counts 18 bytes for every parameter: bf16 weights, fp32 gradients, fp32 main parameters and two fp32 moments. This job keeps its states otherwise.",
        ),
        effect: Effect::of(theirs, ours),
    })
}

fn latent_attention(job: &Job<'_>) -> Option<Difference> {
    let (m, a) = (job.m, job.m.args());
    if !a.multi_latent_attention {
        return None;
    }
    let groups = if a.group_query_attention {
        m.num_query_groups
    } else {
        a.num_attention_heads
    };
    let widths = 2 * u128::from(a.hidden_size) * u128::from(m.kv_channels);
    let theirs = widths * u128::from(a.num_attention_heads + groups) * u128::from(job.layers());
    let theirs = u64::try_from(theirs / u128::from(m.tp)).unwrap_or(u64::MAX);
    let attention = |component, _| {
        matches!(
            component,
            Component::Attention | Component::MlaDownProj | Component::MlaLayernorm
        )
    };
    let theirs = job.bytes(Elements {
        dense: theirs,
        expert: 0,
    });
    Some(Difference {
        id: "latent_attention",
        frameworks: &[MegatronBridge],
        text: format!(
            "It does not know multi-latent attention and counts ordinary attention with {} channels a head (kv_channels), which this model does not use.",
            m.kv_channels
        ),
        effect: Effect::of(theirs, job.bytes(job.on_stage(&attention))),
    })
}

fn latent_attention_split(job: &Job<'_>) -> Option<Difference> {
    let (m, a) = (job.m, job.m.args());
    let duplicated = a.transformer_impl == TransformerImpl::TransformerEngine;
    if !a.multi_latent_attention || m.tp == 1 || !duplicated {
        return None;
    }
    let down = job.on_stage(&|c, _| matches!(c, Component::MlaDownProj | Component::MlaLayernorm));
    Some(Difference {
        id: "latent_attention_split",
        frameworks: &[MegatronLm],
        text: String::from(
            "It divides MLA's down projections and their norms by TP; Transformer Engine holds them in full on every rank.",
        ),
        effect: Effect::of(job.bytes(down.over(m.tp)), job.bytes(down)),
    })
}

fn third_projection(job: &Job<'_>) -> Option<Difference> {
    if !matches!(job.m.activation, Activation::GeGlu | Activation::QuickGeGlu) {
        return None;
    }
    let mlps = |c, _| {
        matches!(
            c,
            Component::DenseMlp | Component::RoutedExperts | Component::SharedExperts
        )
    };
    let third = job.on_stage(&mlps).over(3);
    Some(Difference {
        id: "third_projection",
        frameworks: BOTH,
        text: String::from(
            "It counts three projections for SwiGLU only; this model's gated GELU has three as well and is counted with two.",
        ),
        effect: Effect::of(Bytes::ZERO, job.bytes(third)),
    })
}

fn average_stage(job: &Job<'_>) -> Option<Difference> {
    let m = job.m;
    let mut loads = m
        .stages
        .chunks()
        .chunks(m.stages.chunks_per_rank().max(1) as usize)
        .map(|chunks| {
            let layers = chunks.iter().flat_map(|chunk| chunk.layers.clone());
            let moe = layers
                .filter(|layer| m.is_moe_layer(u64::from(*layer)))
                .count();
            (
                chunks
                    .iter()
                    .map(crate::parallel::stages::Chunk::num_layers)
                    .sum::<u32>(),
                moe,
            )
        });
    let first = loads.next()?;
    if m.pp == 1 || (m.mtp_num_layers == 0 && loads.all(|load| load == first)) {
        return None;
    }
    let mtp = match m.mtp_num_layers {
        0 => String::new(),
        1 => String::from(", and the MTP layer"),
        n => format!(", and all {n} MTP layers"),
    };
    Some(Difference {
        id: "average_stage",
        frameworks: if job.first_or_last_given() {
            &[MegatronLm]
        } else {
            BOTH
        },
        text: format!(
            "It takes an average stage of {} / {} layers, of every kind alike, with one embedding on it{mtp}. The stage with most weights and states, {}, really has {} layers.",
            m.args().num_layers,
            m.pp,
            job.pp_rank,
            job.layers()
        ),
        effect: Effect::Unsaid,
    })
}

fn unread_split(job: &Job<'_>) -> Option<Difference> {
    let a = job.m.args();
    let accounts =
        a.account_for_embedding_in_pipeline_split || a.account_for_loss_in_pipeline_split;
    let (name, frameworks): (_, &[Framework]) = if a.pipeline_model_parallel_layout.is_some() {
        ("pipeline_model_parallel_layout", BOTH)
    } else if accounts {
        (
            "account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split",
            BOTH,
        )
    } else if job.first_or_last_given() {
        (
            "decoder_first_pipeline_num_layers and decoder_last_pipeline_num_layers",
            &[MegatronLm],
        )
    } else {
        return None;
    };
    Some(Difference {
        id: "unread_split",
        frameworks,
        text: format!("It does not read {name}."),
        effect: Effect::Unsaid,
    })
}

fn ends_added_up(job: &Job<'_>) -> Option<Difference> {
    (job.first_or_last_given() && job.m.moe.is_some()).then(|| Difference {
        id: "ends_added_up",
        frameworks: &[MegatronBridge],
        text: String::from(
            "It adds the stage with most dense parameters and the stage with most experts, even where these are two stages.",
        ),
        effect: Effect::Unsaid,
    })
}

fn mtp_projection(job: &Job<'_>) -> Option<Difference> {
    let around = |c, mtp| {
        matches!(c, Component::EhProj | Component::EnormHnorm)
            || (mtp && c == Component::FinalLayernorm)
    };
    job.left_out(
        "mtp_projection",
        BOTH,
        &around,
        "It counts an MTP depth as a layer, without the projection and the three norms around it.",
    )
}

fn mtp_embedding(job: &Job<'_>) -> Option<Difference> {
    let m = job.m;
    let copies = m
        .stages
        .chunks()
        .iter()
        .filter(|c| c.word_embedding_copy_for_mtp());
    let copy = copies.min_by_key(|chunk| chunk.pp_rank)?;
    let chunks = m.stages.rank(copy.pp_rank);
    let (also, here) = (
        chunks.iter().any(|c| c.output),
        copy.pp_rank as usize == job.pp_rank,
    );
    let table =
        u128::from(m.padded_vocab_size) * u128::from(m.args().hidden_size) / u128::from(m.tp);
    let table = Elements {
        dense: u64::try_from(table).unwrap_or(u64::MAX),
        expert: 0,
    };
    Some(Difference {
        id: "mtp_embedding",
        frameworks: BOTH,
        text: format!(
            "It counts one vocabulary table on a stage; stage {} holds a copy of the word embedding for MTP{}.",
            copy.pp_rank,
            if also {
                " besides the output layer"
            } else {
                ""
            }
        ),
        effect: if also && here {
            Effect::Less(job.bytes(table))
        } else {
            Effect::Unsaid
        },
    })
}

fn router(job: &Job<'_>) -> Option<Difference> {
    job.left_out(
        "router",
        &[MegatronBridge],
        &|c, _| c == Component::Router,
        "It leaves out the routers, which every rank holds in full.",
    )
}

fn norms(job: &Job<'_>) -> Option<Difference> {
    let m = job.m;
    let is_rms = m.args().normalization == Normalization::RmsNorm;
    if m.tp == 1 && !is_rms {
        return None;
    }
    let ours = job
        .on_stage(&|c, mtp| c == Component::Layernorm || (c == Component::FinalLayernorm && !mtp));
    let theirs = Elements {
        dense: ours.dense * if is_rms { 2 } else { 1 },
        expert: 0,
    }
    .over(m.tp);
    let text = match (is_rms, m.tp > 1) {
        (true, true) => {
            "It counts norms with a bias, which RMSNorm has not, and divides them by TP although every rank holds them in full."
        }
        (true, false) => "It counts norms with a bias, which RMSNorm has not.",
        _ => "It divides norms by TP although every rank holds them in full.",
    };
    Some(Difference {
        id: "norms",
        frameworks: &[MegatronBridge],
        text: text.to_owned(),
        effect: Effect::of(job.bytes(theirs), job.bytes(ours)),
    })
}

fn latent_projections(job: &Job<'_>) -> Option<Difference> {
    let ours = job.on_stage(&|c, _| c == Component::LatentProj);
    if ours == Elements::default() || job.m.tp == 1 {
        return None;
    }
    Some(Difference {
        id: "latent_projections",
        frameworks: &[MegatronBridge],
        text: String::from(
            "It divides the experts' latent projections by TP although every rank holds them in full.",
        ),
        effect: Effect::of(job.bytes(ours.over(job.m.tp)), job.bytes(ours)),
    })
}

fn biases(job: &Job<'_>) -> Option<Difference> {
    let a = job.m.args();
    if !a.add_bias_linear && !a.add_qkv_bias {
        return None;
    }
    // A router's bias is counted by one and missed by the other together with its weight.
    let on_stage =
        job.tensors_on_stage(&|t| t.is_named(".bias") && t.component != Component::Router);
    Some(Difference {
        id: "biases",
        frameworks: BOTH,
        text: String::from("It does not count the biases of linear layers."),
        effect: Effect::of(Bytes::ZERO, job.bytes(on_stage)),
    })
}

fn qk_norms(job: &Job<'_>) -> Option<Difference> {
    let norms = |c, _| c == Component::QkLayernorm;
    job.left_out(
        "qk_norms",
        BOTH,
        &norms,
        "It does not count the norms on queries and keys.",
    )
}

fn sinks(job: &Job<'_>) -> Option<Difference> {
    let sinks = |c, _| c == Component::AttentionSinks;
    job.left_out("sinks", BOTH, &sinks, "It does not count attention sinks.")
}

fn positions(job: &Job<'_>) -> Option<Difference> {
    let positions = |c, _| c == Component::PositionEmbedding;
    job.left_out(
        "positions",
        BOTH,
        &positions,
        "It does not count the table of learned positions on the first stage.",
    )
}

fn shared_expert_gate(job: &Job<'_>) -> Option<Difference> {
    job.left_out(
        "shared_expert_gate",
        &[MegatronBridge],
        &|c, _| c == Component::SharedExpertGate,
        "It leaves out the gate on the shared experts.",
    )
}

fn formula_of_megatron_lm(job: &Job<'_>) -> Option<Difference> {
    let (m, a) = (job.m, job.m.args());
    let unknown = words([
        (m.moe.is_some(), "experts"),
        (a.group_query_attention, "grouped queries"),
        (a.multi_latent_attention, "latent attention"),
        (m.cp > 1, "context parallelism"),
        (m.activation.gated(), "gated MLPs"),
        (
            a.recompute_granularity == Some(RecomputeGranularity::Full),
            "full recompute",
        ),
    ])?;
    Some(Difference {
        id: "formula_of_megatron_lm",
        frameworks: &[MegatronLm],
        text: format!(
            "Its activations are a closed formula for the first stage that does not know {unknown}."
        ),
        effect: Effect::Unsaid,
    })
}

fn formula_of_megatron_bridge(job: &Job<'_>) -> Option<Difference> {
    let (m, a) = (job.m, job.m.args());
    let recompute = a.recompute_granularity;
    let text = if m.sequence_parallel && recompute == Some(RecomputeGranularity::Selective) {
        let unknown = words([
            (a.group_query_attention, "grouped queries"),
            (a.multi_latent_attention, "latent attention"),
            (m.moe.is_some(), "how tokens reach experts"),
            (m.activation.gated(), "gated MLPs"),
        ])?;
        format!(
            "Its activations are a closed formula for the first stage that does not know {unknown}."
        )
    } else {
        String::from(
            "It prints activations only with sequence parallelism and selective recompute, and so none for this job.",
        )
    };
    Some(Difference {
        id: "formula_of_megatron_bridge",
        frameworks: &[MegatronBridge],
        text,
        effect: Effect::Unsaid,
    })
}

/// The names that apply, as in "a, b or c"; nothing when none does.
fn words<const N: usize>(names: [(bool, &str); N]) -> Option<String> {
    let names: Vec<&str> = names
        .into_iter()
        .filter_map(|(here, name)| here.then_some(name))
        .collect();
    match names.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        [others @ .., last] => Some(format!("{} or {last}", others.join(", "))),
    }
}
