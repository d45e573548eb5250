//! Reading: pages can read everything that is granted, and nothing else.

use http::HeaderMap;
use policy_browser::Reason;

use super::{Fault, LawSpec, Verdict, no_sharing};
use crate::testing::prove::{
    browsing::{LoadEnd, is_of_other_site},
    declared::{Declaration, DeclaredApp},
    equivalence_classes::example,
    exchange::Exchange,
    sharing::Sharing,
};

/// Fields that every page may see (Fetch, 2.2.2: CORS-safelisted response-header name).
const SAFELISTED: [&str; 7] = [
    "cache-control",
    "content-language",
    "content-length",
    "content-type",
    "expires",
    "last-modified",
    "pragma",
];

pub(super) const SOUNDNESS: LawSpec = LawSpec {
    text: "a page reads only what the policy grants it",
    help: "let nothing but the policy write `Access-Control-*`: name the origin in \
                 `#[cors(origins = [..])]`, or remove what writes it",
    judge_exchange: sound,
    caveats: |app, route| {
        let sharing = route.sharing.as_deref();
        sharing.map(|all| shared(app, route, all)).unwrap_or_default()
    },
    ..LawSpec::NONE
};

pub(super) const COMPLETENESS: LawSpec = LawSpec {
    text: "a page reads what the policy grants it",
    help: "let the request reach the app: a response that a layer creates itself carries no \
                 policy",
    silence: no_sharing,
    judge_exchange: complete,
    ..LawSpec::NONE
};

pub(super) const ERRORS: LawSpec = LawSpec {
    text: "a page reads the errors of routes that the policy grants it",
    help: "let the request reach the app: a response that a layer creates itself carries no \
                 policy",
    silence: no_sharing,
    judge_exchange: errors,
    ..LawSpec::NONE
};

/// Only granted pages read a response, and they see no field that is not exposed.
fn sound(exchange: &Exchange<'_>) -> Verdict {
    if !exchange.is_fetch() || exchange.is_own_page() {
        return Verdict::Silent;
    }
    let LoadEnd::Readable(fields) = exchange.end() else { return Verdict::Holds };
    if !exchange.is_granted() {
        return Verdict::Broken(Fault {
            expected: format!("the page cannot read the response: {}", describe_grant(exchange)),
            seen: format!("it reads it; {}", cors_fields(exchange.headers())),
            attribute: "cors",
        });
    }
    let sharing = exchange.path.sharing(exchange.method());
    let exposed = sharing.map_or(&[][..], Sharing::expose);
    let is_hidden = |name: &str| {
        !SAFELISTED.contains(&name) && !exposed.iter().any(|listed| listed == name || listed == "*")
    };
    let hidden = fields.iter().find(|name| is_hidden(name.as_str()));
    match hidden {
        None => Verdict::Holds,
        Some(name) => Verdict::Broken(Fault {
            expected: format!("the page does not see the field `{name}`, which is not exposed"),
            seen: format!("it sees it; {}", cors_fields(exchange.headers())),
            attribute: "cors",
        }),
    }
}

/// Granted responses can be read, if they succeed.
fn complete(exchange: &Exchange<'_>) -> Verdict {
    if exchange.status().is_some_and(|status| status.as_u16() >= 400) {
        return Verdict::Silent;
    }
    readable(exchange)
}

/// Granted responses can be read, if they fail.
fn errors(exchange: &Exchange<'_>) -> Verdict {
    if exchange.status().is_none_or(|status| status.as_u16() < 400) {
        return Verdict::Silent;
    }
    readable(exchange)
}

fn readable(exchange: &Exchange<'_>) -> Verdict {
    let is_shared = exchange.is_fetch() && !exchange.is_own_page() && exchange.is_granted();
    // Mixed content is blocked by the browser, whatever the policy.
    let is_mixed = exchange.blocked().is_some_and(|blocked| blocked.reason == Reason::MixedContent);
    if !is_shared || is_mixed {
        return Verdict::Silent;
    }
    let status = exchange.status().map(|status| format!(" (status {})", status.as_u16()));
    let status = status.unwrap_or_default();
    let LoadEnd::Readable(fields) = exchange.end() else {
        return Verdict::Broken(Fault {
            expected: format!("the page reads the response{status}: {}", describe_grant(exchange)),
            seen: match exchange.blocked() {
                Some(blocked) => blocked.to_string().replace('\n', "\n            "),
                None => "nothing that the page could read".to_owned(),
            },
            attribute: "cors",
        });
    };
    let exposed = exchange.path.sharing(exchange.method()).map_or(&[][..], Sharing::expose);
    let is_missing = |name: &&String| {
        let is_there =
            exchange.headers().is_some_and(|headers| headers.contains_key(name.as_str()));
        is_there && !fields.iter().any(|field| field.as_str() == **name)
    };
    match exposed.iter().find(is_missing) {
        None => Verdict::Holds,
        Some(name) => Verdict::Broken(Fault {
            expected: format!("the page sees the field `{name}`, which is exposed"),
            seen: format!("it does not; {}", cors_fields(exchange.headers())),
            attribute: "cors",
        }),
    }
}

/// Describes the origins that the policy permits to read.
fn describe_grant(exchange: &Exchange<'_>) -> String {
    let Some(sharing) = exchange.path.sharing(exchange.method()) else {
        return "the route is shared with nobody".to_owned();
    };
    let credentials = if sharing.has_credentials() { "with" } else { "without" };
    format!("the policy names {} {credentials} credentials", sharing.origins.join(" "))
}

/// The CORS headers of a response.
pub(super) fn cors_fields(headers: Option<&HeaderMap>) -> String {
    let all = headers.into_iter().flatten();
    let of_cors = all.filter(|(name, _)| name.as_str().starts_with("access-control-"));
    let lines: Vec<_> = of_cors
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    match lines.is_empty() {
        true => "no field of CORS".to_owned(),
        false => lines.join(", "),
    }
}

fn shared(declared: &DeclaredApp, route: &Declaration, sharing: &Sharing) -> Vec<String> {
    let mut lines: Vec<String> =
        sharing.dangers().map(|danger| format!("stated: {danger} on {}", route.at())).collect();
    if !sharing.has_credentials() || !route.is_ambient() {
        return lines;
    }
    let said_by = &sharing.said_by;
    for origin in &sharing.origins {
        if origin.contains("://*.") {
            lines.push(format!(
                "stated: credentials for {origin} by {said_by} on {}: whoever gets a host below \
                 this name reads it with the session of its user",
                route.at()
            ));
        }
        if is_of_other_site(&example(origin), &declared.own) {
            lines.push(format!(
                "stated: credentials for {origin} by {said_by} on {}: another site reads it with \
                 the session of its user",
                route.at()
            ));
        }
    }
    lines
}
