//! How standards and servers interpret a path, written from their texts and sources.

/// RFC 3986 6.2.2.1 and 6.2.2.2: upper-case percent codes, unreserved characters decoded. Bytes
/// that are invalid in a path are percent-encoded first, as browsers do before they send one (URL,
/// path percent-encode set). `None` for a path with a malformed code.
pub fn rfc3986(path: &str) -> Option<String> {
    let mut normal = String::new();
    for token in tokens(path)? {
        let (Token::Raw(byte) | Token::Code(byte)) = token;
        let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_raw = matches!(token, Token::Raw(_)) && b"/!$&'()*+,;=:@".contains(&byte);
        if is_unreserved || is_raw {
            normal.push(char::from(byte));
        } else {
            normal.push_str(&format!("%{byte:02X}"));
        }
    }
    Some(normal)
}

/// The path of the file that tower-http's `ServeDir` (0.7) opens: decoded once, without empty
/// segments and `.`; `None` for `..`. A trailing slash requires a folder.
pub fn serve_dir(path: &str) -> Option<Vec<String>> {
    let decoded = String::from_utf8(decode(path)?).ok()?;
    let mut segments = Vec::new();
    for segment in decoded.trim_start_matches('/').split('/') {
        match segment {
            "" | "." => (),
            ".." => return None,
            name => segments.push(name.to_owned()),
        }
    }
    if path.ends_with('/') {
        segments.push(String::new());
    }
    Some(segments)
}

/// The location that nginx matches: decoded once, dot segments resolved, slashes merged
/// (`merge_slashes on`, its default). `None` outside of the root and for NUL.
pub fn nginx(path: &str) -> Option<Vec<u8>> {
    let decoded = decode(path)?;
    if decoded.contains(&0) {
        return None;
    }
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut is_folder = true;
    for segment in decoded.split(|byte| *byte == b'/').skip(1) {
        is_folder = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => (),
            b".." => drop(segments.pop()?),
            name => segments.push(name),
        }
    }
    let mut location = [b"/", &*segments.join(&b'/')].concat();
    if is_folder && !segments.is_empty() {
        location.push(b'/');
    }
    Some(location)
}

/// The segments for a router that splits a path before it decodes it, as axum's does.
pub fn router(path: &str) -> Option<Vec<Vec<u8>>> {
    path.split('/').skip(1).map(decode).collect()
}

#[derive(Clone, Copy)]
enum Token {
    Raw(u8),
    Code(u8),
}

fn tokens(path: &str) -> Option<Vec<Token>> {
    let (bytes, mut tokens, mut at) = (path.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digits = bytes.get(at + 1..at + 3).and_then(|code| str::from_utf8(code).ok())?;
            tokens.push(Token::Code(u8::from_str_radix(digits, 16).ok()?));
            at += 3;
        } else {
            tokens.push(Token::Raw(bytes[at]));
            at += 1;
        }
    }
    Some(tokens)
}

fn decode(path: &str) -> Option<Vec<u8>> {
    let bytes = tokens(path)?.into_iter().map(|(Token::Raw(byte) | Token::Code(byte))| byte);
    Some(bytes.collect())
}
