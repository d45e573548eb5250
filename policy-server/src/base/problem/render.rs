//! Renders a problem as HTML and as plain text.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::own::{NO_TYPE, Own};

/// The page runs and loads nothing but its style. Framing is left to the app's `X-Frame-Options`,
/// since the page has no controls that clickjacking could use.
pub(super) const PAGE_POLICY: &str = "default-src 'none'; \
     style-src 'sha256-6FDhg9UJU3SM43sDdR8F+RZXyLQE594W2tXEjyxmM6w='; base-uri 'none'; \
     form-action 'none'";

const STYLE: &str = "\
:root{color-scheme:light dark;font:1.125rem/1.5 system-ui,sans-serif}\
body{margin:0}\
main{max-width:40rem;margin:0 auto;padding:15vh 1.5rem 3rem;overflow-wrap:anywhere}\
h1{margin:0;font-size:1.75rem;line-height:1.25}\
.status{margin:0;font-size:1.25rem}\
.detail{white-space:pre-line}\
code{font-family:ui-monospace,monospace;font-size:.9em}";

/// A complete page, without scripts or external resources.
pub(super) fn html(problem: &Own) -> String {
    let status = problem.status.as_u16();
    let title = EscapedText(problem.title());
    let mut page = format!(
        "<!doctype html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{status} {title}</title>\n\
         <style>{STYLE}</style>\n\
         </head>\n\
         <body>\n\
         <main>\n\
         <p class=\"status\">{status}</p>\n\
         <h1>{title}</h1>\n"
    );
    if let Some(detail) = &problem.detail {
        append(&mut page, format_args!("<p class=\"detail\">{}</p>\n", EscapedText(detail)));
    }
    if faults(problem).next().is_some() {
        page.push_str("<ul>\n");
        for (place, detail) in faults(problem) {
            page.push_str("<li>");
            if !place.is_empty() {
                append(&mut page, format_args!("<code>{}</code> ", EscapedText(place)));
            }
            append(&mut page, format_args!("{}</li>\n", EscapedText(detail)));
        }
        page.push_str("</ul>\n");
    }
    if let Some(code) = &problem.code {
        let code = EscapedText(code);
        match &*problem.type_uri {
            // The link can only lead to a page.
            address if address.starts_with("https://") || address.starts_with('/') => append(
                &mut page,
                format_args!(
                    "<p>Code: <a href=\"{}\"><code>{code}</code></a></p>\n",
                    EscapedText(address)
                ),
            ),
            _ => append(&mut page, format_args!("<p>Code: <code>{code}</code></p>\n")),
        }
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// A few lines of plain text.
pub(super) fn text(problem: &Own) -> String {
    let mut text = format!("{} {}\n", problem.status.as_u16(), Plain(problem.title()));
    if let Some(detail) = &problem.detail {
        append(&mut text, format_args!("{}\n", Plain(detail)));
    }
    for (place, detail) in faults(problem) {
        let blank = if place.is_empty() { "" } else { " " };
        append(&mut text, format_args!("- {}{blank}{}\n", Plain(place), Plain(detail)));
    }
    if let Some(code) = &problem.code {
        append(&mut text, format_args!("code: {}\n", Plain(code)));
        if problem.type_uri != NO_TYPE {
            append(&mut text, format_args!("{}\n", Plain(&problem.type_uri)));
        }
    }
    text
}

/// Writing to a string cannot fail.
fn append(text: &mut String, more: fmt::Arguments<'_>) {
    let _ = text.write_fmt(more);
}

/// The entries of `errors` (RFC 9457 3): location and detail.
pub(super) fn faults(problem: &Own) -> impl Iterator<Item = (&str, &str)> {
    let errors = problem.members.get("errors").and_then(Value::as_array);
    errors.into_iter().flatten().filter_map(|fault| {
        let member = |name| fault.get(name).and_then(Value::as_str);
        let place = member("pointer").or_else(|| member("field")).unwrap_or_default();
        Some((place, member("detail")?))
    })
}

/// HTML-escaped text, for content and quoted attributes.
struct EscapedText<'a>(&'a str);

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars().map(visible) {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Text that may be shown on a terminal.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().map(visible).try_for_each(|character| f.write_char(character))
    }
}

/// Replaces control characters other than a line feed.
fn visible(character: char) -> char {
    if character.is_control() && character != '\n' {
        char::REPLACEMENT_CHARACTER
    } else {
        character
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;
    use http::StatusCode;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::base::problem::Problem;

    const ATTACK: &str = "</title><script>alert('1')</script>\" onload=\"&\u{1b}[31m\0";

    fn attack() -> Own {
        Problem::new(StatusCode::IM_A_TEAPOT)
            .title(ATTACK)
            .code(ATTACK)
            .detail(ATTACK)
            .with("errors", serde_json::json!([{ "pointer": ATTACK, "detail": ATTACK }]))
            .with("secret", "hunter2")
            .into_members()
    }

    #[test]
    fn shown_texts_contain_no_markup() {
        let page = html(&attack());
        let escaped = "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; \
                     onload=&quot;&amp;\u{fffd}[31m\u{fffd}";
        assert_eq!(page.matches(escaped).count(), 6, "{page}");
        let rest = page.replace(escaped, "").replace(STYLE, "");
        assert!(!rest.contains("script") && !rest.contains(['&', '\'', '\0', '\u{1b}']), "{rest}");
        assert!(!page.contains("hunter2"));
    }

    #[test]
    fn shown_texts_contain_no_control_characters() {
        let text = text(&attack());
        assert!(text.chars().all(|character| !character.is_control() || character == '\n'));
        assert!(!text.contains("hunter2"));
    }

    #[test]
    fn the_policy_of_the_page_names_its_style() {
        let hash = BASE64.encode(&Sha256::digest(STYLE));
        assert!(PAGE_POLICY.contains(&format!("'sha256-{hash}'")), "{hash}");
    }

    #[test]
    fn a_page_contains_the_members_of_the_problem() {
        let problem = Problem::conflict()
            .code("orders.sold")
            .detail("the lamp is sold")
            .with("errors", serde_json::json!([{ "field": "lamp", "detail": "must be there" }, { "detail": "odd" }, 7]))
            .into_members();
        let page = html(&problem);
        assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"), "{page}");
        for part in [
            "<title>409 Conflict</title>",
            "<h1>Conflict</h1>",
            "<p class=\"detail\">the lamp is sold</p>",
            "<ul>\n<li><code>lamp</code> must be there</li>\n<li>odd</li>\n</ul>",
            "<p>Code: <code>orders.sold</code></p>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert_eq!(
            text(&problem),
            "409 Conflict\nthe lamp is sold\n- lamp must be there\n- odd\ncode: orders.sold\n"
        );
    }
}
