//! The areas of the catalogue: what they are about, which attribute or gate they belong to, why they
//! have their rules, and where to read more.

use std::fmt;

use policy_core::gates::Gate;
use policy_manifest::facet::{self, FacetEntry};

/// An area of the catalogue: the first word of codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    name: &'static str,
    is_attribute: bool,
    about: &'static str,
    /// The gates that refuse requests for it.
    gates: &'static [Gate],
    /// The reason for its rules.
    pub(super) why: &'static str,
    /// Title and address.
    pub(super) links: &'static [(&'static str, &'static str)],
}

impl From<&FacetEntry> for Area {
    fn from(facet: &FacetEntry) -> Self {
        let FacetEntry { attribute: name, about, gates, why, links, .. } = *facet;
        Self { name, is_attribute: true, about, gates, why, links }
    }
}

impl Area {
    const fn new(name: &'static str, about: &'static str, why: &'static str) -> Self {
        Self { name, is_attribute: false, about, gates: &[], why, links: &[] }
    }

    const fn gate(self, gates: &'static [Gate]) -> Self {
        Self { gates, ..self }
    }

    const fn links(self, links: &'static [(&'static str, &'static str)]) -> Self {
        Self { links, ..self }
    }

    /// All areas: those of facets, then the others.
    fn all() -> impl Iterator<Item = Self> {
        facet::ALL.iter().map(Self::from).chain(AREAS.iter().copied())
    }

    /// The area of this name.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::all().find(|area| area.name == name)
    }

    /// A link to the documentation of its attribute.
    pub(super) fn attribute(self) -> Option<String> {
        let name = self.name;
        self.is_attribute.then(|| format!("[`#[{name}]`]({ATTRIBUTES}attr.{name}.html)"))
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_attribute {
            write!(f, "`#[{}]`: ", self.name)?;
        }
        f.write_str(self.about)?;
        let last = self.gates.len().saturating_sub(1);
        for (index, gate) in self.gates.iter().enumerate() {
            let before = match index {
                0 if last == 0 => "; gate",
                0 => "; gates",
                index if index == last => " and",
                _ => ",",
            };
            write!(f, "{before} {} (`{}`)", gate.number(), gate.name())?;
        }
        Ok(())
    }
}

const ATTRIBUTES: &str = "https://docs.rs/policy-server/latest/policy_server/";

const RFC_9110: (&str, &str) =
    ("RFC 9110, HTTP Semantics", "https://www.rfc-editor.org/rfc/rfc9110");
const RFC_9112: (&str, &str) = ("RFC 9112, HTTP/1.1", "https://www.rfc-editor.org/rfc/rfc9112");

