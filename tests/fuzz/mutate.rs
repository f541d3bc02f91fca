//! New inputs out of old ones.

use super::random::Random;

/// The longest input, but for those that repeat something many times.
const LONG: usize = 4_096;
/// The longest input of all.
const LONGEST: usize = 100_000;

/// Pieces that have broken readers of such formats before.
const NASTY: &[&str] = &[
    "",
    "\0",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\u{feff}",
    "\u{202e}",
    "\u{1f980}",
    "é",
    "null",
    "None",
    "true",
    "NaN",
    "inf",
    "-1",
    "0",
    "1",
    "00",
    "1e400",
    "1e-400",
    "0x7fffffff",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0.1",
    ".",
    "..",
    "-",
    "--",
    "+",
    "=",
    "+=",
    ":",
    ": ",
    ";",
    ",",
    "|",
    "||",
    "&",
    "&&",
    "&a ",
    "*a",
    "*",
    "<<",
    "<<: ",
    "!!",
    "?",
    "~",
    "#",
    "%",
    "%25",
    "%2",
    "%00",
    "@",
    "@1",
    "$",
    "${",
    "$((",
    "$(",
    "`",
    "${a:-",
    "}",
    "))",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "\"",
    "'",
    "\\",
    "\\\n",
    "\\u",
    "\\ud800",
    "\"\"\"",
    "---",
    "...",
    "#v1;",
    "#z1:",
    "v1;",
    "m=",
    "mod=",
    "vs",
    "<script>",
    "</style>",
    "if ",
    "fi",
    "case ",
    "esac",
    "for ",
    "do ",
    "done",
    "EOF",
    "<<EOF\n",
    "t*",
    "E",
    "L",
    "m",
    "([0]*3+[1]*2)*4",
];

/// What inputs are made of: earlier inputs, and the pieces found in them.
pub(crate) struct Material {
    pub(crate) inputs: Vec<String>,
    pieces: Vec<String>,
}

impl Material {
    pub(crate) fn new(inputs: Vec<String>) -> Self {
        let mut pieces: Vec<String> = inputs.iter().flat_map(|input| pieces(input)).collect();
        pieces.sort();
        pieces.dedup();
        Self { inputs, pieces }
    }

    /// Another input.
    pub(crate) fn input(&self, random: &mut Random) -> String {
        let mut bytes = random.of(&self.inputs).clone().into_bytes();
        for _ in 0..=random.below(6) {
            self.change(&mut bytes, random);
        }
        if random.below(500) > 0 {
            bytes.truncate(LONG);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn piece(&self, random: &mut Random) -> &[u8] {
        let nasty = self.pieces.is_empty() || random.below(3) == 0;
        if nasty {
            random.of(NASTY).as_bytes()
        } else {
            random.of(&self.pieces).as_bytes()
        }
    }

    fn change(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let range = random.range(bytes.len());
        match random.below(8) {
            0 => drop(bytes.drain(range)),
            1 | 2 => drop(bytes.splice(range.start..range.start, self.piece(random).to_vec())),
            3 | 4 => drop(bytes.splice(range, self.piece(random).to_vec())),
            5 => {
                let copy = bytes[range.clone()].to_vec();
                let many = if random.below(200) == 0 { 5_000 } else { 4 };
                let room = (LONGEST - bytes.len().min(LONGEST)) / copy.len().max(1);
                let copies = copy.repeat(random.below(many).min(room));
                bytes.splice(range.start..range.start, copies);
            }
            6 => {
                let other = random.of(&self.inputs).as_bytes();
                let part = random.below(other.len() + 1)..other.len();
                bytes.truncate(range.start);
                bytes.extend_from_slice(&other[part]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(range.start) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// Words, numbers and single marks.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.split_inclusive(move |c| !word(c))
        .flat_map(move |part| {
            let cut = part.trim_end_matches(|c| !word(c)).len();
            [part[..cut].to_owned(), part[cut..].to_owned(), part.to_owned()]
        })
        .filter(|piece| !piece.is_empty() && piece.len() <= 40)
}
