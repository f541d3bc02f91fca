//! `tests/corpus/real.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value as Json;

use super::class::Class;
use super::rebuild::Answers;
use super::text;

/// The text of the file.
pub(crate) fn of(files: &[Json]) -> String {
    let mut out = String::from(
        "# Real files and what comes out of them

Files of other repositories, at the commits named. `real.json` has the facts of each (keys and values, words of a command, calls of
a recipe) and the answers to the questions that the import asks; no text of a file is kept. `cargo test --test it formats::real_files`
makes texts of these facts, imports them and compares the outcomes with the last column; with `SNAPSHOTS=write` it writes this file.
Nothing is fetched.

An outcome is the number of parameters of the language model, with the settings that mark the job as not modelled; \"refused\" with the
reason; the model whose `config.json` is asked for, where the tests have none to answer with; or \"no job\" with the first rule that the
settings break. \"Cannot run\" are jobs with settings that Megatron refuses as well, \"no such training\" files that are no training of a
GPT with Megatron; `real.json` says why (`cannot_run`, `no_training`). Marked jobs have a number beside the settings that it leaves out.\n\n",
    );
    let share = |count: usize| 100.0 * ratio(count, files.len());
    let classes: Vec<Class> = files.iter().map(Class::of).collect();
    let count = |wanted: &[Class]| classes.iter().filter(|class| wanted.contains(class)).count();
    let right = count(&[Class::Right]);
    let told = count(&[Class::CannotRun, Class::NoTraining]);
    let trains = files.len() - told;
    writeln!(
        out,
        "**Right after at most three answers: {right} of {} files ({:.0} %); of the {trains} that Megatron can train {:.0} %.** Rightly \
         told that they cannot run or are no such training: {told}. Together {:.0} %.\n",
        files.len(),
        share(right),
        100.0 * ratio(right, trains),
        share(right + told),
    )
    .unwrap();
    sizes(&mut out, files);
    counts(&mut out, files);
    out.push_str(
        "\n| Repository | Path | Commit | Front end | Answers | Outcome |\n| --- | --- | --- | --- | --: | --- |\n",
    );
    for file in files {
        out.push_str(&row(file));
        out.push('\n');
    }
    out
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap());
    number(part) / number(whole)
}

/// How many numbers are compared with the size of the model.
fn sizes(out: &mut String, files: &[Json]) {
    let unmarked = files
        .iter()
        .filter(|file| matches!(Class::of(file), Class::Right | Class::MoreQuestions));
    let unmarked: Vec<&Json> = unmarked.collect();
    let has = |file: &&&Json, key: &str| file[key].is_number();
    let published = unmarked.iter().filter(|file| has(file, "published")).count();
    let stated = unmarked
        .iter()
        .filter(|file| !has(file, "published") && has(file, "stated"))
        .count();
    writeln!(
        out,
        "Of {} numbers that nothing marks, {published} are of models with a published size (`published`): all are within 1 % of it. {stated} \
         more are within 5 % of the size in the name of the model (`stated`). For the other {} neither is known.\n",
        unmarked.len(),
        unmarked.len() - published - stated,
    )
    .unwrap();
}

/// How many files of each front end are in which class.
fn counts(out: &mut String, files: &[Json]) {
    let mut fronts: BTreeMap<&str, Vec<Class>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for file in files {
        let front = text(file, "dialect");
        if !order.contains(&front) {
            order.push(front);
        }
        fronts.entry(front).or_default().push(Class::of(file));
        fronts.entry("all").or_default().push(Class::of(file));
    }
    out.push_str("| Front end | Files |");
    for (_, name) in Class::ALL {
        write!(out, " {name} |").unwrap();
    }
    writeln!(out, "\n| --- | --: |{}", " --: |".repeat(Class::ALL.len())).unwrap();
    for front in order.into_iter().chain(["all"]) {
        let classes = &fronts[front];
        write!(out, "| {front} | {} |", classes.len()).unwrap();
        for (class, _) in Class::ALL {
            let count = classes.iter().filter(|known| **known == class).count();
            write!(out, " {count} |").unwrap();
        }
        out.push('\n');
    }
}

/// The row of a file.
fn row(file: &Json) -> String {
    let questions = Answers::of(&file["answers"]).count();
    let commit = text(file, "commit").get(..10).unwrap();
    format!(
        "| {} | {} | {commit} | {} | {questions} | {} |",
        text(file, "repository"),
        text(file, "path"),
        text(file, "dialect"),
        text(file, "outcome").replace('|', "\\|"),
    )
}
