//! Rust as HTML: `<s>` is a comment, `<i>` a text, `<b>` the name of an attribute, `<u>` a keyword. A chain of
//! methods may break in front of each.

/// Words that are marked in code.
const KEYWORDS: [&str; 18] = [
    "as", "async", "await", "const", "else", "fn", "for", "if", "impl", "in", "let", "match",
    "mod", "move", "pub", "return", "struct", "use",
];

/// A template for each handler, with the attributes above it; and for each constant and each other
/// function, with its whole text.
pub(crate) fn handlers(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let mut templates = String::new();
    for (at, line) in lines.iter().enumerate() {
        let (above, from) = lines.split_at(at);
        let (name, excerpt) = if let Some((_, rest)) = line.split_once("async fn ") {
            (rest, attributes(above))
        } else if let Some(rest) = line.strip_prefix("fn ") {
            (rest, whole(from, |line| line == "}"))
        } else if let Some(rest) = line.strip_prefix("const ") {
            (rest, whole(from, |line| line.ends_with(';')))
        } else {
            continue;
        };
        let name = name.split(['(', '<', ':']).next().unwrap_or_default();
        if !excerpt.is_empty() {
            let route = excerpt.iter().find_map(|line| route(line)).unwrap_or_default();
            let html = highlighted(&excerpt.join("\n"));
            templates.push_str(&format!(
                "<template data-handler=\"{name}\" data-route=\"{route}\">\
                 <pre class=\"code\">{html}</pre></template>"
            ));
        }
    }
    templates
}

/// `GET /orders`, of `#[get("/orders")]`.
fn route(attribute: &str) -> Option<String> {
    let (method, rest) = attribute.strip_prefix("#[")?.split_once("(\"/")?;
    let is_method = ["get", "post", "put", "patch", "delete"].contains(&method);
    let (path, _) = rest.split_once('"')?;
    is_method.then(|| format!("{} /{path}", method.to_uppercase()))
}

/// The attributes at the end of these lines, from their first line on.
fn attributes<'a>(above: &[&'a str]) -> Vec<&'a str> {
    let is_other = |line: &&str| line.is_empty() || line.starts_with("//") || line.starts_with('}');
    let begin = above.iter().rposition(is_other).map_or(0, |at| at + 1);
    above.get(begin..).unwrap_or_default().to_vec()
}

/// These lines up to the one that ends the item.
fn whole<'a>(from: &[&'a str], ends: fn(&str) -> bool) -> Vec<&'a str> {
    let end = from.iter().position(|line| ends(line)).map_or(from.len(), |at| at + 1);
    from.get(..end).unwrap_or_default().to_vec()
}

pub(crate) fn highlighted(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while !rest.is_empty() {
        let (tag, len) = token(rest, &out);
        let (text, behind) = rest.split_at(len);
        if rest.starts_with('.') && out.ends_with(')') {
            out.push_str("<wbr>");
        }
        match tag {
            "" => out.push_str(&escaped(text)),
            tag => out.push_str(&format!("<{tag}>{}</{tag}>", escaped(text))),
        }
        rest = behind;
    }
    out
}

/// The element for the first token of the text, and the length of the token.
fn token(rest: &str, before: &str) -> (&'static str, usize) {
    let first = rest.chars().next().unwrap_or_default();
    if rest.starts_with("//") {
        return ("s", rest.find('\n').unwrap_or(rest.len()));
    }
    if first == '"' {
        return ("i", text_len(rest));
    }
    if first.is_alphanumeric() || first == '_' {
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        let tag = if before.ends_with("#[") {
            "b"
        } else if KEYWORDS.contains(&word) {
            "u"
        } else {
            ""
        };
        return (tag, len);
    }
    ("", first.len_utf8())
}

/// The length of a text in quotes.
fn text_len(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => (),
        }
    }
    rest.len()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
