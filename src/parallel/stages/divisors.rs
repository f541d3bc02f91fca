//! The divisors of a number that are nearest to one that does not divide it, which messages propose.

/// How many alternatives a hint names.
const NAMED: usize = 4;

/// The divisors of `n` nearest to `wanted`, ascending, at most four; empty for 0.
pub(super) fn near_divisors(n: u32, wanted: u32) -> Vec<u32> {
    let mut all = Vec::new();
    let mut d = 1u32;
    while u64::from(d) * u64::from(d) <= u64::from(n) {
        if n.is_multiple_of(d) {
            all.push(d);
            if n / d != d {
                all.push(n / d);
            }
        }
        d += 1;
    }
    all.sort_unstable_by_key(|d| (d.abs_diff(wanted), *d));
    all.truncate(NAMED);
    all.sort_unstable();
    all
}

/// Like [`near_divisors`], but of two numbers at once.
pub(super) fn near_common_divisors(a: u32, b: u32, wanted: u32) -> Vec<u32> {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    near_divisors(a, wanted)
}

/// `1, 2, 4` for the end of a message.
pub(super) fn list(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    words.join(", ")
}
