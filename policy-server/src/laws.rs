//! `policy_tests!`, which is there whatever the features are.

/// Tests for the laws of an app's policies, one for each law, over every combination that the app
/// can tell apart. It needs the feature `testing`.
///
/// ```
/// # use policy_server::prelude::*;
/// # #[get("/")]
/// # #[auth(public)]
/// # async fn index() {}
/// pub fn app() -> App<()> {
///     App::new(()).routes(routes![index])
/// }
///
/// policy_server::policy_tests!(app());
/// ```
///
/// `app` may be an `async fn` as well, which runs on a tokio runtime: `policy_tests!(app())` is the
/// same. Two apps of one package get names: `policy_tests!(shop: crate::shop::app());`.
///
/// Outside of tests it expands to nothing, so that it can stand beside the app, with the feature in
/// the `[dev-dependencies]`:
///
/// ```toml
/// [dev-dependencies]
/// policy-server = { version = "0.1", features = ["testing"] }
/// ```
///
/// Where the feature is off in tests, they do not compile (`syntax.testing-off`).
///
/// One of the tests compares the policy of the app with `policy.lock` beside the `Cargo.toml` of the
/// package, `policy.shop.lock` for an app with a name. The first run writes the file, for the
/// repository; where `CI` is set it fails instead. After that the test fails with the difference in
/// words whenever the policy changes. `POLICY_LOCK=update cargo test` takes the new policy over, unless
/// something is opened: a route that admits more callers, origins or requests, loses a protection, or
/// is new and public has to be accepted by a line in the file, which the test says.
///
/// Another one looks for what is odd about the policy as a whole, by the lints of
/// `policy_manifest::lint`. It fails on what is sure and of medium severity or worse, unless a line
/// of the file suppresses it, with who, why and perhaps until when. It prints the rest.
///
/// See [`testing`](crate::testing) for the laws and their cases.
#[macro_export]
macro_rules! policy_tests {
    ($app:expr $(,)?) => {
        $crate::policy_tests!(policy_laws: $app);
    };
    ($name:ident: $app:expr $(,)?) => {
        #[cfg(test)]
        $crate::__policy_laws!($name: $app);
    };
}

/// What `policy_tests!` expands to in tests.
#[cfg(not(feature = "testing"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __policy_laws {
    ($name:ident: $app:expr) => {
        const _: () = $crate::__private::testing_is_off();
    };
}

/// Has the compiler say which feature is missing.
#[cfg(not(feature = "testing"))]
#[track_caller]
#[expect(clippy::panic, reason = "evaluated by the compiler only")]
pub const fn testing_is_off() -> ! {
    let text = policy_core::ConstText::new("policy_tests!")
        .rule(policy_core::Rule::TestingOff, policy_core::Rule::TestingOff.help());
    panic!("{}", text.as_str())
}
