//! GPUs by the names that people, drivers and logs write.
//!
//! Such a name has the words of the GPU somewhere, and may say how much memory it has: `NVIDIA A100-SXM4-80GB`,
//! `Tesla V100-SXM2-32GB`, `NVIDIA RTX PRO 6000 Blackwell Server Edition`.

use super::{GPUS, Gpu, GpuGeneration};

/// Words of GPUs that are not in the table, with their generation.
const OTHERS: [(&str, GpuGeneration); 9] = [
    ("titan v", GpuGeneration::Volta),
    ("a10", GpuGeneration::Ampere),
    ("a30", GpuGeneration::Ampere),
    ("3090", GpuGeneration::Ampere),
    ("l4", GpuGeneration::Ada),
    ("l40", GpuGeneration::Ada),
    ("6000 ada", GpuGeneration::Ada),
    ("5090", GpuGeneration::BlackwellSm12x),
    ("mi300a", GpuGeneration::Cdna3),
];

/// The only GPU that a name may mean.
pub(super) fn only(name: &str) -> Option<&'static Gpu> {
    let mut found = candidates(name);
    found.next().filter(|_| found.next().is_none())
}

/// The GPUs that a name may mean.
pub(super) fn candidates(name: &str) -> impl Iterator<Item = &'static Gpu> + use<> {
    let name = plain(name);
    let named = models(&name);
    let gb = memory_gb(&name);
    // The number in a name is that on the box or near it, as 192 GB of a B200. Where the same words name GPUs with
    // different memory, only the exact number tells them apart.
    let fits = move |gpu: &Gpu, several: bool| {
        gb.is_none_or(|gb| {
            let difference = gb.abs_diff(gpu.advertised_gb);
            difference == 0 || !several && difference * 10 <= gpu.advertised_gb
        })
    };
    let several = named.len() > 1;
    // The variants for laptops have other memory.
    let named = if has(&name, "laptop") { Vec::new() } else { named };
    named.into_iter().filter(move |gpu| fits(gpu, several))
}

/// The generation of the GPUs that a name means.
pub(super) fn generation(name: &str) -> Option<GpuGeneration> {
    let name = plain(name);
    let known = models(&name).first().map(|gpu| gpu.generation);
    known.or_else(|| {
        let mut others = OTHERS.iter();
        let other = others.find(|(words, _)| has(&name, words));
        other.map(|(_, generation)| *generation)
    })
}

/// The GPUs whose words stand in a name: those with the most words, so that `H100 NVL` is no other H100.
fn models(name: &str) -> Vec<&'static Gpu> {
    let named: Vec<&Gpu> = GPUS.iter().filter(|gpu| has(name, gpu.words)).collect();
    let most = named.iter().map(|gpu| gpu.words.len()).max();
    let most = named.iter().filter(|gpu| Some(gpu.words.len()) == most);
    most.copied().collect()
}

/// The name in small letters, with blanks for all other characters than letters and digits.
fn plain(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            ' '
        }
    };
    name.chars().map(plain).collect()
}

/// Whether words stand in a plain name. Letters before the first letter and digits behind the last digit make another
/// word of it: `gb200` has no `b200`, and `h200` no `h20`.
fn has(name: &str, words: &str) -> bool {
    name.match_indices(words).any(|(at, _)| {
        let (before, from) = name.split_at(at);
        let after = from.get(words.len()..).and_then(|rest| rest.chars().next());
        let begins_with_digit = words.starts_with(|c: char| c.is_ascii_digit());
        let starts = !before.ends_with(|c: char| c.is_ascii_digit() || !begins_with_digit && c.is_ascii_alphabetic());
        let ends = !after.is_some_and(|c| c.is_ascii_digit() || words.len() < 4 && c.is_ascii_alphabetic());
        starts && ends
    })
}

/// The memory in GB that a plain name says: 80 for `a100 sxm4 80gb`.
fn memory_gb(name: &str) -> Option<u32> {
    let mut words = name.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        let (number, unit) = word.split_at(word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len()));
        let unit = if unit.is_empty() {
            words.peek().copied().unwrap_or_default()
        } else {
            unit
        };
        if matches!(unit, "g" | "gb" | "gib")
            && let Ok(gb) = number.parse()
        {
            return Some(gb);
        }
    }
    None
}
