//! Mutations of inputs.

use policy_tests::random::Random;

/// Numbers at common limits.
const NUMBERS: &[&[u8]] = &[
    b"0",
    b"-0",
    b"1",
    b"64",
    b"65",
    b"255",
    b"256",
    b"65535",
    b"65536",
    b"9007199254740992",
    b"9007199254740993",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
];

/// An input with a few changes, some of which insert pieces of the pool.
pub(super) fn changed(
    random: &mut Random,
    input: &[u8],
    pool: &[Vec<u8>],
    dictionary: &[&[u8]],
) -> Vec<u8> {
    let mut input = input.to_vec();
    for _ in 0..=random.below(4) {
        change(random, &mut input, pool, dictionary);
    }
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, pool: &[Vec<u8>], dictionary: &[&[u8]]) {
    let from = random.below(input.len() + 1);
    // Mostly short pieces.
    let longest =
        if random.below(8) == 0 { input.len() - from } else { (input.len() - from).min(8) };
    let piece = from..from + random.below(longest + 1);
    match random.below(10) {
        0 => {
            if let Some(byte) = input.get_mut(from) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(from) {
                *byte = random.draw() as u8;
            }
        }
        2 => drop(input.drain(piece)),
        3 => {
            let copy = input[piece].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, copy);
        }
        4 => {
            let byte = random.draw() as u8;
            let times = 1 << random.below(13);
            input.splice(from..from, std::iter::repeat_n(byte, random.below(times) + 1));
        }
        5 => drop(input.splice(piece, random.choose(NUMBERS).iter().copied())),
        // The beginning of this input and the end of another.
        6 => {
            let other = random.choose(pool);
            let tail = &other[random.below(other.len() + 1)..];
            input.truncate(from);
            input.extend_from_slice(tail);
        }
        7 => {
            let other = random.choose(pool);
            let start = random.below(other.len() + 1);
            let end = start + random.below(other.len() - start + 1);
            drop(input.splice(piece, other[start..end].iter().copied()));
        }
        8 => drop(input.splice(piece, random.choose(dictionary).iter().copied())),
        _ => drop(input.splice(from..from, random.choose(dictionary).iter().copied())),
    }
}

/// The smallest input that is still `bad`, found by removing pieces.
pub(super) fn shrunk(input: &[u8], mut is_bad: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut input = input.to_vec();
    let mut len = input.len() / 2;
    while len > 0 {
        let mut at = 0;
        while at + len <= input.len() {
            let without = [&input[..at], &input[at + len..]].concat();
            if is_bad(&without) {
                input = without;
            } else {
                at += len;
            }
        }
        len /= 2;
    }
    input
}
