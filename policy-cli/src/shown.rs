//! What texts show of long lists: the first entries, and how many more there are.

/// The routes of a finding that are shown.
const ROUTES: usize = 8;

/// The first entries of a list, and how many more there are.
pub(crate) fn first<T>(list: &[T], most: usize) -> (&[T], usize) {
    let (head, rest) = list.split_at_checked(most).unwrap_or((list, &[]));
    (head, rest.len())
}

/// Says how many entries are not shown, if there are any.
pub(crate) fn more(all: usize, most: usize) -> Option<String> {
    all.checked_sub(most).filter(|more| *more > 0).map(|more| format!("and {more} more"))
}

/// The first routes in one line, and how many more there are.
pub(crate) fn routes<'r>(routes: impl ExactSizeIterator<Item = &'r String>) -> String {
    let more = more(routes.len(), ROUTES).map(|more| format!(" {more}"));
    let head: Vec<_> = routes.take(ROUTES).map(String::as_str).collect();
    head.join("; ") + &more.unwrap_or_default()
}

/// A number of things.
pub(crate) fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_counted() {
        let list: Vec<_> = (0..9).map(|number| format!("/{number}")).collect();
        assert_eq!(first(&list, 9), (&*list, 0));
        assert_eq!(first(&list, 0).1, 9);
        assert_eq!((more(8, 8), more(9, 8)), (None, Some("and 1 more".to_owned())));
        assert_eq!(routes(list.iter()), "/0; /1; /2; /3; /4; /5; /6; /7 and 1 more");
        assert_eq!(routes(list[..8].iter()), "/0; /1; /2; /3; /4; /5; /6; /7");
    }
}
