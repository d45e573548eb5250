//! Frames in pieces of any size.

use proptest::prelude::*;

use super::*;

const PUSH_PROMISE: u64 = 0x05;

/// `:method: GET`, `:scheme: https`, `:path: /` and an authority.
const HEAD: &[u8] = b"\x01\x09\x00\x00\xd1\xd7\xc1\x50\x02a.";

/// Everything that is passed on, in order, and separately the content of DATA frames.
#[derive(Debug, Default, PartialEq, Eq)]
struct Output {
    pieces: Vec<Bytes>,
    content: Vec<u8>,
    fault: Option<Fault>,
}

fn read(purpose: Purpose, limit: usize, input: &[u8], cuts: &[usize]) -> Output {
    let mut frames = Frames::new(purpose, limit);
    let mut output = Output::default();
    let mut at = 0;
    for cut in cuts.iter().copied().chain([input.len()]) {
        let cut = cut.clamp(at, input.len());
        let mut part = Bytes::copy_from_slice(&input[at..cut]);
        at = cut;
        loop {
            match frames.read(&mut part) {
                Ok(None) => break,
                Ok(Some(Piece::Whole(piece))) => output.pieces.push(piece),
                Ok(Some(Piece::Data(head, content))) => {
                    assert_eq!(head_of(&mut &*head), Some((DATA, content.len() as u64)));
                    assert!(!content.is_empty());
                    output.content.extend_from_slice(&content);
                }
                Err(fault) => {
                    output.fault = Some(fault);
                    return output;
                }
            }
        }
    }
    output.pieces.extend(frames.end());
    output
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    for value in [kind, payload.len() as u64] {
        match value {
            0..64 => frame.push(value as u8),
            64..16_384 => frame.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
            _ => frame.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        }
    }
    [&frame, payload].concat()
}

/// The output does not depend on how frames are split into packets, and unknown frames are dropped.
#[test]
fn pieces_do_not_depend_on_packets() {
    let part = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..300).prop_map(|content| (DATA, content)),
        1 => (0x21_u64..40_000, prop::collection::vec(any::<u8>(), 0..300)),
    ];
    let parts = prop::collection::vec(part, 0..6);
    let cuts = prop::collection::vec(0_usize..1500, 0..20);
    proptest!(ProptestConfig::with_cases(300), |(parts in parts, mut cuts in cuts)| {
        let mut input = HEAD.to_vec();
        let mut content = Vec::new();
        for (kind, payload) in &parts {
            input.extend(frame(*kind, payload));
            if *kind == DATA {
                content.extend_from_slice(payload);
            }
        }
        cuts.sort_unstable();
        let output = read(Purpose::Request, 4096, &input, &cuts);
        let expected = Output { pieces: vec![Bytes::from_static(HEAD)], content, fault: None };
        prop_assert_eq!(output, expected);
    });
}

#[test]
fn a_truncated_body_does_not_look_complete() {
    let input = [HEAD, &frame(DATA, b"0123456789")].concat();
    for cut in 1..input.len() {
        let pieces = read(Purpose::Request, 4096, &input[..cut], &[]).pieces;
        let is_whole = cut == HEAD.len();
        assert_eq!(pieces.last().is_some_and(|last| last == CUT_OFF), !is_whole, "{cut}");
    }
}

#[test]
fn frames_over_their_limit_are_not_buffered() {
    let too_large = frame(HEADERS, &[0; 5000]);
    let output = read(Purpose::Request, 4096, &too_large[..3], &[]);
    assert_eq!(output.fault, Some(Fault::TooLarge));
    let settings = frame(SETTINGS, &[0; 5000]);
    assert_eq!(read(Purpose::Control, 0, &settings[..3], &[]).fault, Some(Fault::TooLarge));
    // Unknown frames are not buffered, but cost time; so does an empty frame.
    for kind in [0x21, 0x41, 0xf0700] {
        let ignored = [HEAD, &frame(kind, &[0; 5000])].concat();
        assert_eq!(read(Purpose::Request, 4096, &ignored, &[]).fault, Some(Fault::Excessive));
    }
    let empty = [HEAD, &b"\x00\x00".repeat(3000)].concat();
    assert_eq!(read(Purpose::Request, 4096, &empty, &[]).fault, Some(Fault::Excessive));
    let of_browsers = [frame(SETTINGS, b""), frame(0xf0700, &[0; 5000])].concat();
    assert_eq!(read(Purpose::Control, 0, &of_browsers, &[]).fault, None);
}

/// RFC 9114 7.2: which frames are allowed where.
#[test]
fn frames_in_the_wrong_place_are_forbidden() {
    for (purpose, kind) in [
        (Purpose::Request, SETTINGS),
        (Purpose::Request, PUSH_PROMISE),
        (Purpose::Request, GOAWAY),
        (Purpose::Request, MAX_PUSH_ID),
        (Purpose::Request, CANCEL_PUSH),
        (Purpose::Request, 0x02),
        (Purpose::Request, 0x09),
        (Purpose::Control, DATA),
        (Purpose::Control, HEADERS),
        (Purpose::Control, PUSH_PROMISE),
    ] {
        let output = read(purpose, 4096, &frame(kind, b""), &[]);
        assert_eq!(output.pieces, [FORBIDDEN], "{purpose:?} {kind}");
    }
}

/// RFC 9114 7.2.7.
#[test]
fn the_maximum_push_id_never_decreases() {
    let control = |ids: &[&[u8]]| {
        let frames: Vec<u8> = ids.iter().flat_map(|id| frame(MAX_PUSH_ID, id)).collect();
        let cuts: Vec<usize> = (0..frames.len()).collect();
        read(Purpose::Control, 0, &frames, &cuts)
    };
    // Two encodings of 4 (RFC 9000 16).
    for ids in [&[&b"\x04"[..]][..], &[b"\x04", b"\x40\x04", b"\x05"], &[b"\x00", b"\x00"]] {
        let output = control(ids);
        assert_eq!((output.pieces.len(), output.fault), (ids.len(), None), "{ids:?}");
    }
    for ids in [[&b"\x04"[..], b"\x03"], [b"\x40\x04", b"\x00"]] {
        let output = control(&ids);
        assert_eq!((output.pieces.len(), output.fault), (1, Some(Fault::PushId)), "{ids:?}");
    }
    // One without its number, which the library refuses.
    assert_eq!(control(&[b"\x04", b""]).fault, None);
}

#[test]
fn settings_say_the_largest_section() {
    // An unknown setting of two bytes comes first.
    assert_eq!(section_limit(b"\x04\x06\x40\x21\x07\x06\x44\x00"), Some(1024));
    assert_eq!(section_limit(b"\x04\x02\x01\x06"), None);
    assert_eq!(section_limit(b"\x04\x01\x06"), None);
    assert_eq!(section_limit(b"\x07\x02\x06\x06"), None);
}

#[test]
fn lengths_take_as_many_bytes_as_they_need() {
    for (length, size) in [
        (0, 2),
        (62, 2),
        (63, 2),
        (64, 3),
        (65, 3),
        (16_382, 3),
        (16_383, 3),
        (16_384, 5),
        (16_385, 5),
        ((1 << 30) - 1, 5),
        (1 << 30, 9),
        ((1 << 30) + 1, 9),
    ] {
        let head = headers_head(length);
        assert_eq!(head_of(&mut &*head), Some((HEADERS, length as u64)));
        assert_eq!(head.len(), size, "{length}");
    }
}
