//! Metrics of requests, credentials, limits and connections, through the facade crate `metrics`.

mod connections;
mod endpoint;
mod exposition;
mod instruments;
mod names;
mod outcome;
mod process;
mod registry;
mod requests;
mod stopwatch;

use std::sync::{Arc, OnceLock};

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit, with_recorder,
};

pub(crate) use self::{
    endpoint::{Endpoint, service},
    requests::{MeasuredRequest, Meter, ReceivedRequest},
};
use self::{
    process::Process,
    registry::{Instrument, Kind, Registry},
};
use crate::base::event::count::{Counts, subscribe};

/// Counts in memory, and writes the counts as OpenMetrics text (feature `metrics`).
///
/// [`App::metrics`](crate::App::metrics) has the list of what is counted. Prometheus reads the text
/// from a separate [listener](Self::listen), or from a [mount](crate::Mount::metrics) of the app.
/// Names and attributes are those of the semantic conventions of OpenTelemetry 1.44, as Prometheus
/// writes them: `http.server.request.duration` in seconds is
/// `http_server_request_duration_seconds`.
///
/// ```
/// use policy_server::{Metrics, prelude::*};
///
/// #[get("/orders/{id}")]
/// #[auth(public)]
/// async fn order(id: u64) -> String {
///     format!("order {id}")
/// }
///
/// let metrics = Metrics::new();
/// let client = App::new(()).metrics(&metrics).routes(routes![order]).test();
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// client.get("/orders/7").send().await;
/// client.get("/of/a/scanner").send().await;
/// # });
/// let text = metrics.text();
/// let of_route = r#"{http_request_method="GET",http_response_status_code="200",http_route="/orders/{id}","#;
/// assert!(text.contains(&format!("http_server_request_duration_seconds_count{of_route}")));
/// assert!(!text.contains("scanner"));
/// ```
///
/// # Other metrics of the program
///
/// `Metrics` is a [`metrics::Recorder`]. Installed by
/// `metrics::set_global_recorder(metrics.clone())`, it also keeps what the macros of that crate
/// count. Their histograms have the bounds of durations, or of sizes if their unit is bytes.
///
/// # Memory
///
/// Clients can add only series of the app's routes: an unknown path has no `http.route`, an unknown
/// method is `_OTHER`, and so is a code that neither the catalogue nor an error of a handler
/// ([`Problems`](trait@crate::Problems)) has. At most [`max_series`](Self::max_series) are kept in
/// any case.
#[derive(Clone, Debug, Default)]
#[must_use = "it counts for an app that has it as `App::metrics`"]
pub struct Metrics {
    registry: Arc<Registry>,
    process: OnceProcess,
    labels: Vec<(String, String)>,
    listener: Option<String>,
}

/// The handles of a process, which all apps with one recorder share.
#[derive(Clone, Default)]
struct OnceProcess(Arc<OnceLock<Arc<Process>>>);

impl std::fmt::Debug for OnceProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Process")
    }
}

impl Metrics {
    /// The port of OpenTelemetry's exporters for Prometheus.
    pub(crate) const PORT: u16 = 9464;

