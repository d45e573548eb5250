//! Laws for an app, checked on every combination of pages, requests, callers and ends of handlers
//! that makes a difference to it.

mod browsing;
mod caller;
mod counterexample;
mod credentials;
mod declared;
mod equivalence_classes;
mod exchange;
mod explorer;
mod laws;
mod passage;
mod probe;
mod server;
mod sharing;
mod tally;

use std::{
    env,
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
    time::{Duration, Instant},
};

pub use exchange::Exchange;
#[doc(hidden)]
pub use laws::Law;

use policy_core::limits::Limits;

use crate::{
    app::{App, AppParts, policies::Policies},
    base::{clock::Clock, error::Error},
    pipeline::service::AppService,
    testing::{
        lints,
        lock::{LockTest, Subject},
        rules,
    },
};
use declared::DeclaredApp;
use equivalence_classes::Path;
use explorer::AppExplorer;
use tally::Tallies;

/// The time of every proof, as Unix time.
const NOW: u64 = 1_800_000_000;

/// The result of a proof.
#[doc(hidden)]
#[derive(Debug)]
pub struct Proof {
    lock: LockTest,
    declared: DeclaredApp,
    tallies: Tallies,
    /// The results without the layers around the app, if there are layers and a law is broken.
    bare: Option<Tallies>,
    explored: Explored,
    took: Duration,
}

/// How much of an app was explored.
#[derive(Clone, Copy, Debug)]
struct Explored {
    paths: usize,
    /// The number of classes of paths.
    kinds: usize,
    /// How many of them were tried.
    tried: usize,
}

/// If an app has more kinds of paths, a sample of them is tried: each takes about a second.
const MOST_KINDS: usize = 40;

/// With the value `all`, this variable makes a proof try all kinds.
const PROOF: &str = "POLICY_PROOF";

/// Checks all laws.
///
/// # Panics
///
/// If the app does not start.
#[doc(hidden)]
pub fn prove<S>(app: App<S>) -> Proof {
    prove_parts(app.parts)
}

#[track_caller]
fn prove_parts(app: AppParts) -> Proof {
    let began = Instant::now();
    let lock = LockTest::new(&app);
    let (declared, service) = prepared(app);
    let is_complete = env::var(PROOF).is_ok_and(|value| value == "all");
    let most = if is_complete { usize::MAX } else { MOST_KINDS };
    let (explored, tallies) = explore(&declared, &service, most);
    let is_broken = Law::ALL.into_iter().any(|law| tallies.tally(law).broken > 0);
    let bare = service.without_layers().filter(|_| is_broken);
    let bare = bare.map(|service| explore(&declared, &service, most).1);
    Proof { lock, declared, tallies, bare, explored, took: began.elapsed() }
}

impl Proof {
    /// Asserts a law.
    ///
    /// # Panics
    ///
    /// If it does not hold, with the smallest counterexample; or if no case tested it although
    /// there should be one.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails so")]
    #[expect(clippy::print_stdout, reason = "a test says so what it saw")]
    pub fn check(&self, law: Law) {
        let tally = self.tallies.tally(law);
        if tally.broken > 0 {
            panic!("{}", self.refutation(law));
        }
        match ((law.spec().silence)(&self.declared.all_routes()), tally.tried) {
            (Some(why), _) => println!("not applicable: {why}{}", self.untried_text()),
            (None, 0) => panic!(
                "nothing was found to put this law to the test: {}\n  help      look at which \
                 layers respond in place of the app",
                law.spec().text
            ),
            (None, _) => println!("{}", self.confirmation(law)),
        }
        for line in self.caveats(law) {
            println!("{line}");
        }
    }

