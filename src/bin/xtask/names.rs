//! A wasm module without its function names.

/// `module` without its function names, which only make a trap's stack readable and are a third of the file.
///
/// Trunk cannot ask wasm-bindgen for this, and `strip = true` would take a section that wasm-bindgen needs.
pub(crate) fn without_names(module: &[u8]) -> Option<Vec<u8>> {
    let (header, mut rest) = module.split_at_checked(8)?;
    let mut kept = header.to_vec();
    while let [id, after_id @ ..] = rest {
        let (size, body) = leb128(after_id)?;
        let (body, next) = body.split_at_checked(size)?;
        let named = *id == 0
            && leb128(body).is_some_and(|(length, text)| text.get(..length) == Some(b"name"));
        if !named {
            kept.extend_from_slice(rest.get(..rest.len() - next.len())?);
        }
        rest = next;
    }
    Some(kept)
}

/// The unsigned number at the start of `bytes`, and what follows it.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0)?;
    let (number, rest) = bytes.split_at_checked(last + 1)?;
    let number = number.iter().rev().try_fold(0usize, |sum, byte| {
        sum.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))
    })?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::{leb128, without_names};

    const HEADER: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn only_the_name_section_goes() {
        let other = [0, 8, 6, b'n', b'a', b'm', b'e', b'2', b'!', 7];
        let name = [0, 7, 4, b'n', b'a', b'm', b'e', 1, 2];
        let code = [10, 1, 0];
        assert_eq!(
            without_names(&[HEADER, &other, &name, &code].concat()).unwrap(),
            [HEADER, &other, &code].concat()
        );
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert_eq!(without_names(b"\0asm"), None);
        assert_eq!(without_names(&[HEADER, &[10, 9, 0]].concat()), None);
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        assert_eq!(leb128(&[0xe5, 0x8e, 0x26, 7]), Some((624_485, &[7][..])));
        assert_eq!(leb128(&[0x80]), None);
        assert_eq!(leb128(&[0xff; 12]), None);
    }
}
