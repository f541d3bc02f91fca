//! The arguments of a job that differ from the defaults of the framework that it is exported for.

use crate::config::canonical::{Meaning, meaning, set_names, to_value};
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::Settings;
use crate::config::relevance::is_switched_off;
use crate::formats::dialects::destinations::destination_of;
use crate::formats::dialects::framework::Framework;
use crate::formats::import::python;
use crate::value::Value;

/// A field whose value differs from the framework's default.
pub(super) struct Argument {
    pub(super) id: FieldId,
    /// Megatron-LM's argparse destination.
    pub(super) destination: &'static str,
    /// The field's value.
    pub(super) means: Meaning,
}

/// The fields of `settings` that differ from the defaults of `framework`, in declaration order. The micro batch size is
/// always among them, since no framework has a default for it, and so is a given frequency of layers with linear
/// attention. So are fields for which the framework has no argument. Fields of Megatron FSDP and of the optimizer on the
/// CPU are not, where these are off.
pub(super) fn arguments(settings: &Settings, framework: &Framework) -> Vec<Argument> {
    let class = framework.defaults_of_class(settings);
    let effective = |id: &&FieldId| !is_switched_off(settings, **id) && !means_absence(settings, **id);
    let differing = FieldId::ALL.iter().filter(effective).filter_map(|id| {
        let means = meaning(*id, settings.get(*id));
        let destination = destination_of(*id);
        let default = framework.default_in_class(class, destination).map(python);
        let needed = match id {
            FieldId::micro_batch_size => true,
            FieldId::linear_attention_freq => settings.get(*id).is_some_and(|value| *value != Value::Null),
            _ => false,
        };
        let same = !needed && means == meaning(*id, default.as_ref());
        (!means.is_bad() && !same).then_some(Argument {
            id: *id,
            destination,
            means,
        })
    });
    differing.collect()
}

/// Whether a value says that there is nothing, where frameworks take none at all: shared experts without a width, a
/// way of exchanging between a single context-parallel rank.
fn means_absence(settings: &Settings, id: FieldId) -> bool {
    let is = |id: FieldId, number| meaning(id, settings.get(id)) == Meaning::Is(Parsed::Int(number));
    match id {
        FieldId::moe_shared_expert_intermediate_size => is(id, 0),
        FieldId::cp_comm_type => is(FieldId::context_parallel_size, 1),
        _ => false,
    }
}

impl Argument {
    /// Whether the field is a flag that is on.
    pub(super) fn is_on(&self) -> bool {
        self.means == Meaning::Is(Parsed::Flag(true))
    }

    /// The value as command-line words; empty for a value of `None`.
    pub(super) fn words(&self) -> Vec<String> {
        let kind = self.id.field().kind;
        match &self.means {
            Meaning::Nothing | Meaning::Bad(_) => Vec::new(),
            Meaning::Is(Parsed::Set(bits)) => set_names(kind, *bits).map(str::to_owned).collect(),
            Meaning::Is(Parsed::Decimal(decimal)) => vec![decimal.to_string()],
            Meaning::Is(parsed) => match to_value(kind, parsed) {
                Value::Text(text) => vec![text],
                other => vec![other.to_string()],
            },
        }
    }
}

/// A word in single quotes where a shell needs them.
pub(super) fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./=,:@%+".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
