//! Every flag of Megatron-LM's command line: what it sets, how many words it takes, its default. Fields know their own
//! flags; the others are listed here.
//!
//! Read from the argument parser that `megatron/training/arguments.py` builds at the pinned
//! revision, with the flags that it generates from dataclasses, and from the parsers of its other programs. Flags
//! that cannot change memory are known by name and arity only, so that an import can tell them from misspelled ones.

mod effects;
mod elsewhere;
mod ignored;
mod without_field;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use effects::effect;

pub use crate::config::field::Arity;
use crate::config::field::Default;
use crate::config::fields::FieldId;

/// A flag that matters for memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagSpec {
    /// The name without its leading dashes.
    pub name: &'static str,
    /// The destination: the name under which the parser stores the value.
    pub dest: Cow<'static, str>,
    /// How many words it takes.
    pub arity: Arity,
    /// The destination's value when no flag sets it, as Python would print it; words of a list are
    /// separated by blanks.
    pub default: Cow<'static, str>,
}

/// What is known about a flag's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It matters for memory.
    Relevant(&'static FlagSpec),
    /// It does not change memory.
    Irrelevant(Arity),
    /// Only another of Megatron-LM's programs has it, for a part of the model that the estimate does not know.
    Elsewhere {
        /// How many words it takes.
        arity: Arity,
        /// Why the estimate does not follow it.
        what: &'static str,
    },
    /// Earlier versions accept it, the pinned one does not.
    Retired {
        /// How many words it takes.
        arity: Arity,
        /// The flag that took its place, when one did.
        successor: Option<&'static str>,
    },
}

/// The flags that matter for memory: first those of fields, then those that no field has.
static FLAGS: LazyLock<Vec<FlagSpec>> = LazyLock::new(|| {
    let of_fields = FieldId::ALL.iter().filter_map(|id| of_field(*id));
    of_fields.chain(without_field::flags()).collect()
});

/// The flags that matter for memory; several may set one destination.
pub fn flags() -> impl Iterator<Item = &'static FlagSpec> {
    FLAGS.iter()
}

/// A field's flag, where it matters for memory.
fn of_field(id: FieldId) -> Option<FlagSpec> {
    let flag = id.flag().filter(|flag| flag.changes_memory)?;
    Some(FlagSpec {
        name: flag.name,
        dest: Cow::Borrowed(flag.destination),
        arity: flag.arity,
        default: match flag.parser_default {
            Some(default) => Cow::Borrowed(default),
            None => python(id.field().default),
        },
    })
}

/// A default as Python prints it.
fn python(default: Default) -> Cow<'static, str> {
    match default {
        Default::Required | Default::Derived(_) => Cow::Borrowed("None"),
        Default::Flag(true) => Cow::Borrowed("True"),
        Default::Flag(false) => Cow::Borrowed("False"),
        Default::Choice(text) | Default::Set(text) => Cow::Borrowed(text),
        Default::Int(number) => Cow::Owned(number.to_string()),
        Default::Decimal(_) => {
            let text = default.to_string();
            Cow::Owned(if text.contains('.') { text } else { text + ".0" })
        }
    }
}

/// Every flag by its name with dashes.
static BY_NAME: LazyLock<BTreeMap<String, Known>> = LazyLock::new(|| {
    let relevant = flags().map(|spec| (spec.name, Known::Relevant(spec)));
    let ignored = [
        (Arity::Switch, ignored::SWITCHES),
        (Arity::One, ignored::ONE),
        (Arity::Many, ignored::MANY),
    ];
    let each = |&(arity, names): &(Arity, &'static str)| {
        let names = names.split_ascii_whitespace();
        names.map(move |name| (name, arity))
    };
    let harmless = ignored.iter().chain(elsewhere::HARMLESS).flat_map(each);
    let ignored = harmless.map(|(name, arity)| (name, Known::Irrelevant(arity)));
    let elsewhere = elsewhere::PROGRAMS.iter().flat_map(|program| {
        let what = program.what;
        let flags = program.flags.iter().flat_map(each);
        flags.map(move |(name, arity)| (name, Known::Elsewhere { arity, what }))
    });
    let of_fields = FieldId::ALL.iter().filter_map(|id| id.flag());
    let harmless_fields = of_fields.filter(|flag| !flag.changes_memory);
    let harmless_fields = harmless_fields.map(|flag| (flag.name, Known::Irrelevant(flag.arity)));
    let retired = ignored::RETIRED
        .iter()
        .map(|&(name, arity, successor)| (name, Known::Retired { arity, successor }));
    let mut by_name = BTreeMap::new();
    let all = relevant.chain(harmless_fields).chain(ignored);
    for (name, known) in all.chain(retired).chain(elsewhere) {
        by_name.entry(name.replace('_', "-")).or_insert(known);
    }
    by_name
});

/// What is known about the flag `name` (no leading dashes; underscores count as dashes).
#[must_use]
pub fn find(name: &str) -> Option<Known> {
    BY_NAME.get(&name.replace('_', "-")).copied()
}

/// How many words the flag `name` takes, when it is known.
#[must_use]
pub fn arity(name: &str) -> Option<Arity> {
    find(name).map(|known| match known {
        Known::Relevant(spec) => spec.arity,
        Known::Irrelevant(arity) | Known::Elsewhere { arity, .. } | Known::Retired { arity, .. } => arity,
    })
}

/// The first flag of each destination.
static BY_DESTINATION: LazyLock<BTreeMap<&'static str, &'static FlagSpec>> = LazyLock::new(|| {
    let mut by_destination = BTreeMap::new();
    for flag in flags() {
        by_destination.entry(flag.dest.as_ref()).or_insert(flag);
    }
    by_destination
});

/// The first flag that sets the destination `dest` and matters for memory.
#[must_use]
pub fn by_destination(dest: &str) -> Option<&'static FlagSpec> {
    BY_DESTINATION.get(dest).copied()
}

/// The default of the field `dest`, as in [`FlagSpec::default`].
#[must_use]
pub fn default_of(dest: &str) -> Option<&'static str> {
    by_destination(dest).map(|spec| spec.default.as_ref())
}
