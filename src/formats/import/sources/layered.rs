//! Configurations of frameworks that hold Megatron's arguments below sections of their own.

mod flag_scale;
mod nemo;
mod nemo_rl;
mod primus;
mod roll;

use super::trees::leaves_of;
use super::{finish, limit_keys};
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::detect::Format;
use crate::formats::dialects::Dialect;
use crate::formats::dialects::layered::{self, Layout};
use crate::formats::import::combined::{self, CombinedKeys};
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::is_off;
use crate::formats::import::{Import, ImportError, Options, Question, towers};
use crate::formats::interpolation;
use crate::formats::report::{KeyStatus, shown};
use crate::formats::yaml;

/// A configuration of one of the frameworks.
pub(in crate::formats::import) fn layered(
    text: &str,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let layout = layered::of(format).ok_or(ImportError::NotRecognized)?;
    let mut root = yaml::parse(text).map_err(ImportError::Yaml)?.root;
    let variables = interpolation::resolve(&mut root, options.variables);
    let mut leaves = leaves_of(&root);
    limit_keys(leaves.len())?;
    if layout.dialect == Dialect::NemoRl {
        nemo_rl::add_base(&mut leaves)?;
    }
    if layout.dialect == Dialect::Primus {
        primus::add_model(&mut leaves, layout.model);
    }
    refuse(layout, &leaves)?;
    let mut draft = JobDraft::new(layout.dialect);
    let mut combined = CombinedKeys::default();
    for item in &leaves {
        leaf(&mut draft, &mut combined, layout, &leaves, item);
    }
    match layout.dialect {
        Dialect::NemoRl => nemo_rl::settle(&mut draft, &leaves),
        Dialect::FlagScale => {
            flag_scale::settle(&mut draft, &leaves);
            draft.towers = towers::flag_scale::read(&leaves).into_iter().collect();
        }
        Dialect::Nemo => nemo::settle(&mut draft, &leaves),
        _ => {}
    }
    combined::combine(&mut draft, combined);
    if layout.dialect == Dialect::Roll {
        roll::settle(&mut draft, &leaves);
    }
    draft.ask_for(variables);
    super::fits(&draft, format)?;
    finish(draft, format, options)
}

/// The value of a key, by its path.
pub(super) fn find<'a>(leaves: &'a [KeyValue], path: &str) -> Option<&'a KeyValue> {
    leaves.iter().find(|item| item.key == path)
}

/// Refuses files of the framework that are no job which is read.
fn refuse(layout: &Layout, leaves: &[KeyValue]) -> Result<(), ImportError> {
    let is = |path: &str, wanted: &str| find(leaves, path).is_none_or(|item| shown(&item.value) == wanted);
    if !is("policy.megatron_cfg.enabled", "true") {
        let what = "a NeMo-RL configuration that does not train with Megatron";
        return Err(ImportError::NotRead(what));
    }
    if !is("modules.pre_trainer.framework", "megatron") {
        let what = "a Primus configuration that does not train with Megatron-LM";
        return Err(ImportError::NotRead(what));
    }
    let model = find(leaves, layout.model).map(|item| shown(&item.value));
    let is_own_hybrid = |name: String| name.starts_with("mamba_") || name.starts_with("zebra_llama_");
    if layout.dialect == Dialect::Primus && model.is_some_and(is_own_hybrid) {
        let what = "a Primus configuration of Mamba or Zebra-Llama, whose layers are Primus's own";
        return Err(ImportError::NotRead(what));
    }
    let trains = |worker: &str| {
        let name = find(leaves, &format!("{worker}.strategy_args.strategy_name"));
        name.is_some_and(|item| shown(&item.value) == "megatron_train")
    };
    if layout.dialect == Dialect::Roll && !["actor_train", "student"].into_iter().any(trains) {
        let what = "a ROLL configuration that does not train with Megatron";
        return Err(ImportError::NotRead(what));
    }
    let mut refused = layout.refused.iter();
    let found = refused.find(|(wanted, _)| {
        let (path, value) = match wanted.split_once('=') {
            Some((path, value)) => (path, Some(value)),
            None => (*wanted, None),
        };
        let mut items = leaves.iter();
        items.any(|item| match item.key.strip_prefix(path) {
            Some("") => match value {
                Some(value) => shown(&item.value) == value,
                None => !is_off(&item.value),
            },
            Some(rest) => rest.starts_with('.') && value.is_none(),
            None => false,
        })
    });
    let of_rwkv = layout.dialect == Dialect::FlagScale && flag_scale::is_rwkv(leaves);
    let what = found.map(|(_, what)| *what);
    let rwkv = "a FlagScale configuration of RWKV, whose tokenizer has a path and no type";
    let meshes = (layout.dialect == Dialect::FlagScale)
        .then(|| flag_scale::hetero::refused(leaves))
        .flatten();
    match what.or(meshes).or_else(|| of_rwkv.then_some(rwkv)) {
        Some(what) => Err(ImportError::NotRead(what)),
        None => Ok(()),
    }
}

/// Applies one key with its value.
pub(super) fn leaf(
    draft: &mut JobDraft,
    combined: &mut CombinedKeys,
    layout: &Layout,
    leaves: &[KeyValue],
    item: &KeyValue,
) {
    let path = item.key.as_str();
    let single = layout.keys.iter().find(|(key, _)| *key == path);
    let is_ignored = layout.ignored.iter().any(|start| path.starts_with(start));
    let mut places = layout.places.iter();
    let place = places.find_map(|(start, to)| Some((path.strip_prefix(start)?, *to)));
    let name = match (single, place) {
        (Some((_, name)), _) => (*name).to_owned(),
        (None, Some((rest, ""))) => rest.rsplit('.').next().unwrap_or_default().to_owned(),
        (None, Some((rest, section))) => format!("{section}{rest}"),
        (None, None) => String::new(),
    };
    let is_special = match layout.dialect {
        Dialect::NemoRl => nemo_rl::special(draft, leaves, item),
        Dialect::FlagScale => flag_scale::special(draft, item, &name),
        Dialect::Nemo => nemo::special(draft, combined, leaves, item, &name),
        Dialect::Roll => roll::special(draft, leaves, item),
        Dialect::Primus => primus::special(draft, leaves, item, &name),
        _ => false,
    };
    if is_special {
        return;
    }
    if path == layout.model && !path.is_empty() {
        let name = shown(&item.value);
        if layered::own_model(&name).is_some() {
            let note = "the arguments of this model in Primus";
            return draft.row(item, KeyStatus::Derived, None, note);
        }
        let name = layered::hub_name(&name).to_owned();
        draft.questions.push(Question::Model { name });
        let note = "the architecture is in the model's own file";
        draft.not_modelled(item, MemoryEffect::Nothing, note);
    } else if single.is_some() || !is_ignored && place.is_some() {
        let rows = draft.report.len();
        draft.apply_referring(combined, item, &name);
        let new = draft.report.get(rows..).unwrap_or_default();
        if new.iter().any(|row| row.status == KeyStatus::Unknown) {
            mark(draft, item);
        }
    } else if is_ignored {
        draft.row(item, KeyStatus::Ignored, None, "does not change memory");
    } else {
        let note = format!("no setting of {} that is read", draft.dialect.name());
        draft.row(item, KeyStatus::Unknown, None, note);
        mark(draft, item);
    }
}

/// Marks the job: a key that is not read may change memory.
fn mark(draft: &mut JobDraft, item: &KeyValue) {
    if !is_off(&item.value) {
        let reason = "a setting that is not read";
        draft.marks.push(NotModelled::new(&item.key, reason));
    }
}
