//! Buffers: memory besides model states that stays for the whole run, such as padding, workspaces, tables, dummy weight
//! gradients and fp8 copies.

mod critic;
mod fp8;
pub(crate) mod graphs;
mod list;
mod memory_buffer;
pub(crate) mod micro_batches;
mod packed;
mod padding;
mod ref_model;
mod rotary;
mod shared_kv;
mod shared_segments;
mod site;
pub(crate) mod stash;

use crate::config::choices::{
    AttentionBackend, RouterDtype, SoftwareFact, TokenDispatcher, TokenLoss, TransformerImpl,
};
use crate::config::job::Module;
use crate::memory::fsdp;
use crate::memory::parameters::one_tensor;
use crate::model::linear::without_stand_in;
use crate::model::output_layer::{has_output_layer, is_trained};
use crate::model::quantization::quantizes_output;
use crate::model::sizes::Sizes;
use crate::model::tape::block;
use crate::model::tensor::{Component, ParamTensor, Shape, factor};
use crate::model::{Architecture, PartCounts, trained};
use crate::source::Source;
use crate::units::multiply;
use critic::Critic;
pub use list::Buffer;
pub(crate) use list::BufferKind;
use list::List;
pub(crate) use padding::PaddingBytes;
pub(crate) use padding::embedding_on_two_stages;
use padding::{KnownRests, PartPadding};
pub(crate) use site::Site;

/// The data that the [`buffers`](Self::buffers) of all stages of a module are computed from, one entry a part.
pub(crate) struct BufferRules {
    /// In the order of [`Architecture::parts`], as the others.
    padding: Vec<PartPadding>,
    known_rests: KnownRests,
    /// Rows and columns of linear layers' weights.
    linears: Vec<Vec<(u64, u64)>>,
    fp8: Vec<fp8::Part>,
    ref_model: Vec<u64>,
    critic: Option<Critic>,
    /// KiB of PyTorch's and of Transformer Engine's workspace.
    workspaces: (u64, u64),
}

impl BufferRules {
    pub(crate) fn new(m: &Module, architecture: &Architecture) -> Self {
        let parts = || architecture.parts().iter();
        Self {
            padding: parts().map(|part| PartPadding::new(m, &part.parameters)).collect(),
            known_rests: KnownRests::default(),
            linears: parts().map(|part| linears(m, &part.parameters)).collect(),
            fp8: parts().map(|part| fp8::Part::new(m, part)).collect(),
            ref_model: parts().map(|part| ref_model::bytes(m, part)).collect(),
            critic: Critic::of(m),
            workspaces: workspaces_kib(m),
        }
    }

    /// The buffers of one stage.
    pub(crate) fn buffers(&self, site: &Site<'_>) -> Vec<Buffer> {
        self.with_padding(site, self.padding_bytes(site))
    }

