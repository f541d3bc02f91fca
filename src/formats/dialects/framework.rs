//! A program whose configurations are read: what its keys mean, its defaults, and what it makes of its keys together.

use std::fmt;

use super::meaning::KeyMeaning;
use crate::config::canonical::{hybrid_pattern, is_on};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, Settings};
use crate::formats::import::ImportError;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::Import;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::tower::{Outcome, Tower};
use crate::formats::megatron_args;
use crate::formats::node::Node;

/// Fields by Megatron-LM's argparse destinations, with values as Python prints them.
pub type Defaults = &'static [(&'static str, &'static str)];

/// A version of a program: major, minor and patch.
pub type Version = (u64, u64, u64);

/// Releases with other defaults than the revision that is read.
pub struct Release {
    /// The first of them.
    pub since: Version,
    /// The first one after them.
    pub before: Version,
    /// Their defaults.
    pub defaults: Defaults,
}

impl Release {
    /// Whether a version is one of these.
    #[must_use]
    pub fn has(&self, version: Version) -> bool {
        (self.since..self.before).contains(&version)
    }
}

/// Sets fields that several keys decide together, and reports these keys.
pub(in crate::formats) type Derivation = fn(&mut JobDraft, &Keys<'_>);

/// A program whose configurations are read: Megatron-LM or a front end of it.
pub struct Framework {
    /// The name of the program.
    pub name: &'static str,
    /// The meaning of a key; flags are given without their dashes.
    pub find: fn(&str) -> Option<KeyMeaning>,
    /// Its defaults that differ from those of Megatron-LM's command line. The first table that has a field counts.
    pub defaults: &'static [Defaults],
    /// The defaults of models with a `hybrid_layer_pattern`, where these are built from another class. The first table
    /// that has a field counts.
    pub hybrid_defaults: &'static [Defaults],
    /// The defaults of models with latent attention and no `hybrid_layer_pattern`, where these are built from another
    /// class. The first table that has a field counts.
    pub latent_defaults: &'static [Defaults],
    /// Releases of it with other defaults than the revision that is read.
    pub releases: &'static [Release],
    /// Its YAML files, where Megatron's arguments stand below sections of its own.
    pub files: Option<Files>,
    /// The marks of such files, and of others of its files that are refused.
    pub signs: &'static [Signs],
    /// Begins a job from a tree of keys, or refuses the tree.
    pub(in crate::formats) begin: fn(&mut JobDraft, &Node, &Keys<'_>) -> Result<(), ImportError>,
    /// The name that [`Self::find`] knows for a path of keys.
    pub(in crate::formats) name_of: fn(&str) -> String,
    /// Reads a key by its name that no row of a table can say. Returns whether it is such a key.
    pub(in crate::formats) special: fn(&mut JobDraft, &mut Keys<'_>, &KeyValue, &str) -> bool,
    /// Reads a value that its field does not know. Returns whether it is such a value.
    pub(in crate::formats) unknown_value: fn(&mut JobDraft, &KeyValue, FieldId) -> bool,
    /// Functions that set the fields that several keys decide together, in this order.
    pub(in crate::formats) derivations: &'static [Derivation],
    /// Sets the fields that depend on the defaults as well.
    pub(in crate::formats) after_defaults: fn(&mut JobDraft),
    /// Sets the fields that follow from the model, once the model is known.
    pub(in crate::formats) after_model: fn(&mut Import),
    /// Changes the settings of a model that is chosen for a text, before they fill what the text leaves open. The text is
    /// the `model_type` of the model's file, empty where it has none.
    pub(in crate::formats) with_model: fn(&mut RawJob, &mut Settings, &str),
    /// Whether depths of multi-token prediction are trained only where a key of the text asks for them, and not because
    /// the chosen model has them.
    pub(in crate::formats) mtp_only_where_asked: bool,
    /// What becomes of a tower beside the language model, and whether the model has an audio tower too.
    pub(in crate::formats) tower: fn(&Import, Tower, bool) -> Outcome,
    /// The keys of a model's parts that it never builds.
    pub(in crate::formats) never_built: &'static [&'static str],
    /// Whether a model is the one that is published under its name.
    pub(in crate::formats) names_published_models: bool,
    /// Whether the vocabulary of a published model is not padded any further.
    pub(in crate::formats) keeps_vocabulary: bool,
}

/// YAML files with Megatron's arguments below sections of a framework's own: which keys stand where, and what they are
/// called in Megatron-LM or Megatron-Bridge.
pub struct Files {
    /// The name of the format in programs.
    pub id: &'static str,
    /// The name of the format for people, with an article.
    pub label: &'static str,
    /// Single keys with other names, by their paths: the key that they mean.
    pub keys: &'static [(&'static str, &'static str)],
    /// Beginnings of paths, and what stands in their place. The first that fits counts.
    pub places: &'static [(&'static str, &'static str)],
    /// Beginnings of paths that say nothing of the memory of a training step.
    pub ignored: &'static [&'static str],
    /// Keys and sections that make another kind of job of the file, which is not read, unless they are switched off;
    /// and that kind, with an article. With `=` the key does so only with this value.
    pub refused: &'static [(&'static str, &'static str)],
    /// The key that names the model.
    pub model: &'static str,
    /// Adds the keys of other files that the text refers to.
    pub(in crate::formats) complete: fn(&mut Vec<KeyValue>) -> Result<(), ImportError>,
}

/// The marks by which a YAML file of a framework is recognized.
pub struct Signs {
    /// The kind of file with an article, where such files are refused.
    pub refused: Option<&'static str>,
    /// Top-level keys that the file has, all of them; with a colon, keys that begin a section.
    pub all: &'static [&'static str],
    /// Keys, of which the file has at least one at any depth.
    pub any: &'static [&'static str],
}

