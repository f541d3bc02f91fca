//! Parameters of one layer by part.
//!
//! Statement by statement in Megatron-LM's order, because the first statement that fails decides the
//! message; names follow its own.

use super::super::python::{Namespace, Py, raise};
use super::model::Model;

/// Parameters of one layer by part, and of the parts outside the layers.
pub(super) struct Layer {
    pub(super) embedding_size: Py,
    pub(super) final_layernorm: Py,
    pub(super) embeddings: Py,
    pub(super) attention: Py,
    pub(super) dense_mlp: Py,
    pub(super) shared_expert: Py,
    pub(super) routed_expert: Py,
    pub(super) active_routed_expert: Py,
    pub(super) latent_projection: Py,
    pub(super) layernorm: Py,
    pub(super) router: Py,
    pub(super) shared_expert_gate: Py,
}

impl Layer {
    pub(super) fn count(args: Namespace<'_>, model: &Model) -> Self {
        let gated = model.gated_linear_multiplier;
        let attention = if args.truth("multi_latent_attention") {
            latent_attention(args, model)
        } else {
            grouped_attention(args, model)
        };
        let hidden_size = args.get("hidden_size");
        let embedding_size = hidden_size * args.get("padded_vocab_size");
        let final_layernorm = model.norm_size * hidden_size;
        let embeddings = if args.truth("untie_embeddings_and_output_weights") {
            2 * embedding_size
        } else {
            embedding_size
        };
        let dense_mlp = 2 * hidden_size * args.get("ffn_hidden_size") * gated;
        let shared_expert = 2 * hidden_size * model.shared_expert_ffn_hidden_size * gated;
        let has_latent = !args.is_none("moe_latent_size");
        let routed_expert_hidden_size = if has_latent {
            args.get("moe_latent_size")
        } else {
            hidden_size
        };
        let up_to_experts = 2 * routed_expert_hidden_size * model.moe_ffn_hidden_size;
        let routed_expert = up_to_experts * model.num_experts * gated;
        let active_routed_expert = if model.is_moe {
            up_to_experts * args.get("moe_router_topk") * gated
        } else {
            0.into()
        };
        let latent_projection = if model.is_moe && has_latent {
            2 * hidden_size * args.get("moe_latent_size")
        } else {
            0.into()
        };
        let layernorm = 2 * hidden_size * model.norm_size;
        let router = if model.is_moe {
            router(args, model)
        } else {
            0.into()
        };
        let has_gate = model.shared_expert_ffn_hidden_size.exceeds(0)
            && args.truth_or("moe_shared_expert_gate", false);
        let shared_expert_gate = if has_gate { hidden_size } else { 0.into() };
        Self {
            embedding_size,
            final_layernorm,
            embeddings,
            attention,
            dense_mlp,
            shared_expert,
            routed_expert,
            active_routed_expert,
            latent_projection,
            layernorm,
            router,
            shared_expert_gate,
        }
    }

    /// A layer without experts.
    pub(super) fn dense(&self) -> Py {
        self.attention + self.dense_mlp + self.layernorm
    }

    /// A mixture-of-experts layer with all its routed experts, or with the active ones.
    pub(super) fn moe(&self, routed_expert: Py) -> Py {
        self.attention
            + self.shared_expert
            + routed_expert
            + self.latent_projection
            + self.layernorm
            + self.router
            + self.shared_expert_gate
    }

    /// What tensor parallelism splits in layers of both kinds, so many of each.
    pub(super) fn sharded(&self, dense_layers: Py, moe_layers: Py) -> Py {
        (self.attention + self.dense_mlp) * dense_layers
            + (self.attention + self.shared_expert) * moe_layers
    }

    /// What every rank of a tensor-parallel group holds in full in layers of both kinds.
    pub(super) fn replicated(&self, dense_layers: Py, moe_layers: Py) -> Py {
        self.layernorm * dense_layers + self.replicated_in_moe() * moe_layers
    }

    /// What every rank of a tensor-parallel group holds in full in a mixture-of-experts layer.
    fn replicated_in_moe(&self) -> Py {
        self.layernorm + self.latent_projection + self.router + self.shared_expert_gate
    }
}

fn router(args: Namespace<'_>, model: &Model) -> Py {
    let weight = args.get("hidden_size") * model.num_experts;
    let bias = if args.truth("add_bias_linear") {
        model.num_experts
    } else {
        0.into()
    };
    weight + bias
}

fn latent_attention(args: Namespace<'_>, model: &Model) -> Py {
    if model.grouped {
        raise("AssertionError", &[]);
    }
    let arg = |name| args.get(name);
    let norm_size = model.norm_size;
    let query = if args.is_none("q_lora_rank") {
        arg("hidden_size")
            * arg("num_attention_heads")
            * (arg("qk_head_dim") + arg("qk_pos_emb_head_dim"))
    } else {
        arg("q_lora_rank")
            * (arg("hidden_size")
                + arg("num_attention_heads") * (arg("qk_head_dim") + arg("qk_pos_emb_head_dim"))
                + norm_size)
    };
    query
        + arg("kv_lora_rank")
            * (arg("hidden_size")
                + arg("num_attention_heads") * (arg("qk_head_dim") + arg("v_head_dim"))
                + norm_size)
        + arg("hidden_size") * arg("qk_pos_emb_head_dim")
        + (arg("num_attention_heads") * arg("v_head_dim")) * arg("hidden_size")
}

fn grouped_attention(args: Namespace<'_>, model: &Model) -> Py {
    let arg = |name| args.get(name);
    let num_query_groups = if model.grouped {
        arg("num_query_groups")
    } else {
        arg("num_attention_heads")
    };
    2 * arg("hidden_size")
        * arg("hidden_size")
        * ((1 + (num_query_groups / arg("num_attention_heads"))) * model.query_to_hidden_ratio)
}
