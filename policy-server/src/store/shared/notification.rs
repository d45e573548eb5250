//! The text of the notifications that instances of an app send each other over the server of their store:
//!
//! - `s` and a handle: a session ended;
//! - `u`, the handle of the session that was kept or `-`, a space and the user: a cut-off;
//! - `a`: a cut-off of everyone;
//! - `r`: there are revocations;
//! - `v` and a name: a value was stored;
//! - `m`: a notification that was too long.

use policy_core::session::Handle;

use crate::store::News;

/// Parses a notification; `None` for one of a later release.
pub(in crate::store) fn read(payload: &str) -> Option<News> {
    let kind = payload.chars().next()?;
    let rest = payload.get(1..)?;
    Some(match kind {
        's' => News::Session(handle(rest)?),
        'u' => {
            let (keep, user) = rest.split_once(' ')?;
            let keep: Option<Handle> = if keep == "-" { None } else { Some(handle(keep)?) };
            News::SessionsOf { user: user.into(), keep }
        }
        'a' => News::AllSessions,
        'r' => News::Revocation,
        'v' => News::Value(rest.into()),
        'm' => News::Missed,
        _ => return None,
    })
}

/// Parses a handle in hexadecimal digits.
pub(in crate::store) fn handle(hex: &str) -> Option<Handle> {
    let is_hex = hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(hex, 16).ok().filter(|_| is_hex)?;
    Some(Handle(number.to_be_bytes()))
}

pub(in crate::store) fn hex(handle: Handle) -> String {
    format!("{:032x}", u128::from_be_bytes(handle.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_read_and_strange_ones_are_not() {
        let one = Handle([0xab; 16]);
        let hex = "ab".repeat(16);
        assert_eq!(read(&format!("s{hex}")), Some(News::Session(one)));
        let of = |user: &str, keep| Some(News::SessionsOf { user: user.into(), keep });
        assert_eq!(read(&format!("u{hex} ada b")), of("ada b", Some(one)));
        assert_eq!(read("u- "), of("", None));
        assert_eq!((read("a"), read("r")), (Some(News::AllSessions), Some(News::Revocation)));
        assert_eq!(read("va b"), Some(News::Value("a b".into())));
        assert_eq!(read("m"), Some(News::Missed));
        for strange in ["", "x", "ä", "s", "sab", "u", "uab ada", "uada"] {
            assert_eq!(read(strange), None, "{strange}");
        }
    }

    #[test]
    fn a_handle_is_written_and_read_in_hexadecimal_digits() {
        let one = Handle([0, 1, 2, 0xff, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xab]);
        assert_eq!(hex(one), "000102ff0405060708090a0b0c0d0eab");
        assert_eq!(handle(&hex(one)), Some(one));
        for wrong in ["", "-", "+00102ff0405060708090a0b0c0d0eab", "00"] {
            assert_eq!(handle(wrong), None, "{wrong}");
        }
    }
}
