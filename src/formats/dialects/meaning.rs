//! The meanings of a front end's keys for Megatron-LM: the values of the key tables.

use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::megatron_args;

/// The meaning of a front end's key for Megatron-LM. Fields are named by Megatron-LM's argparse destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMeaning {
    /// The key is another name of this field and has the same values.
    Field(&'static str),
    /// The key is the negation of this field: true where the field is false.
    Opposite(&'static str),
    /// The value has to be converted, or decides a field only together with other keys.
    Role(KeyRole),
    /// The estimate does not follow the key.
    NotModelled {
        /// How much the key changes memory where it is not switched off.
        effect: MemoryEffect,
        /// The part of the memory that the estimate leaves out, in words.
        reason: &'static str,
    },
    /// The key does not change the memory of a training step.
    Irrelevant,
    /// A flag that the pinned version of Megatron-LM no longer has, and the flag that replaces it, if any.
    Retired(Option<&'static str>),
}

impl KeyMeaning {
    /// A key that changes memory by 2 % or more.
    pub(in crate::formats) const fn more(reason: &'static str) -> Self {
        let effect = MemoryEffect::More;
        Self::NotModelled { effect, reason }
    }

    /// A key that changes memory by less than 2 %.
    pub(in crate::formats) const fn less(reason: &'static str) -> Self {
        let effect = MemoryEffect::BelowTwoPercent;
        Self::NotModelled { effect, reason }
    }

    /// A key that changes no memory of a training step, although it might seem so.
    pub(in crate::formats) const fn nothing(reason: &'static str) -> Self {
        let effect = MemoryEffect::Nothing;
        Self::NotModelled { effect, reason }
    }
}

/// Reads one key: sets fields, or keeps the key, and adds the row of the report.
type Reader = fn(&mut JobDraft, &mut Keys<'_>, &KeyValue);

/// The role of a front end's key in a derivation, the same in all front ends that have such a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyRole {
    /// Its name; no other role has it.
    pub name: &'static str,
    /// The fields that a key of this role decides, known without its value.
    pub(in crate::formats) decides: Decides,
    /// The function that reads the key; `None` where derivations read it when all keys are known.
    pub(in crate::formats) reader: Option<Reader>,
}

impl KeyRole {
    /// A key that derivations read together with others.
    pub(in crate::formats) const fn kept(name: &'static str, decides: Decides) -> Self {
        let reader = None;
        Self { name, decides, reader }
    }

    /// A key that a function reads by itself.
    pub(in crate::formats) const fn read(name: &'static str, decides: Decides, reader: Reader) -> Self {
        let reader = Some(reader);
        Self { name, decides, reader }
    }
}

impl PartialEq for KeyRole {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KeyRole {}

/// The fields that a key decides, independent of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum Decides {
    /// Nothing that changes memory, or the key is unknown.
    Nothing,
    /// A setting, and its field where it is exactly one.
    Setting(Option<FieldId>),
}

impl Decides {
    /// Several fields, or a different one with each value.
    pub(in crate::formats) const SETTINGS: Self = Self::Setting(None);

    /// One field.
    pub(in crate::formats) const fn field(id: FieldId) -> Self {
        Self::Setting(Some(id))
    }
}

/// The meaning of a key that is called like a Megatron-LM field.
pub(super) fn same_field(name: &str) -> Option<KeyMeaning> {
    let spec = megatron_args::flags().find(|spec| spec.dest == name)?;
    Some(KeyMeaning::Field(&spec.dest))
}

/// The meaning of `name` in a table.
pub(super) fn look_up(table: &[(&str, KeyMeaning)], name: &str) -> Option<KeyMeaning> {
    table.iter().find(|(key, _)| *key == name).map(|(_, meaning)| *meaning)
}
