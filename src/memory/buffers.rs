//! Small things that stay for the whole run: padding, workspaces, tables, stand-ins.

use crate::config::choices::{
    AttentionBackend, PositionEmbedding, TokenDispatcher, TransformerImpl,
};
use crate::config::job::{GpuGeneration, Module};
use crate::memory::bucket::Bucket;
use crate::memory::parameters::Count;
use crate::memory::states::{Having, StateRules};
use crate::model::sizes::Sizes;
use crate::model::tape::block;
use crate::model::tensor::{Component, Holding, ParamTensor};
use crate::model::{Architecture, PartCounts, PartKind, trained};
use crate::order::sort_by_key;
use crate::parallel::stages::Chunk;
use crate::source::{
    BUFFER_LAYOUT, CUBLAS_WORKSPACE, DUMMY_WGRAD, MEMORY_BUFFER, ROPE_TABLE, Source,
    TE_CUBLAS_WORKSPACE,
};

/// A buffer that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What it is, in a few words.
    pub what: &'static str,
    /// Its bytes.
    pub bytes: u64,
    /// Who makes it.
    pub source: Source,
}

/// What [`buffers`] needs of a module, computed once.
pub(crate) struct BufferRules {
    padding: [PartPadding; PartKind::COUNT],
    /// Shapes of linear layers' weights, by part.
    linears: [Vec<(u64, u64)>; PartKind::COUNT],
}

/// What aligning the tensors of one part adds.
#[derive(Clone, Copy, Default)]
struct PartPadding {
    dense: Aligned,
    expert: Aligned,
    /// The embedding or output layer that another stage shares, which has a bucket of its own.
    shared: u64,
}

#[derive(Clone, Copy, Default)]
struct Aligned {
    elements: u64,
    /// Elements with every tensor's start at a multiple of 64.
    in_buffer: u64,
    /// Bytes that rounding every tensor to whole blocks adds to weights, and to each state in fp32.
    weights: u64,
    fp32: u64,
    /// The same for weights that are not trained: they are in no buffer.
    frozen: u64,
}

/// Elements that a tensor's start in a buffer is a multiple of.
const ALIGNMENT: u64 = 64;

impl BufferRules {
    pub(crate) fn new(m: &Module, architecture: &Architecture) -> Self {
        Self {
            padding: PartKind::ALL.map(|kind| padding(m, architecture.parameters(kind))),
            linears: PartKind::ALL.map(|kind| linears(m, architecture.parameters(kind))),
        }
    }

    /// The buffers of one stage.
    pub(crate) fn buffers(
        &self,
        sizes: &Sizes<'_>,
        rules: &StateRules,
        chunks: &[Chunk],
        parts: &[PartCounts],
    ) -> Vec<Buffer> {
        let m = sizes.m;
        let a = &m.args;
        let te = a.transformer_impl != TransformerImpl::Local;
        let output = m.ends.is_language() && chunks.iter().any(|chunk| chunk.output);
        let count = |kind: PartKind| -> u64 {
            parts
                .iter()
                .filter_map(|parts| parts.get(kind as usize))
                .sum()
        };
        let mtp_moe =
            count(PartKind::MtpLayer) > 0 && m.is_moe_layer(a.num_layers.saturating_sub(1));
        let moe = count(PartKind::MoeLayer) + count(PartKind::LinearMoeLayer) > 0 || mtp_moe;
        let mut out = Vec::with_capacity(8);
        let mut push = |what, bytes, source| {
            if bytes > 0 {
                out.push(Buffer {
                    what,
                    bytes,
                    source,
                });
            }
        };
        push(
            "padding of parameter, gradient and optimizer buffers",
            self.padding(m, rules, parts),
            BUFFER_LAYOUT,
        );
        let unfused = a.attention_backend == AttentionBackend::Unfused;
        if output || moe || !te || unfused {
            push(
                "two cuBLAS workspaces of PyTorch",
                2 * block(workspace(m)),
                CUBLAS_WORKSPACE,
            );
        }
        if te {
            let workspace = block(te_workspace(m));
            push(
                "cuBLAS workspace of Transformer Engine",
                workspace,
                TE_CUBLAS_WORKSPACE,
            );
            if moe && a.moe_grouped_gemm {
                push(
                    "four more for grouped experts",
                    4 * workspace,
                    TE_CUBLAS_WORKSPACE,
                );
            }
            if a.gradient_accumulation_fusion {
                push(
                    "stand-ins for weight gradients, one a shape",
                    self.stand_ins(sizes, parts, output),
                    DUMMY_WGRAD,
                );
            }
        }
        shared(sizes, output, moe, &mut push);
        out
    }

