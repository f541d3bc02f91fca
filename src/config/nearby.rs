//! Values near a given one that would be legal, for messages and fixes.

/// The divisors of `n` nearest to `near`, closest first, at most `count`.
pub(crate) fn near_divisors(n: u64, near: u64, count: usize) -> Vec<u64> {
    let largest = n.min(near.saturating_mul(64).max(4096));
    near_matches(near, largest, count, &|d| n.is_multiple_of(d))
}

/// The multiples of `step` on both sides of `near`, closest first.
pub(crate) fn near_multiples(near: u64, step: u64) -> Vec<u64> {
    let largest = near.saturating_add(step);
    near_matches(near, largest, 2, &|n| n.is_multiple_of(step))
}

/// Numbers from 1 to `max` that pass `test`, nearest to `near` first, at most `count`.
pub(crate) fn near_matches(near: u64, max: u64, count: usize, test: &dyn Fn(u64) -> bool) -> Vec<u64> {
    let reach = near.max(max.saturating_sub(near)).min(100_000);
    let around = |distance: u64| {
        let below = near.checked_sub(distance);
        let above = near.checked_add(distance).filter(|_| distance > 0);
        below.into_iter().chain(above)
    };
    (0..=reach)
        .flat_map(around)
        .filter(|n| (1..=max).contains(n) && test(*n))
        .take(count)
        .collect()
}

/// The least common multiple of two sizes, or the largest number that there is.
pub(crate) fn common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a.checked_div(divisor).unwrap_or_default().saturating_mul(b)
}

/// Numbers as words, in ascending order: `4, 8 or 16`; `none` for an empty list.
pub(crate) fn or_list(values: &[u64]) -> String {
    let mut values = values.to_vec();
    values.sort_unstable();
    let words: Vec<String> = values.iter().map(u64::to_string).collect();
    match words.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
