//! The variants of an enum as an array, made of what strum derives, so that none is forgotten.

/// All variants of an enum in the order of their declaration; `N` is their number.
#[expect(
    clippy::panic,
    reason = "the compiler evaluates it: where it panics, nothing is built"
)]
pub(crate) const fn all<T: Copy, const N: usize>(variants: &[T]) -> [T; N] {
    match variants.first_chunk() {
        Some(all) => *all,
        None => panic!("there are fewer variants"),
    }
}