    /// Asserts that the policy is the one in the lock file.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn check_lock(&self, subject: Subject) {
        assert_ok(self.lock.check(subject));
    }

    /// Asserts that the lints find no problem in the policy, except those that the lock file
    /// suppresses.
    ///
    /// # Panics
    ///
    /// If there is a finding that has to be corrected.
    #[track_caller]
    pub fn check_lints(&self, subject: Subject) {
        assert_ok(lints::check(&self.lock.manifest, subject));
    }

    /// Asserts that the policy keeps to the rules in `policy.rules` beside the lock file, if there is
    /// one.
    ///
    /// # Panics
    ///
    /// If a rule is violated or has an error, or the rules cannot be read or checked.
    #[track_caller]
    pub fn check_rules(&self, subject: Subject) {
        assert_ok(rules::check(&self.lock.manifest, &self.lock.sources, subject));
    }

    /// Asserts that the OpenAPI document of the app is the one in `openapi.json` beside the lock file, if
    /// there is one (feature `openapi`).
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn check_document(&self, subject: Subject) {
        assert_ok(self.lock.check_document(subject));
    }

    /// The text of the violation; empty if the law holds.
    pub fn refutation(&self, law: Law) -> String {
        let tally = self.tallies.tally(law);
        let Some(counterexample) = tally.counterexample else { return String::new() };
        let mut text = format!("{} - does not hold\n\n{counterexample}\n", law.spec().text);
        if self.bare.as_ref().is_some_and(|bare| bare.tally(law).broken == 0) {
            text.push_str("  cause     a layer of `App::layer`: without layers the law holds\n");
        }
        let nearer = |cause: &Law| {
            let is_earlier = cause.spec().is_cause && (*cause as usize) < law as usize;
            is_earlier && self.tallies.tally(*cause).broken > 0
        };
        let _ = match Law::ALL.into_iter().find(nearer) {
            Some(cause) => {
                let test = cause.test();
                writeln!(text, "  help      mend `{test}` first: this may follow from it")
            }
            None => writeln!(text, "  help      {}", law.spec().help),
        };
        let more = tally.broken - 1;
        let _ = write!(text, "\n{more} more of {} cases break it; {}", tally.tried, self.summary());
        text
    }

    /// What no law tried.
    fn untried_text(&self) -> &'static str {
        if self.declared.has_tunnel { "; not tried: tunnels" } else { "" }
    }

    /// How much was tested, what was not, and which code did not run.
    fn summary(&self) -> String {
        let Self { explored: Explored { paths, kinds, tried }, tallies, declared, .. } = self;
        let mut text = format!("{paths} paths of {kinds} kinds");
        if tried < kinds {
            text += &format!(", of which {tried} were tried: `{PROOF}=all` tries all");
        }
        text += &format!(", {} combinations", tallies.combinations);
        text += self.untried_text();
        if !declared.replaced.is_empty() {
            text += &format!("; did not run: {}", declared.replaced.join(", "));
        }
        text
    }

    /// The text of a law that holds, with how much was tested.
    pub fn confirmation(&self, law: Law) -> String {
        let (tried, took) = (self.tallies.tally(law).tried, self.took.as_secs_f64());
        format!("{}: {tried} cases in {took:.1} s; {}", law.spec().text, self.summary())
    }

    /// The statements of the app that exclude cases from a law, or weaken it, with the reasons.
    pub fn caveats(&self, law: Law) -> Vec<String> {
        let routes = self.declared.routes.iter();
        routes.flat_map(|route| (law.spec().caveats)(&self.declared, route)).collect()
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "a test fails so")]
fn assert_ok(result: Result<(), String>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Checks your own law on every load that an app can distinguish: each page, each method and set of
/// headers, each caller, and each behaviour of a handler. If the law panics, the test fails with the
/// first load that breaks it.
///
/// Handlers, services and schemes of the app do not run: probes replace them and record that they
/// ran. All stores are in memory, and rate limits are off.
///
/// ```
/// use policy_server::{prelude::*, testing::every_exchange};
///
/// #[post("/orders")]
/// #[cors(origins = ["https://app.shop.example"], credentials)]
/// #[auth(session)]
/// async fn order() {}
///
/// fn app() -> App<()> {
///     App::new(()).sessions(Sessions::memory()).routes(routes![order])
/// }
///
/// // In a test: only our own pages order anything.
/// every_exchange(app(), |exchange| {
///     let is_ours = exchange.is_own_page() || exchange.page() == "https://app.shop.example";
///     assert!(is_ours || !exchange.handler_ran());
/// });
/// ```
///
/// # Panics
///
/// If the law does, if the app does not start, and if no request can be sent to it.
#[track_caller]
#[expect(clippy::print_stderr, reason = "a test says so what it saw")]
pub fn every_exchange<S>(app: App<S>, mut law: impl FnMut(&Exchange<'_>)) {
    let (declared, service) = prepared(app.parts);
    let paths = Path::all(&declared);
    let mut explorer = AppExplorer::new(&declared, &service);
    for (index, path) in paths.iter().enumerate() {
        explorer.path(index, path).exchanges(|exchange| {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| law(exchange))) {
                eprintln!("the law does not hold for\n{exchange}");
                resume_unwind(panic);
            }
        });
    }
}

/// The declarations of an app, and the app with its own code replaced.
#[track_caller]
#[expect(clippy::panic, reason = "a test stops with the words of the errors")]
fn prepared(app: AppParts) -> (DeclaredApp, AppService) {
    let app = without_rates(app);
    let declared = DeclaredApp::read(&app);
    match probed(app) {
        Ok(service) => (declared, service),
        Err(error) => panic!("{error}"),
    }
}

fn probed(mut app: AppParts) -> Result<AppService, Error> {
    app.is_tested = true;
    app.clock = Clock::at(NOW);
    app.sessions = app.sessions.map(crate::auth::session::SessionSettings::forgetful);
    app.tokens = app.tokens.map(crate::auth::tokens::TokenSettings::forgetful);
    passage::watch(&mut app.layers);
    let mut plan = crate::build::compile(app)?;
    let service = probe::service();
    plan.assembled.replace_own_code(probe::handler, &service, probe::scheme, probe::entrance);
    plan.in_memory()
}

