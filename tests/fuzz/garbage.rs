//! Large texts: five megabytes of anything are refused, and no reader's work grows faster than the text.

use std::time::Duration;

use megatron_memory::formats::import::{Options, import};

use super::{READERS, process};

/// Less of it for a build that is not optimized: the law is about what ships.
const SIZE: usize = if cfg!(debug_assertions) { 200_000 } else { 5_000_000 };
/// For one text, on one processor. Work that grows with the text takes a twentieth of that, and work that grows with
/// its square takes minutes; `cargo xtask bench` has the times themselves.
const TOO_LONG: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 2 });

/// Texts of five megabytes that are nothing in particular.
fn garbage() -> Vec<(&'static str, String)> {
    let repeated = |piece: &str| piece.repeat(SIZE / piece.len());
    let mut random = super::random::Random::new(7);
    let noise: Vec<u8> = (0..SIZE / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    vec![
        ("noise", String::from_utf8_lossy(&noise[..SIZE / 2]).into_owned()),
        ("one letter", repeated("a")),
        ("blanks", repeated(" ")),
        ("lines", repeated("\n")),
        ("lists", repeated("[")),
        ("maps", repeated("{\"a\":")),
        ("quotes", repeated("\"")),
        ("backslashes", repeated("\\")),
        ("items", repeated("- ")),
        ("keys", repeated("a: b\n")),
        ("flags", repeated("--a 1 ")),
        ("variables", repeated("a=$a$a ")),
        ("substitutions", repeated("$((")),
        ("groups", repeated("(")),
        ("overrides", repeated("a.b=c ")),
        ("numbers", repeated("1")),
        ("products", repeated("[1]*9+")),
        ("layers", repeated("t*9|")),
    ]
}

/// Texts of many keys, each of which would be read.
fn keys() -> Vec<(&'static str, String)> {
    let many = |head: &str, key: &dyn Fn(usize) -> String, tail: &str| {
        let keys: String = (0..SIZE / 16).map(key).collect();
        format!("{head}{keys}{tail}")
    };
    let json = |i| format!(",\"k{i}\":1");
    let yaml = |i| format!("  k{i}: 1\n");
    vec![
        ("a model", many("{\"model_type\":\"llama\"", &json, "}")),
        ("a job", many("{\"num_layers\":2", &json, "}")),
        ("a module", many("{\"modules\":[{\"name\":\"a\"", &json, "}]}")),
        ("sections", many("model:\n  num_layers: 2\n", &yaml, "")),
        ("arguments", many("MODEL_ARGS:\n", &yaml, "")),
        ("paths", many("", &|i| format!("a.k{i}=1\n"), "")),
        ("flags", many("", &|i| format!("--k{i} 1 "), "")),
        ("variables", many("#!/bin/bash\n", &|i| format!("K{i}=1\n"), "")),
    ]
}

#[test]
fn five_megabytes_of_garbage_are_refused() {
    for (what, text) in garbage().into_iter().chain(keys()) {
        let refusal = import(&text, &Options::default()).expect_err(what).to_string();
        assert!((20..200).contains(&refusal.len()), "{what}: {refusal}");
    }
}

#[test]
fn no_reader_is_lost_in_five_megabytes() {
    for (what, text) in garbage().into_iter().chain(keys()) {
        for (name, reader) in READERS {
            let start = process::busy();
            reader(&text).unwrap_or_else(|law| panic!("{name}, {what}: {law}"));
            let spent = process::busy().zip(start).map_or(0, |(end, start)| end - start);
            let spent = Duration::from_nanos(spent);
            assert!(spent < TOO_LONG, "{name} spends {spent:?} on {what}");
        }
    }
}
