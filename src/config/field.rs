//! The declaration form for one input field: everything that a form control, a link, an importer or
//! a message needs to know about it, in one place.

use core::fmt;

use super::condition::Condition;

/// A part of the form, in the order in which people think about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Layers, widths, vocabulary.
    Model,
    /// Heads, query groups, latent attention.
    Attention,
    /// Experts and the router.
    Moe,
    /// How ranks share the work.
    Parallelism,
    /// Micro batch, global batch, sequence length.
    Batch,
    /// Activations that are recomputed or offloaded instead of saved.
    Savers,
    /// Training precision and optimizer states.
    Optimizer,
    /// Small matrices that are trained beside a model that is not.
    Adapters,
    /// Kernels and fusions, which decide what autograd keeps.
    Kernels,
    /// The GPU, and what sits outside the allocator.
    Hardware,
    /// Images and sounds: front end, tokens and projector of an encoder.
    Encoder,
}

impl Group {
    /// All groups in form order.
    pub const ALL: [Self; 11] = [
        Self::Model,
        Self::Attention,
        Self::Moe,
        Self::Parallelism,
        Self::Batch,
        Self::Savers,
        Self::Optimizer,
        Self::Adapters,
        Self::Kernels,
        Self::Hardware,
        Self::Encoder,
    ];

    /// The heading on the page.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Attention => "Attention",
            Self::Moe => "MoE",
            Self::Parallelism => "Parallelism",
            Self::Batch => "Batch and sequence",
            Self::Savers => "Memory savers",
            Self::Optimizer => "Optimizer and precision",
            Self::Adapters => "Adapters",
            Self::Kernels => "Kernels",
            Self::Hardware => "Hardware",
            Self::Encoder => "Encoder",
        }
    }
}

/// How soon a field is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Always visible in its section.
    Essential,
    /// Under "more".
    More,
    /// Under "all flags".
    All,
}

/// Whether one value serves the whole job or each module has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every module may set it.
    Module,
    /// One value for the job.
    Job,
}

/// Whether a field says what the model is or how it is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// What the model is: its layers and their sizes.
    Model,
    /// How experts are trained. Another model with experts can be trained alike; one without has no use for it.
    ExpertTraining,
    /// How the layers of this one model are split over stages. It may mean nothing for another model.
    LayerSplit,
    /// How the job is trained, whatever the model.
    Training,
}

/// The kind of value that a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number within `min..=max`.
    Int {
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
    },
    /// On or off.
    Flag,
    /// One name out of a closed list.
    Choice(&'static [&'static str]),
    /// Any number of names out of a closed list.
    Set(&'static [&'static str]),
    /// A decimal number, kept as whole millionths within `min..=max`.
    Decimal {
        /// Smallest legal value in millionths.
        min: u64,
        /// Largest legal value in millionths.
        max: u64,
    },
    /// `moe_layer_freq`: a whole number N, a list of zeros and ones, or a Python list expression.
    LayerPattern,
    /// Free text with a grammar of its own.
    Text {
        /// Longest legal text in characters.
        max: usize,
    },
}

/// The meaning of a missing value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// The field must be given.
    Required,
    /// Nothing, or derived from other fields as the text says.
    Derived(&'static str),
    /// A whole number.
    Int(u64),
    /// On or off.
    Flag(bool),
    /// A name out of the field's list.
    Choice(&'static str),
    /// The names that are in, separated by commas.
    Set(&'static str),
    /// Millionths.
    Decimal(u64),
}

impl fmt::Display for Default {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("required"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Flag(b) => f.write_str(if *b { "on" } else { "off" }),
            Self::Derived(text) | Self::Choice(text) | Self::Set(text) => f.write_str(text),
            Self::Decimal(millionths) => Decimal(*millionths).fmt(f),
        }
    }
}

/// A decimal number in whole millionths; prints without trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(
    /// Millionths.
    pub u64,
);

impl Decimal {
    /// One.
    pub const ONE: Self = Self(1_000_000);

    /// `amount` times this number, rounded up to a whole unit; saturates.
    #[must_use]
    pub fn scale_up(self, amount: u64) -> u64 {
        if self == Self::ONE {
            return amount;
        }
        let scaled = (u128::from(amount) * u128::from(self.0)).div_ceil(1_000_000);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest, mut digits) = (self.0 / 1_000_000, self.0 % 1_000_000, 6);
        write!(f, "{whole}")?;
        if rest == 0 {
            return Ok(());
        }
        while rest.is_multiple_of(10) {
            rest /= 10;
            digits -= 1;
        }
        write!(f, ".{rest:0digits$}")
    }
}

