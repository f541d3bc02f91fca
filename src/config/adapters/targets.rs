//! Which modules the names in `target_modules` and `exclude_modules` mean (`ModuleMatcher`, `CanonicalLoRA`).

use super::modules::{LinearModule, LinearModules};
use crate::config::choices::AdapterType;
use crate::config::fields::Args;
use crate::config::layers::Layers;

/// The modules that get adapters.
#[derive(Clone, Debug)]
pub(crate) enum Targets {
    /// Modules with these names.
    Named(Vec<Target>),
    /// All linear layers but those with these names.
    AllBut(Vec<String>),
}

/// One name among the targets.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The name as it was given.
    pub(crate) given: String,
    /// The name of the module that it belongs to.
    pattern: String,
    /// The part of that module, for one of `CanonicalLoRA`'s.
    part: Option<&'static str>,
}

/// What a target of `CanonicalLoRA` ends with, and the module that it is a part of.
const PARTS: [(&str, &str); 5] = [
    ("linear_q", "linear_qkv"),
    ("linear_k", "linear_qkv"),
    ("linear_v", "linear_qkv"),
    ("linear_fc1_up", "linear_fc1"),
    ("linear_fc1_gate", "linear_fc1"),
];

/// Beginnings of the names of linear modules outside of decoder layers.
const PREFIXES: [&str; 4] = [
    "",
    "mtp.layers.0.",
    "mtp.layers.0.mtp_model_layer.",
    "mtp.layers.0.mtp_model_layer.layers.0.",
];

/// The linear modules of a model.
pub(crate) fn present(a: &Args, layers: &Layers) -> LinearModules {
    let with_mtp = a.mtp_num_layers.unwrap_or(0) > 0;
    let mtp = if with_mtp { layers.mtp() } else { &[] };
    let of_layers = layers.decoder().iter().chain(mtp);
    let set = of_layers.fold(LinearModules::default(), |set, layer| {
        set.or(LinearModules::of_layer(*layer, a))
    });
    let set = set.with(LinearModule::OutputLayer).or(LinearModules::of_projectors(a));
    if with_mtp { set.with(LinearModule::EhProj) } else { set }
}

impl Targets {
    /// What the arguments say; `None` without adapters.
    pub(crate) fn of(a: &Args) -> Option<Self> {
        let canonical = match a.peft_type {
            AdapterType::None => return None,
            AdapterType::CanonicalLora => true,
            AdapterType::Lora | AdapterType::Dora => false,
        };
        let excluded = a.peft_exclude_modules.as_deref();
        if let (None, Some(excluded)) = (&a.peft_target_modules, excluded) {
            return Some(Self::AllBut(names(excluded).map(str::to_owned).collect()));
        }
        let usual = if canonical {
            "linear_q,linear_k,linear_v,linear_proj,linear_fc1_up,linear_fc1_gate,linear_fc2"
        } else {
            "linear_qkv,linear_proj,linear_fc1,linear_fc2"
        };
        let given = a.peft_target_modules.as_deref().unwrap_or(usual);
        Some(Self::Named(
            names(given).map(|name| Target::new(name, canonical)).collect(),
        ))
    }

    /// The modules of a layer whose names begin with `prefix` that get adapters.
    pub(super) fn modules(&self, prefix: &str, grouped: bool) -> LinearModules {
        let mut set = LinearModules::default();
        for module in LinearModule::ALL.iter().copied() {
            let full = [prefix, module.path_of(grouped)].concat();
            match self {
                Self::Named(targets) => {
                    // The first pattern that matches decides; CanonicalLoRA has one entry for all parts of a module.
                    let found = targets.iter().find(|target| target.matches(module, &full));
                    let Some(found) = found else { continue };
                    set = set.with(module);
                    let same = targets.iter().filter(|t| t.pattern == found.pattern);
                    for part in same.filter_map(|target| target.part) {
                        let parts = module.names().parts.iter();
                        let at = parts.take_while(|(name, ..)| *name != part).count();
                        set = set.with_part(module, at);
                    }
                }
                Self::AllBut(excluded) => {
                    let name = module.name();
                    let out = |pattern: &String| pattern == name || matches(pattern, &full);
                    if !module.must_be_named(grouped) && !excluded.iter().any(out) {
                        set = set.with(module);
                    }
                }
            }
        }
        set
    }

    /// The modules of any layer of a model that get adapters, and those outside of layers.
    pub(crate) fn anywhere(&self, a: &Args, layers: &Layers) -> LinearModules {
        let all = present(a, layers);
        let numbers = if self.same_in_all_layers() {
            1
        } else {
            layers.decoder().len()
        };
        let prefixes = (0..numbers).map(|number| format!("decoder.layers.{number}."));
        let prefixes = prefixes.chain(PREFIXES.map(str::to_owned));
        prefixes.fold(LinearModules::default(), |set, prefix| {
            set.or(self.modules(&prefix, a.moe_grouped_gemm).both(all))
        })
    }

    /// The targets, where there are any.
    pub(crate) fn named(&self) -> &[Target] {
        match self {
            Self::Named(targets) => targets,
            Self::AllBut(_) => &[],
        }
    }

    /// Whether all layers have the same modules with adapters, because no pattern goes beyond a module's own name.
    pub(super) fn same_in_all_layers(&self) -> bool {
        let plain = |pattern: &str| !pattern.contains(['*', '.']);
        match self {
            Self::Named(targets) => targets.iter().all(|target| plain(&target.pattern)),
            Self::AllBut(excluded) => excluded.iter().all(|pattern| plain(pattern)),
        }
    }
}

impl Target {
    fn new(given: &str, canonical: bool) -> Self {
        let part = PARTS.iter().find(|(end, _)| canonical && given.ends_with(end));
        Self {
            given: given.to_owned(),
            pattern: part.map_or_else(|| given.to_owned(), |(part, module)| given.replace(part, module)),
            part: part.map(|(part, _)| *part),
        }
    }

    /// Whether it means a module with this full name.
    pub(crate) fn matches(&self, module: LinearModule, full: &str) -> bool {
        self.pattern == module.name() || matches(&self.pattern, full)
    }

    /// Whether it means any linear module of a model.
    pub(crate) fn is_anywhere(&self, a: &Args, layers: &Layers) -> bool {
        let alone = Targets::Named(vec![self.clone()]);
        !alone.anywhere(a, layers).is_empty()
    }

    /// Whether it means a module that is not linear, such as a whole layer.
    pub(crate) fn matches_name(&self, full: &str) -> bool {
        let last = full.rsplit_once('.').map_or(full, |(_, last)| last);
        self.pattern == last || matches(&self.pattern, full)
    }
}

/// The names of a list that is written with commas.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Whether a pattern means a whole name: `*` stands for any characters, and a dot, as in the regular expression that
/// Megatron-Bridge makes of it (`wildcard_match`), for any one.
fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '.']) {
        return pattern == name;
    }
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // What follows the last star, and the letters from which on it has not been tried.
    let mut star = None;
    loop {
        let (mut after, mut rest) = (pattern.clone(), name.clone());
        match (after.next(), rest.next()) {
            (Some('*'), _) => {
                star = Some((after.clone(), name.clone()));
                pattern = after;
            }
            (Some(c), Some(letter)) if c == '.' || c == letter => (pattern, name) = (after, rest),
            (None, None) => return true,
            _ => {
                let Some((after, from)) = &mut star else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, name) = (after.clone(), from.clone());
            }
        }
    }
}
