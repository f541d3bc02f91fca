//! Decompression with a limit on what may come out.

use super::{DISTANCES, LENGTHS};

/// Why data could not be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflateError {
    /// It ends too soon.
    Truncated,
    /// It is not compressed data, or was damaged.
    Damaged,
    /// More comes out than is allowed.
    TooLarge,
}

/// In which order the lengths of the code lengths' own codes are stored.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// Decompresses data of at most `limit` bytes. What follows the data is not looked at.
///
/// # Errors
/// [`InflateError`]; the work is bounded by the size of `data` and by `limit`.
pub fn inflate(data: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    let mut reader = Reader {
        data,
        held: 0,
        count: 0,
        out: Vec::new(),
        limit,
    };
    loop {
        let last = reader.bits(1)? == 1;
        match reader.bits(2)? {
            0 => reader.stored()?,
            1 => {
                let (literals, distances) = fixed();
                reader.block(&literals, &distances)?;
            }
            2 => {
                let (literals, distances) = reader.dynamic()?;
                reader.block(&literals, &distances)?;
            }
            _ => return Err(InflateError::Damaged),
        }
        if last {
            return Ok(reader.out);
        }
    }
}

/// A canonical Huffman code: how many codes have each length, and the symbols in the order of their codes.
struct Code {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

impl Code {
    fn new(lengths: &[u8]) -> Self {
        let mut counts = [0; 16];
        let mut symbols = Vec::new();
        for (length, count) in (1_u8..16).zip(counts.iter_mut().skip(1)) {
            for (symbol, _) in (0_u16..).zip(lengths).filter(|(_, l)| **l == length) {
                symbols.push(symbol);
                *count += 1;
            }
        }
        Self { counts, symbols }
    }
}

fn fixed() -> (Code, Code) {
    let mut lengths = [8; 288];
    for (symbol, length) in lengths.iter_mut().enumerate() {
        match symbol {
            144..=255 => *length = 9,
            256..=279 => *length = 7,
            _ => {}
        }
    }
    (Code::new(&lengths), Code::new(&[5; 30]))
}

struct Reader<'d> {
    data: &'d [u8],
    held: u32,
    count: u32,
    out: Vec<u8>,
    limit: usize,
}

impl Reader<'_> {
    fn bits(&mut self, count: u32) -> Result<u32, InflateError> {
        while self.count < count {
            let (byte, rest) = self.data.split_first().ok_or(InflateError::Truncated)?;
            self.held |= u32::from(*byte) << self.count;
            self.count += 8;
            self.data = rest;
        }
        let bits = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        Ok(bits)
    }

    fn symbol(&mut self, code: &Code) -> Result<u16, InflateError> {
        // Codes of one length are consecutive numbers that start where the shorter ones end, doubled.
        let (mut value, mut first, mut index) = (0_u32, 0_u32, 0_u32);
        for count in code.counts.iter().skip(1) {
            let count = u32::from(*count);
            value |= self.bits(1)?;
            if let Some(offset) = value.checked_sub(first).filter(|offset| *offset < count) {
                let place = usize::try_from(index + offset).unwrap_or(usize::MAX);
                return code
                    .symbols
                    .get(place)
                    .copied()
                    .ok_or(InflateError::Damaged);
            }
            index += count;
            first = (first + count) << 1;
            value <<= 1;
        }
        Err(InflateError::Damaged)
    }

    fn push(&mut self, byte: u8) -> Result<(), InflateError> {
        if self.out.len() >= self.limit {
            return Err(InflateError::TooLarge);
        }
        self.out.push(byte);
        Ok(())
    }

    fn stored(&mut self) -> Result<(), InflateError> {
        // The rest of the byte is unused. No whole byte is ever held back.
        (self.held, self.count) = (0, 0);
        let (length, check) = (self.bits(16)?, self.bits(16)?);
        if length != check ^ 0xFFFF {
            return Err(InflateError::Damaged);
        }
        for _ in 0..length {
            let [byte, ..] = self.bits(8)?.to_le_bytes();
            self.push(byte)?;
        }
        Ok(())
    }

    fn block(&mut self, literals: &Code, distances: &Code) -> Result<(), InflateError> {
        loop {
            let symbol = self.symbol(literals)?;
            if let Ok(byte) = u8::try_from(symbol) {
                self.push(byte)?;
                continue;
            }
            if symbol == 256 {
                return Ok(());
            }
            let length = self.amount(&LENGTHS, symbol - 257)?;
            let code = self.symbol(distances)?;
            let distance = self.amount(&DISTANCES, code)?;
            let from = self.out.len().checked_sub(distance);
            let from = from.ok_or(InflateError::Damaged)?;
            for place in from..from + length {
                let byte = self.out.get(place).copied();
                self.push(byte.ok_or(InflateError::Damaged)?)?;
            }
        }
    }

    fn amount(&mut self, codes: &[(u16, u8)], code: u16) -> Result<usize, InflateError> {
        let (base, extra) = *codes.get(usize::from(code)).ok_or(InflateError::Damaged)?;
        let rest = self.bits(extra.into())?;
        Ok(usize::from(base) + usize::try_from(rest).unwrap_or(0))
    }

    fn dynamic(&mut self) -> Result<(Code, Code), InflateError> {
        let size = |n: u32| usize::try_from(n).unwrap_or(0);
        let literals = size(self.bits(5)?) + 257;
        let distances = size(self.bits(5)?) + 1;
        let coded = size(self.bits(4)?) + 4;
        let mut own = [0; 19];
        for place in ORDER.into_iter().take(coded) {
            let [length, ..] = self.bits(3)?.to_le_bytes();
            if let Some(slot) = own.get_mut(place) {
                *slot = length;
            }
        }
        let own = Code::new(&own);
        let mut lengths: Vec<u8> = Vec::new();
        while lengths.len() < literals + distances {
            let (length, times) = match self.symbol(&own)? {
                16 => {
                    let last = lengths.last().copied().ok_or(InflateError::Damaged)?;
                    (last, 3 + self.bits(2)?)
                }
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                length => (u8::try_from(length).unwrap_or(0), 1),
            };
            lengths.extend((0..times).map(|_| length));
        }
        if lengths.len() > literals + distances {
            return Err(InflateError::Damaged);
        }
        let (literals, distances) = lengths.split_at_checked(literals).unwrap_or_default();
        Ok((Code::new(literals), Code::new(distances)))
    }
}
