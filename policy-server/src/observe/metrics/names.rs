//! What is counted: names, units and texts. Those of HTTP, with their attributes, follow the
//! semantic conventions 1.44 of OpenTelemetry.

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, Unit};

use super::{
    Target, exposition,
    instruments::Parts,
    registry::{Instrument, Kind},
};

const METADATA: Metadata<'static> = Metadata::new("policy", Level::INFO, None);

/// A name with its unit and its text.
pub(super) struct Name {
    name: &'static str,
    unit: Unit,
    about: &'static str,
}

const fn name(name: &'static str, unit: Unit, about: &'static str) -> Name {
    Name { name, unit, about }
}

pub(super) const METHOD: &str = "http.request.method";
pub(super) const SCHEME: &str = "url.scheme";
pub(super) const STATUS: &str = "http.response.status_code";
pub(super) const ROUTE: &str = "http.route";
pub(super) const VERSION: &str = "network.protocol.version";
pub(super) const ERROR: &str = "error.type";
pub(super) const CODE: &str = "policy.code";
pub(super) const OUTCOME: &str = "policy.outcome";
pub(super) const CREDENTIAL: &str = "policy.credential";
pub(super) const STORE: &str = "policy.store";
pub(super) const OBJECT: &str = "policy.object";

/// The attributes that series have, as they are named here.
const ATTRIBUTES: [&str; 11] =
    [METHOD, SCHEME, STATUS, ROUTE, VERSION, ERROR, CODE, OUTCOME, CREDENTIAL, STORE, OBJECT];

/// Whether a label would have the name of an attribute, or that of the bounds of histograms.
pub(super) fn is_attribute(label: &str) -> bool {
    label == "le" || ATTRIBUTES.iter().any(|name| exposition::plain(name) == label)
}

/// The value that replaces all unknown values.
pub(super) const OTHER: &str = "_OTHER";

pub(super) const DURATION: Name =
    name("http.server.request.duration", Unit::Seconds, "Duration of HTTP server requests.");
pub(super) const ACTIVE: Name =
    name("http.server.active_requests", Unit::Count, "Number of active HTTP server requests.");
pub(super) const REQUEST_SIZE: Name =
    name("http.server.request.body.size", Unit::Bytes, "Size of HTTP server request bodies.");
pub(super) const RESPONSE_SIZE: Name =
    name("http.server.response.body.size", Unit::Bytes, "Size of HTTP server response bodies.");

pub(super) const REFUSALS: Name =
    name("policy.refusals", Unit::Count, "Responses that show a problem, by its code.");
pub(super) const PREFLIGHTS: Name =
    name("policy.cors.preflights", Unit::Count, "CORS preflights, by their outcome.");
pub(super) const LOGINS: Name = name("policy.logins", Unit::Count, "Logins, by their credential.");
pub(super) const RENEWALS: Name =
    name("policy.session.renewals", Unit::Count, "Sessions that got a new id without a login.");
pub(super) const SESSIONS: Name =
    name("policy.session.count", Unit::Count, "Sessions in the store, counted once a minute.");
pub(super) const REVOCATIONS: Name = name(
    "policy.revocations",
    Unit::Count,
    "Ends of credentials before their time, by what ended.",
);
pub(super) const REFRESHES: Name =
    name("policy.token.refreshes", Unit::Count, "Refresh tokens, by what became of them.");
pub(super) const RATES: Name =
    name("policy.rate.requests", Unit::Count, "Requests that a rate counted, by its decision.");
pub(super) const RATE_FILL: Name = name(
    "policy.rate.utilization",
    Unit::Count,
    "Share of the clients in the fullest rate table, from 0 to 1.",
);
pub(super) const STORE_CALLS: Name =
    name("policy.store.call.duration", Unit::Seconds, "Duration of calls of a store.");
pub(super) const CIRCUIT: Name = name(
    "policy.store.circuit.open",
    Unit::Count,
    "Whether calls fail since a database of this kind is away.",
);
pub(super) const RELOADS: Name = name(
    "policy.reloads",
    Unit::Count,
    "Certificates, keys and lists of origins that were replaced.",
);
pub(super) const EVENTS: Name = name("policy.events", Unit::Count, "Log events, by their code.");
pub(super) const OPEN: Name =
    name("policy.server.connections.open", Unit::Count, "Connections that are open.");
pub(super) const ACCEPTED: Name =
    name("policy.server.connections", Unit::Count, "Connections that were accepted.");
pub(super) const HANDSHAKES: Name =
    name("policy.tls.handshake.failures", Unit::Count, "TLS handshakes that did not complete.");
pub(super) const ABANDONED: Name = name(
    "policy.server.requests.abandoned",
    Unit::Count,
    "Requests whose client left or reset the stream before the response.",
);

impl Name {
    fn key(&self, labels: &[(&'static str, &str)]) -> Key {
        let labels = labels.iter().filter(|(_, value)| !value.is_empty());
        let labels: Vec<_> =
            labels.map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
        Key::from_parts(self.name, labels)
    }

    pub(super) fn counter(&self, to: &dyn Recorder, labels: &[(&'static str, &str)]) -> Counter {
        to.describe_counter(self.name.into(), Some(self.unit), self.about.into());
        to.register_counter(&self.key(labels), &METADATA)
    }

    pub(super) fn gauge(&self, to: &dyn Recorder, labels: &[(&'static str, &str)]) -> Gauge {
        to.describe_gauge(self.name.into(), Some(self.unit), self.about.into());
        to.register_gauge(&self.key(labels), &METADATA)
    }

    pub(super) fn histogram(
        &self,
        to: &dyn Recorder,
        labels: &[(&'static str, &str)],
    ) -> Histogram {
        to.describe_histogram(self.name.into(), Some(self.unit), self.about.into());
        to.register_histogram(&self.key(labels), &METADATA)
    }

    /// A histogram that takes integers.
    pub(super) fn parts(&self, to: &Target, labels: &[(&'static str, &str)]) -> Parts {
        if let Target::Own(metrics) = to {
            metrics.describe_histogram(self.name.into(), Some(self.unit), self.about.into());
            if let Some(Instrument::Histogram(buckets)) =
                metrics.instrument(Kind::Histogram, &self.key(labels))
            {
                return Parts::Own(buckets);
            }
            return Parts::from_facade(Histogram::noop(), self.unit);
        }
        Parts::from_facade(to.with(|to| self.histogram(to, labels)), self.unit)
    }
}
