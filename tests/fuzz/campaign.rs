//! Running one reader over many inputs: no panic, no hang, no memory that grows, no law broken.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::corpus;
use super::mutate::Material;
use super::process;
use super::random::Random;
use super::readers::Reader;

/// Executions of a reader within the ordinary tests.
const FEW: u64 = 2_000;
/// The most inputs that are bred from.
const POOL: usize = 3_000;
/// How long one execution may keep a processor busy.
const SLOW: Duration = Duration::from_millis(if cfg!(debug_assertions) { 4_000 } else { 200 });
/// When an execution counts as one that never ends.
const HANGING: Duration = Duration::from_mins(1);
/// How much the whole process may grow while a reader runs, in bytes.
const GROWTH: u64 = 256 << 20;

/// What is being read right now, by reader, and since when.
static NOW: LazyLock<Mutex<BTreeMap<&'static str, (Instant, String)>>> = LazyLock::new(|| {
    thread::spawn(|| {
        loop {
            thread::sleep(Duration::from_secs(1));
            for (reader, (since, input)) in NOW.lock().unwrap().iter() {
                if since.elapsed() > HANGING {
                    let path = corpus::keep("failures", reader, input);
                    eprintln!("{reader} hangs on {}", path.display());
                    std::process::abort();
                }
            }
        }
    });
    Mutex::default()
});

/// Reads the kept inputs, then mutations of them.
pub(crate) fn run(name: &'static str, reader: Reader) {
    let start = Instant::now();
    let executions = setting("FUZZ_EXECUTIONS").unwrap_or(FEW);
    let seeds = corpus::of(name);
    assert!(seeds.len() >= 3, "{name} has hardly a corpus");
    let mut behaviors = BTreeSet::new();
    for seed in &seeds {
        behaviors.insert(execute(name, reader, seed));
    }
    let known = behaviors.len();
    let before = process::resident();
    let mut material = Material::new(seeds);
    let mut random = Random::new(setting("FUZZ_SEED").unwrap_or(1) ^ hash(name));
    for execution in 0..executions {
        let input = material.input(&mut random);
        // What makes the reader do something new is worth changing further.
        if behaviors.insert(execute(name, reader, &input)) && material.inputs.len() < POOL {
            if setting("FUZZ_KEEP").is_some() && input.len() < 1_000 {
                corpus::keep("new", name, &input);
            }
            material.inputs.push(input);
        }
        if execution % 1024 == 0 {
            no_growth(name, before);
        }
    }
    NOW.lock().unwrap().remove(name);
    no_growth(name, before);
    println!(
        "{name}: {executions} executions in {} s, {known} kinds of behavior in the corpus, {} more found",
        start.elapsed().as_secs(),
        behaviors.len() - known
    );
}

/// Reads one input and gives the kind of behavior that it met with.
pub(crate) fn execute(name: &'static str, reader: Reader, input: &str) -> u64 {
    NOW.lock().unwrap().insert(name, (Instant::now(), input.to_owned()));
    if setting("FUZZ_TRACE").is_some() {
        // For what no handler catches, such as a stack that is too small.
        corpus::keep("trace", name, input);
    }
    let start = Instant::now();
    let outcome = attempt(reader, input);
    let broken = match outcome {
        Err(panic) => Some(format!("panics: {}", message(panic.as_ref()))),
        Ok(Err(law)) => Some(law),
        Ok(Ok(_)) if start.elapsed() > SLOW && slow(reader, input) => Some("is too slow".to_owned()),
        Ok(Ok(behavior)) => return behavior,
    };
    let path = corpus::keep("failures", name, input);
    panic!("{name}: {}, on {}", broken.unwrap(), path.display());
}

/// What a reader made of an input, panics included.
fn attempt(reader: Reader, input: &str) -> thread::Result<Result<u64, String>> {
    catch_unwind(AssertUnwindSafe(|| reader(input)))
}

/// Whether an input takes too long each time, and not only because the machine is busy.
fn slow(reader: Reader, input: &str) -> bool {
    let busy = || process::busy().map(Duration::from_nanos);
    (0..3).all(|_| {
        let start = busy();
        let _ = attempt(reader, input);
        let spent = busy().zip(start).and_then(|(end, start)| end.checked_sub(start));
        spent.is_some_and(|spent| spent > SLOW)
    })
}

fn no_growth(name: &str, before: Option<u64>) {
    if let Some((before, peak)) = before.zip(process::peak()) {
        let growth = peak.saturating_sub(before);
        assert!(growth < GROWTH, "{name}: memory has grown by {growth} bytes");
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or_default()
}

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// A number for anything that can be told apart.
pub(crate) fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
