//! Sorting of short lists in a few bytes of code: the standard library's sort costs several kilobytes of
//! the page for every type that it sorts.

/// Sorts a short list by a key, stably. Quadratic: not for lists whose length a user decides.
pub(crate) fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        for at in (1..=end).rev() {
            let in_order = match (items.get(at - 1), items.get(at)) {
                (Some(before), Some(after)) => key(before) <= key(after),
                _ => true,
            };
            if in_order {
                break;
            }
            items.swap(at - 1, at);
        }
    }
}
