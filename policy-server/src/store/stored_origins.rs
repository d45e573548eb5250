//! Lists of origins that all instances of an app share.

use std::{
    fmt, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use policy_core::{
    Refusal, Rule,
    cors::{PolicyErrors, SharedOrigins},
};
use tokio::sync::Mutex;

use super::{News, StoreError, StoredValue, ValueStore, news::Hints};
use crate::base::{
    clock::Clock,
    error::StartProblem,
    event::{
        count::{Count, count},
        log,
    },
    problem::Problem,
};

/// How often the store is polled for changes.
const INTERVAL: Duration = Duration::from_secs(1);

/// Attempts of a change while others change the same list.
const TRIES: usize = 10;

/// A list of origins that is kept in a store, so that a change at one instance applies to all, and
/// after a restart: [`App::origins`](crate::App::origins). A clone is another handle to the same
/// list.
///
/// A change takes effect at this instance when its call completes, and at the others within a
/// second. It is atomic: a request sees the old list or the new one. A list that breaks a rule of
/// any route is refused as a whole before it is stored. An instance whose routes have other rules
/// and cannot use the stored list keeps its own; it logs `cors.stored-list-refused`, and
/// [`App::readiness`](crate::App::readiness) reports 503. It does not start with such a list.
///
/// While the store is unavailable, the last list is used, and changes fail; while an app
/// [moves](crate::session::SessionSettings::moving_from), they need both stores. If the store comes back
/// with an older list, only those origins are left that the newest list has too; the log says
/// `session.store-lost-writes`.
///
/// ```
/// use policy_server::{StoredOrigins, prelude::*};
///
/// #[get("/prices")]
/// #[cors(origins = config("customers", within = ["https://*.customer.example"]))]
/// #[auth(public)]
/// async fn prices() -> &'static str {
///     "prices"
/// }
///
/// #[put("/customers/{name}")]
/// #[auth(session, roles = ["admin"])]
/// #[object(none = "admins may admit every customer")]
/// async fn admit(name: String, State(customers): State<StoredOrigins>) -> Result<(), Problem> {
///     customers.add(&format!("https://{name}.customer.example")).await?;
///     Ok(())
/// }
///
/// let customers = StoredOrigins::new(["https://a.customer.example"]);
/// let app = App::new(customers.clone())
///     .sessions(Sessions::memory())
///     .origins("customers", &customers)
///     .routes(routes![prices, admit]);
/// # let _ = app.test();
/// ```
#[derive(Clone)]
pub struct StoredOrigins(Arc<Inner>);

struct Inner {
    list: SharedOrigins,
    initial: Vec<String>,
    /// `None` for the store of the sessions.
    store: Option<Arc<dyn ValueStore>>,
    /// Locked while the list is read or changed, so that what was stored later is used later.
    state: Mutex<State>,
    /// Whether what is stored breaks a rule of this instance, or lacks a change that it knows.
    is_refused: AtomicBool,
}

#[derive(Default)]
struct State {
    opened: Option<OpenList>,
    /// The version of the stored value that is in use, or that was refused.
    version: u64,
    value: Box<[u8]>,
    /// Whether the store had lost a change when the list was last narrowed, and none was applied since.
    is_narrowed: bool,
}

impl State {
    /// Loads the stored value. If it is gone, the caller stores the known list again.
    async fn load(
        &self,
        OpenList { store, name, .. }: &OpenList,
    ) -> Result<StoredValue, StoreError> {
        let stored = store.value(name).await?;
        Ok(stored.unwrap_or_else(|| StoredValue::new(0, self.value.clone())))
    }

    /// Whether the store has lost a change that this instance knows.
    fn is_lost(&self, stored: &StoredValue) -> bool {
        stored.version < self.version
            || stored.version == self.version && stored.value != self.value
    }
}

#[derive(Clone)]
struct OpenList {
    store: Arc<dyn ValueStore>,
    /// The store from which or to which the app moves.
    other: Option<Arc<dyn ValueStore>>,
    name: Arc<str>,
}

impl OpenList {
    /// Copies the stored list to the other store of a move. The next release reads it there, and so does the
    /// earlier one if the move is undone.
    async fn copy(&self) -> Result<(), StoreError> {
        let Self { store, other: Some(other), name } = self else { return Ok(()) };
        for _ in 0..TRIES {
            // Read before the list: if another instance copies a later list meanwhile, this version is outdated.
            let copy = other.value(name).await?;
            let Some(stored) = store.value(name).await? else { return Ok(()) };
            let version = copy.as_ref().map_or(0, |copy| copy.version);
            if copy.is_some_and(|copy| copy.value == stored.value) {
                return Ok(());
            }
            // Another instance may copy at the same moment: both compare again.
            other.set_value(name, version, stored.value).await?;
        }
        Err(StoreError::new("others changed the list at each try"))
    }
}

impl StoredOrigins {
    /// A list in the store of the sessions. These are its origins until another list is stored.
    pub fn new<T: Into<String>>(initial: impl IntoIterator<Item = T>) -> Self {
        Self::with_store(None, initial)
    }

    /// The same in a store of its own, for an app without sessions. Tests use the same store.
    pub fn in_store<T: Into<String>>(
        store: impl ValueStore,
        initial: impl IntoIterator<Item = T>,
    ) -> Self {
        Self::with_store(Some(Arc::new(store)), initial)
    }

    fn with_store<T: Into<String>>(
        store: Option<Arc<dyn ValueStore>>,
        initial: impl IntoIterator<Item = T>,
    ) -> Self {
        Self(Arc::new(Inner {
            list: SharedOrigins::new(),
            initial: initial.into_iter().map(Into::into).collect(),
            store,
            state: Mutex::default(),
            is_refused: AtomicBool::new(false),
        }))
    }

    /// Replaces the list, whatever it is.
    ///
    /// # Errors
    ///
    /// The list breaks a rule, or the store failed.
    pub async fn replace<T: AsRef<str>>(&self, origins: &[T]) -> Result<(), StoredOriginsError> {
        let all: Vec<_> = origins.iter().map(|origin| origin.as_ref().to_owned()).collect();
        self.change(|_replaced| Ok(Some(all.clone()))).await.map(drop)
    }

    /// Adds an origin, and returns whether it was not in the list. Concurrent changes by others are
    /// not lost.
    ///
    /// # Errors
    ///
    /// The list would break a rule, or the store failed.
    pub async fn add(&self, origin: &str) -> Result<bool, StoredOriginsError> {
        self.change(|all| {
            let mut all = all?;
            let is_new = all.iter().all(|one| one != origin);
            all.push(origin.to_owned());
            Ok(is_new.then_some(all))
        })
        .await
    }

    /// Removes an origin, and returns whether it was in the list. Concurrent changes by others are
    /// not lost.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn remove(&self, origin: &str) -> Result<bool, StoredOriginsError> {
        self.change(|all| {
            let mut all = all?;
            let before = all.len();
            all.retain(|one| one != origin);
            Ok((all.len() < before).then_some(all))
        })
        .await
    }

    /// The list as this instance uses it now, as text.
    pub fn patterns(&self) -> Vec<String> {
        self.0.list.patterns()
    }

    /// The list that routes use.
    pub(crate) fn list(&self) -> &SharedOrigins {
        &self.0.list
    }

    /// Stores the result of an edit of the stored list; nothing if it is `None`. The edit gets an error in place of
    /// a list that cannot be read.
    async fn change(
        &self,
        edit: impl Fn(Result<Vec<String>, StoreError>) -> Result<Option<Vec<String>>, StoreError>,
    ) -> Result<bool, StoredOriginsError> {
        for _ in 0..TRIES {
            let mut state = self.0.state.lock().await;
            let Some(opened) = state.opened.clone() else {
                return Err(StoredOriginsError::NotStarted);
            };
            let stored = state.load(&opened).await?;
            let before = read(&opened.name, &stored.value);
            // What cannot be read has nothing in common with another list.
            if before.is_ok() && state.is_lost(&stored) {
                self.narrow(&mut state, &opened, stored).await?;
                continue;
            }
            let after = edit(before)?;
            if let Some(after) = &after {
                self.0.list.check(after).map_err(StoredOriginsError::Refused)?;
                let stored = self.store(&mut state, &opened, stored.version, after).await?;
                let Some(applied) = stored else { continue };
                applied.map_err(StoredOriginsError::Refused)?;
            }
            // Also without a change: at the first try, the copy may have failed.
            opened.copy().await?;
            return Ok(after.is_some());
        }
        Err(StoredOriginsError::Busy)
    }

    /// Replaces the stored list of this version, and uses the new one; `None` at another version.
    async fn store(
        &self,
        state: &mut State,
        OpenList { store, name, .. }: &OpenList,
        version: u64,
        origins: &[String],
    ) -> Result<Option<Result<(), PolicyErrors>>, StoreError> {
        let value = write(origins)?;
        let is_stored = store.set_value(name, version, value.clone()).await?;
        let stored = StoredValue::new(version + 1, value);
        Ok(is_stored.then(|| self.apply(state, stored, origins)))
    }

    /// After the store has lost a change, uses and stores the origins that both the stored list and the list of
    /// this instance contain, so that no removed origin comes back. Instances that know different lists arrive
    /// at their common part in any order.
    async fn narrow(
        &self,
        state: &mut State,
        opened: &OpenList,
        stored: StoredValue,
    ) -> Result<(), StoreError> {
        let name = &*opened.name;
        self.0.is_refused.store(true, Ordering::Release);
        if !mem::replace(&mut state.is_narrowed, true) {
            log!(StoreLostWrites, store = name);
        }
        let known = read(name, &state.value).unwrap_or_else(|_unreadable| self.patterns());
        let mut both = read(name, &stored.value)?;
        both.retain(|origin| known.contains(origin));
        match self.store(state, opened, stored.version, &both).await? {
            Some(Err(errors)) => Err(StoreError::new(errors)),
            _ => Ok(()),
        }
    }

    /// Uses a stored list, or keeps the one that is in use.
    fn apply(
        &self,
        state: &mut State,
        StoredValue { version, value }: StoredValue,
        origins: &[String],
    ) -> Result<(), PolicyErrors> {
        (state.version, state.value, state.is_narrowed) = (version, value, false);
        let applied = self.0.list.replace(origins);
        self.0.is_refused.store(applied.is_err(), Ordering::Release);
        count(Count::Reload { of: "origins", is_applied: applied.is_ok() });
        applied
    }

    /// What is wrong with the initial list.
    pub(crate) fn check(&self, name: &str) -> Vec<StartProblem> {
        let checked = self.0.list.check(&self.0.initial);
        checked.err().map(|errors| broken(errors, &format!("list `{name}`"))).unwrap_or_default()
    }

    /// Reads the list when the app starts, and stores the initial one if there is none. `stores` are
    /// the one in which sessions begin, and the other one of a move.
    pub(crate) async fn open(
        &self,
        name: &str,
        stores: [Option<Arc<dyn ValueStore>>; 2],
    ) -> Result<(), Vec<StartProblem>> {
        let location = format!("list `{name}`");
        let failed = |error: StoreError| vec![error.at_start(&location)];
        let [shared, other] = stores;
        let (store, other) = match &self.0.store {
            Some(own) => (Some(Arc::clone(own)), None),
            None => (shared, other),
        };
        let Some(store) = store else {
            let missing = StartProblem::new(Rule::StoredListWithoutStore, "App::origins", name);
            return Err(vec![missing]);
        };
        store.open().await.map_err(failed)?;
        if let Some(other) = &other {
            other.open().await.map_err(failed)?;
        }
        let mut state = self.0.state.lock().await;
        let mut stored = store.value(name).await.map_err(failed)?;
        if stored.is_none() {
            let of_other = match &other {
                Some(other) => other.value(name).await.map_err(failed)?,
                None => None,
            };
            let initial = match of_other {
                Some(of_other) => of_other.value,
                None => {
                    let problems = self.check(name);
                    if !problems.is_empty() {
                        return Err(problems);
                    }
                    write(&self.0.initial).map_err(failed)?
                }
            };
            // Another instance may have been faster.
            store.set_value(name, 0, initial).await.map_err(failed)?;
            stored = store.value(name).await.map_err(failed)?;
        }
        let stored = stored.unwrap_or_else(|| StoredValue::new(0, Box::default()));
        let origins = read(name, &stored.value).map_err(failed)?;
        let applied = self.apply(&mut state, stored, &origins);
        applied.map_err(|errors| broken(errors, &format!("{location} in the store")))?;
        let opened = OpenList { store, other, name: name.into() };
        opened.copy().await.map_err(failed)?;
        state.opened = Some(opened);
        Ok(())
    }

    /// Follows the changes of other instances.
    pub(crate) async fn follow(self, clock: Clock) {
        let Some(opened) = self.0.state.lock().await.opened.clone() else { return };
        let mut hints = Hints::new(opened.store.news());
        loop {
            tokio::select! {
                () = hints.next(|news| matches!(news, News::Value(of) if **of == *opened.name)) => {}
                () = clock.sleep(INTERVAL) => {}
            }
            // Without the store, the last list stays in use.
            let _ = self.refresh(&opened).await;
        }
    }

    async fn refresh(&self, opened: &OpenList) -> Result<(), StoreError> {
        let mut state = self.0.state.lock().await;
        let stored = state.load(opened).await?;
        if state.is_lost(&stored) {
            return self.narrow(&mut state, opened, stored).await;
        }
        // What an unanswered call or another instance has stored can be exactly the known list.
        if stored.version == state.version && !state.is_narrowed {
            return Ok(());
        }
        let applied = match read(&opened.name, &stored.value) {
            Ok(origins) => self.apply(&mut state, stored, &origins).map_err(StoreError::new),
            Err(error) => {
                (state.version, state.value) = (stored.version, stored.value);
                state.is_narrowed = false;
                self.0.is_refused.store(true, Ordering::Release);
                count(Count::Reload { of: "origins", is_applied: false });
                Err(error)
            }
        };
        if let Err(errors) = applied {
            log!(StoredListRefused, list = &*opened.name, %errors);
        }
        Ok(())
    }

    /// The refusal while the stored list is not used.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.0.is_refused.load(Ordering::Acquire).then_some(Refusal::StoredListOutdated)
    }
}

