//! Sorting in a few bytes of code: the standard library's sort costs several kilobytes of the page for every type
//! that it sorts.

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

/// The places of so many items in their order, stably; `before` says whether one place's item comes before another's.
///
/// One copy of it serves every type: for lists of any length.
#[must_use]
pub(crate) fn order(length: usize, before: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    let mut run = 1;
    while run < length {
        let mut merged = Vec::with_capacity(length);
        for pair in places.chunks(2 * run) {
            let (mut left, mut right) = pair.split_at(run.min(pair.len()));
            while let (Some((first, rest_left)), Some((second, rest_right))) =
                (left.split_first(), right.split_first())
            {
                if before(*second, *first) {
                    merged.push(*second);
                    right = rest_right;
                } else {
                    merged.push(*first);
                    left = rest_left;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        places = merged;
        run *= 2;
    }
    places
}

/// The items in their order, stably: for lists of any length.
#[must_use]
pub(crate) fn sorted<T>(items: Vec<T>, before: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let places = order(items.len(), &|a, b| {
        let pair = items.get(a).zip(items.get(b));
        pair.is_some_and(|(a, b)| before(a, b))
    });
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let item = |at: &usize| items.get_mut(*at).and_then(Option::take);
    places.iter().filter_map(item).collect()
}

/// For every name, whether it came before.
#[must_use]
pub(crate) fn repeated(names: &[&str]) -> Vec<bool> {
    let mut repeated = vec![false; names.len()];
    let places = order(names.len(), &|a, b| names.get(a) < names.get(b));
    for (a, b) in places.iter().zip(places.iter().skip(1)) {
        if let Some(mark) = repeated.get_mut(*b) {
            *mark = names.get(*a) == names.get(*b);
        }
    }
    repeated
}

#[cfg(test)]
mod tests {
    use super::{order, repeated};

    #[test]
    fn equal_items_keep_their_order() {
        for length in 0..40 {
            let items: Vec<usize> = (0..length).map(|i| i * 7 % 5).collect();
            let mut expected: Vec<usize> = (0..length).collect();
            expected.sort_by_key(|i| items[*i]);
            assert_eq!(order(length, &|a, b| items[a] < items[b]), expected);
        }
    }

    #[test]
    fn the_first_of_equal_names_is_none_that_came_before() {
        assert_eq!(
            repeated(&["b", "a", "b", "c", "a", "b"]),
            [false, false, true, false, true, true]
        );
    }
}
