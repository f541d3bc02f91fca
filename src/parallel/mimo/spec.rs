//! Component specs: a module on one line, as the `--component` flag of Bridge's
//! `convert_megatron_mimo.py` takes it.
//!
//! `name=tp=N[,pp=N,dp=N,cp=N,ep=N,etp=N,rank_offset=N]`

use core::num::IntErrorKind;
use std::collections::BTreeSet;

use super::parallelism::{divide, too_large};
use super::{Field, ModuleParallelism};
use crate::python::{Exception, PythonError, int, repr, repr_texts};

/// Reads one component spec into a name and what it sets; nothing is checked beyond the notation.
///
/// White space around names, keys and values and empty entries are ignored; of a repeated key the last
/// value counts.
///
/// # Errors
///
/// The framework's own message; numbers beyond 128 bits are refused too.
pub fn parse_component_spec(raw: &str) -> Result<(String, ModuleParallelism), PythonError> {
    let malformed = |what: String| Exception::ValueError.with(format!("--component value {}{what}", repr(raw)));
    let Some((name, rest)) = raw.split_once('=') else {
        return Err(malformed(
            " must be of the form 'name=tp=N[,pp=N,dp=N,cp=N,ep=N,etp=N,rank_offset=N]'".to_owned(),
        ));
    };
    let name = name.trim();
    if name.is_empty() {
        return Err(malformed(" has empty component name".to_owned()));
    }
    let mut parallelism = ModuleParallelism::default();
    for token in rest.split(',') {
        let token = token.trim();
        if token.is_empty() {
            continue;
        }
        let Some((key, value)) = token.split_once('=') else {
            let token = repr(token);
            return Err(malformed(format!(": token {token} must be 'key=value'")));
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(field) = Field::ALL.into_iter().find(|field| field.key() == key) else {
            let mut keys = Field::ALL.map(Field::key);
            keys.sort_unstable();
            return Err(malformed(format!(
                ": unknown key {}. Supported keys: {}",
                repr(key),
                repr_texts(&keys)
            )));
        };
        let number = int(value).map_err(|error| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => Exception::OverflowError.with(format!(
                "--component value {}: value for '{key}' is too large",
                repr(raw)
            )),
            _ => malformed(format!(": value for '{key}' must be int, got {}", repr(value))),
        })?;
        parallelism.set(field, number);
    }
    Ok((name.to_owned(), parallelism))
}

/// Writes a component spec that [`parse_component_spec`] reads back: TP always, the rest where it is not
/// the default. `None` for a name that no spec can carry: empty, with `=`, or with white space around it.
#[must_use]
pub fn write_component_spec(name: &str, parallelism: &ModuleParallelism) -> Option<String> {
    const ORDER: [Field; 6] = [
        Field::PipelineModelParallelSize,
        Field::DataParallelSize,
        Field::ContextParallelSize,
        Field::ExpertModelParallelSize,
        Field::ExpertTensorParallelSize,
        Field::RankOffset,
    ];
    if name.is_empty() || name.contains('=') || name.trim() != name {
        return None;
    }
    let defaults = ModuleParallelism::default();
    let mut spec = format!("{name}=tp={}", parallelism.tensor_model_parallel_size);
    for field in ORDER {
        if let Some(value) = parallelism.get(field)
            && defaults.get(field) != Some(value)
        {
            spec.extend([",", field.key(), "=", &value.to_string()]);
        }
    }
    Some(spec)
}

/// Reads all component specs of a job. With a `world_size`, modules without `dp` get an equal share of
/// the ranks, one after the other; a module with `dp` keeps its numbers and its offset.
///
/// # Errors
///
/// A malformed spec, no spec at all, a name that comes twice, or shares that do not come out even. The
/// result still has to pass [`MimoInput::check`](super::MimoInput::check).
pub fn build_layout<S: AsRef<str>>(
    specs: &[S],
    world_size: Option<i128>,
) -> Result<Vec<(String, ModuleParallelism)>, PythonError> {
    if specs.is_empty() {
        return Err(Exception::ValueError.with(
            "At least one --component flag is required (e.g. --component language=tp=1 --component vision=tp=1)",
        ));
    }
    let mut modules: Vec<(String, ModuleParallelism)> = Vec::with_capacity(specs.len());
    let mut names = BTreeSet::new();
    for spec in specs {
        let (name, parallelism) = parse_component_spec(spec.as_ref())?;
        if !names.insert(name.clone()) {
            let message = format!("--component {} specified more than once", repr(&name));
            return Err(Exception::ValueError.with(message));
        }
        modules.push((name, parallelism));
    }
    if let Some(world_size) = world_size {
        share_ranks(&mut modules, world_size)?;
    }
    Ok(modules)
}

/// Gives the modules without DP equal shares of the ranks, one after the other.
fn share_ranks(modules: &mut [(String, ModuleParallelism)], world_size: i128) -> Result<(), PythonError> {
    if modules
        .iter()
        .all(|(_, parallelism)| parallelism.data_parallel_size.is_some())
    {
        return Ok(());
    }
    let count = i128::try_from(modules.len()).unwrap_or(i128::MAX);
    let (share, rest) = divide(world_size, count)?;
    if rest != 0 {
        return Err(Exception::ValueError.with(format!(
            "world_size ({world_size}) is not divisible by number of components ({count}); specify dp=N and \
             rank_offset=N explicitly for non-uniform layouts."
        )));
    }
    let mut offset = 0_i128;
    for (name, parallelism) in modules {
        if parallelism.data_parallel_size.is_none() {
            let size = parallelism.dense_model_parallel_size()?;
            let (data_parallel_size, rest) = divide(share, size)?;
            if rest != 0 {
                return Err(Exception::ValueError.with(format!(
                    "--component {}: ranks per component ({share}) is not divisible by total_model_parallel_size \
                     ({size}); specify dp=N explicitly.",
                    repr(name)
                )));
            }
            parallelism.data_parallel_size = Some(data_parallel_size);
            parallelism.rank_offset = offset;
        }
        offset = offset.checked_add(parallelism.total_ranks()?).ok_or_else(too_large)?;
    }
    Ok(())
}
