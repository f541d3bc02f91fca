//! Megatron's buffer that tensors of several operations share.

use super::list::List;
use crate::config::choices::{ModuleToSave, TokenLoss};
use crate::model::kernels::AttentionKernel;
use crate::model::quantization::quantizes_output;
use crate::model::sizes::Sizes;
use crate::model::tensor::{Shape, factor};
use crate::source::Source;

/// The buffer that `GlobalMemoryBuffer` keeps under one name and dtype, as large as the largest tensor that asked for
/// it.
pub(super) fn buffer(sizes: &Sizes<'_>, output: bool, out: &mut List) {
    let (m, a) = (sizes.m, &sizes.m.args);
    let mut asked = Vec::new();
    // A frozen output layer gathers its input into a tensor of its own (`linear_with_frozen_weight`), and so do the heads
    // of ms-swift.
    let frozen = m.adapters().is_some() && !m.saves(ModuleToSave::OutputLayer);
    let of_swift = matches!(a.token_loss, TokenLoss::SwiftEmbedding | TokenLoss::SwiftReranker);
    let own_input = frozen || a.num_labels.is_some() || of_swift || quantizes_output(m);
    if m.sequence_parallel && output && !own_input {
        let what = "buffer for the gathered input of the output layer";
        asked.push((what, sizes.gathered()));
    }
    if matches!(
        sizes.kernels.attention,
        AttentionKernel::Local | AttentionKernel::SoftCapped
    ) {
        let (batch, heads) = (factor("b", a.micro_batch_size), factor("n_q", a.num_attention_heads));
        let sequence = factor("s", a.seq_length);
        let shape = Shape::of(&[batch, heads, sequence, sequence]);
        let shape = shape.over(factor("TP", m.tp));
        let shape = shape.over(factor("CP", m.sequence_parts()));
        asked.push(("buffer for attention scores", shape));
    }
    if let Some((what, shape)) = asked.into_iter().max_by_key(|(_, shape)| shape.elements()) {
        out.tensor(what, shape, sizes.width(), Source::MemoryBuffer);
    }
}
