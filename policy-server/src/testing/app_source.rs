//! The sources of a test's app: an app, or a future of one.

use crate::app::App;

/// An app, or a future of one.
#[doc(hidden)]
pub trait AppSource {
    /// The state of the app.
    type State;

    /// Calls `work` with the app. If a future made the app, its runtime runs until `work` returns,
    /// since connections of the app's state may need it.
    fn with_app<T>(self, work: impl FnOnce(App<Self::State>) -> T) -> T;
}

impl<S> AppSource for App<S> {
    type State = S;

    fn with_app<T>(self, work: impl FnOnce(App<S>) -> T) -> T {
        work(self)
    }
}

impl<F, S> AppSource for F
where
    F: Future<Output = App<S>>,
{
    type State = S;

    #[expect(clippy::panic, reason = "a panic names the missing part to the test")]
    fn with_app<T>(self, work: impl FnOnce(App<S>) -> T) -> T {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        match runtime.worker_threads(1).enable_all().build() {
            Ok(runtime) => work(runtime.block_on(self)),
            Err(error) => panic!("no runtime for the app: {error}"),
        }
    }
}