    /// The buffers of one stage whose states have this padding.
    pub(crate) fn with_padding(&self, site: &Site<'_>, padding: PaddingBytes) -> Vec<Buffer> {
        let m = site.sizes.m;
        let a = &m.args;
        let te = a.transformer_impl != TransformerImpl::Local;
        let output = site.output;
        let moe = site.has_experts();
        let mut out = List(Vec::with_capacity(8));
        let sum = Shape::of(&[]);
        let what = "padding of parameter, gradient and optimizer buffers";
        out.add(
            BufferKind::Padding,
            what,
            (sum, 1),
            padding.in_buffers,
            Source::BufferLayout,
        );
        let what = "rests of blocks that the allocator does not split";
        out.add(
            BufferKind::Unsplit,
            what,
            (sum, 1),
            padding.unsplit,
            Source::SplitBlocks,
        );
        let hashed = site.hash_layers();
        if hashed > 0 {
            let vocabulary = factor("v", a.vocab_size.unwrap_or(m.padded_vocab_size));
            let topk = factor("k", m.moe.as_ref().map_or(0, |moe| moe.topk));
            let one = Shape::of(&[vocabulary, topk]);
            let all = Shape::of(&[factor("hash-routed layers", hashed), vocabulary, topk]);
            let bytes = multiply(hashed, block(multiply(one.elements(), 4)));
            let what = "tables of experts for each number of the vocabulary";
            out.add(BufferKind::Tensor, what, (all, 4), bytes, Source::HashRouting);
        }
        shared_kv::add(m, &mut out);
        micro_batches::add(site, &mut out);
        for buffer in site.fsdp.iter().flat_map(fsdp::buffers) {
            let elements = factor("elements", buffer.elements);
            let shape = (Shape::of(&[elements]), buffer.bytes / buffer.elements.max(1));
            let kind = BufferKind::Tensor;
            out.add(kind, buffer.what, shape, buffer.bytes, Source::FsdpBuffers);
        }
        let (torch, kib) = self.workspaces;
        let unfused = a.attention_backend == AttentionBackend::Unfused;
        let multiplies = output && a.num_labels.is_none() && has_output_layer(m) && !quantizes_output(m);
        if multiplies || moe || !te || unfused {
            let what = if SoftwareFact::HipBlasLtWorkspaces.holds(a) {
                "hipBLASLt workspaces of PyTorch"
            } else {
                "cuBLAS workspaces of PyTorch"
            };
            out.workspaces(what, 2, torch, Source::CublasWorkspace);
        }
        // Routers multiply through Transformer Engine in every implementation, where it is installed (Megatron-LM,
        // `megatron/core/transformer/moe/moe_utils.py`, `RouterGatingLinearFunction`).
        let installed = !SoftwareFact::TorchAdamW.holds(a);
        let router = moe && installed && a.moe_router_dtype != Some(RouterDtype::Fp64);
        if te || router {
            let what = "cuBLAS workspace of Transformer Engine";
            out.workspaces(what, 1, kib, Source::TeCublasWorkspace);
        }
        if te {
            if a.tp_comm_overlap && m.tp > 1 {
                let what = "more of them for products that overlap communication";
                out.workspaces(what, 3, kib, Source::TeCublasWorkspace);
            }
            if moe && a.moe_grouped_gemm && !SoftwareFact::GroupedGemmPackage.holds(a) {
                let what = "more of them for grouped experts";
                out.workspaces(what, 4, kib, Source::TeCublasWorkspace);
            }
            if a.gradient_accumulation_fusion {
                let width = site.sizes.width();
                let bytes = |(rows, columns): (u64, u64)| block(multiply(multiply(rows, columns), width));
                let shapes = self.stand_ins(site).into_iter();
                let bytes = shapes.map(bytes).fold(0, u64::saturating_add);
                let what = "stand-ins for weight gradients, one a shape";
                let (kind, of) = (BufferKind::DummyWgrads, (sum, width));
                out.add(kind, what, of, bytes, Source::DummyWgrad);
            }
        }
        fp8::buffers(&self.fp8, site, &mut out);
        ref_model::buffers(&self.ref_model, site, &mut out);
        if let Some(critic) = &self.critic {
            let what = "weights, gradients and optimizer states of the critic";
            let shape = (sum, site.sizes.width());
            out.add(BufferKind::Tensor, what, shape, critic.bytes(site), Source::VerlCritic);
        }
        rotary::add(site, &mut out);
        shared(&site.sizes, output, moe, &mut out);
        out.0
    }

    /// The distinct shapes of the weights for which stand-ins are cached, in ascending order.
    pub(crate) fn stand_ins(&self, site: &Site<'_>) -> Vec<(u64, u64)> {
        let is_here = |index: usize| {
            let mut parts = site.parts.iter();
            parts.any(|counts: &PartCounts| counts.get(index).is_some_and(|n| *n > 0))
        };
        let linears = self.linears.iter().enumerate().filter(|(index, _)| is_here(*index));
        let of_output = site.output.then(|| stand_in_of_output(site.sizes.m)).flatten();
        let mut shapes: Vec<(u64, u64)> = Vec::new();
        for shape in linears.flat_map(|(_, shapes)| shapes).chain(&of_output) {
            if let Err(place) = shapes.binary_search(shape) {
                shapes.insert(place, *shape);
            }
        }
        shapes
    }
}