/// Removes the rates, which a proof would exceed.
fn without_rates(mut app: AppParts) -> AppParts {
    let unlimited = |limits: &mut Limits| (limits.rate, limits.misses) = (None, None);
    let no_rate = |policies: &mut Policies| unlimited(&mut policies.level.limits);
    no_rate(&mut app.policies);
    #[cfg(feature = "gateway")]
    app.gateway.upstreams.iter_mut().for_each(|proxy| no_rate(&mut proxy.policies));
    app.mounts.iter_mut().for_each(|(_, mount)| no_rate(&mut mount.policies));
    app.fallback.iter_mut().for_each(|fallback| no_rate(&mut fallback.policies));
    for (_, group) in &mut app.groups {
        no_rate(&mut group.policies);
        #[cfg(feature = "gateway")]
        group.upstreams.iter_mut().for_each(|proxy| no_rate(&mut proxy.policies));
        group.mounts.iter_mut().for_each(|(_, mount)| no_rate(&mut mount.policies));
        group.routes.iter_mut().for_each(|route| unlimited(&mut route.description.policy.limits));
    }
    app.routes.iter_mut().for_each(|route| unlimited(&mut route.description.policy.limits));
    app
}

/// Explores the paths of an app, at most this many kinds of them, some in parallel.
fn explore(declared: &DeclaredApp, service: &AppService, most: usize) -> (Explored, Tallies) {
    let all = Path::all(declared);
    let (count, kinds) = (all.iter().map(|path| path.count).sum(), all.len());
    let paths = Path::sampled(all, most, declared.has_layers);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut found: Vec<(usize, Tallies)> = thread::scope(|scope| {
        let work = |worker: usize| {
            let paths = &paths;
            scope.spawn(move || {
                let mut explorer = AppExplorer::new(declared, service);
                let of_worker = paths.iter().enumerate().skip(worker).step_by(workers);
                of_worker
                    .map(|(index, path)| (index, explore_path(&mut explorer, index, path)))
                    .collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..workers).map(work).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.flat_map(|found| found.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    found.sort_by_key(|(index, _)| *index);
    let mut tallies = Tallies::new(&declared.own);
    found.into_iter().for_each(|(_, found)| tallies.merge(found));
    (Explored { paths: count, kinds, tried: paths.len() }, tallies)
}

fn explore_path<'a>(explorer: &mut AppExplorer<'a>, index: usize, path: &Path<'a>) -> Tallies {
    let mut tallies = Tallies::new(&explorer.declared.own);
    let mut path_explorer = explorer.path(index, path);
    laws::judge_path(&mut path_explorer, &mut tallies);
    path_explorer.is_pure = tallies.tally(Law::PreflightPurity).broken == 0;
    path_explorer.exchanges(|exchange| {
        tallies.combinations += 1;
        tallies.seen.note(exchange);
        laws::judge(exchange, &mut tallies);
    });
    laws::outcomes::occurred(&path_explorer, &mut tallies);
    laws::responses::arrived(&mut path_explorer, &mut tallies);
    tallies
}

/// The expansion of `policy_tests!` in tests.
#[doc(hidden)]
#[macro_export]
macro_rules! __policy_laws {
    ($name:ident: $app:expr) => {
        // Outside of the module, so that the path of the app resolves as in the caller's code.
        impl $name::Subject {
            fn proof() -> $crate::codegen::Proof {
                $crate::codegen::AppSource::with_app($app, $crate::codegen::prove)
            }
        }

        mod $name {
            use $crate::codegen::{Law, Proof};

            static PROOF: ::std::sync::OnceLock<Proof> = ::std::sync::OnceLock::new();

            pub(super) struct Subject;

            fn check(law: Law) {
                PROOF.get_or_init(Subject::proof).check(law);
            }

            const LOCK: $crate::codegen::LockSubject = $crate::codegen::LockSubject {
                folder: env!("CARGO_MANIFEST_DIR"),
                package: env!("CARGO_PKG_NAME"),
                name: stringify!($name),
            };

            #[test]
            fn the_policy_is_the_one_in_the_lock_file() {
                PROOF.get_or_init(Subject::proof).check_lock(LOCK);
            }

            #[test]
            fn nothing_is_odd_about_the_policy() {
                PROOF.get_or_init(Subject::proof).check_lints(LOCK);
            }

            #[test]
            fn the_rules_hold() {
                PROOF.get_or_init(Subject::proof).check_rules(LOCK);
            }

            #[test]
            fn the_document_is_the_one_in_openapi_json() {
                PROOF.get_or_init(Subject::proof).check_document(LOCK);
            }

            $crate::__laws!([$crate::__law_tests]);
        }
    };
}

/// The tests of the laws.
#[doc(hidden)]
#[macro_export]
macro_rules! __law_tests {
    ($($Law:ident $file:ident::$SPEC:ident $test:ident,)*) => { $(
        #[test]
        fn $test() {
            check(Law::$Law);
        }
    )* };
}
