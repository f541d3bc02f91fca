//! Raw DEFLATE (RFC 1951) for long links: small rather than fast, and the same bytes every time.

mod inflate;

pub use inflate::{InflateError, inflate};

/// Base and extra bits of the length codes 257 to 285.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// Base and extra bits of the distance codes.
const DISTANCES: [(u16, u8); 30] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// How many bytes back a copy may start.
const WINDOW: usize = 32_768;
/// Entries of the table of earlier places.
const TABLE: usize = 4_096;

/// Compresses into one block with the fixed codes.
#[must_use]
pub fn deflate(data: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    out.bits(0b011, 3); // the last block, fixed codes
    let mut last_seen = vec![None; TABLE];
    let mut at = 0;
    while let Some(&byte) = data.get(at) {
        let candidate = remember(&mut last_seen, data, at);
        let (length, distance) = candidate
            .map(|from| (matching(data, from, at), at - from))
            .unwrap_or_default();
        if length < 3 || distance > WINDOW {
            out.literal(byte.into());
            at += 1;
            continue;
        }
        out.copy(length, distance);
        for skipped in at + 1..at + length {
            remember(&mut last_seen, data, skipped);
        }
        at += length;
    }
    out.literal(256);
    out.finish()
}

/// Notes that the next three bytes are here, and says where they may have been before.
fn remember(table: &mut [Option<usize>], data: &[u8], at: usize) -> Option<usize> {
    let key = data.get(at..at + 3)?;
    let hash = key.iter().fold(0_usize, |hash, byte| {
        hash.wrapping_mul(0x9E5) ^ usize::from(*byte)
    });
    table.get_mut(hash % TABLE)?.replace(at)
}

/// How many bytes from `from` and from `at` are equal, up to the longest copy.
fn matching(data: &[u8], from: usize, at: usize) -> usize {
    let (earlier, here) = (data.get(from..), data.get(at..));
    earlier
        .into_iter()
        .flatten()
        .zip(here.into_iter().flatten())
        .take(258)
        .take_while(|(a, b)| a == b)
        .count()
}

/// Bits from the lowest up.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Writer {
    /// The lowest `count` bits of `value`; at most 16 at a time.
    fn bits(&mut self, value: u32, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            let [low, ..] = self.held.to_le_bytes();
            self.bytes.push(low);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// A Huffman code, which goes from its highest bit down.
    fn code(&mut self, code: u32, count: u32) {
        self.bits(code.reverse_bits() >> (32 - count), count);
    }

    /// A literal, the end of the block (256), or a length code, in the fixed alphabet.
    fn literal(&mut self, symbol: u32) {
        match symbol {
            0..=143 => self.code(0x30 + symbol, 8),
            144..=255 => self.code(0x190 + symbol - 144, 9),
            256..=279 => self.code(symbol - 256, 7),
            _ => self.code(0xC0 + symbol - 280, 8),
        }
    }

    fn copy(&mut self, length: usize, distance: usize) {
        let (symbol, rest, extra) = split(&LENGTHS, length);
        self.literal(257 + symbol);
        self.bits(rest, extra);
        let (symbol, rest, extra) = split(&DISTANCES, distance);
        self.code(symbol, 5);
        self.bits(rest, extra);
    }

    fn finish(mut self) -> Vec<u8> {
        let padding = (8 - self.count) % 8;
        self.bits(0, padding);
        self.bytes
    }
}

/// The code of an amount: its number, what is above its base, and in how many bits.
fn split(codes: &[(u16, u8)], amount: usize) -> (u32, u32, u32) {
    let place = codes
        .partition_point(|(base, _)| usize::from(*base) <= amount)
        .saturating_sub(1);
    let (base, extra) = codes.get(place).copied().unwrap_or_default();
    let rest = amount.saturating_sub(base.into());
    let small = |n: usize| u32::try_from(n).unwrap_or(0);
    (small(place), small(rest), extra.into())
}
