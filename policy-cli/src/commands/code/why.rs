//! Why an area has its rules, and where to read more.

/// An area, the reason for its rules, and pages about them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Why {
    area: &'static str,
    pub(super) text: &'static str,
    /// Title and address.
    pub(super) links: &'static [(&'static str, &'static str)],
}

impl Why {
    pub(super) fn find(area: &str) -> Option<Self> {
        WHY.iter().copied().find(|why| why.area == area)
    }
}

const fn why(
    area: &'static str,
    text: &'static str,
    links: &'static [(&'static str, &'static str)],
) -> Why {
    Why { area, text, links }
}

const ATTRIBUTES: &str = "https://docs.rs/policy-server/latest/policy_server/";

/// The address of the documentation of an attribute.
pub(super) fn attribute(area: &str) -> Option<String> {
    let known =
        ["auth", "cache", "cors", "csrf", "headers", "isolation", "jsonp", "limit"].contains(&area);
    known.then(|| format!("{ATTRIBUTES}attr.{area}.html"))
}

const RFC_9110: (&str, &str) =
    ("RFC 9110, HTTP Semantics", "https://www.rfc-editor.org/rfc/rfc9110");
const RFC_9112: (&str, &str) = ("RFC 9112, HTTP/1.1", "https://www.rfc-editor.org/rfc/rfc9112");
const FETCH: (&str, &str) =
    ("Fetch, the CORS protocol", "https://fetch.spec.whatwg.org/#http-cors-protocol");

