//! A CORS policy as written, before validation.

use crate::validator::parts;

/// Where the origins of a policy are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origins<'a> {
    /// Named where the policy is written.
    Listed(&'a [&'a str]),
    /// Supplied at start under a name, and replaceable at run time.
    AtRunTime {
        /// The name of the list.
        name: &'a str,
        /// Patterns that bound the lists: no origin may be outside of them.
        within: Option<&'a [&'a str]>,
        /// The path parameter whose value selects one of the lists of this name.
        by: Option<&'a str>,
    },
}

parts! {
    /// A part of a CORS policy, by the name it has in the attribute and in configuration files.
    CorsPart: "cors" {
        /// `origins`
        Origins = "origins"[..],
        /// `within`, the bound of run-time origins
        Within = "within"[..],
        /// `methods`
        Methods = "methods"[..],
        /// `headers`
        Headers = "headers"[..],
        /// `expose`
        Expose = "expose"[..],
        /// `max_age`
        MaxAge = "max_age",
    }
}

/// The text of a CORS policy, unchecked: macros fill it from an attribute, configuration files
/// from their tables. Only [`CorsPolicy`](super::CorsPolicy) and [`Cors`](super::Cors) are
/// policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CorsSpec<'a> {
    /// Which origins may read responses.
    pub origins: Origins<'a>,
    /// Whether requests may include cookies and TLS certificates.
    pub credentials: bool,
    /// Methods that a preflight allows; `None` for the methods that the router serves.
    pub methods: Option<&'a [&'a str]>,
    /// Request headers that a preflight allows beyond the derived ones.
    pub headers: &'a [&'a str],
    /// Response headers that a page may read beyond the safelisted ones.
    pub expose: &'a [&'a str],
    /// Seconds for which a browser may cache a preflight response; `None` for the browser's default
    /// (5), 0 and -1 disable caching.
    pub max_age: Option<i64>,
    /// Allows credentials for origins whose pages are sent without TLS, or whose scheme is unknown.
    pub dangerous_insecure_origins: bool,
    /// Allows credentials for every name under a public suffix.
    pub dangerous_public_suffix: bool,
    /// Takes the bound of run-time origins from the configuration of the app, where none is stated.
    pub dangerous_configured_bound: bool,
}

impl<'a> CorsSpec<'a> {
    /// A spec that names its origins and nothing else.
    pub const fn new(origins: Origins<'a>) -> Self {
        Self {
            origins,
            credentials: false,
            methods: None,
            headers: &[],
            expose: &[],
            max_age: None,
            dangerous_insecure_origins: false,
            dangerous_public_suffix: false,
            dangerous_configured_bound: false,
        }
    }

    /// The entries of a part; `MaxAge` has one, which is not text.
    pub(super) const fn entries(&self, part: CorsPart) -> &'a [&'a str] {
        match (part, self.origins) {
            (CorsPart::Origins, Origins::Listed(list)) => list,
            (CorsPart::Within, Origins::AtRunTime { within: Some(list), .. }) => list,
            (CorsPart::Methods, _) => match self.methods {
                Some(list) => list,
                None => &[],
            },
            (CorsPart::Headers, _) => self.headers,
            (CorsPart::Expose, _) => self.expose,
            _ => &[],
        }
    }
}
