//! The parameters of a part as PyTorch counts them: one tensor each, with its size and the size of one of its rows.

use super::Fsdp;
use crate::config::job::Module;
use crate::memory::parameters::one_tensor;
use crate::model::quantization::quantizes_parameters;
use crate::model::tensor::{Component, ParamTensor, Row};
use crate::model::{PartKind, trained};
use crate::parallel::groups::View;

/// One parameter on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) attributes: Attributes,
    /// Whether it is a word embedding or output layer that several pipeline stages hold.
    pub(crate) shared: bool,
    pub(crate) size: Size,
}

/// The properties that all parameters of one group share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) view: View,
    pub(crate) fp8: bool,
    pub(crate) trained: bool,
}

/// The size of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// All elements.
    pub(crate) elements: u64,
    /// The product of all dimensions but the first: what is not torn apart where ranks split a buffer.
    pub(crate) row: u64,
}

impl Parameter {
    /// The parameters of a part's tensors, in the order of `named_parameters`.
    pub(crate) fn list(m: &Module, kind: PartKind, tensors: &[ParamTensor]) -> Vec<Self> {
        let in_fp8 = quantizes_parameters(m) && kind.in_fp8();
        let mut tensors: Vec<&ParamTensor> = tensors.iter().collect();
        tensors.sort_by_key(|tensor| place_in_layer(tensor.name).unwrap_or(PLACES.len()));
        let mut out = Vec::new();
        for tensor in tensors {
            let (each, copies) = one_tensor(m, tensor);
            let parts = norm_parts(tensor);
            let elements = each / parts;
            let one = Self {
                attributes: Attributes {
                    view: tensor.sharding.view(),
                    fp8: in_fp8 && tensor.linear_weight(),
                    trained: trained(m, tensor.component),
                },
                shared: shared(m, kind, tensor.component),
                size: Size {
                    elements,
                    row: row(tensor, elements),
                },
            };
            let count = usize::try_from(copies * parts).unwrap_or(usize::MAX);
            out.extend(core::iter::repeat_n(one, count));
        }
        out
    }
}

/// Whether a bucket of its own holds a parameter, since another pipeline stage has a copy of it
/// (`setup_embeddings_and_output_layer`).
fn shared(m: &Module, kind: PartKind, component: Component) -> bool {
    let tied = !m.args.untie_embeddings_and_output_weights;
    let copied = match kind {
        PartKind::Embedding | PartKind::MtpEmbedding => {
            component == Component::Embedding && (tied || m.mtp_num_layers > 0)
        }
        PartKind::OutputLayer => tied,
        _ => false,
    };
    copied && m.pp > 1 && Fsdp::of(m).is_some_and(|fsdp| fsdp.optimizer_ranks(View::Dense) > 1)
}

/// 2 for the weight and the bias of a norm, which are listed as one tensor, and otherwise 1.
fn norm_parts(tensor: &ParamTensor) -> u64 {
    let mut factors = tensor.shape.factors();
    let parts = factors.find(|factor| factor.symbol == "(weight + bias)");
    parts.map_or(1, |parts| parts.value.max(1))
}

/// Elements of a row of a parameter with so many elements.
fn row(tensor: &ParamTensor, elements: u64) -> u64 {
    let row = match tensor.row {
        Row::Elements(row) => row,
        Row::OneOf(rows) => elements / rows.max(1),
    };
    row.max(1)
}

/// The place of a parameter among those of its layer, in the order in which modules are made; `None` for a name that the
/// order does not have, which comes last.
#[must_use]
pub fn place_in_layer(name: &str) -> Option<usize> {
    PLACES.iter().position(|part| name.contains(part))
}

/// Parts of names in the order of `named_parameters`; the parameters of a module itself come before those of the
/// modules in it.
const PLACES: &[&str] = &[
    "word_embeddings",
    "position_embeddings",
    "hc_head",
    "enorm",
    "hnorm",
    "eh_proj",
    "e_proj",
    "h_proj",
    "mixer.conv1d_weight",
    "mixer.conv1d_bias",
    "dt_bias",
    "A_log",
    "mixer.D",
    "input_layernorm",
    "self_attention.q_proj",
    "self_attention.k_proj",
    "self_attention.v_proj",
    "self_attention.q_conv1d",
    "self_attention.k_conv1d",
    "self_attention.v_conv1d",
    "self_attention.f_a_proj",
    "self_attention.f_b_proj",
    "self_attention.b_proj",
    "self_attention.q_a_proj",
    "self_attention.q_a_layernorm",
    "self_attention.q_b_proj",
    "self_attention.kv_a_proj",
    "self_attention.kv_a_layernorm",
    "self_attention.kv_b_proj",
    "self_attention.g_proj",
    "self_attention.o_norm",
    "self_attention.o_proj",
    "self_attention.linear_o_group_proj",
    "core_attention",
    "self_attention.linear_proj",
    "linear_q_proj",
    "linear_q_down_proj",
    "linear_qkv_down_proj",
    "linear_q_up_proj",
    "linear_kv_down_proj",
    "linear_kv_up_proj",
    "linear_kv_proj",
    "linear_qkv",
    "q_layernorm",
    "k_layernorm",
    "kv_layernorm",
    "in_proj",
    "conv1d",
    "out_norm",
    "mixer.norm",
    "out_proj",
    "pre_mlp_layernorm",
    "mlp.router",
    "mlp.fc1_latent_proj",
    "mlp.fc2_latent_proj",
    "mlp.experts.linear_fc1",
    "mlp.experts.linear_fc2",
    "mlp.vision_moe_layer.router",
    "mlp.vision_moe_layer.experts.linear_fc1",
    "mlp.vision_moe_layer.experts.linear_fc2",
    "mlp.shared_experts.gate",
    "mlp.shared_experts",
    "mlp.post_moe_layernorm",
    "mlp.post_shared_expert_layernorm",
    "mlp.linear_fc1",
    "mlp.linear_fc2",
    "self_attention_hyper_connection.alpha",
    "self_attention_hyper_connection.bias",
    "self_attention_hyper_connection.mapping_proj",
    "mlp_hyper_connection.alpha",
    "mlp_hyper_connection.bias",
    "mlp_hyper_connection.mapping_proj",
    "pre_shared_expert_layernorm",
    "post_ffn_layernorm",
    "mlp.routed_expert_norm",
    "self_attention_res_norm",
    "self_attention_res_proj",
    "mlp_res_norm",
    "mlp_res_proj",
    "output_attn_res_norm",
    "output_attn_res_proj",
    "post_self_attn_layernorm",
    "post_mlp_layernorm",
    "per_layer_input_gate",
    "per_layer_projection",
    "post_per_layer_input_norm",
    "final_layernorm",
    "output_layer",
];