    fn padding(&self, m: &Module, rules: &StateRules, parts: &[PartCounts]) -> u64 {
        let mut bytes = 0u64;
        for counts in parts {
            let mut dense = Aligned::default();
            let mut expert = Aligned::default();
            let mut shared = Vec::new();
            for (part, times) in self.padding.iter().zip(counts) {
                dense.add(part.dense, *times);
                expert.add(part.expert, *times);
                if part.shared > 0 && *times > 0 {
                    shared.push(part.shared);
                }
            }
            bytes = bytes.saturating_add(added(m, rules, dense, &shared, false));
            bytes = bytes.saturating_add(added(m, rules, expert, &[], true));
        }
        bytes
    }

    fn stand_ins(&self, sizes: &Sizes<'_>, parts: &[PartCounts], output: bool) -> u64 {
        let mut shapes: Vec<(u64, u64)> = Vec::new();
        for (index, linears) in self.linears.iter().enumerate() {
            if parts
                .iter()
                .any(|counts| counts.get(index).is_some_and(|n| *n > 0))
            {
                shapes.extend_from_slice(linears);
            }
        }
        if output && trained(sizes.m, Component::OutputLayer) {
            shapes.push((
                sizes.m.padded_vocab_size / sizes.m.tp.max(1),
                sizes.m.args.hidden_size,
            ));
        }
        sort_by_key(&mut shapes, |shape| *shape);
        shapes.dedup();
        let bytes = |(rows, columns): &(u64, u64)| {
            block(rows.saturating_mul(*columns).saturating_mul(sizes.width()))
        };
        shapes.iter().map(bytes).fold(0, u64::saturating_add)
    }
}

/// Tables and buffers that all layers share.
fn shared(
    sizes: &Sizes<'_>,
    output: bool,
    moe: bool,
    push: &mut impl FnMut(&'static str, u64, Source),
) {
    let (m, a) = (sizes.m, &sizes.m.args);
    if rotary_table(m) {
        let width = if a.multi_latent_attention {
            a.qk_pos_emb_head_dim
        } else {
            m.kv_channels
        };
        let bytes = (a.seq_length / m.cp.max(1))
            .saturating_mul(width)
            .saturating_mul(4);
        push("rotary frequencies in fp32", block(bytes), ROPE_TABLE);
    }
    if a.moe_token_dispatcher_type == TokenDispatcher::AllGather && moe && (m.ep > 1 || m.etp > 1) {
        let tokens = sizes.residual().elements().saturating_mul(sizes.width());
        push(
            "buffer for the tokens of all expert-parallel ranks",
            block(tokens.saturating_mul(m.ep).saturating_mul(m.etp)),
            MEMORY_BUFFER,
        );
    }
    if m.sequence_parallel && output {
        push(
            "buffer for the gathered input of the output layer",
            block(sizes.gathered().elements().saturating_mul(sizes.width())),
            MEMORY_BUFFER,
        );
    }
    if a.transformer_impl == TransformerImpl::Local {
        let heads = u128::from(a.num_attention_heads / m.tp.max(1));
        let scores = u128::from(a.micro_batch_size)
            * heads
            * u128::from(a.seq_length)
            * u128::from(a.seq_length);
        let bytes = scores * u128::from(sizes.width()) / u128::from(m.cp.max(1));
        push(
            "buffer for attention scores",
            block(u64::try_from(bytes).unwrap_or(u64::MAX / 2)),
            MEMORY_BUFFER,
        );
    }
}

impl Aligned {
    fn add(&mut self, other: Self, times: u64) {
        let add =
            |into: &mut u64, from: u64| *into = into.saturating_add(from.saturating_mul(times));
        add(&mut self.elements, other.elements);
        add(&mut self.in_buffer, other.in_buffer);
        add(&mut self.weights, other.weights);
        add(&mut self.fp32, other.fp32);
        add(&mut self.frozen, other.frozen);
    }
}

/// Bytes that alignment adds to the states of one chunk.
///
/// With the distributed optimizer a bucket ends at a multiple of what all its ranks can share evenly; a tied
/// embedding has a bucket of its own. Without it, every parameter is an allocation of its own, while gradients
/// still share one buffer.
fn added(m: &Module, rules: &StateRules, held: Aligned, shared: &[u64], expert: bool) -> u64 {
    if held.elements == 0 && shared.is_empty() {
        return held.frozen;
    }
    let buckets = Bucket::ALL
        .into_iter()
        .filter(|b| b.state().is_some_and(|(_, e)| e == expert));
    if !m.args.use_distributed_optimizer {
        let fp32 = buckets
            .clone()
            .filter(|b| rules.rule(*b).having == Having::All)
            .count();
        let states = u64::try_from(fp32).unwrap_or(0).saturating_sub(2);
        return held
            .frozen
            .saturating_add(held.weights)
            .saturating_add(held.fp32.saturating_mul(states));
    }
    let ranks = if expert {
        m.expert_shard()
    } else {
        m.dense_shard()
    };
    let end = least_common_multiple(ranks, 128);
    let up = |n: u64| n.div_ceil(end).saturating_mul(end);
    let plain = held.elements.saturating_add(shared.iter().sum());
    let padded = shared
        .iter()
        .fold(up(held.in_buffer), |sum, n| sum.saturating_add(up(*n)));
    let count = |elements| Count {
        elements,
        matrices: 0,
    };
    let more = |bucket: Bucket| {
        let rule = rules.rule(bucket);
        rule.bytes_of(count(padded))
            .saturating_sub(rule.bytes_of(count(plain)))
            .0
    };
    buckets.map(more).fold(held.frozen, u64::saturating_add)
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a.max(1) / x).saturating_mul(b.max(1))
}

