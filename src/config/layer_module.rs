//! A module as one of its layers sees it, where the layer has sizes of its own.

use std::borrow::Cow;

use super::choices::SoftmaxType;
use super::job::Module;
use super::layer_sizes::LayerSizes;

impl Module {
    /// The module with the sizes of one of its layers in place of its own. The module itself where the layer has no
    /// sizes of its own.
    pub(crate) fn of_layer(&self, own: LayerSizes) -> Cow<'_, Self> {
        if own.is_of_module() {
            return Cow::Borrowed(self);
        }
        let mut m = self.clone();
        m.layer = own;
        if let Some(heads) = own.num_attention_heads {
            m.args.num_attention_heads = heads.into();
            if !m.args.group_query_attention {
                m.sizes.num_query_groups = heads.into();
            }
        }
        if let Some(groups) = own.num_query_groups {
            m.sizes.num_query_groups = groups.into();
        }
        if let Some(width) = own.kv_channels {
            m.sizes.kv_channels = width.into();
        }
        if let Some(width) = own.ffn_hidden_size {
            m.sizes.ffn_hidden_size = width.into();
        }
        if own.sinks {
            m.args.softmax_type = SoftmaxType::Learnable;
        }
        if let Some(moe) = &mut m.moe {
            moe.num_experts = own.num_experts.map_or(moe.num_experts, u64::from);
            moe.topk = own.moe_router_topk.map_or(moe.topk, u64::from);
            moe.ffn_hidden_size = own.moe_ffn_hidden_size.map_or(moe.ffn_hidden_size, u64::from);
            moe.shared = own.moe_shared_expert_intermediate_size.map_or(moe.shared, u64::from);
        }
        Cow::Owned(m)
    }
}
