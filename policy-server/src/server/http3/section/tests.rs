//! Compares the section parser with the encoder of responses, in every form of a line.

use proptest::prelude::*;

use super::{
    super::fields::{code_of, integer},
    *,
};

/// RFC 9204, appendix A: some indices of names.
const STATIC: &[(&str, usize)] = &[
    (":authority", 0),
    (":path", 1),
    ("age", 2),
    ("cookie", 5),
    (":method", 15),
    (":method", 17),
    (":method", 21),
    (":scheme", 22),
    (":scheme", 23),
    (":status", 24),
    (":status", 28),
    ("accept", 29),
    ("vary", 59),
    (":status", 63),
    (":status", 71),
    ("authorization", 84),
    ("x-frame-options", 98),
];

const NAMES: &[&str] = &[
    ":method",
    ":scheme",
    ":authority",
    ":path",
    ":status",
    ":protocol",
    ":",
    ":methods",
    "cookie",
    "accept",
    "x-a",
    "zz",
];

/// The encoding of a line.
#[derive(Clone, Copy, Debug)]
enum Form {
    Indexed(usize),
    NameReference(usize, bool),
    Literal(&'static str, bool),
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Indexed(at) | Self::NameReference(at, _) => STATIC[at].0,
            Self::Literal(name, _) => name,
        }
    }

    fn write(self, value: &[u8], to: &mut Vec<u8>) {
        match self {
            Self::Indexed(at) => integer(to, 0b1100_0000, 6, STATIC[at].1),
            Self::NameReference(at, is_huffman) => {
                integer(to, 0b0101_0000, 4, STATIC[at].1);
                string(0, 7, value, is_huffman, to);
            }
            Self::Literal(name, is_huffman) => {
                string(0b0010_0000, 3, name.as_bytes(), is_huffman, to);
                string(0, 7, value, false, to);
            }
        }
    }
}

fn string(flags: u8, bits: u32, text: &[u8], is_huffman: bool, to: &mut Vec<u8>) {
    if !is_huffman {
        integer(to, flags, bits, text.len());
        return to.extend_from_slice(text);
    }
    let code = |byte: &u8| {
        let (code, length) = code_of(*byte);
        let length = usize::from(length);
        format!("{code:0length$b}")
    };
    let mut digits: String = text.iter().map(code).collect();
    digits.push_str(&"1".repeat((8 - digits.len() % 8) % 8));
    integer(to, flags | 1 << bits, bits, digits.len() / 8);
    for byte in digits.as_bytes().chunks(8) {
        let byte = str::from_utf8(byte).expect("digits");
        to.push(u8::from_str_radix(byte, 2).expect("digits"));
    }
}

/// Up to four bytes after the first, which no section exceeds.
#[test]
fn integers_are_read_around_each_length() {
    for bits in 3..=7 {
        let most = (1_usize << bits) - 1;
        let powers = (0..28).map(|power| 1_usize << power);
        let values = powers.flat_map(|power| [power - 1, power, power + 1]);
        for value in values.clone().chain(values.map(|value| value + most)) {
            let mut bytes = Vec::new();
            integer(&mut bytes, 0, bits, value);
            let mut lines = Lines(&bytes);
            assert_eq!((lines.integer(bits), lines.0.len()), (Some(value), 0), "{value}");
            assert_eq!(Lines(&bytes[..bytes.len() - 1]).integer(bits), None, "{value}");
        }
        let mut bytes = Vec::new();
        integer(&mut bytes, 0, bits, most + (1 << 28));
        assert_eq!(Lines(&bytes).integer(bits), None);
    }
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        (0..STATIC.len()).prop_map(Form::Indexed),
        (0..STATIC.len(), any::<bool>()).prop_map(|(at, huffman)| Form::NameReference(at, huffman)),
        (0..NAMES.len(), any::<bool>()).prop_map(|(at, huffman)| Form::Literal(NAMES[at], huffman)),
    ]
}

