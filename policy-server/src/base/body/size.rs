//! The size of a body of which a part is held back.

use http_body::SizeHint;

/// The size of a body with this many bytes in front of it.
#[inline]
pub(crate) fn longer(rest: SizeHint, by: u64) -> SizeHint {
    let mut hint = SizeHint::new();
    hint.set_lower(rest.lower().saturating_add(by));
    if let Some(upper) = rest.upper() {
        hint.set_upper(upper.saturating_add(by));
    }
    hint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_move() {
        assert_eq!(longer(SizeHint::with_exact(5), 3).exact(), Some(8));
        let open = longer(SizeHint::new(), 3);
        assert_eq!((open.lower(), open.upper()), (3, None));
        assert_eq!(longer(SizeHint::with_exact(u64::MAX), 3).exact(), Some(u64::MAX));
    }
}
