//! Arguments that are names: parsers that list what there is for `--help` and completions, and say of a misspelt name
//! which one it may be.

use core::fmt::Display;
use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus::{self, GPUS, Gpu};

use super::output;

/// How alike two names have to be, from 0 to 1, for one to be taken for a misspelling of the other.
const ALIKE: f64 = 0.8;

/// A question whether a known name was meant, such as `; did you mean h100-80gb?`; empty where none is alike.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let likeness = |known: &&'a str| strsim::jaro_winkler(known, name);
    let nearest = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest
        .filter(|nearest| likeness(nearest) >= ALIKE)
        .map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"))
}

/// A parser of one of several names, each of which stands for a value.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl Iterator<Item = PossibleValue>,
    by_name: impl Fn(&str) -> Option<T> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T> {
    let names: Vec<PossibleValue> = names.collect();
    PossibleValuesParser::new(names).try_map(move |name| by_name(&name).ok_or_else(|| format!("{name} is not known")))
}

/// A parser of the names of GPUs, as this program, drivers and people write them.
#[derive(Clone, Debug)]
pub(crate) struct GpuParser;

impl TypedValueParser for GpuParser {
    type Value = &'static Gpu;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<&'static Gpu, Error> {
        let name = StringValueParser::new().parse_ref(command, argument, value)?;
        gpu(&name).ok_or_else(|| {
            let ids = || GPUS.iter().map(|gpu| gpu.id);
            let all: Vec<&str> = ids().collect();
            let meant = did_you_mean(&name.to_lowercase(), ids());
            refused(
                command,
                format!("--gpu: there is no GPU {name}{meant}\nThe GPUs are {}", all.join(", ")),
            )
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            GPUS.iter().map(|gpu| PossibleValue::new(gpu.id).help(gpu.name)),
        ))
    }
}

/// The GPU with a name. Where the name leaves its memory open, the smallest: what fits there fits the others too.
fn gpu(name: &str) -> Option<&'static Gpu> {
    gpus::by_name(name).or_else(|| {
        let smallest = gpus::candidates(name).min_by_key(|gpu| gpu.memory_mib)?;
        output::tell(format_args!(
            "--gpu {name} is taken for {}, the smallest of that name\n",
            smallest.id
        ));
        Some(smallest)
    })
}

/// An argument of Megatron-LM with its value, as `--set` takes them: `ARGUMENT=VALUE`, with or without dashes.
///
/// # Errors
/// When there is no such argument.
pub(crate) fn setting(typed: &str) -> Result<(FieldId, String), String> {
    let (name, value) = typed.split_once('=').ok_or("write ARGUMENT=VALUE")?;
    let name = name.trim_start_matches('-').replace('-', "_");
    let field = FieldId::by_name(&name).ok_or_else(|| {
        let known = FieldId::ALL.iter().map(|id| id.field().name);
        format!("there is no argument {name}{}", did_you_mean(&name, known))
    })?;
    Ok((field, value.to_owned()))
}

/// A variable with its value, as `--var` takes them.
///
/// # Errors
/// When there is no `=`.
pub(crate) fn variable(typed: &str) -> Result<(String, String), &'static str> {
    let (name, value) = typed.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn refused(command: &Command, message: impl Display) -> Error {
    Error::raw(ErrorKind::InvalidValue, format!("{message}\n")).with_cmd(command)
}
