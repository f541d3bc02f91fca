//! Large texts: five megabytes of anything are dealt with at once.

use std::time::Duration;

use super::{READERS, process};

/// Less of it for a build that is not optimized: the law is about what ships.
const SIZE: usize = if cfg!(debug_assertions) {
    200_000
} else {
    5_000_000
};
/// For one text, on one processor.
const SOON: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2_000 } else { 200 });

/// Texts of five megabytes that are nothing in particular.
fn garbage() -> Vec<(&'static str, String)> {
    let repeated = |piece: &str| piece.repeat(SIZE / piece.len());
    let mut random = super::random::Random::new(7);
    let noise: Vec<u8> = (0..SIZE / 8)
        .flat_map(|_| random.next().to_le_bytes())
        .collect();
    vec![
        (
            "noise",
            String::from_utf8_lossy(&noise[..SIZE / 2]).into_owned(),
        ),
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

#[test]
fn five_megabytes_of_garbage_take_no_time() {
    let mut slow = Vec::new();
    for (what, text) in garbage() {
        for (name, reader) in READERS {
            let mut best = Duration::MAX;
            // The best of three: the first may pay for memory that the others find ready.
            for _ in 0..3 {
                let start = process::busy();
                reader(&text).unwrap_or_else(|law| panic!("{name}, {what}: {law}"));
                let spent = process::busy()
                    .zip(start)
                    .map_or(0, |(end, start)| end - start);
                best = best.min(Duration::from_nanos(spent));
                if best < SOON {
                    break;
                }
            }
            if best >= SOON {
                slow.push(format!("{name} spends {best:?} on {what}"));
            }
        }
    }
    assert_eq!(slow, Vec::<String>::new());
}
