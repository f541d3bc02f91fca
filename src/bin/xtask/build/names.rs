//! WebAssembly modules without the names of their functions, a sixth of the page's bytes that only a debugger reads.

use wasmparser::{Parser, Payload};

use crate::Error;

/// The module without its `name` section; every other section as it was.
pub(super) fn without(module: &[u8]) -> Result<Vec<u8>, Error> {
    let mut kept = Vec::with_capacity(module.len());
    let mut end = 0;
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        let named = matches!(&payload, Payload::CustomSection(section) if section.name() == "name");
        let range = match &payload {
            Payload::Version { range, .. } => range.clone(),
            _ => match payload.as_section() {
                Some((_, range)) => range,
                None => continue,
            },
        };
        // A section begins with its kind and length, right behind the section before it.
        if !named {
            kept.extend(module.get(end..range.end).unwrap_or_default());
        }
        end = range.end;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn only_names_go() {
        let header = *b"\0asm\x01\0\0\0";
        let types = [1, 4, 1, 0x60, 0, 0];
        let names = [0, 7, 4, b'n', b'a', b'm', b'e', 0, 0];
        let other = [0, 4, 3, b'a', b'b', b'c'];
        let module = [&header[..], &types, &names, &other].concat();
        let kept = [&header[..], &types, &other].concat();
        assert_eq!(without(&module).unwrap(), kept);
        assert_eq!(without(&kept).unwrap(), kept);
        assert!(without(b"no module").is_err());
    }
}