/// How many words a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// None; the field becomes true.
    Switch,
    /// None; the field becomes false.
    InvertedSwitch,
    /// One.
    One,
    /// All up to the next flag.
    Many,
}

/// The flag of Megatron-LM's command line that sets a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name without the leading dashes.
    pub name: &'static str,
    /// How many words it takes.
    pub arity: Arity,
    /// The name under which the parser stores its value.
    pub destination: &'static str,
    /// Whether it changes the memory of most jobs that have it; an import does not ask for the others' values.
    pub changes_memory: bool,
    /// The value that the parser stores when no flag is given, as Python prints it, where it is not the field's default.
    pub parser_default: Option<&'static str>,
}

/// One input field: everything that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Megatron-LM's argument name in snake case, or our own name where Megatron has none.
    pub name: &'static str,
    /// The key in share links.
    pub key: &'static str,
    /// One value for the job, or one a module.
    pub scope: Scope,
    /// Legal values.
    pub kind: Kind,
    /// The meaning of a missing value.
    pub default: Default,
    /// Whether it says what the model is or how it is trained.
    pub aspect: Aspect,
    /// The condition under which the field matters; none where it always does.
    pub relevant_if: Option<Condition>,
    /// Whether Megatron-LM has this argument; the others are this calculator's own.
    pub megatron: bool,
    /// The flag that sets it; none where Megatron-LM has no flag for it.
    pub flag: Option<Flag>,
    /// The name in the form.
    pub label: &'static str,
    /// The symbol in formulas, empty where it appears in none.
    pub symbol: &'static str,
    /// One or two sentences of help.
    pub help: &'static str,
    /// The unit, empty for plain counts.
    pub unit: &'static str,
    /// Section of the form.
    pub group: Group,
    /// How soon it is shown.
    pub level: Level,
    /// Other names that readers and the search box accept: Megatron-Bridge's, Hugging Face's, plain words.
    pub aliases: &'static [&'static str],
}

impl Field {
    /// The name under which Megatron-LM's parser stores the field's value.
    #[must_use]
    pub fn destination(&self) -> &'static str {
        self.flag.map_or(self.name, |flag| flag.destination)
    }

    /// A field of this kind, in the first section of the form and with the flag that its kind suggests. A flag has the
    /// field's own name where [`named`](Self::named) finds none.
    const fn declare(kind: Kind, default: Default) -> Self {
        let arity = match (kind, default) {
            (Kind::Flag, Default::Flag(true)) => Arity::InvertedSwitch,
            (Kind::Flag, _) => Arity::Switch,
            (Kind::Set(_), _) => Arity::Many,
            _ => Arity::One,
        };
        Self {
            name: "",
            key: "",
            scope: Scope::Module,
            kind,
            default,
            aspect: Aspect::Model,
            relevant_if: None,
            megatron: true,
            flag: Some(Flag {
                name: "",
                arity,
                destination: "",
                changes_memory: true,
                parser_default: None,
            }),
            label: "",
            symbol: "",
            help: "",
            unit: "",
            group: Group::Model,
            level: Level::All,
            aliases: &[],
        }
    }

    /// A whole number that must be given.
    pub(super) const fn required(min: u64, max: u64) -> Self {
        Self::declare(Kind::Int { min, max }, Default::Required)
    }

    /// A whole number with a default.
    pub(super) const fn int(min: u64, max: u64, default: u64) -> Self {
        Self::declare(Kind::Int { min, max }, Default::Int(default))
    }

    /// A whole number that is derived, or simply absent, when not given.
    pub(super) const fn derived(min: u64, max: u64, rule: &'static str) -> Self {
        Self::declare(Kind::Int { min, max }, Default::Derived(rule))
    }

    /// On or off.
    pub(super) const fn flag(default: bool) -> Self {
        Self::declare(Kind::Flag, Default::Flag(default))
    }

    /// One name out of a list.
    pub(super) const fn choice(names: &'static [&'static str], default: &'static str) -> Self {
        Self::declare(Kind::Choice(names), Default::Choice(default))
    }

    /// One name out of a list, or none.
    pub(super) const fn optional_choice(
        names: &'static [&'static str],
        rule: &'static str,
    ) -> Self {
        Self::declare(Kind::Choice(names), Default::Derived(rule))
    }

    /// Several names out of a list.
    pub(super) const fn set(names: &'static [&'static str], default: &'static str) -> Self {
        Self::declare(Kind::Set(names), Default::Set(default))
    }

    /// A decimal number; bounds and default in millionths.
    pub(super) const fn decimal(min: u64, max: u64, default: u64) -> Self {
        Self::declare(Kind::Decimal { min, max }, Default::Decimal(default))
    }

    /// A decimal number that may be absent; bounds in millionths.
    pub(super) const fn optional_decimal(min: u64, max: u64, rule: &'static str) -> Self {
        Self::declare(Kind::Decimal { min, max }, Default::Derived(rule))
    }

    /// A layer pattern.
    pub(super) const fn layer_pattern() -> Self {
        Self::declare(Kind::LayerPattern, Default::Int(1))
    }

    /// Free text that may be absent.
    pub(super) const fn text(max: usize, rule: &'static str) -> Self {
        Self::declare(Kind::Text { max }, Default::Derived(rule))
    }
}

