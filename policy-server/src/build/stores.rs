//! Opens the stores of a checked app.

use std::{mem, pin::Pin, sync::Arc};

use futures_util::FutureExt;
use policy_core::Rule;
use tokio::runtime::Handle;

use super::{CompiledApp, own_text};
use crate::{
    auth::{
        AuthService,
        session::{SessionService, SessionSettings},
        tokens::{TokenService, TokenSettings},
    },
    base::{
        clock::Random,
        error::{Error, StartProblem},
        task::BackgroundTask,
    },
    handler::service::Wrap,
    pipeline::service::AppService,
    route::shared_limits::{LimitBook, SharedLimits},
    store::{MemoryStore, ValueStore, stored_origins::StoredOrigins},
};

/// A compiled app that has not opened its stores yet.
pub(crate) struct Plan {
    pub(crate) assembled: CompiledApp,
    pub(super) layers: Vec<Wrap>,
    pub(super) sessions: Option<SessionSettings>,
    pub(super) tokens: Option<TokenSettings>,
    /// The lists of origins that are stored.
    pub(super) origins: Vec<(String, StoredOrigins)>,
    /// The store of the lists if that of the sessions does not support them.
    pub(super) values: Option<Arc<dyn ValueStore>>,
    pub(super) limits: Option<(SharedLimits, Arc<LimitBook>)>,
    pub(super) random: Random,
}

/// An app whose stores are open.
struct OpenApp {
    assembled: CompiledApp,
    layers: Vec<Wrap>,
    guard: AuthService,
    limits: Option<Arc<LimitBook>>,
    origins: Vec<StoredOrigins>,
}

impl Plan {
    /// Finds the problems that opening the stores would find, without opening one.
    pub(crate) fn check(mut self) -> Result<(), Error> {
        let origins = mem::take(&mut self.origins);
        self.sessions = self.sessions.map(SessionSettings::forgetful);
        self.tokens = self.tokens.map(TokenSettings::in_memory);
        self.opened_in_memory()?;
        let problems: Vec<_> = origins.iter().flat_map(|(name, list)| list.check(name)).collect();
        if problems.is_empty() { Ok(()) } else { Err(Error::Start(problems)) }
    }

    /// Keeps everything in memory that is not in a store of the application, and fetches nothing
    /// before the first request.
    #[cfg(feature = "testing")]
    pub(crate) fn in_memory(self) -> Result<AppService, Error> {
        self.opened_in_memory().map(OpenApp::begin)
    }

    fn opened_in_memory(mut self) -> Result<OpenApp, Error> {
        self.sessions = self.sessions.map(SessionSettings::in_memory);
        self.values = match self.origins.is_empty() {
            true => None,
            false => Some(Arc::new(MemoryStore::new())),
        };
        self.limits = self.limits.map(|(settings, book)| (settings.in_memory(), book));
        // The memory store never waits; a store of the application may.
        self.open_stores().now_or_never().unwrap_or_else(|| {
            let waits = StartProblem::without_value(Rule::StoreWaits, "App::into_service");
            Err(Error::Start(vec![waits]))
        })
    }

    /// Opens the stores, and fetches the keys of external issuers once.
    pub(crate) async fn open(self) -> Result<AppService, Error> {
        let opened = self.open_stores().await?;
        #[cfg(feature = "asym")]
        if let Some(tokens) = &opened.guard.tokens {
            tokens.fetch_keys().await;
        }
        Ok(opened.begin())
    }

    /// Boxed here, so that it is compiled once: with this crate, and not with every service.
    fn open_stores(self) -> Pin<Box<dyn Future<Output = Result<OpenApp, Error>> + Send>> {
        Box::pin(self.open_all())
    }

    async fn open_all(self) -> Result<OpenApp, Error> {
        let Self { mut assembled, layers, sessions, tokens, limits, origins, values, random } =
            self;
        let mut problems = Vec::new();
        // Instances that share a store follow its clock.
        let clock = assembled.auth.clock.following();
        let revocation_bus = assembled.auth.revocation_bus.clone();
        let shared = sessions.as_ref().and_then(SessionSettings::token_store);
        let of_sessions = sessions.as_ref().and_then(SessionSettings::limit_store);
        let [with_sessions, other] =
            sessions.as_ref().map(SessionSettings::value_stores).unwrap_or_default();
        let values = with_sessions.or(values);
        let mut guard =
            AuthService::new(&assembled.own_origin, clock.clone(), revocation_bus.clone());
        guard.refusals.access_log = assembled.observing.access_log().clone();
        if let Some(sessions) = sessions {
            let own = &assembled.own_origin;
            let (clock, random, revocation_bus) =
                (clock.clone(), random.clone(), revocation_bus.clone());
            let settings = sessions.clone();
            match SessionService::open(sessions, own, clock, random, revocation_bus).await {
                Ok(service) => guard.sessions = Some(Arc::new(service)),
                Err(problem) => problems.push(problem),
            }
            assembled.notices.extend(settings.notices());
        }
        if let Some(tokens) = tokens {
            let store = shared.unwrap_or_else(|| Arc::new(MemoryStore::new()));
            let own = own_text(&assembled.own_origin);
            guard.takes_websocket_protocol = tokens.is_from_websocket_protocol;
            match TokenService::new(tokens, own, store, clock, random, revocation_bus) {
                Err(found) => problems.extend(found),
                Ok(service) => match service.open().await {
                    Ok(()) => guard.tokens = Some(Arc::new(service)),
                    Err(error) => problems.push(error.at_start("tokens")),
                },
            }
        }
        if let Some((settings, book)) = &limits {
            match settings.own_store().or(of_sessions) {
                // The problem of the session store is already reported.
                Some(_) if guard.sessions.is_none() && settings.own_store().is_none() => (),
                Some(store) => {
                    settings.share(book);
                    let opened = book.open(store).await;
                    problems.extend(opened.err().map(|error| error.at_start("shared limits")));
                }
                None => problems.push(StartProblem::without_value(
                    Rule::LimitStoreMissing,
                    "App::shared_limits",
                )),
            }
        }
        for (name, list) in &origins {
            // If a store failed, opening a list in it would only report the same problem.
            if problems.is_empty()
                && let Err(found) = list.open(name, [values.clone(), other.clone()]).await
            {
                problems.extend(found);
            }
        }
        if !problems.is_empty() {
            return Err(Error::Start(problems));
        }
        let limits = limits.map(|(_, book)| book);
        let origins = origins.into_iter().map(|(_, list)| list).collect();
        Ok(OpenApp { assembled, layers, guard, limits, origins })
    }
}

impl OpenApp {
    /// Starts the background tasks.
    fn begin(mut self) -> AppService {
        self.guard.start_background_tasks();
        let of_limits = self.limits.and_then(|book| book.start());
        self.guard.background_tasks.extend(of_limits.into_iter().flatten());
        if let Ok(runtime) = Handle::try_current() {
            for list in &self.origins {
                let following = list.clone().follow(self.guard.clock.clone());
                self.guard.background_tasks.push(BackgroundTask::spawn(&runtime, following));
            }
        }
        #[cfg(feature = "metrics")]
        if let (Some(meter), Ok(runtime)) = (&self.assembled.meter, Handle::try_current()) {
            let following =
                Arc::clone(meter).follow_rates(self.assembled.rates(), self.guard.clock.clone());
            self.guard.background_tasks.push(BackgroundTask::spawn(&runtime, following));
        }
        let auth = Arc::new(self.guard);
        self.assembled.readiness.watch(Arc::clone(&auth), self.origins);
        self.assembled.auth = auth;
        AppService::new(self.assembled, self.layers)
    }
}
