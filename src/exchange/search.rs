//! The layout search as plain data.

use super::data::{Failure, count, count_option, int, map, or_null, text, text_option};
use super::job::state;
use crate::search::{
    Axis, Candidate, Dimension, Keep, Options, Pick, Slice, Space, Split, Unsearchable,
};
use crate::value::Value;

/// How many jobs a call asks about where nobody says.
const STEPS: u64 = 1_000;

/// Goes through a part of the layouts of a job. `options` may have `vary`, the names of the sizes that vary; `at_most`,
/// bounds by name; `split` (`as_given` or `rest_in_last_stage`); `keep` (`legal` or `fitting`); where to start, `from`,
/// and to end, `until`; `steps`, the most jobs to ask about; and `explain`, the number of a combination that is too large:
/// the result then says what would make it fit.
///
/// # Errors
/// A [`Failure`] when an option has the wrong form, or there is nothing to search.
pub fn search(job: &Value, options: &Value) -> Result<Value, Failure> {
    let space = Space::new(&state(job, options)?.setup.job, &read(job, options)?);
    let space = space.map_err(|why| failure(&why))?;
    let from = count_option(options, "from")?.unwrap_or(0);
    let until = count_option(options, "until")?.unwrap_or(space.total());
    let steps = count_option(options, "steps")?.unwrap_or(STEPS);
    let keep = match text_option(options, "keep")? {
        None | Some("legal") => Keep::Legal,
        Some("fitting") => Keep::Fitting,
        Some(_) => return Err(Failure::wrong_type("keep must be legal or fitting")),
    };
    let steps = u32::try_from(steps.max(1)).unwrap_or(u32::MAX);
    let explained = count_option(options, "explain")?.filter(|index| *index < space.total());
    let slice = crate::search::search(&space, from..until, steps, keep);
    let mut written = write(&space, &slice);
    if let (Some(index), Value::Map(entries)) = (explained, &mut written) {
        entries.push(("remedy".to_owned(), remedy(&space, index)));
    }
    Ok(written)
}

/// What would make a combination fit; null where it is refused.
fn remedy(space: &Space, index: u64) -> Value {
    let alone = crate::search::search(space, index..index + 1, u32::MAX, Keep::Legal);
    or_null(alone.candidates.first(), |c| {
        let remedy = crate::search::suggestion(space, c);
        map([
            ("index", int(index)),
            (
                "recompute",
                or_null(remedy.recompute, |choice| text(choice.label())),
            ),
            ("gpu", or_null(remedy.gpu, |gpu| text(gpu.id))),
        ])
    })
}

/// Why there is nothing to search.
pub(super) fn failure(why: &Unsearchable) -> Failure {
    match why {
        Unsearchable::Problems(problems) => Failure::config(problems),
        Unsearchable::SeveralModules => {
            Failure::new("SearchError", "layouts are searched for jobs of one model")
        }
        Unsearchable::TooMany => Failure::new("SearchError", "there are more than 2^64 layouts"),
    }
}

/// Options as they are written, with the usual ones where nothing is said.
fn read(job: &Value, options: &Value) -> Result<Options, Failure> {
    let mut read = Options::usual(&state(job, options)?.setup.job);
    let axis = |name: &str| {
        let unknown = || Failure::wrong_type(format!("{name} is nothing that a search varies"));
        Axis::by_name(name).ok_or_else(unknown)
    };
    match options.get("vary") {
        None | Some(Value::Null) => {}
        Some(Value::List(names)) => {
            let names = names.iter().map(|name| match name {
                Value::Text(name) => axis(name),
                _ => Err(Failure::wrong_type("vary must be a list of names")),
            });
            read.vary = names.collect::<Result<_, _>>()?;
        }
        Some(_) => return Err(Failure::wrong_type("vary must be a list of names")),
    }
    match options.get("at_most") {
        None | Some(Value::Null) => {}
        Some(Value::Map(bounds)) => {
            let bounds = bounds.iter().map(|(name, most)| {
                let wrong = || Failure::wrong_type("at_most must have whole numbers");
                Ok((axis(name)?, count(most).ok_or_else(wrong)?))
            });
            read.at_most = bounds.collect::<Result<_, _>>()?;
        }
        Some(_) => return Err(Failure::wrong_type("at_most must be an object")),
    }
    read.split = match text_option(options, "split")? {
        None | Some("as_given") => Split::AsGiven,
        Some("rest_in_last_stage") => Split::RestInLastStage,
        Some(_) => {
            return Err(Failure::wrong_type(
                "split must be as_given or rest_in_last_stage",
            ));
        }
    };
    Ok(read)
}

fn write(space: &Space, slice: &Slice) -> Value {
    let refused = slice.refused.iter().map(|(rule, combinations)| {
        map([("rule", text(rule)), ("combinations", int(*combinations))])
    });
    let outside = slice.out_of_bounds.iter().map(|(axis, combinations)| {
        map([
            ("name", text(axis.field().field().name)),
            ("combinations", int(*combinations)),
        ])
    });
    map([
        ("total", int(space.total())),
        ("next", or_null(slice.next, int)),
        ("looked_at", int(slice.looked_at)),
        ("legal", int(slice.legal)),
        ("too_large", int(slice.too_large)),
        ("vary", space.dimensions().iter().map(dimension).collect()),
        ("refused", refused.collect()),
        ("out_of_bounds", outside.collect()),
        (
            "candidates",
            slice
                .candidates
                .iter()
                .map(|c| candidate(space, c))
                .collect(),
        ),
        ("closest", or_null(slice.closest, |c| candidate(space, &c))),
    ])
}

fn dimension(dimension: &Dimension) -> Value {
    let value = |pick: &Pick| match pick {
        Pick::Size(size) => int(*size),
        Pick::Recompute(_) => text(pick.label()),
    };
    map([
        ("name", text(dimension.axis.field().field().name)),
        ("symbol", text(dimension.axis.symbol())),
        ("values", dimension.values.iter().map(value).collect()),
    ])
}

fn candidate(space: &Space, c: &Candidate) -> Value {
    let settings = space.settings(c.index);
    let settings = settings
        .into_iter()
        .map(|(id, value)| (id.field().name.to_owned(), value));
    map([
        ("index", int(c.index)),
        ("settings", Value::Map(settings.collect())),
        ("peak_bytes", int(c.peak.0)),
        ("device_bytes", int(c.least.0)),
        ("headroom_bytes", or_null(c.headroom(), int)),
        ("worst_stage", int(c.worst.pp_rank)),
        ("gpus_per_copy", int(c.copy)),
        ("virtual_pipeline_model_parallel_size", int(c.vpp)),
        ("data_parallel_size", int(c.dp)),
        ("expert_data_parallel_size", int(c.edp)),
        ("num_microbatches", int(c.num_microbatches)),
        ("pipeline_bubble_ppm", int(c.bubble_ppm)),
        ("recomputed_ppm", int(c.recomputed_ppm)),
        ("recomputed_flops", int(c.recomputed_flops)),
    ])
}