/// Lines that often form a request: the usual first ones, then others.
fn lines() -> impl Strategy<Value = Vec<(Form, String)>> {
    let good =
        (0..4_usize, any::<bool>()).prop_map(|(at, huffman)| Form::Literal(NAMES[at], huffman));
    let begin = prop::collection::vec(prop_oneof![3 => good, 1 => form()], 0..4);
    let regular = prop_oneof![Just("cookie"), Just("x-a"), Just("zz")];
    let regular = (regular, any::<bool>()).prop_map(|(name, huffman)| Form::Literal(name, huffman));
    let rest = prop::collection::vec(prop_oneof![9 => regular, 1 => form()], 0..4);
    (begin, rest).prop_flat_map(|(begin, rest)| {
        let lines = [begin, rest].concat();
        let values = prop::collection::vec("[a-z]{0,200}", lines.len());
        values.prop_map(move |values| lines.iter().copied().zip(values).collect())
    })
}

fn encode(lines: &[(Form, String)]) -> Vec<u8> {
    let mut block = vec![0, 0];
    for (form, value) in lines {
        form.write(value.as_bytes(), &mut block);
    }
    block
}

/// RFC 9114 4.3, evaluated on the decoded names.
fn is_well_formed(names: &[&str], section: Section) -> bool {
    let pseudo = names.iter().take_while(|name| name.starts_with(':')).count();
    let (begin, rest) = names.split_at(pseudo);
    let allowed = [":method", ":scheme", ":authority", ":path"];
    let is_known = |name: &&str| section == Section::Head && allowed.contains(name);
    let is_once = |name: &&str| begin.iter().filter(|other| *other == name).count() == 1;
    begin.iter().all(|name| is_known(name) && is_once(name))
        && !rest.iter().any(|name| name.starts_with(':'))
}

/// The result depends only on the names, not on their encoding.
#[test]
fn a_section_is_judged_by_its_names() {
    let good = std::cell::Cell::new((0, 0));
    proptest!(ProptestConfig::with_cases(1500), |(lines in lines(), is_head in any::<bool>())| {
        let section = if is_head { Section::Head } else { Section::Trailers };
        let names: Vec<&str> = lines.iter().map(|line| line.0.name()).collect();
        let want = is_well_formed(&names, section);
        let (well_formed, all) = good.get();
        good.set((well_formed + u32::from(want), all + 1));
        let want = if want { Ok(()) } else { Err(SectionFault::Malformed) };
        prop_assert_eq!(check(&encode(&lines), section), want);
    });
    let (well_formed, all) = good.get();
    println!("{well_formed} of {all} sections were well-formed");
    assert!(well_formed * 5 > all && well_formed * 5 < all * 4, "{well_formed} of {all}");
}

/// A section truncated within a line is refused, and nothing is read past its end.
#[test]
fn a_section_that_is_cut_off_cannot_be_decoded() {
    proptest!(ProptestConfig::with_cases(100), |(lines in lines())| {
        let block = encode(&lines);
        let ends: Vec<usize> = (0..=lines.len()).map(|count| encode(&lines[..count]).len()).collect();
        for cut in 0..block.len() {
            let is_undecodable = check(&block[..cut], Section::Head) == Err(SectionFault::Undecodable);
            prop_assert_eq!(is_undecodable, !ends.contains(&cut), "cut at {}", cut);
        }
    });
}

/// Arbitrary bytes never cause a panic.
#[test]
fn no_bytes_are_too_odd() {
    proptest!(ProptestConfig::with_cases(10_000), |(bytes in prop::collection::vec(any::<u8>(), 0..40))| {
        let _any = check(&bytes, Section::Head);
    });
}

#[test]
fn rejects_references_to_a_dynamic_table() {
    for block in [
        // A required insert count, references to it, and indices outside the table.
        &b"\x01\x00"[..],
        b"\x00\x00\x80",
        b"\x00\x00\x10",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x40\x00",
        b"\x00\x00\xff\x24",
        b"\x00\x00\x5f\x54\x00",
        b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x00",
        b"",
    ] {
        let found = check(block, Section::Head);
        assert_eq!(found, Err(SectionFault::Undecodable), "{}", block.escape_ascii());
    }
}

/// A second Huffman encoding of a name would hide it; padding does not create one.
#[test]
fn padding_hides_no_name() {
    let mut padded = b"\x00\x00\x2e".to_vec();
    padded.extend_from_slice(b"\xb9\x49\x53\x39\xe4\xff");
    padded.extend_from_slice(b"\x01a");
    assert_eq!(check(&padded, Section::Head), Err(SectionFault::Malformed));
}
