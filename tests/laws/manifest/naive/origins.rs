//! The origins that a list matches.

/// Whether a text is an origin. The parser has laws of its own, so it is not written again here.
pub(super) fn is_origin(text: &str) -> bool {
    policy_core::origin::Origin::parse(text.as_bytes()).is_some()
}

/// Whether a pattern matches an origin.
pub(super) fn matches(pattern: &str, origin: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == origin;
    }
    let (Some((scheme, host, port)), Some((of_scheme, of_host, of_port))) =
        (split(pattern), split(origin))
    else {
        return false;
    };
    let is_port = match of_port {
        "" => true,
        text => {
            let number: Option<u16> = text.parse().ok();
            number.is_some_and(|number| number > 0 && number.to_string() == text)
        }
    };
    let is_host = match host.strip_prefix("*.") {
        None => match host.split_once('*') {
            Some(ends) => has_ends(of_host, ends),
            None => host == of_host,
        },
        Some(below) => of_host.strip_suffix(below).is_some_and(|front| {
            let labels: Vec<&str> = front.split('.').collect();
            match labels.split_last() {
                Some((&"", labels)) => !labels.is_empty() && labels.iter().all(|it| is_label(it)),
                _ => false,
            }
        }),
    };
    origin.len() <= 326
        && scheme == of_scheme
        && is_host
        && is_port
        && !origin.ends_with(':')
        && (port == "*" || port == of_port)
}

/// Whether the outer pattern matches every origin that the inner one matches.
pub(super) fn covers(outer: &str, inner: &str) -> bool {
    if outer == inner {
        return true;
    }
    let (Some((scheme, host, port)), Some((of_scheme, of_host, of_port))) =
        (split(outer), split(inner))
    else {
        return false;
    };
    let is_host = match (host.strip_prefix("*."), of_host.strip_prefix("*.")) {
        (None, _) => match (host.split_once('*'), of_host.split_once('*')) {
            (Some(ends), None) => has_ends(of_host, ends),
            (Some((front, end)), Some((of_front, of_end))) => {
                of_front.starts_with(front) && of_end.ends_with(end) && dots(of_end) == dots(end)
            }
            (None, _) => host == of_host,
        },
        (Some(below), None) => of_host.ends_with(&format!(".{below}")),
        (Some(below), Some(inner)) => inner == below || inner.ends_with(&format!(".{below}")),
    };
    scheme == of_scheme && is_host && (port == "*" || port == of_port)
}

/// Whether two lists match the same origins.
pub(super) fn are_same(one: &[String], two: &[String]) -> bool {
    let all_in = |inner: &[String], outer: &[String]| {
        inner.iter().all(|entry| outer.iter().any(|wide| covers(wide, entry)))
    };
    all_in(one, two) && all_in(two, one)
}

/// Whether a host has this prefix and suffix, with a part of one label between them.
fn has_ends(host: &str, (front, end): (&str, &str)) -> bool {
    let middle = host.strip_prefix(front).and_then(|rest| rest.strip_suffix(end));
    middle.is_some_and(is_label)
}

fn dots(text: &str) -> usize {
    text.matches('.').count()
}

/// Scheme, host and port, which is empty for the default one.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => Some((scheme, host, port)),
        _ => Some((scheme, rest, "")),
    }
}

fn is_label(label: &str) -> bool {
    let is_sign =
        |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "-_".contains(sign);
    !label.is_empty() && label.chars().all(is_sign)
}
