//! The access that a decision allows, and the difference between two decisions.

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderName, header};
use serde::Serialize;

use crate::engine::{Decision, Outcome};

/// The access that a request gives its sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    is_reached: bool,
    read: Option<PageRead>,
    exposed: BTreeSet<String>,
    grant: Option<GrantedRequest>,
}

/// The requests that a page may send after its preflight.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GrantedRequest {
    headers: BTreeSet<String>,
    has_credentials: bool,
}

/// How a page of another origin reads a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageRead {
    /// The response to a request without credentials.
    WithoutCredentials,
    /// Also the response to a request with cookies.
    WithCredentials,
}

/// The access that one policy allows and the other does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub struct Gains {
    /// The request reaches the handler or the mounted service.
    #[serde(skip_serializing_if = "crate::facets::is_false")]
    pub reaches: bool,
    /// A page of another origin reads the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<PageRead>,
    /// It reads these headers of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads_headers: Vec<String>,
    /// Its preflight is granted, so that the browser sends requests that need one.
    #[serde(skip_serializing_if = "crate::facets::is_false")]
    pub sends: bool,
    /// It may add these headers to the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sends_headers: Vec<String>,
    /// It may send cookies with requests that need a preflight.
    #[serde(skip_serializing_if = "crate::facets::is_false")]
    pub sends_credentials: bool,
}

impl Access {
    /// The access that a request gives, if it is no preflight. `is_other_page` if a page of another
    /// origin sent it.
    pub(super) fn for_request(decision: &Decision, is_other_page: bool) -> Self {
        let is_reached = decision.outcome == Outcome::Reached;
        let shared = decision.cors.get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
        let read =
            shared.filter(|_| is_reached && is_other_page).map(|_| {
                match allows_credentials(&decision.cors) {
                    true => PageRead::WithCredentials,
                    false => PageRead::WithoutCredentials,
                }
            });
        let exposed = match read {
            Some(_) => names(&decision.cors, &header::ACCESS_CONTROL_EXPOSE_HEADERS),
            None => BTreeSet::new(),
        };
        Self { is_reached, read, exposed, grant: None }
    }

    /// The access that a preflight gives for a method that the app serves.
    pub(super) fn for_preflight(decision: &Decision, method: &str) -> Self {
        let cors = &decision.cors;
        let methods = names(cors, &header::ACCESS_CONTROL_ALLOW_METHODS);
        let has_credentials = allows_credentials(cors);
        let is_listed = matches!(method, "GET" | "HEAD" | "POST")
            || methods.contains(&method.to_ascii_lowercase())
            || (methods.contains("*") && !has_credentials);
        let is_granted = decision.outcome == Outcome::PreflightGranted && is_listed;
        let headers = names(cors, &header::ACCESS_CONTROL_ALLOW_HEADERS);
        let grant = is_granted.then_some(GrantedRequest { headers, has_credentials });
        Self { grant, ..Self::default() }
    }

    /// The access that this allows and the other does not.
    pub(super) fn beyond(&self, other: &Self) -> Gains {
        let reads = self.read.filter(|_| self.read > other.read);
        let exposed = beyond(&self.exposed, &other.exposed);
        let (sends, sends_headers, sends_credentials) = match (&self.grant, &other.grant) {
            (None, _) => (false, Vec::new(), false),
            (Some(own), None) => (true, own.headers.iter().cloned().collect(), own.has_credentials),
            (Some(own), Some(other)) => (
                false,
                beyond(&own.headers, &other.headers),
                own.has_credentials && !other.has_credentials,
            ),
        };
        Gains {
            reaches: self.is_reached && !other.is_reached,
            reads,
            reads_headers: exposed,
            sends,
            sends_headers,
            sends_credentials,
        }
    }
}

impl Gains {
    /// Whether nothing is gained.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Each gain in words, as an ability of the client.
    ///
    /// ```
    /// use policy_manifest::diff::Gains;
    ///
    /// assert_eq!(Gains::default().words(), [""; 0]);
    /// ```
    pub fn words(&self) -> Vec<String> {
        let listed = |names: &[String]| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
        };
        let mut words = Vec::new();
        if self.reaches {
            words.push("reach the handler".to_owned());
        }
        match self.reads {
            None => (),
            Some(PageRead::WithoutCredentials) => words.push("read the response".to_owned()),
            Some(PageRead::WithCredentials) => {
                words.push("read the response to a request with cookies".to_owned());
            }
        }
        if !self.reads_headers.is_empty() {
            words.push(format!("read the headers {}", listed(&self.reads_headers)));
        }
        match (self.sends, self.sends_credentials) {
            (false, false) => (),
            (true, false) => words.push("pass the preflight".to_owned()),
            (true, true) => words.push("pass the preflight for a request with cookies".to_owned()),
            (false, true) => words.push("send cookies after a preflight".to_owned()),
        }
        if !self.sends_headers.is_empty() {
            words.push(format!("send the headers {}", listed(&self.sends_headers)));
        }
        words
    }
}

fn allows_credentials(cors: &HeaderMap) -> bool {
    cors.get(header::ACCESS_CONTROL_ALLOW_CREDENTIALS).is_some_and(|value| value == "true")
}

/// The names of a list, in lower case.
fn names(headers: &HeaderMap, list: &HeaderName) -> BTreeSet<String> {
    let lines = headers.get_all(list).into_iter().filter_map(|line| line.to_str().ok());
    let names = lines.flat_map(|line| line.split(','));
    names.map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect()
}

/// The names that one list allows and the other does not; `*` is all names except `authorization`
/// (Fetch, CORS non-wildcard request-header name).
fn beyond(own: &BTreeSet<String>, other: &BTreeSet<String>) -> Vec<String> {
    let is_covered = |name: &String| {
        other.contains(name) || (other.contains("*") && name.as_str() != "authorization")
    };
    own.iter().filter(|name| !is_covered(name)).cloned().collect()
}
