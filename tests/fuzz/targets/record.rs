//! The rows of the embedded store: their kind, and their bytes.

use std::fmt::Debug;

use policy_core::session::Record;
use policy_server::{
    codegen::{Row, Successor, TokenRow},
    store::{Family, Revocation, Ticket},
};

use crate::engine::{Seen, Target, bounded, magnitude};

/// A row that can be read is written in a form that can be read again, and writing it again changes
/// nothing.
fn is_read<T: Row + PartialEq + Debug>(row: &[u8]) -> Option<usize> {
    let value = bounded(row.len(), || T::decode(row))?;
    let written = value.encode();
    // Numbers are not written longer, and nothing is added.
    assert!(written.len() <= row.len());
    let again = T::decode(&written).expect("what was written is read");
    assert_eq!(value, again);
    assert_eq!(again.encode(), written);
    Some(written.len())
}

fn check(input: &[u8]) -> Seen {
    let Some((kind, row)) = input.split_first() else { return Seen::new(false, "nothing") };
    let read = match kind {
        b'r' => is_read::<Record>(row),
        b's' => is_read::<Successor>(row),
        b'f' => is_read::<Family>(row),
        b't' => is_read::<TokenRow>(row),
        b'v' => is_read::<Revocation>(row),
        b'k' => is_read::<Ticket>(row),
        _ => return Seen::new(false, "no kind"),
    };
    Seen::new(read.is_some(), (kind, read.map(magnitude), magnitude(row.len())))
}

#[test]
fn a_row_that_is_read_is_written_and_read_again() {
    Target {
        name: "record",
        corpus: include_str!("../corpus/record.txt"),
        dictionary: &[
            b"\x00",
            b"\x01",
            b"\x02",
            b"\x7f",
            b"\x80",
            b"\xff",
            b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
            b"\xff\xff\xff\xff\x0f",
            b"\x03ada",
            b"\xc3\xa9",
            b"{\"a\":1}",
        ],
        max_len: 1_000,
        check,
    }
    .run();
}
