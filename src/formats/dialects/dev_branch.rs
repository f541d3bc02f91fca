//! The arguments of layers that Megatron-LM's dev branch has in place of those of the pinned revision, and beside them.

use crate::config::canonical::{Meaning, meaning};
use crate::config::choices::SoftwareStack;
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::Settings;

/// Fields with their argparse destinations in the dev branch, which are attributes of its `TransformerConfig` too.
const ARGUMENTS: &[(FieldId, &str)] = &[
    (FieldId::enable_mhc_connections, "enable_hyper_connections"),
    (FieldId::mhc_num_residual_streams, "num_residual_streams"),
    (FieldId::use_fused_mhc, "use_fused_mhc"),
    (FieldId::csa_window_size, "csa_window_size"),
    (FieldId::csa_compress_ratios, "csa_compress_ratios"),
    (FieldId::csa_dense_mode, "csa_dense_mode"),
    (FieldId::o_groups, "o_groups"),
    (FieldId::o_lora_rank, "o_lora_rank"),
    (FieldId::moe_n_hash_layers, "moe_n_hash_layers"),
];

/// The field that an argument of the dev branch sets.
pub(super) fn field_of(destination: &str) -> Option<FieldId> {
    let named = ARGUMENTS.iter().find(|(_, name)| *name == destination);
    named.map(|(id, _)| *id)
}

/// The dev branch's name of a field, where the job is trained with that branch.
pub(crate) fn destination_of(settings: &Settings, id: FieldId) -> Option<&'static str> {
    let stack = FieldId::software_stack;
    let Meaning::Is(Parsed::Choice(index)) = meaning(stack, settings.get(stack)) else {
        return None;
    };
    let named = ARGUMENTS.iter().find(|(of, _)| *of == id);
    let named = named.filter(|_| SoftwareStack::at(index) == Some(SoftwareStack::MegatronDev));
    named.map(|(_, name)| *name)
}
