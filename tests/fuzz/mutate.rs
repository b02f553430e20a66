//! Inputs made from sound ones by what damages files, and by what looks for the edges of a parser.
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Sound inputs.
pub struct Corpus {
    pub inputs: Vec<Vec<u8>>,
    text: bool,
}

impl Corpus {
    pub fn text(inputs: Vec<Vec<u8>>) -> Self {
        Corpus { inputs, text: true }
    }

    pub fn binary(inputs: Vec<Vec<u8>>) -> Self {
        Corpus { inputs, text: false }
    }
}

/// Longest input.
const LONGEST: usize = 1 << 20;

/// Pieces of text at which parsers stumble.
const WORDS: [&str; 40] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "1e308",
    "-1e308",
    "1e-308",
    "nan",
    "inf",
    "-inf",
    "0.0",
    "-0.0",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967295",
    "4294967296",
    "99999999999999999999999999999999999999999",
    "1e1000000",
    "0x7f",
    "1_000",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "=",
    "\"",
    "'",
    "\"\"\"",
    "\n",
    ".",
    ",",
    "#",
    "\u{0}",
    "\u{fc}\u{2028}",
    "T T F",
];

/// Numbers at which readers of binary files stumble.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    7,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

/// The input of a case.
pub fn mutated(corpus: &Corpus, case: u64) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(case);
    let mut input = corpus.inputs[random.random_range(0..corpus.inputs.len())].clone();
    // Mostly few damages: an input that is refused at its first byte tells little.
    let count = 1 << random.random_range(0..4);
    for _ in 0..count {
        match corpus.text && random.random_bool(0.7) {
            true => damage_text(&mut input, corpus, &mut random),
            false => damage(&mut input, corpus, &mut random),
        }
    }
    input.truncate(LONGEST);
    input
}

/// A place, more often near the start, where the tables of files are.
fn place(length: usize, random: &mut StdRng) -> usize {
    let reach = match random.random_range(0..3) {
        0 => length.min(128),
        1 => length.min(4096),
        _ => length,
    };
    random.random_range(0..reach.max(1))
}

fn damage(input: &mut Vec<u8>, corpus: &Corpus, random: &mut StdRng) {
    let length = input.len();
    if length == 0 {
        return;
    }
    let at = place(length, random);
    match random.random_range(0..10) {
        0..3 => input[at] ^= 1 << random.random_range(0..8),
        3 => input[at] = random.random(),
        4..6 => {
            let number = NUMBERS[random.random_range(0..NUMBERS.len())];
            let width = [1, 2, 4, 8][random.random_range(0..4)];
            // Fields mostly lie at multiples of their width.
            let at = if random.random_bool(0.7) { at - at % width } else { at };
            let bytes = number.to_le_bytes();
            for (byte, new) in input[at..].iter_mut().zip(&bytes[..width]) {
                *byte = *new;
            }
        }
        6 => input.truncate(at),
        7 => {
            let end = (at + random.random_range(1..64)).min(length);
            input.drain(at..end);
        }
        8 => {
            let end = (at + random.random_range(1..256)).min(length);
            let piece = input[at..end].to_vec();
            let to = place(length, random);
            input.splice(to..to, piece);
        }
        _ => {
            let other = &corpus.inputs[random.random_range(0..corpus.inputs.len())];
            if !other.is_empty() {
                let from = place(other.len(), random);
                let end = (from + random.random_range(1..256)).min(other.len());
                for (byte, new) in input[at..].iter_mut().zip(&other[from..end]) {
                    *byte = *new;
                }
            }
        }
    }
}

/// Replaces words and lines.
fn damage_text(input: &mut Vec<u8>, corpus: &Corpus, random: &mut StdRng) {
    let is_end = |byte: u8| byte.is_ascii_whitespace() || b"=,[]{}\"".contains(&byte);
    let length = input.len();
    if length == 0 {
        return;
    }
    let at = random.random_range(0..length);
    let word = |input: &[u8], at: usize| {
        let start = input[..at].iter().rposition(|&byte| is_end(byte)).map_or(0, |end| end + 1);
        let end =
            input[at..].iter().position(|&byte| is_end(byte)).map_or(input.len(), |end| at + end);
        start..end.max(start)
    };
    let line = |input: &[u8], at: usize| {
        let start = input[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let end = input[at..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(input.len(), |end| at + end + 1);
        start..end
    };
    match random.random_range(0..8) {
        0..3 => {
            let new = WORDS[random.random_range(0..WORDS.len())].bytes();
            input.splice(word(input, at), new);
        }
        3 => {
            let other = &corpus.inputs[random.random_range(0..corpus.inputs.len())];
            if !other.is_empty() {
                let new = other[word(other, random.random_range(0..other.len()))].to_vec();
                input.splice(word(input, at), new);
            }
        }
        4 => {
            let range = line(input, at);
            input.drain(range);
        }
        5 => {
            let piece = input[line(input, at)].to_vec();
            let to = line(input, random.random_range(0..length)).start;
            input.splice(to..to, piece);
        }
        6 => {
            let other = &corpus.inputs[random.random_range(0..corpus.inputs.len())];
            if !other.is_empty() {
                let new = other[line(other, random.random_range(0..other.len()))].to_vec();
                let to = line(input, at).start;
                input.splice(to..to, new);
            }
        }
        _ => {
            // Very deep or very long.
            let piece =
                WORDS[random.random_range(0..WORDS.len())].repeat(random.random_range(1..3000));
            input.splice(at..at, piece.into_bytes());
        }
    }
}
