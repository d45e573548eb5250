//! Reading: pages can read everything that is granted, and nothing else.

use policy_browser::Reason;

use super::{Fault, Verdict};
use crate::testing::prove::{browsing::End, exchange::Exchange, sharing::Sharing};

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

/// Only granted pages read a response, and they see no field that is not exposed.
pub(super) fn sound(exchange: &Exchange<'_>) -> Verdict {
    if !exchange.is_fetch() || exchange.is_own_page() {
        return Verdict::Silent;
    }
    let End::Readable(fields) = exchange.end() else { return Verdict::Holds };
    if !exchange.is_granted() {
        return Verdict::Broken(Fault {
            expected: format!("the page cannot read the response: {}", granted(exchange)),
            seen: format!("it reads it; {}", cors_fields(exchange)),
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
            seen: format!("it sees it; {}", cors_fields(exchange)),
            attribute: "cors",
        }),
    }
}

/// Granted responses can be read, if they succeed.
pub(super) fn complete(exchange: &Exchange<'_>) -> Verdict {
    if exchange.status().is_some_and(|status| status >= 400) {
        return Verdict::Silent;
    }
    readable(exchange)
}

/// Granted responses can be read, if they fail.
pub(super) fn errors(exchange: &Exchange<'_>) -> Verdict {
    if exchange.status().is_none_or(|status| status < 400) {
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
    let status = exchange.status().map_or_else(String::new, |status| format!(" (status {status})"));
    let End::Readable(fields) = exchange.end() else {
        return Verdict::Broken(Fault {
            expected: format!("the page reads the response{status}: {}", granted(exchange)),
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
            seen: format!("it does not; {}", cors_fields(exchange)),
            attribute: "cors",
        }),
    }
}

/// Describes the origins that the policy permits to read.
fn granted(exchange: &Exchange<'_>) -> String {
    let Some(sharing) = exchange.path.sharing(exchange.method()) else {
        return "the route is shared with nobody".to_owned();
    };
    let credentials = if sharing.has_credentials() { "with" } else { "without" };
    format!("the policy names {} {credentials} credentials", sharing.origins.join(" "))
}

/// The CORS headers of a response.
pub(super) fn cors_fields(exchange: &Exchange<'_>) -> String {
    let all = exchange.headers().into_iter().flatten();
    let of_cors = all.filter(|(name, _)| name.as_str().starts_with("access-control-"));
    let lines: Vec<_> = of_cors
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    match lines.is_empty() {
        true => "no field of CORS".to_owned(),
        false => lines.join(", "),
    }
}