/// The facts that declarations in [`fields`](super::fields) add to a field, as a builder.
impl Field {
    /// Place in the form, link key and label.
    pub(super) const fn at(
        mut self,
        group: Group,
        level: Level,
        key: &'static str,
        label: &'static str,
    ) -> Self {
        self.key = key;
        self.aspect = match group {
            Group::Model | Group::Attention | Group::Moe => Aspect::Model,
            _ => Aspect::Training,
        };
        self.group = group;
        self.level = level;
        self.label = label;
        self
    }

    /// The symbol in formulas.
    pub(super) const fn symbol(mut self, symbol: &'static str) -> Self {
        self.symbol = symbol;
        self
    }

    /// The unit.
    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Other names for search and readers.
    pub(super) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// A field among those of the model that says how it is trained.
    pub(super) const fn trains(mut self) -> Self {
        self.aspect = Aspect::Training;
        self
    }

    /// A field of the experts that says how they are trained.
    pub(super) const fn trains_experts(mut self) -> Self {
        self.aspect = Aspect::ExpertTraining;
        self
    }

    /// A field that says how the layers of one model are split over stages.
    pub(super) const fn splits_layers(mut self) -> Self {
        self.aspect = Aspect::LayerSplit;
        self
    }

    /// One value for the whole job.
    pub(super) const fn job(mut self) -> Self {
        self.scope = Scope::Job;
        self
    }

    /// A field that matters only if a condition holds.
    pub(super) const fn relevant_if(mut self, condition: Condition) -> Self {
        self.relevant_if = Some(condition);
        self
    }

    /// A field that Megatron-LM does not have.
    pub(super) const fn own(mut self) -> Self {
        self.megatron = false;
        self.flag = None;
        self
    }

    /// A field of Megatron-LM's configuration that it has no flag for.
    pub(super) const fn without_flag(mut self) -> Self {
        self.flag = None;
        self
    }

    /// A switch that turns the field off.
    pub(super) const fn turned_off_by(mut self, name: &'static str) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.name = name;
        }
        self
    }

    /// A flag that takes several words although the field takes one value.
    pub(super) const fn takes_many_words(mut self) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.arity = Arity::Many;
        }
        self
    }

    /// A flag whose value the parser stores under another name than the field's.
    pub(super) const fn stored_as(mut self, destination: &'static str) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.destination = destination;
        }
        self
    }

    /// A flag that is `None` to the parser when it is not given, and has its default from elsewhere.
    pub(super) const fn parsed_as_none(mut self) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.parser_default = Some("None");
        }
        self
    }

    /// A flag that changes no memory of most jobs that have it.
    pub(super) const fn rarely_counts(mut self) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.changes_memory = false;
        }
        self
    }

    /// The field with its name, the same name with dashes for its flag, and the help that is its doc comment.
    pub(super) const fn named(
        mut self,
        name: &'static str,
        dashed: &'static str,
        help: &'static str,
    ) -> Self {
        self.name = name;
        self.help = help;
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
pub(super) const fn dashed<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
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
