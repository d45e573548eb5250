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
        "An app is checked as a whole before it takes the first request: a fault that some user would \
         meet at some time, such as a store that cannot be opened, stops the start instead. All \
         problems are reported at once.",
        &[],
    ),
    why(
        "audit",
        "A CDN, a gateway or a proxy between an app and its users can undo its policy. \
         An audit sends requests to the running app and compares the responses with the manifest.",
        &[],
    ),
    why(
        "auth",
        "A route that does not name its callers is open by accident sooner or later, so each route \
         says who may call it. The requirement has to be possible: a session that no page can send, \
         or a right that nobody can have, locks out everybody and looks like a bug of the client.",
        &[(
            "OWASP, Authorization Cheat Sheet",
            "https://cheatsheetseries.owasp.org/cheatsheets/Authorization_Cheat_Sheet.html",
        )],
    ),
    why(
        "cache",
        "A cache that keeps a response to one user serves it to the next one. Each cache \
         resolves contradictory directives in its own way, so they are refused.",
        &[("RFC 9111, HTTP Caching", "https://www.rfc-editor.org/rfc/rfc9111")],
    ),
    why(
        "candidate",
        "A candidate policy is evaluated beside the current one, so that its effects are known before \
         it replaces it.",
        &[],
    ),
    why(
        "cookie",
        "A session cookie is a credential. Two of them in one request, or a truncated one, may be \
         an attempt to replace the session of the user by another one.",
        &[("RFC 6265, cookies", "https://www.rfc-editor.org/rfc/rfc6265")],
    ),
    why(
        "cors",
        "A browser lets a page of another origin read a response only if the response says so. A \
         policy that grants too much gives the data of a logged-in user to other pages; one that \
         grants too little fails only in the browser, and the log does not show it. So origins are \
         written as browsers send them and compared byte for byte, and entries that no browser \
         honours are refused.",
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
         of the app, and the return value becomes the response, so their types say how.",
        &[(
            "`FromRequestParts`",
            "https://docs.rs/policy-server/latest/policy_server/trait.FromRequestParts.html",
        )],
    ),
    why(
        "headers",
        "Browsers silently ignore a security header, or a part of it, that they cannot parse. A typing \
         error switches off a protection, and nothing looks different.",
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
         sends along. So a script may contain only public data.",
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
        "The policy of one route can be right, but odd beside the other routes of the app. Lints check \
         the policy of the app as a whole.",
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
        "Anybody who can write forwarding headers can pretend to be any client. So only named proxies \
         are trusted.",
        &[("RFC 7239, Forwarded", "https://www.rfc-editor.org/rfc/rfc7239")],
    ),
    why(
        "proxy",
        "A proxy passes on the requests of clients. If it and its upstream parse a request differently, \
         an attacker can use the difference to reach a resource that the proxy refuses.",
        &[RFC_9110, RFC_9112],
    ),
    why(
        "request",
        "Requests are parsed strictly: a request that could mean two things is refused, with the place \
         and the reason, so that the client can correct it.",
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
         latest after a while; its id is replaced when rights change; and every \
         instance honours logouts and revocations.",
        &[(
            "OWASP, Session Management",
            "https://cheatsheetseries.owasp.org/cheatsheets/Session_Management_Cheat_Sheet.html",
        )],
    ),
    why(
        "syntax",
        "Attributes are parsed strictly: an unknown word may be a protection that its author relies on.",
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
        "A token is trusted because of its signature. A weak key, an algorithm that the token itself \
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
         of targets it reaches services that only the server may reach.",
        &[RFC_9110],
    ),
    why(
        "wire",
        "A request that two parsers read differently can smuggle another request past a proxy. It is \
         refused before any policy decides about it.",
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