impl Files {
    /// Files without keys.
    pub(super) const NONE: Self = Self {
        id: "",
        label: "",
        keys: &[],
        places: &[],
        ignored: &[],
        refused: &[],
        model: "",
        complete: |_| Ok(()),
    };
}

impl Framework {
    /// A program that takes Megatron-LM's arguments as they are. Frameworks say in what they differ.
    pub(super) const PLAIN: Self = Self {
        name: "Megatron-LM",
        find: |_| None,
        defaults: &[],
        hybrid_defaults: &[],
        latent_defaults: &[],
        releases: &[],
        files: None,
        signs: &[],
        begin: |_, _, _| Ok(()),
        name_of: str::to_owned,
        special: |_, _, _, _| false,
        unknown_value: |_, _, _| false,
        derivations: &[],
        after_defaults: |_| {},
        after_model: |_| {},
        with_model: |_, _, _| {},
        mtp_only_where_asked: false,
        tower: |_, _, _| Outcome::NotBuilt,
        never_built: &[],
        names_published_models: false,
        keeps_vocabulary: false,
    };

    /// The value of a field that the configuration leaves out, as Python would print it.
    #[must_use]
    pub fn default_of(&self, destination: &str) -> Option<&'static str> {
        let mut defaults = self.defaults.iter().copied().flatten();
        let own = defaults.find(|(field, _)| *field == destination);
        own.map(|(_, value)| *value)
            .or_else(|| megatron_args::default_of(destination))
    }

    /// The defaults of the class that a model with these settings is built from, which count before all others.
    #[must_use]
    pub fn defaults_of_class(&self, settings: &Settings) -> &'static [Defaults] {
        if hybrid_pattern(settings).is_some() {
            self.hybrid_defaults
        } else if is_on(settings, FieldId::multi_latent_attention) {
            self.latent_defaults
        } else {
            &[]
        }
    }

    /// The value that a field has by default in a model of a class with these defaults.
    #[must_use]
    pub fn default_in_class(&self, class: &'static [Defaults], destination: &str) -> Option<&'static str> {
        let mut defaults = class.iter().copied().flatten();
        let own = defaults.find(|(field, _)| *field == destination);
        own.map(|(_, value)| *value).or_else(|| self.default_of(destination))
    }
}

impl fmt::Debug for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every framework has a name of its own, but for the forms of Megatron-LM's own arguments.
impl PartialEq for Framework {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Framework {}
