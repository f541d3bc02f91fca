//! Configurations of frameworks that hold Megatron's arguments below sections of their own.

use super::trees::leaves_of;
use super::{finish, limit_keys};
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::detect::Format;
use crate::formats::dialects::{Dialect, layered};
use crate::formats::import::combined::{self, CombinedKeys};
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::{int, is_off, truth};
use crate::formats::import::{Import, ImportError, Options, Question};
use crate::formats::interpolation;
use crate::formats::report::{KeyStatus, shown};
use crate::formats::yaml;
use crate::value::Value;

/// A configuration of one of the frameworks.
pub(in crate::formats::import) fn layered(
    text: &str,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let layout = layered::of(format).ok_or(ImportError::NotRecognized)?;
    let mut root = yaml::parse(text).map_err(ImportError::Yaml)?.root;
    let variables = interpolation::resolve(&mut root, options.variables);
    let dialect = match format {
        Format::NemoRlYaml => Dialect::NemoRl,
        Format::PrimusYaml => Dialect::Primus,
        _ => Dialect::FlagScale,
    };
    let leaves = leaves_of(&root);
    limit_keys(leaves.len())?;
    let is = |key: &str, wanted: &str| {
        let mut keys = leaves.iter();
        let found = keys.find(|item| item.key == key);
        found.is_none_or(|item| shown(&item.value) == wanted)
    };
    if !is("policy.megatron_cfg.enabled", "true") {
        let what = "a NeMo-RL configuration that does not train with Megatron";
        return Err(ImportError::NotRead(what));
    }
    if !is("modules.pre_trainer.framework", "megatron") {
        let what = "a Primus configuration that does not train with Megatron-LM";
        return Err(ImportError::NotRead(what));
    }
    let mut draft = JobDraft::new(dialect);
    let mut combined = CombinedKeys::default();
    let checkpointing = "policy.megatron_cfg.activation_checkpointing";
    let mut keys = leaves.iter();
    let recompute = keys.find(|item| item.key == checkpointing);
    let recompute = recompute.is_some_and(|item| truth(&item.value) == Some(true));
    for item in &leaves {
        let path = item.key.as_str();
        let single = layout.keys.iter().find(|(key, _)| *key == path);
        let is_ignored = layout.ignored.iter().any(|start| path.starts_with(start));
        let place = layout
            .places
            .iter()
            .find_map(|(start, to)| Some((path.strip_prefix(start)?, *to)));
        if path == layout.model && !path.is_empty() {
            let name = layered::hub_name(&shown(&item.value)).to_owned();
            draft.questions.push(Question::Model { name });
            let note = "the architecture is in the model's own file";
            draft.not_modelled(item, MemoryEffect::Nothing, note);
        } else if path == checkpointing {
            let id = FieldId::recompute_granularity;
            draft.row(item, KeyStatus::Derived, Some(id), "");
        } else if path.starts_with("policy.megatron_cfg.recompute_") && !recompute {
            draft.row(
                item,
                KeyStatus::Ignored,
                None,
                "activation_checkpointing is off",
            );
        } else if let Some((_, name)) = single {
            draft.apply_referring(&mut combined, item, name);
        } else if is_ignored {
            draft.row(item, KeyStatus::Ignored, None, "does not change memory");
        } else if let Some((rest, to)) = place {
            let name = match to {
                "" => rest.rsplit('.').next().unwrap_or_default().to_owned(),
                section => format!("{section}{rest}"),
            };
            draft.apply_referring(&mut combined, item, &name);
        } else if path == "defaults" && !is_off(&item.value) {
            let note = "another file, whose settings are not in the text";
            draft.not_modelled(item, MemoryEffect::More, note);
        } else {
            let note = format!("no setting of {} that is read", dialect.name());
            draft.row(item, KeyStatus::Unknown, None, note);
        }
    }
    if recompute {
        full_recompute(&mut draft);
    }
    cluster(&mut draft, &leaves);
    combined::combine(&mut draft, combined);
    draft.ask_for(variables);
    finish(draft, format, options)
}

/// NeMo-RL recomputes whole layers, one at a time, unless the file names parts of them.
fn full_recompute(draft: &mut JobDraft) {
    let granularity = FieldId::recompute_granularity;
    if !draft.has(granularity) {
        draft.default(granularity, Value::Text("full".to_owned()));
    }
    if draft.settings.get(granularity) == Some(&Value::Text("full".to_owned())) {
        draft.default(FieldId::recompute_method, Value::Text("uniform".to_owned()));
        draft.default(FieldId::recompute_num_layers, Value::Int(1));
    }
}

/// The number of GPUs of NeMo-RL's `cluster`.
fn cluster(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let find = |key: &str| leaves.iter().find(|item| item.key == key);
    let (Some(nodes), Some(each)) = (find("cluster.num_nodes"), find("cluster.gpus_per_node"))
    else {
        return;
    };
    if let (Some(n), Some(g)) = (int(nodes), int(each)) {
        let value = Value::Int(n.saturating_mul(g).into());
        let note = "nodes · GPUs per node";
        draft.set(each, FieldId::world_size, value, KeyStatus::Derived, note);
    }
}
