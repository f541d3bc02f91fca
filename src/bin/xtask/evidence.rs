//! The measured runs: as a page, and compared with what is predicted for them; and the review of submitted ones.

mod chart;
mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use megatron_memory::evidence::{
    ReservedComparison, Run, TimeAccuracy, TimeComparison, TimedRun, accuracies, compare, read, read_step_times,
    reserved_table, review, short_table, table, times_table,
};
use megatron_memory::time::Replay;
use megatron_memory::time::coefficients::Coefficients;

use super::fit_time::fitted_products;
use super::{Error, build, readme};

/// Where the runs are: a record or a list of them in every file.
const RUNS: &str = "src/evidence/runs";
/// Where submitted runs are.
const SUBMITTED: &str = "src/evidence/runs/submitted";
/// Step times of runs.
const STEP_TIMES: &str = "src/evidence/step_times/runs.json";

/// The runs with measured step times, beside what they would take nominally.
pub(crate) fn step_times() -> Result<Vec<(TimedRun, Option<TimeComparison>)>, Error> {
    let runs = read_step_times(&fs::read_to_string(STEP_TIMES)?)?;
    let compared = runs.into_iter().map(|run| {
        let comparison = TimeComparison::of(&run);
        (run, comparison)
    });
    Ok(compared.collect())
}

/// How far off step times are, by group.
fn time_accuracies() -> Result<Vec<TimeAccuracy>, Error> {
    Ok(accuracies(&step_times()?, &Coefficients::SHIPPED, Replay::EveryPass))
}

/// Every run.
fn runs() -> Result<Vec<Run>, Error> {
    let folder = Path::new(RUNS);
    let mut runs = Vec::new();
    for file in build::files(folder)? {
        let path = folder.join(file);
        let read = read(&fs::read_to_string(&path)?);
        runs.extend(read.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    Ok(runs)
}

/// The page with every run beside its prediction.
pub(crate) fn html() -> Result<String, Error> {
    let runs = runs()?;
    let compared: Vec<_> = runs.iter().map(|run| (run, compare(run))).collect();
    Ok(page::page(&compared, &step_times()?, &fitted_products()?))
}

/// Compares every run, prints the whole table, and brings the README's up to date.
pub(crate) fn report() -> Result<(), Error> {
    let runs = runs()?;
    let compared: Vec<_> = runs.iter().map(|run| (run, compare(run))).collect();
    print!("{}", table(&compared));
    let reserved = compared.iter().filter_map(|(run, comparison)| {
        let reserved = ReservedComparison::of(run, comparison.as_ref()?)?;
        Some((*run, reserved))
    });
    print!("\n{}", reserved_table(&reserved.collect::<Vec<_>>()));
    readme::replace("evidence", &short_table(&compared))?;
    let times = times_table(&time_accuracies()?);
    print!("\n{times}");
    readme::replace("step times", &times)
}

/// Checks the records in these files and folders, or the submitted ones: prints what is predicted for them and what is
/// wrong with them.
///
/// # Errors
///
/// When a record has a mistake, or a folder has none.
pub(crate) fn check(paths: &[&str]) -> Result<(), Error> {
    let usual = [SUBMITTED];
    let paths = if paths.is_empty() {
        if !Path::new(SUBMITTED).exists() {
            println!("No run has been submitted yet: {SUBMITTED} is where records go");
            return Ok(());
        }
        &usual
    } else {
        paths
    };
    let mut files = Vec::new();
    for path in paths.iter().map(Path::new) {
        if path.is_dir() {
            let inner = build::files(path)?.into_iter().map(|file| path.join(file));
            files.extend(inner.filter(|file| file.extension().is_some_and(|end| end == "json")));
        } else {
            files.push(path.to_owned());
        }
    }
    if files.is_empty() {
        return Err(format!("there is no record in {}", paths.join(", ")).into());
    }
    let mut taken = ids_outside(&files)?;
    let mut wrong = 0;
    for file in &files {
        let text = fs::read_to_string(file);
        let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
        let review = review(&text, &taken);
        println!("{}", file.display());
        for remark in &review.remarks {
            println!("  {remark}");
        }
        for mistake in &review.mistakes {
            println!("  error: {mistake}");
        }
        wrong += usize::from(!review.mistakes.is_empty());
        taken.extend(review.accepted);
    }
    match wrong {
        0 => Ok(()),
        _ => Err(format!("{wrong} of {} files cannot be taken as they are", files.len()).into()),
    }
}

/// The ids of the runs that are not in these files.
fn ids_outside(files: &[PathBuf]) -> Result<BTreeSet<String>, Error> {
    let reviewed: Vec<PathBuf> = files.iter().filter_map(|file| fs::canonicalize(file).ok()).collect();
    let folder = Path::new(RUNS);
    let mut ids = BTreeSet::new();
    for file in build::files(folder)? {
        let path = folder.join(file);
        if !reviewed.contains(&fs::canonicalize(&path)?) {
            let runs = read(&fs::read_to_string(&path)?)?;
            ids.extend(runs.into_iter().map(|run| run.id));
        }
    }
    Ok(ids)
}
