//! The callers of a route, as security requirements (OpenAPI 3.1.1 4.8.30).

use std::collections::BTreeMap;

use http::HeaderValue;
use policy_core::{auth::OWN_ISSUER, csrf, is_token, method::is_safe};
use policy_manifest::{Csrf, Manifest, ManifestRoute, RouteRequirement};
use serde_json::{Value, json};

use super::object;

/// The security schemes that the operations of a document need, by name.
#[derive(Default)]
pub(super) struct Schemes(pub(super) BTreeMap<String, Value>);

const SESSION: &str = "session";
const CSRF_TOKEN: &str = "csrfToken";
const TOKEN: &str = "token";
const TICKET: &str = "ticket";

impl Schemes {
    /// The alternatives of a route: credentials that are needed together are one object. A public
    /// route has none. `challenge` is what the app's own scheme sends in `WWW-Authenticate`.
    pub(super) fn requirements(
        &mut self,
        manifest: &Manifest,
        route: &ManifestRoute,
        method: &str,
        challenge: Option<&HeaderValue>,
    ) -> Value {
        let Some(requirement) = route.auth.requirement() else { return json!([]) };
        let mut alternatives = Vec::new();
        if requirement.session {
            alternatives.extend(self.session(manifest, route, method));
        }
        if requirement.token {
            alternatives.extend(self.tokens(manifest, requirement));
        }
        // No other method takes a ticket.
        if requirement.ticket && method == "GET" {
            self.0.insert(
                TICKET.to_owned(),
                json!({
                    "type": "apiKey", "in": "query", "name": "ticket",
                    "description": "A ticket, which can be used once.",
                }),
            );
            alternatives.push(json!({ TICKET: [] }));
        }
        if let Some(scheme) = &requirement.scheme {
            let name = component_name(&scheme.name);
            alternatives.push(object([(&name, json!([]))]));
            let described = own_scheme(&name, challenge);
            // Two types can have one name.
            let differs = self.0.get(&name).is_some_and(|known| *known != described);
            let described = if differs { own_scheme(&name, None) } else { described };
            self.0.insert(name, described);
        }
        if requirement.optional {
            alternatives.push(json!({}));
        }
        Value::Array(alternatives)
    }

    /// The cookie; with a method that changes something, also the CSRF token, where the policy of the
    /// route asks for it.
    fn session(&mut self, manifest: &Manifest, route: &ManifestRoute, method: &str) -> Vec<Value> {
        let cookie = manifest.app.sessions.as_ref().map_or("", |sessions| &sessions.cookie);
        self.0.insert(
            SESSION.to_owned(),
            json!({
                "type": "apiKey", "in": "cookie", "name": cookie,
                "description": "The session. A client that is no browser also sends `Origin`.",
            }),
        );
        let alone = json!({ SESSION: [] });
        if is_safe(method) {
            return vec![alone];
        }
        let with_token = json!({ SESSION: [], CSRF_TOKEN: [] });
        let alternatives = match route.csrf {
            Csrf::Token => vec![with_token],
            // The origin that browsers state is enough.
            Csrf::OriginElseToken => vec![alone, with_token],
            Csrf::Origin | Csrf::Exempt(_) => return vec![alone],
        };
        self.0.insert(
            CSRF_TOKEN.to_owned(),
            json!({
                "type": "apiKey", "in": "header", "name": csrf::HEADER,
                "description": "The CSRF token of the session.",
            }),
        );
        alternatives
    }

    fn tokens(&mut self, manifest: &Manifest, requirement: &RouteRequirement) -> Vec<Value> {
        let facts = manifest.app.tokens.as_ref();
        let accepts = facts.map(|facts| &*facts.accepts).unwrap_or_default();
        // If none is named, the issuer is the app itself, or its only accepted one.
        let own = facts.is_none_or(|facts| facts.issuer.is_some() || accepts.is_empty());
        let named: Vec<&str> = match (&*requirement.issuers, own) {
            ([], true) => vec![OWN_ISSUER],
            ([], false) => accepts.iter().map(|issuer| &*issuer.issuer).collect(),
            (issuers, _) => issuers.iter().map(String::as_str).collect(),
        };
        let mut alternatives = Vec::new();
        for issuer in named {
            let (name, scheme) = match issuer {
                OWN_ISSUER => (
                    TOKEN.to_owned(),
                    json!({
                        "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                        "description": "An access token of this service.",
                    }),
                ),
                issuer => {
                    let base = issuer.trim_end_matches('/');
                    let name = base.trim_start_matches("https://");
                    let name = name.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
                    (
                        format!("{TOKEN}-{name}"),
                        json!({
                            "type": "openIdConnect",
                            "openIdConnectUrl": format!("{base}/.well-known/openid-configuration"),
                            "description": format!("An access token of {issuer}."),
                        }),
                    )
                }
            };
            alternatives.push(object([(&name, json!(requirement.scopes))]));
            self.0.insert(name, scheme);
        }
        alternatives
    }
}

/// A scheme of the app. OpenAPI has no type for a credential of which nothing is known: programs do
/// nothing for an `http` scheme that they do not know, but would send the field that an `apiKey` names.
fn own_scheme(name: &str, challenge: Option<&HeaderValue>) -> Value {
    let (scheme, description) = match challenge.and_then(authentication_scheme) {
        Some(scheme) => (scheme, "A scheme of this service."),
        None => (
            name.to_owned(),
            "A scheme of this service. It does not state where a request has the credential: \
             `scheme` is only the name of its type.",
        ),
    };
    json!({ "type": "http", "scheme": scheme, "description": description })
}

/// The authentication scheme that a challenge names first (RFC 9110 11.6.1), in lower case, since case
/// has no meaning.
fn authentication_scheme(challenge: &HeaderValue) -> Option<String> {
    let mut words = challenge.as_bytes().split(|byte| matches!(byte, b' ' | b'\t' | b','));
    let scheme = words.find(|word| !word.is_empty()).filter(|word| is_token(word))?;
    Some(String::from_utf8_lossy(scheme).to_ascii_lowercase())
}

/// The words of a type as written, such as `keys.ApiKeys.u8`. The name of a component has no colons or
/// angle brackets (OpenAPI 3.1.1 4.8.7), and that of an HTTP authentication scheme has none either
/// (RFC 9110 11.1).
fn component_name(written: &str) -> String {
    let is_in_word = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    // Rust has letters beyond ASCII.
    let escaped = written.escape_default().to_string();
    let words = escaped.split(|sign: char| !is_in_word(sign)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(".")
}