fn read(name: &str, value: &[u8]) -> Result<Vec<String>, StoreError> {
    serde_json::from_slice(value).map_err(|error| {
        StoreError::new(format!("the stored list `{name}` is unreadable: {error}"))
    })
}

fn write(origins: &[String]) -> Result<Box<[u8]>, StoreError> {
    serde_json::to_vec(origins).map(Into::into).map_err(StoreError::new)
}

fn broken(errors: PolicyErrors, location: &str) -> Vec<StartProblem> {
    errors.into_iter().map(|error| error.or_location(location).into()).collect()
}

impl fmt::Debug for StoredOrigins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoredOrigins").field(&self.0.list).finish()
    }
}

/// Why a stored list was not changed.
///
/// It converts into a [`Problem`], so that a handler can use `?`.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoredOriginsError {
    /// The list breaks these rules: 422. The present list stays.
    Refused(PolicyErrors),
    /// The store failed: 503. If it did not respond, the list may be stored.
    Store(StoreError),
    /// Others changed the list at each try: 503.
    Busy,
    /// No app with this list has started: 500.
    NotStarted,
}

impl fmt::Display for StoredOriginsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errors) => errors.fmt(f),
            Self::Store(error) => write!(f, "the store of the list: {error}"),
            Self::Busy => f.write_str("others changed the list at each try"),
            Self::NotStarted => {
                f.write_str("the list is given to no app that has started: `App::origins`")
            }
        }
    }
}