    /// A recorder without series.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a label to every series, such as `region`. Prometheus itself adds `instance` and `job`.
    ///
    /// The name consists of ASCII letters, digits and `_`, and does not begin with a digit or with
    /// `__`. It may not be `le`, nor the name of an attribute. Anything else is a start error
    /// (`app.metrics-label`). A series of the program that has a label of this name itself is not
    /// kept, since Prometheus would refuse all of the text.
    ///
    /// ```
    /// use policy_server::{Metrics, prelude::*};
    ///
    /// let metrics = Metrics::new().label("region", "eu-central");
    /// let client = App::new(()).metrics(&metrics).test();
    /// assert!(metrics.text().contains(r#"policy_logins_total{region="eu-central",policy_credential="#));
    /// ```
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.registry.take_label(name.clone());
        self.labels.push((name, value.into()));
        self
    }

    /// Sets how many series are kept at most; a histogram counts as one. The default is 20,000, about
    /// 10 MB. Further ones are not kept, and neither are those with a name or labels that the format
    /// refuses or that are taken: each attempt to register one, such as a call of `counter!`, counts in
    /// `policy_metrics_dropped_series_total`.
    ///
    /// ```
    /// use policy_server::Metrics;
    ///
    /// let metrics = Metrics::new().max_series(2_000);
    /// # assert!(metrics.text().ends_with("# EOF\n"));
    /// ```
    pub fn max_series(self, max: usize) -> Self {
        self.registry.set_max_series(max);
        self
    }

    /// Serves the text at `/metrics` on a separate address, over plain HTTP. The default port
    /// is 9464. Anybody who reaches the address can read it, so use one of this machine or of a
    /// private network: a notice at start reports any other (`app.metrics-public`). On a loopback address,
    /// requests have to name a loopback host, such as `localhost`: others get 421, since a page of a
    /// name that resolves to this machine (DNS rebinding) could read it, too.
    ///
    /// ```no_run
    /// use policy_server::{Metrics, prelude::*};
    ///
    /// # async fn serve() -> Result<(), Error> {
    /// App::new(())
    ///     .public_origin("https://api.shop.example")
    ///     .metrics(Metrics::new().listen("127.0.0.1"))
    ///     .serve("0.0.0.0:8080")
    ///     .await
    /// # }
    /// ```
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listener = Some(address.into());
        self
    }

    /// All series, as OpenMetrics text (`application/openmetrics-text; version=1.0.0`).
    pub fn text(&self) -> String {
        // Writing to a `String` does not fail.
        exposition::text(&self.registry, &self.labels).unwrap_or_default()
    }

    /// The labels that no series can have.
    pub(crate) fn invalid_labels(&self) -> impl Iterator<Item = &str> {
        let is_name = |name: &str| {
            exposition::is_name(name) && !name.starts_with("__") && !names::is_attribute(name)
        };
        let names = self.labels.iter().map(|(name, _)| &**name);
        names.clone().enumerate().filter_map(move |(index, name)| {
            let is_repeated = names.clone().take(index).any(|earlier| earlier == name);
            (!is_name(name) || is_repeated).then_some(name)
        })
    }

    pub(crate) fn listener(&self) -> Option<&str> {
        self.listener.as_deref()
    }

    fn instrument(&self, kind: Kind, key: &Key) -> Option<Instrument> {
        self.registry.instrument(kind, key)
    }
}

impl Recorder for Metrics {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, about: SharedString) {
        self.registry.describe(name.as_str(), unit, &about);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, about: SharedString) {
        self.registry.describe(name.as_str(), unit, &about);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, about: SharedString) {
        self.registry.describe(name.as_str(), unit, &about);
    }

    fn register_counter(&self, key: &Key, _metadata: &Metadata<'_>) -> Counter {
        match self.instrument(Kind::Counter, key) {
            Some(Instrument::Number(number)) => Counter::from_arc(number),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _metadata: &Metadata<'_>) -> Gauge {
        match self.instrument(Kind::Gauge, key) {
            Some(Instrument::Number(number)) => Gauge::from_arc(number),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _metadata: &Metadata<'_>) -> Histogram {
        match self.instrument(Kind::Histogram, key) {
            Some(Instrument::Histogram(buckets)) => Histogram::from_arc(buckets),
            _ => Histogram::noop(),
        }
    }
}

/// The recorder of another exporter, which the program has installed by
/// `metrics::set_global_recorder` before it declares the app (feature `metrics`).
///
/// ```
/// use policy_server::{GlobalRecorder, prelude::*};
///
/// // Here the program installs its exporter.
/// let app = App::new(()).metrics(GlobalRecorder);
/// # assert!(app.check().is_ok());
/// ```
///
/// Set the bounds of `http.server.request.duration` in the exporter to those of the semantic conventions:
/// 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5 and 10 seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct GlobalRecorder;

/// Where the metrics of an app are counted: [`Metrics`], or the [`GlobalRecorder`].
#[derive(Clone, Debug)]
pub struct MetricsTarget(pub(crate) Target);

#[derive(Clone, Debug)]
pub(crate) enum Target {
    Own(Metrics),
    Global,
}

impl Target {
    fn with<T>(&self, register: impl FnOnce(&dyn Recorder) -> T) -> T {
        match self {
            Self::Own(metrics) => register(metrics),
            Self::Global => with_recorder(register),
        }
    }

    /// What the process counts, created with the first app.
    fn process(&self) -> Arc<Process> {
        static GLOBAL: OnceLock<Arc<Process>> = OnceLock::new();
        let process = match self {
            Self::Own(metrics) => &*metrics.process.0,
            Self::Global => &GLOBAL,
        };
        let process = process.get_or_init(|| {
            let process = Arc::new(self.with(|to| Process::new(to)));
            let counts: Arc<dyn Counts> = Arc::clone(&process) as _;
            subscribe(&counts);
            process
        });
        Arc::clone(process)
    }
}

impl From<Metrics> for MetricsTarget {
    fn from(metrics: Metrics) -> Self {
        Self(Target::Own(metrics))
    }
}

impl From<&Metrics> for MetricsTarget {
    fn from(metrics: &Metrics) -> Self {
        Self(Target::Own(metrics.clone()))
    }
}

impl From<GlobalRecorder> for MetricsTarget {
    fn from(GlobalRecorder: GlobalRecorder) -> Self {
        Self(Target::Global)
    }
}
