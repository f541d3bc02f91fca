//! The arguments of a job that its front end would not take by itself.

use crate::config::canonical::{Meaning, meaning, set_names, to_value};
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::Settings;
use crate::formats::dialects::{Dialect, destination_of};
use crate::formats::import::python;
use crate::value::Value;

/// A field with its value, where the front end's default is another.
pub(super) struct Argument {
    pub(super) id: FieldId,
    /// Megatron-LM's argparse destination.
    pub(super) destination: &'static str,
    pub(super) means: Meaning,
}

/// The fields of `settings` that differ from the defaults of `dialect`, in declaration order, and the micro batch, which
/// has a default nowhere else. Fields that the front end has under no name are among them.
pub(super) fn arguments(settings: &Settings, dialect: Dialect) -> Vec<Argument> {
    let differing = FieldId::ALL.iter().filter_map(|id| {
        let means = meaning(*id, settings.get(*id));
        let destination = destination_of(*id);
        let default = dialect.default_of(destination).map(python);
        let needed = *id == FieldId::micro_batch_size;
        let same = !needed && means == meaning(*id, default.as_ref());
        (means != Meaning::Bad && !same).then_some(Argument {
            id: *id,
            destination,
            means,
        })
    });
    differing.collect()
}

impl Argument {
    /// Whether it is a flag that is on.
    pub(super) fn is_on(&self) -> bool {
        self.means == Meaning::Is(Parsed::Flag(true))
    }

    /// The words of the value; none for "nothing".
    pub(super) fn words(&self) -> Vec<String> {
        let kind = self.id.field().kind;
        match &self.means {
            Meaning::Nothing | Meaning::Bad => Vec::new(),
            Meaning::Is(Parsed::Set(bits)) => set_names(kind, *bits).map(str::to_owned).collect(),
            Meaning::Is(Parsed::Decimal(decimal)) => vec![decimal.to_string()],
            Meaning::Is(parsed) => match to_value(kind, parsed) {
                Value::Text(text) => vec![text],
                other => vec![other.to_string()],
            },
        }
    }
}

/// A word as a shell needs it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./=,:@%+".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
