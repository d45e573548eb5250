//! Paths of requests, and the templates that they match.

/// A path normalized by RFC 3986 6.2.2, and whether a segment has an encoded slash.
pub(super) fn normalized(path: &str) -> Result<(String, bool), &'static str> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let (mut normal, mut hides_slash) = (String::new(), false);
    for (index, segment) in segments.iter().enumerate() {
        if segment.is_empty() && index + 1 < segments.len() {
            return Err("wire.path-empty-segment");
        }
        let bytes = decoded(segment).ok_or("wire.path-encoding")?;
        let bytes: Vec<u8> = bytes.into_iter().map(|(byte, _)| byte).collect();
        let text = String::from_utf8(bytes).map_err(|_no_text| "wire.path-encoding")?;
        if text.chars().any(char::is_control) {
            return Err("wire.path-encoding");
        }
        if text.replace('\\', "/").split('/').any(|part| part == "." || part == "..") {
            return Err("wire.path-dot-segment");
        }
        hides_slash |= text.contains('/') || text.contains('\\');
        normal.push('/');
        for (byte, was_coded) in decoded(segment).unwrap_or_default() {
            let stays = if was_coded { is_unreserved(byte) } else { is_pchar(byte) };
            match stays {
                true => normal.push(char::from(byte)),
                false => normal.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    Ok((normal, hides_slash))
}

/// The decoded bytes of a text, each with whether it was percent-encoded.
pub(super) fn decoded(text: &str) -> Option<Vec<(u8, bool)>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first != b'%' {
            bytes.push((*first, false));
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        let byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        bytes.push((byte, true));
        rest = tail.get(2..)?;
    }
    Some(bytes)
}

/// The path in the form that templates are compared with: only bytes that a segment may not contain
/// are percent-encoded.
pub(super) fn key(path: &str) -> String {
    let mut key = String::new();
    for (byte, was_coded) in decoded(path).unwrap_or_default() {
        match was_coded && !is_pchar(byte) {
            true => key.push_str(&format!("%{byte:02X}")),
            false => key.push(char::from(byte)),
        }
    }
    key
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn is_pchar(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&'()*+,;=:@".contains(&byte)
}

/// How a template matches a path.
pub(super) struct Match {
    /// For each segment 0 if it is fixed, 1 for a parameter, 2 for the rest: the least wins.
    pub(super) rank: Vec<u8>,
    /// Whether each value with an encoded slash belongs to a parameter that accepts them.
    pub(super) takes_slashes: bool,
}

/// Matches a template against the key of a path.
pub(super) fn match_template(template: &str, key: &str) -> Option<Match> {
    let segments: Vec<&str> = key.split('/').collect();
    let mut found = Match { rank: Vec::new(), takes_slashes: true };
    let of_template: Vec<&str> = template.split('/').collect();
    for (index, part) in of_template.iter().enumerate() {
        let segment = *segments.get(index)?;
        let inner = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        let (rank, value) = match inner {
            None if *part == segment => (0, String::new()),
            None => return None,
            Some(name) if name.starts_with('*') => (2, segments.get(index..)?.join("/")),
            Some(_) => (1, segment.to_owned()),
        };
        if rank > 0 && value.is_empty() {
            return None;
        }
        let is_coded = value.contains("%2F") || value.contains("%5C");
        found.takes_slashes &= !is_coded || part.ends_with(":slashes}");
        found.rank.push(rank);
        if rank == 2 {
            return Some(found);
        }
    }
    (segments.len() == of_template.len()).then_some(found)
}

/// The path as a service sees it that decodes slashes and merges them.
pub(super) fn unhidden(path: &str) -> String {
    let mut seen = path.replace("%2F", "/").replace("%5C", "/");
    while seen.contains("//") {
        seen = seen.replace("//", "/");
    }
    seen
}
