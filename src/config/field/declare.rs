//! How the table of fields declares one: its kind and default first, then the facts that differ from the usual.

use super::{Arity, Aspect, Default, Field, Flag, Group, Kind, Level, Scope};
use crate::config::condition::Condition;

/// A row of the table of fields.
#[derive(Clone, Copy)]
pub(in crate::config) struct Declaration {
    pub(in crate::config) field: Field,
    /// The flag of Megatron-LM that sets the field; none where it has no flag for it.
    pub(in crate::config) flag: Option<Flag>,
    /// Other names that readers and the search box accept.
    pub(in crate::config) aliases: &'static [&'static str],
}

impl Field {
    /// A field of this kind, in the first section of the form and with the flag that its kind suggests. A flag has the
    /// field's own name where [`named`](Self::named) finds none.
    const fn declare(kind: Kind, default: Default) -> Declaration {
        let arity = match (kind, default) {
            (Kind::Flag, Default::Flag(true)) => Arity::InvertedSwitch,
            (Kind::Flag, _) => Arity::Switch,
            (Kind::Set(_), _) => Arity::Many,
            _ => Arity::One,
        };
        Declaration {
            field: Self {
                name: "",
                key: "",
                scope: Scope::Module,
                kind,
                default,
                aspect: Aspect::Model,
                relevant_if: None,
                megatron: true,
                label: "",
                symbol: "",
                unit: "",
                group: Group::Model,
                level: Level::All,
            },
            flag: Some(Flag {
                name: "",
                arity,
                destination: "",
                changes_memory: true,
                parser_default: None,
            }),
            aliases: &[],
        }
    }

    /// A whole number that must be given.
    pub(in crate::config) const fn required(min: u64, max: u64) -> Declaration {
        Self::declare(Kind::Int { min, max }, Default::Required)
    }

    /// A whole number with a default.
    pub(in crate::config) const fn int(min: u64, max: u64, default: u64) -> Declaration {
        Self::declare(Kind::Int { min, max }, Default::Int(default))
    }

    /// A whole number that is derived, or simply absent, when not given.
    pub(in crate::config) const fn derived(min: u64, max: u64, rule: &'static str) -> Declaration {
        Self::declare(Kind::Int { min, max }, Default::Derived(rule))
    }

    /// On or off.
    pub(in crate::config) const fn flag(default: bool) -> Declaration {
        Self::declare(Kind::Flag, Default::Flag(default))
    }

    /// One name out of a list.
    pub(in crate::config) const fn choice(names: &'static [&'static str], default: &'static str) -> Declaration {
        Self::declare(Kind::Choice(names), Default::Choice(default))
    }

    /// One name out of a list, or none.
    pub(in crate::config) const fn optional_choice(names: &'static [&'static str], rule: &'static str) -> Declaration {
        Self::declare(Kind::Choice(names), Default::Derived(rule))
    }

    /// Several names out of a list.
    pub(in crate::config) const fn set(names: &'static [&'static str], default: &'static str) -> Declaration {
        Self::declare(Kind::Set(names), Default::Set(default))
    }

    /// A decimal number; bounds and default in millionths.
    pub(in crate::config) const fn decimal(min: u64, max: u64, default: u64) -> Declaration {
        Self::declare(Kind::Decimal { min, max }, Default::Decimal(default))
    }

    /// A decimal number that may be absent; bounds in millionths.
    pub(in crate::config) const fn optional_decimal(min: u64, max: u64, rule: &'static str) -> Declaration {
        Self::declare(Kind::Decimal { min, max }, Default::Derived(rule))
    }

    /// A layer pattern.
    pub(in crate::config) const fn layer_pattern() -> Declaration {
        Self::declare(Kind::LayerPattern, Default::Int(1))
    }

    /// Free text that may be absent.
    pub(in crate::config) const fn text(max: usize, rule: &'static str) -> Declaration {
        Self::declare(Kind::Text { max }, Default::Derived(rule))
    }
}

/// The facts that declarations in [`fields`](super::fields) add, as a builder.
impl Declaration {
    /// Place in the form, link key and label.
    pub(in crate::config) const fn at(
        mut self,
        group: Group,
        level: Level,
        key: &'static str,
        label: &'static str,
    ) -> Self {
        self.field.key = key;
        self.field.aspect = match group {
            Group::Model | Group::Attention | Group::Moe => Aspect::Model,
            _ => Aspect::Training,
        };
        self.field.group = group;
        self.field.level = level;
        self.field.label = label;
        self
    }

    /// The symbol in formulas.
    pub(in crate::config) const fn symbol(mut self, symbol: &'static str) -> Self {
        self.field.symbol = symbol;
        self
    }

    /// The unit.
    pub(in crate::config) const fn unit(mut self, unit: &'static str) -> Self {
        self.field.unit = unit;
        self
    }

    /// Other names for search and readers.
    pub(in crate::config) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// A field among those of the model that says how it is trained.
    pub(in crate::config) const fn trains(mut self) -> Self {
        self.field.aspect = Aspect::Training;
        self
    }

    /// A field of the experts that says how they are trained.
    pub(in crate::config) const fn trains_experts(mut self) -> Self {
        self.field.aspect = Aspect::ExpertTraining;
        self
    }

    /// A field that says how the layers of one model are split over stages.
    pub(in crate::config) const fn splits_layers(mut self) -> Self {
        self.field.aspect = Aspect::LayerSplit;
        self
    }

    /// One value for the whole job.
    pub(in crate::config) const fn job(mut self) -> Self {
        self.field.scope = Scope::Job;
        self
    }

    /// A field that matters only if a condition holds.
    pub(in crate::config) const fn relevant_if(mut self, condition: Condition) -> Self {
        self.field.relevant_if = Some(condition);
        self
    }

    /// A field that Megatron-LM does not have.
    pub(in crate::config) const fn own(mut self) -> Self {
        self.field.megatron = false;
        self.flag = None;
        self
    }

    /// A field of Megatron-LM's configuration that it has no flag for.
    pub(in crate::config) const fn without_flag(mut self) -> Self {
        self.flag = None;
        self
    }

    /// A switch that turns the field off.
    pub(in crate::config) const fn turned_off_by(mut self, name: &'static str) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.name = name;
        }
        self
    }

    /// A flag that takes several words although the field takes one value.
    pub(in crate::config) const fn takes_many_words(mut self) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.arity = Arity::Many;
        }
        self
    }

    /// A flag whose value the parser stores under another name than the field's.
    pub(in crate::config) const fn stored_as(mut self, destination: &'static str) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.destination = destination;
        }
        self
    }

    /// A flag that is `None` to the parser when it is not given, and has its default from elsewhere.
    pub(in crate::config) const fn parsed_as_none(mut self) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.parser_default = Some("None");
        }
        self
    }

    /// A flag that changes no memory of most jobs that have it.
    pub(in crate::config) const fn rarely_counts(mut self) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.changes_memory = false;
        }
        self
    }

    /// The field with its name, and the same name with dashes for its flag.
    pub(in crate::config) const fn named(mut self, name: &'static str, dashed: &'static str) -> Self {
        self.field.name = name;
        if let Some(flag) = &mut self.flag {
            if flag.name.is_empty() {
                flag.name = dashed;
            }
            if flag.destination.is_empty() {
                flag.destination = name;
            }
        }
        self
    }
}

/// The bytes of a name with dashes instead of underscores.
#[allow(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses an index out of bounds"
)]
pub(in crate::config) const fn dashed<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        bytes[at] = match name.as_bytes()[at] {
            b'_' => b'-',
            byte => byte,
        };
        at += 1;
    }
    bytes
}
