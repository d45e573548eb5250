//! A candidate policy, which is evaluated beside that of the app and changes no response.

mod comparison;
mod counts;
mod sender;

use std::{fmt, sync::Arc};

use policy_core::cors::{OriginLists, OriginsAt, SharedOrigins};
use policy_manifest::{
    Manifest, RouteOrigins,
    engine::{Engine, EngineError},
};

pub(crate) use comparison::Comparison;
use counts::Counters;
pub use counts::{Counts, Difference};

use crate::base::log::LineLimit;

/// A possible next policy of an app, for [`App::report_only`](crate::App::report_only): it is evaluated beside
/// the one in force, and differences are counted. A clone is another handle to the same counts.
///
/// ```
/// use policy_server::{candidate::Candidate, prelude::*};
///
/// #[get("/prices")]
/// #[auth(public)]
/// async fn prices() {}
///
/// #[get("/prices")]
/// #[auth(session)]
/// async fn prices_for_users() {}
///
/// let with = |app: App<()>| app.sessions(Sessions::memory());
/// let next = with(App::new(())).routes(routes![prices_for_users]);
/// let candidate = Candidate::new(next.manifest());
/// let client = with(App::new(())).routes(routes![prices]).report_only(&candidate).test();
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// assert_eq!(client.get("/prices").send().await.status(), 200);
/// # });
/// let differences = candidate.differences();
/// assert_eq!(
///     differences[0].to_string(),
///     "GET /prices: `reached`, and `auth.credentials-missing` by the candidate, 1 time"
/// );
/// ```
#[derive(Clone)]
pub struct Candidate(Arc<Inner>);

struct Inner {
    manifest: Manifest,
    digest: String,
    counters: Counters,
    lines: LineLimit,
}

impl Candidate {
    /// A candidate, such as the lock file of a branch.
    pub fn new(manifest: Manifest) -> Self {
        let digest = manifest.digest();
        let (counters, lines) = (Counters::default(), LineLimit::default());
        Self(Arc::new(Inner { manifest, digest, counters, lines }))
    }

    /// The number of responses that it was compared with.
    pub fn counts(&self) -> Counts {
        self.0.counters.counts()
    }

    /// The differences, most frequent first.
    pub fn differences(&self) -> Vec<Difference> {
        self.0.counters.differences()
    }

    /// Compiles the engine of the candidate, which follows the app's lists of origins. `cookie` is
    /// the name of the session cookie in the manifest, and the name that includes the app's port.
    pub(crate) fn compile(
        &self,
        lists: &OriginLists,
        cookie: Option<[String; 2]>,
    ) -> Result<RunningCandidate, EngineError> {
        let mut manifest = self.0.manifest.clone();
        if let (Some([stated, own]), Some(facts)) = (cookie, &mut manifest.app.sessions)
            && facts.cookie == stated
        {
            facts.cookie = own;
        }
        let engine = Engine::following(&manifest, lists)?;
        let named =
            manifest.routes.iter().filter_map(|route| match &route.cors.as_ref()?.origins {
                RouteOrigins::AtRunTime(list) => Some(list.list.as_str()),
                RouteOrigins::Listed(_) => None,
            });
        let named: std::collections::BTreeSet<_> = named.collect();
        let lists = named.into_iter().filter_map(|name| lists.get(name).cloned()).collect();
        Ok(RunningCandidate { candidate: self.clone(), engine, lists })
    }
}

impl From<Manifest> for Candidate {
    fn from(manifest: Manifest) -> Self {
        Self::new(manifest)
    }
}

impl From<&Candidate> for Candidate {
    fn from(candidate: &Candidate) -> Self {
        candidate.clone()
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Candidate");
        debug.field("digest", &self.0.digest).field("counts", &self.counts()).finish()
    }
}

/// A candidate in a running app.
#[derive(Debug)]
pub(crate) struct RunningCandidate {
    candidate: Candidate,
    engine: Engine,
    /// The run-time lists of origins that it names.
    lists: Vec<SharedOrigins>,
}

impl RunningCandidate {
    /// The current lists, to detect whether one was replaced while a request was decided.
    fn lists_now(&self) -> Vec<OriginsAt> {
        self.lists.iter().map(SharedOrigins::now).collect()
    }
}