/// Rows and columns of the output layer's weight, if a stand-in for its gradient is cached. That of labels is one of
/// Transformer Engine's linear layers, and trained beside adapters too.
fn stand_in_of_output(m: &Module) -> Option<(u64, u64)> {
    let hidden = m.args.hidden_size;
    let Some(labels) = m.args.num_labels else {
        let cached = !without_stand_in(&m.args, Component::OutputLayer).holds(&m.args);
        let rows = m.padded_vocab_size / m.tp.max(1);
        let by_megatron = !matches!(m.args.token_loss, TokenLoss::SwiftEmbedding | TokenLoss::SwiftReranker);
        return (cached && by_megatron && is_trained(m)).then_some((rows, hidden));
    };
    let is_trained = m.adapters().is_some() || trained(m, Component::OutputLayer);
    let cached = !SoftwareFact::NoLinearStandIns.holds(&m.args);
    (cached && is_trained).then_some((labels, hidden))
}

/// Tables and buffers that all layers share.
fn shared(sizes: &Sizes<'_>, output: bool, moe: bool, out: &mut List) {
    let (m, a) = (sizes.m, &sizes.m.args);
    packed::buffers(sizes, out);
    if a.moe_token_dispatcher_type == TokenDispatcher::AllGather && moe && (m.ep > 1 || m.etp > 1) {
        let ranks = factor("(EP·ETP)", multiply(m.ep, m.etp));
        let shape = sizes.own_tokens(&[factor("h", a.hidden_size), ranks]);
        let what = "buffer for the tokens of all expert-parallel ranks";
        out.tensor(what, shape, sizes.width(), Source::MemoryBuffer);
    }
    if m.sequence_parallel && output && a.defer_embedding_wgrad_compute {
        let inputs = factor("buffers", 2);
        let shape = sizes.tokens(&[factor("h", a.hidden_size), inputs]);
        let what = "buffers for gathered inputs of the deferred output layer";
        out.tensor(what, shape, sizes.width(), Source::DrainedWgrad);
    }
    memory_buffer::buffer(sizes, output, out);
}

/// Rows and columns of the weight of every Transformer Engine linear layer that caches a stand-in for its gradient.
fn linears(m: &Module, tensors: &[ParamTensor]) -> Vec<(u64, u64)> {
    let lacks_stand_in = |t: &ParamTensor| without_stand_in(&m.args, t.component).holds(&m.args);
    tensors
        .iter()
        .filter(|t| t.linear_weight() && trained(m, t.component) && !lacks_stand_in(t))
        .map(|tensor| {
            let (each, _) = one_tensor(m, tensor);
            let mut factors = tensor.shape.factors().map(|f| f.value);
            let second = tensor.is_named("linear_fc2.weight");
            let width = if second {
                // Rows are the residual's width: the factor before the last.
                let all: Vec<u64> = factors.collect();
                all.len().checked_sub(2).and_then(|i| all.get(i)).copied()
            } else if tensor.component == Component::EhProj {
                factors.next()
            } else {
                factors.last()
            };
            let width = width.unwrap_or(1).max(1);
            if second || tensor.is_named("linear_proj.weight") {
                (width, each / width)
            } else {
                (each / width, width)
            }
        })
        .collect()
}

fn workspaces_kib(m: &Module) -> (u64, u64) {
    let generation = m.gpu_generation();
    let torch = || {
        if SoftwareFact::HipBlasLtWorkspaces.holds(&m.args) {
            76 * 1024
        } else {
            generation.pytorch_workspace_kib()
        }
    };
    let te = || generation.te_workspace_kib();
    (
        m.args.cublas_workspace_kib.unwrap_or_else(torch),
        m.args.te_cublas_workspace_kib.unwrap_or_else(te),
    )
}
