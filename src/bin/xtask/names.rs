//! A wasm module without its function names, and with short names for what it shares with its JavaScript.

use std::collections::BTreeMap;

/// Import section and export section.
const SHARED: [u8; 2] = [2, 7];

/// `module` without its function names, which only make a trap's stack readable and are a third of the file.
///
/// Trunk cannot ask wasm-bindgen for this, and `strip = true` would take a section that wasm-bindgen needs.
pub(crate) fn without_names(module: &[u8]) -> Option<Vec<u8>> {
    sections(module, |id, body| {
        let named = id == 0
            && leb128(body).is_some_and(|(length, text)| text.get(..length) == Some(b"name"));
        Some((!named).then(|| body.to_vec()))
    })
}

/// `module` and its `script` with short names for the functions that they give each other. wasm-bindgen's are long, and
/// half of each is random, which does not compress.
pub(crate) fn with_short_names(module: &[u8], script: &str) -> Option<(Vec<u8>, String)> {
    let mut short: BTreeMap<String, String> = BTreeMap::new();
    let module = sections(module, |id, body| {
        if !SHARED.contains(&id) {
            return Some(Some(body.to_vec()));
        }
        let (count, mut rest) = leb128(body)?;
        let mut renamed = body.get(..body.len() - rest.len())?.to_vec();
        for _ in 0..count {
            if id == 2 {
                let (from, after) = text(rest)?;
                write_text(&mut renamed, from);
                rest = after;
            }
            let (name, after) = text(rest)?;
            if ["__wb", "wasm_bindgen_"]
                .iter()
                .any(|start| name.starts_with(start))
            {
                let next = format!("${}", short.len());
                write_text(&mut renamed, short.entry(name.to_owned()).or_insert(next));
            } else {
                write_text(&mut renamed, name);
            }
            let (kind, number) = after.split_first()?;
            // All imports are functions; what is exported is a number whatever it is.
            if id == 2 && *kind != 0 {
                return None;
            }
            rest = leb128(number)?.1;
            renamed.extend_from_slice(after.get(..after.len() - rest.len())?);
        }
        Some(Some(renamed))
    })?;
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let mut renamed = String::new();
    let mut rest = script;
    while !rest.is_empty() {
        let end = rest.find(|c| !part_of_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        renamed.push_str(short.get(name).map_or(name, String::as_str));
        let next = after.find(part_of_name).unwrap_or(after.len());
        let (between, after) = after.split_at_checked(next)?;
        renamed.push_str(between);
        rest = after;
    }
    Some((module, renamed))
}

/// `module` with every section as `keep` makes it from its number and its bytes: another one, or none.
fn sections(
    module: &[u8],
    mut keep: impl FnMut(u8, &[u8]) -> Option<Option<Vec<u8>>>,
) -> Option<Vec<u8>> {
    let (header, mut rest) = module.split_at_checked(8)?;
    let mut kept = header.to_vec();
    while let [id, after_id @ ..] = rest {
        let (size, body) = leb128(after_id)?;
        let (body, next) = body.split_at_checked(size)?;
        if let Some(body) = keep(*id, body)? {
            kept.push(*id);
            write_leb128(&mut kept, body.len());
            kept.extend(body);
        }
        rest = next;
    }
    Some(kept)
}

/// The text at the start of `bytes`, and what follows it.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = leb128(bytes)?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((core::str::from_utf8(text).ok()?, rest))
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    write_leb128(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

fn write_leb128(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return bytes.push(low & 0x7f);
        }
        bytes.push(low | 0x80);
    }
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
    use super::{leb128, with_short_names, without_names, write_leb128, write_text};

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
    fn names_that_both_sides_use_become_short_on_both() {
        let import = |name: &str| {
            let mut import = b"\x03./x".to_vec();
            write_text(&mut import, name);
            [&import[..], &[0, 5]].concat()
        };
        let imports = [&[2][..], &import("__wbg_now_0123"), &import("other")].concat();
        let export = [&[1, 14][..], b"__wbindgen_new", &[0, 7]].concat();
        let section = |id: u8, body: &[u8]| {
            let mut section = vec![id];
            write_leb128(&mut section, body.len());
            [&section[..], body].concat()
        };
        let module = [HEADER, &section(2, &imports), &section(7, &export)].concat();
        let script = "{ __wbg_now_0123: () => wasm.__wbindgen_new(other, __wbg_now_01234) }";
        let (module, script) = with_short_names(&module, script).unwrap();
        assert_eq!(script, "{ $0: () => wasm.$1(other, __wbg_now_01234) }");
        let imports = [&[2][..], &import("$0"), &import("other")].concat();
        let export = [&[1, 2][..], b"$1", &[0, 7]].concat();
        let expected = [HEADER, &section(2, &imports), &section(7, &export)].concat();
        assert_eq!(module, expected);
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        assert_eq!(leb128(&[0xe5, 0x8e, 0x26, 7]), Some((624_485, &[7][..])));
        assert_eq!(leb128(&[0x80]), None);
        assert_eq!(leb128(&[0xff; 12]), None);
        for number in [0, 127, 128, 624_485] {
            let mut bytes = Vec::new();
            write_leb128(&mut bytes, number);
            assert_eq!(leb128(&bytes), Some((number, &[][..])));
        }
    }
}