fn padding(m: &Module, tensors: &[ParamTensor]) -> PartPadding {
    let mut out = PartPadding::default();
    let tied = !m.args.untie_embeddings_and_output_weights && m.pp > 1;
    for tensor in tensors {
        let (each, count) = one_tensor(m, tensor);
        let is_trained = trained(m, tensor.component);
        if is_trained
            && tied
            && matches!(
                tensor.component,
                Component::Embedding | Component::OutputLayer
            )
        {
            out.shared = out.shared.saturating_add(each.saturating_mul(count));
            if m.args.use_distributed_optimizer {
                continue;
            }
        }
        let into = if tensor.holding == Holding::Expert {
            &mut out.expert
        } else {
            &mut out.dense
        };
        let width = m.precision.bytes();
        let rounding = |bytes: u64| block(bytes) - bytes;
        if !is_trained {
            let frozen = rounding(each.saturating_mul(width));
            let aligned = Aligned {
                frozen,
                ..Aligned::default()
            };
            into.add(aligned, count);
            continue;
        }
        into.add(
            Aligned {
                elements: each,
                in_buffer: each.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT),
                weights: rounding(each.saturating_mul(width)),
                fp32: rounding(each.saturating_mul(4)),
                frozen: 0,
            },
            count,
        );
    }
    out
}

/// Elements of one tensor on this rank, and how many there are: every local expert has its own.
fn one_tensor(m: &Module, tensor: &ParamTensor) -> (u64, u64) {
    let all = tensor.shape.elements();
    if tensor.holding != Holding::Expert {
        return (all, 1);
    }
    let experts = m
        .moe
        .as_ref()
        .map_or(1, |moe| (moe.num_experts / m.ep.max(1)).max(1));
    (all / experts, experts)
}

/// Rows and columns of every Transformer Engine linear layer's weight.
fn linears(m: &Module, tensors: &[ParamTensor]) -> Vec<(u64, u64)> {
    let matrices = tensors
        .iter()
        .filter(|t| t.dimensions == 2 && t.name.contains("weight") && trained(m, t.component));
    let linear = matrices.filter(|t| {
        !matches!(
            t.component,
            Component::Router
                | Component::SharedExpertGate
                | Component::Embedding
                | Component::PositionEmbedding
                | Component::FixedPositions
                | Component::OutputLayer
        )
    });
    linear
        .map(|tensor| {
            let (each, _) = one_tensor(m, tensor);
            let mut factors = tensor.shape.factors().map(|f| f.value);
            let width = if tensor.name.contains("linear_fc2") {
                // Rows are the residual's width: the factor before the last.
                let all: Vec<u64> = factors.collect();
                all.len().checked_sub(2).and_then(|i| all.get(i)).copied()
            } else if tensor.name.contains("eh_proj") {
                factors.next()
            } else {
                factors.last()
            };
            let width = width.unwrap_or(1).max(1);
            if tensor.name.contains("linear_fc2") || tensor.name.contains("linear_proj") {
                (width, each / width)
            } else {
                (each / width, width)
            }
        })
        .collect()
}

fn rotary_table(m: &Module) -> bool {
    matches!(
        m.args.position_embedding_type,
        PositionEmbedding::Rope | PositionEmbedding::Mrope | PositionEmbedding::Yarn
    )
}

fn workspace(m: &Module) -> u64 {
    let default = if m.gpu_generation() == GpuGeneration::Ampere {
        8320
    } else {
        32 * 1024
    };
    m.args
        .cublas_workspace_kib
        .unwrap_or(default)
        .saturating_mul(1024)
}

fn te_workspace(m: &Module) -> u64 {
    let default = if m.gpu_generation() == GpuGeneration::Ampere {
        4 * 1024
    } else {
        32 * 1024 + 1
    };
    m.args
        .te_cublas_workspace_kib
        .unwrap_or(default)
        .saturating_mul(1024)
}