impl std::error::Error for StoredOriginsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(errors) => Some(errors),
            Self::Store(error) => Some(error),
            Self::Busy | Self::NotStarted => None,
        }
    }
}

impl From<StoreError> for StoredOriginsError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<StoredOriginsError> for Problem {
    fn from(error: StoredOriginsError) -> Self {
        match error {
            StoredOriginsError::Refused(errors) => {
                let broken = errors.errors().iter().map(|error| {
                    format!(
                        "{}: {} ({})",
                        error.value(),
                        error.rule().message(),
                        error.rule().code()
                    )
                });
                Self::from(Refusal::OriginListRefused).with("errors", broken.collect::<Vec<_>>())
            }
            StoredOriginsError::Store(_) | StoredOriginsError::Busy => {
                Refusal::OriginListUnavailable.into()
            }
            error => Self::internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, StoreFuture};

    const NAME: &str = "partners";

    /// A store that another instance changes during the first read, and that is away from then on.
    #[derive(Debug)]
    struct Overtaken {
        store: MemoryStore,
        other: MemoryStore,
        is_away: AtomicBool,
    }

    impl ValueStore for Overtaken {
        fn value<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredValue>> {
            StoreFuture::new(async move {
                if self.is_away.swap(true, Ordering::SeqCst) {
                    return Err(StoreError::new("the store is away"));
                }
                let read = self.store.value(name).await?;
                assert!(self.store.set_value(name, 1, list("new")).await?);
                open_list(self.store.clone(), &self.other).copy().await?;
                Ok(read)
            })
        }

        fn set_value<'a>(
            &'a self,
            name: &'a str,
            expected: u64,
            value: Box<[u8]>,
        ) -> StoreFuture<'a, bool> {
            self.store.set_value(name, expected, value)
        }
    }

    fn open_list(store: impl ValueStore, other: &MemoryStore) -> OpenList {
        OpenList { store: Arc::new(store), other: Some(Arc::new(other.clone())), name: NAME.into() }
    }

    fn list(text: &str) -> Box<[u8]> {
        text.as_bytes().into()
    }

    /// The instance with the older list cannot correct its copy.
    #[tokio::test]
    async fn an_older_list_is_not_copied_over_a_later_one() {
        let (store, other) = (MemoryStore::new(), MemoryStore::new());
        assert!(store.set_value(NAME, 0, list("old")).await.unwrap());
        assert!(other.set_value(NAME, 0, list("oldest")).await.unwrap());
        let overtaken = Overtaken { store, other: other.clone(), is_away: AtomicBool::new(false) };
        assert!(open_list(overtaken, &other).copy().await.is_err());
        assert_eq!(other.value(NAME).await.unwrap().unwrap().value, list("new"));
    }
}
