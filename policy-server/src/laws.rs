//! `policy_tests!`, which exists with any set of features.

/// Tests for the laws of an app's policies, one for each law, over every combination that the app
/// can distinguish. It needs the feature `testing`.
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
/// Outside of tests it expands to nothing, so it can be written beside the app, with the feature in
/// the `[dev-dependencies]`:
///
/// ```toml
/// [dev-dependencies]
/// policy-server = { version = "0.1", features = ["testing"] }
/// ```
///
/// If the feature is off in tests, they do not compile (`syntax.testing-off`).
///
/// With the feature `openapi`, another test compares the document of the app with `openapi.json` in the
/// same folder, if there is one (`openapi.shop.json` for an app with a name): `POLICY_OPENAPI=update cargo
/// test` writes it.
///
/// One of the tests compares the policy of the app with `policy.lock` beside the `Cargo.toml` of the
/// package, `policy.shop.lock` for an app with a name. The first run writes the file, for the
/// repository; if `CI` is set, it fails instead. After that the test fails with a description of the
/// difference whenever the policy changes. `POLICY_LOCK=update cargo test` writes the new policy,
/// unless it opens something: a route that admits more callers, origins or requests, loses a
/// protection, or is new and public has to be accepted by a line in the file, which the test prints.
///
/// Another test runs the lints of `policy_manifest::lint` over the whole policy. It fails on
/// certain findings of medium severity or worse, unless a line of the file suppresses them, with an
/// author, a reason and optionally an end date. It prints the others.
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

/// The expansion of `policy_tests!` in tests.
#[cfg(not(feature = "testing"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __policy_laws {
    ($name:ident: $app:expr) => {
        const _: () = $crate::codegen::testing_is_off();
    };
}

/// Makes the compiler report the missing feature.
#[cfg(not(feature = "testing"))]
#[track_caller]
#[expect(clippy::panic, reason = "evaluated by the compiler only")]
pub const fn testing_is_off() -> ! {
    let text = policy_core::ConstText::new("policy_tests!")
        .rule(policy_core::Rule::TestingOff, policy_core::Rule::TestingOff.help());
    panic!("{}", text.as_str())
}