const WHY: &[Why] = &[
    why(
        "app",
        "An app is checked as a whole before it takes the first request: what would fail for some \
         user at some time, such as a store that cannot be opened, stops the start instead, and all \
         problems are reported at once.",
        &[],
    ),
    why(
        "audit",
        "What stands between an app and its users (a CDN, a gateway, a proxy) can undo its policy. \
         An audit sends requests to the running app and compares the responses with the manifest.",
        &[],
    ),
    why(
        "auth",
        "A route whose callers nobody has named is open by accident sooner or later, so each route \
         says who may call it. What is said has to be possible: a session that no page can send, or \
         a right that nobody can have, locks out everybody and looks like a bug of the client.",
        &[(
            "OWASP, Authorization Cheat Sheet",
            "https://cheatsheetseries.owasp.org/cheatsheets/Authorization_Cheat_Sheet.html",
        )],
    ),
    why(
        "cache",
        "A cache that keeps a response to one user serves it to the next one. Words that contradict \
         each other are resolved by each cache in its own way, so they are refused.",
        &[("RFC 9111, HTTP Caching", "https://www.rfc-editor.org/rfc/rfc9111")],
    ),
    why(
        "candidate",
        "A policy that is to come is decided beside the one that holds, so that what it would change \
         is known before it does.",
        &[],
    ),
    why(
        "cookie",
        "A session cookie is a credential. Two of them in one request, or one that was cut, may be \
         an attempt to have another session used than the one of the user.",
        &[("RFC 6265, cookies", "https://www.rfc-editor.org/rfc/rfc6265")],
    ),
    why(
        "cors",
        "A browser lets a page of another origin read a response only if the response says so. A \
         policy that says more than was meant gives the data of a logged-in user to other pages; \
         one that says less fails in the browser alone, without a word in the log. So origins are \
         compared byte for byte, written as browsers send them, and what no browser honours is \
         refused.",
        &[
            FETCH,
            (
                "MDN, Cross-Origin Resource Sharing",
                "https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS",
            ),
        ],
    ),
    why(
        "csrf",
        "Browsers send cookies with every request to a site, whichever page caused it. Without \
         protection, any page that a logged-in user visits can act in their name.",
        &[(
            "OWASP, Cross-Site Request Forgery Prevention",
            "https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html",
        )],
    ),
    why(
        "handler",
        "A handler is an ordinary `async fn`. Each argument comes from the request or from the state \
         of the app, and what it returns becomes the response, so both have types that say how.",
        &[(
            "`FromRequestParts`",
            "https://docs.rs/policy-server/latest/policy_server/trait.FromRequestParts.html",
        )],
    ),
    why(
        "headers",
        "Browsers ignore a security header that they cannot read, or a part of it, without a word. \
         A typing error switches a protection off, and nothing looks different.",
        &[
            ("Content Security Policy Level 3", "https://www.w3.org/TR/CSP3/"),
            (
                "OWASP, HTTP Headers",
                "https://cheatsheetseries.owasp.org/cheatsheets/HTTP_Headers_Cheat_Sheet.html",
            ),
        ],
    ),
    why(
        "isolation",
        "Other pages can load a response as an image, a script or a frame, and learn from its size \
         or its time. Fetch Metadata says which page a request comes from, before anything is read.",
        &[("Fetch Metadata Request Headers", "https://www.w3.org/TR/fetch-metadata/")],
    ),
    why(
        "jsonp",
        "A script is readable by every page that loads it, with whatever credentials the browser \
         sends along. So only public data may be one.",
        &[],
    ),
    why(
        "limit",
        "Without a limit, one client can use up the memory, the time or the quota of all others. A \
         limit that is zero, or that counts nobody, is a mistake.",
        &[("RFC 6585, 429 Too Many Requests", "https://www.rfc-editor.org/rfc/rfc6585")],
    ),
    why(
        "lint",
        "What one route says can be right, and be odd beside the other routes of the app. Lints look \
         at the policy of the app as a whole.",
        &[],
    ),
    why(
        "origin",
        "The name of a host decides which cookies a browser sends. A service that answers for names \
         that are not its own can be reached by pages that have made such a name point to it (DNS \
         rebinding).",
        &[RFC_9110],
    ),
    why(
        "proxies",
        "Whoever can write forwarding headers can pretend to be any client. So only those of proxies \
         that are named are believed.",
        &[("RFC 7239, Forwarded", "https://www.rfc-editor.org/rfc/rfc7239")],
    ),
    why(
        "proxy",
        "A proxy passes on what a client sent. What it and its upstream read differently, an \
         attacker can use to reach what the proxy refuses.",
        &[RFC_9110, RFC_9112],
    ),
    why(
        "request",
        "What a client sends is read strictly: a request that could mean two things is refused, with \
         the place and the reason, so that the client can correct it.",
        &[("RFC 9457, Problem Details", "https://www.rfc-editor.org/rfc/rfc9457")],
    ),
    why(
        "route",
        "One resource has one path. Two spellings of it, or two routes for one request, are two \
         policies for one thing, and an attacker chooses the weaker one.",
        &[RFC_9110],
    ),
    why("server", "The server says when it begins, when it stops, and what it could not do.", &[]),
    why(
        "session",
        "A session is as good as a password while it lasts: it ends when it is not used, and at the \
         latest after a while; its id is replaced when rights change; and what takes rights away \
         holds on every instance.",
        &[(
            "OWASP, Session Management",
            "https://cheatsheetseries.owasp.org/cheatsheets/Session_Management_Cheat_Sheet.html",
        )],
    ),
    why(
        "syntax",
        "An attribute is read strictly. A word that it does not know may be a protection that is not \
         there.",
        &[],
    ),
    why(
        "tls",
        "A certificate that does not fit its key, or that has expired, is found when the server \
         starts or when it reads the files again, and not by its users.",
        &[("RFC 8446, TLS 1.3", "https://www.rfc-editor.org/rfc/rfc8446")],
    ),
    why(
        "token",
        "A token is believed because of its signature. A weak key, an algorithm that the token itself \
         chooses, or a missing time lets others make tokens, or keep them for ever.",
        &[
            (
                "RFC 8725, JSON Web Token Best Current Practices",
                "https://www.rfc-editor.org/rfc/rfc8725",
            ),
            ("RFC 6750, Bearer Tokens", "https://www.rfc-editor.org/rfc/rfc6750"),
        ],
    ),
    why(
        "tunnel",
        "A tunnel connects a client to another host, with the address of the server. Without a list \
         of targets it reaches what is meant for the server alone.",
        &[RFC_9110],
    ),
    why(
        "wire",
        "A request that two parsers read differently is how requests are smuggled past a proxy. Such \
         a request is refused before anything is decided about it.",
        &[RFC_9112],
    ),
];

#[cfg(test)]
mod tests {
    use policy_core::Entry;

    use super::*;

    #[test]
    fn every_area_has_its_reason() {
        for entry in Entry::all() {
            assert!(Why::find(entry.area()).is_some(), "{}", entry.area());
        }
        assert!(WHY.is_sorted_by(|a, b| a.area < b.area));
    }
}
