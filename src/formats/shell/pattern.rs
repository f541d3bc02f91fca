//! Shell patterns with `*` and `?`.

/// Longest text and pattern that are compared; the work is their product.
const MAX_LENGTH: usize = 512;

/// Whether `text` matches the whole `pattern`; `None` when that is not decided here (brackets,
/// extended patterns, very long texts).
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    if pattern.len() > MAX_LENGTH || text.len() > MAX_LENGTH {
        return (!pattern.contains(['*', '?', '['])).then_some(pattern == text);
    }
    if pattern.contains('[') {
        return None;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to go on after a mismatch: the last star, and the text that it has not taken yet.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after, from)) => {
                    p = after;
                    t = from + 1;
                    retry = Some((after, from + 1));
                }
                None => return Some(false),
            },
        }
    }
    Some(pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*')))
}