/// The areas that are no facet, and what their pages say.
const AREAS: &[Area] = &[
    Area::new(
        "app",
        "`App`: the app as a whole",
        "An app is checked as a whole before it takes the first request: a fault that some \
         user would meet at some time, such as a store that cannot be opened, stops the \
         start instead. All problems are reported at once.",
    ),
    Area::new(
        "candidate",
        "`App::report_only`: a candidate policy, compared with the current one",
        "A candidate policy is evaluated beside the current one, so that its effects are \
         known before it replaces it.",
    ),
    Area::new(
        "cookie",
        "`Sessions`: the cookies of requests",
        "A session cookie is a credential. Two of them in one request, or a truncated one, \
         may be an attempt to replace the session of the user by another one.",
    )
    .links(&[("RFC 6265, cookies", "https://www.rfc-editor.org/rfc/rfc6265")]),
    Area::new(
        "handler",
        "handlers: their arguments and how they end",
        "A handler is an ordinary `async fn`. Each argument comes from the request or from \
         the state of the app, and the return value becomes the response, so their types \
         say how.",
    )
    .links(&[(
        "`FromRequestParts`",
        "https://docs.rs/policy-server/latest/policy_server/trait.FromRequestParts.html",
    )]),
    Area::new(
        "lint",
        "`cargo policy lint` and `policy_tests!`: oddities of the policy of an app",
        "The policy of one route can be right, but odd beside the other routes of the app. \
         Lints check the policy of the app as a whole.",
    ),
    Area::new(
        "openapi",
        "the OpenAPI document of an app",
        "A document is derived from the types and the policies of an app, so it says nothing that \
         is not so. What a type does not state is a gap, and two things of one name are an error.",
    )
    .links(&[("OpenAPI 3.1.1", "https://spec.openapis.org/oas/v3.1.1.html")]),
    Area::new(
        "origin",
        "`App::public_origin`: the host of a request",
        "The name of a host decides which cookies a browser sends. A service that answers \
         for names that are not its own can be reached by pages that have made such a name \
         point to it (DNS rebinding).",
    )
    .gate(&[Gate::OwnOrigin])
    .links(&[RFC_9110]),
    Area::new(
        "problem",
        "`derive(Problems)`: the errors of an app",
        "Clients decide by the status and the code of a problem, so each means one thing, and \
         shows nothing that its author did not name.",
    )
    .links(&[
        ("RFC 9457, Problem Details", "https://www.rfc-editor.org/rfc/rfc9457"),
        (
            "`derive(Problems)`",
            "https://docs.rs/policy-server/latest/policy_server/derive.Problems.html",
        ),
    ]),
    Area::new(
        "proxies",
        "`App::behind`: trusted proxies in front of the app",
        "Anybody who can write forwarding headers can pretend to be any client. So only \
         named proxies are trusted.",
    )
    .links(&[("RFC 7239, Forwarded", "https://www.rfc-editor.org/rfc/rfc7239")]),
    Area::new(
        "proxy",
        "`App::proxy`: upstreams that receive requests",
        "A proxy passes on the requests of clients. If it and its upstream parse a request \
         differently, an attacker can use the difference to reach a resource that the \
         proxy refuses.",
    )
    .links(&[RFC_9110, RFC_9112]),
    Area::new(
        "request",
        "extractors: parameters, bodies, conditions",
        "Requests are parsed strictly: a request that could mean two things is refused, \
         with the place and the reason, so that the client can correct it.",
    )
    .gate(&[Gate::Body])
    .links(&[("RFC 9457, Problem Details", "https://www.rfc-editor.org/rfc/rfc9457")]),
    Area::new(
        "route",
        "`#[get]`, `#[post]` and the others: paths and methods",
        "One resource has one path. Two spellings of it, or two routes for one request, \
         are two policies for one thing, and an attacker chooses the weaker one.",
    )
    .gate(&[Gate::Route])
    .links(&[RFC_9110]),
    Area::new(
        "server",
        "the server: listening and shutdown",
        "The server says when it begins, when it stops, and what it could not do.",
    ),
    Area::new(
        "session",
        "`Sessions`: sessions and their store",
        "A session is as good as a password while it lasts: it ends when it is not used, \
         and at the latest after a while; its id is replaced when rights change; and every \
         instance honours logouts and revocations.",
    )
    .links(&[(
        "OWASP, Session Management",
        "https://cheatsheetseries.owasp.org/cheatsheets/Session_Management_Cheat_Sheet.html",
    )]),
    Area::new(
        "syntax",
        "attributes: how they are written",
        "Attributes are parsed strictly: an unknown word may be a protection that its author relies on.",
    ),
    Area::new(
        "tls",
        "`App::tls`: certificates and keys of the server",
        "A certificate that does not fit its key, or that has expired, is found when the \
         server starts or when it reads the files again, and not by its users.",
    )
    .links(&[("RFC 8446, TLS 1.3", "https://www.rfc-editor.org/rfc/rfc8446")]),
    Area::new(
        "token",
        "`Tokens`: access and refresh tokens, and their keys",
        "A token is trusted because of its signature. A weak key, an algorithm that the \
         token itself chooses, or a missing time lets others make tokens, or keep them for \
         ever.",
    )
    .links(&[
        (
            "RFC 8725, JSON Web Token Best Current Practices",
            "https://www.rfc-editor.org/rfc/rfc8725",
        ),
        ("RFC 6750, Bearer Tokens", "https://www.rfc-editor.org/rfc/rfc6750"),
    ]),
    Area::new(
        "tunnel",
        "`App::tunnel`: CONNECT",
        "A tunnel connects a client to another host, with the address of the server. \
         Without a list of targets it reaches services that only the server may reach.",
    )
    .links(&[RFC_9110]),
    Area::new(
        "wire",
        "the syntax of requests, before they are routed",
        "A request that two parsers read differently can smuggle another request past a \
         proxy. It is refused before any policy decides about it.",
    )
    .gate(&[Gate::Wire])
    .links(&[RFC_9112]),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use policy_core::Entry;

    use super::*;

    #[test]
    fn every_area_is_one_of_the_catalogue_and_in_order() {
        assert!(AREAS.is_sorted_by(|a, b| a.name < b.name));
        for area in Area::all() {
            assert!(Entry::all().any(|entry| entry.area() == area.name), "{}", area.name);
        }
        for entry in Entry::all() {
            assert!(Area::find(entry.area()).is_some(), "{}", entry.area());
        }
    }

    #[test]
    fn every_gate_has_the_number_that_its_file_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        // Gates that wait are in the server.
        let folders = ["policy-core/src/gates", "policy-server/src/pipeline/gates"];
        for gate in Gate::ALL {
            let (number, name) = (gate.number(), gate.name());
            let files = folders.map(|folder| root.join(folder).join(format!("{name}.rs")));
            let file = files.iter().find(|file| file.exists()).unwrap();
            let text = std::fs::read_to_string(file).unwrap();
            let first = text.lines().next().unwrap();
            assert!(first.contains("Gate") && first.contains(&number.to_string()), "{first}");
        }
    }
}
