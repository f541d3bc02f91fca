//! Bytes as text for links: base64 with `-` and `_`, without padding (RFC 4648, section 5).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes to text.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0, |group, i| {
            group << 8 | u32::from(chunk.get(i).copied().unwrap_or(0))
        });
        for i in 0..=chunk.len() {
            let index = usize::try_from(group >> (18 - 6 * i) & 63).unwrap_or(0);
            text.extend(ALPHABET.get(index).map(|c| char::from(*c)));
        }
    }
    text
}

/// Text to bytes; padding is allowed. None for any other character, and for text that is cut in a byte.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let mut group = 0;
        for c in chunk {
            let digit = ALPHABET.iter().position(|a| a == c)?;
            group = group << 6 | u32::try_from(digit).ok()?;
        }
        group <<= 6 * (4 - chunk.len());
        let whole = match chunk.len() {
            1 => return None,
            n => n - 1,
        };
        bytes.extend(group.to_be_bytes().into_iter().skip(1).take(whole));
    }
    Some(bytes)
}
