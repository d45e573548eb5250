//! What gives a test its app.

use crate::app::App;

/// An app, or a future of one.
#[doc(hidden)]
pub trait AppSource {
    /// The state of the app.
    type State;

    /// Does some work with the app. The runtime on which a future made it runs for as long, since
    /// connections of its state may need it.
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

    #[expect(clippy::panic, reason = "a test is told what it lacks")]
    fn with_app<T>(self, work: impl FnOnce(App<S>) -> T) -> T {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        match runtime.worker_threads(1).enable_all().build() {
            Ok(runtime) => work(runtime.block_on(self)),
            Err(error) => panic!("no runtime for the app: {error}"),
        }
    }
}
