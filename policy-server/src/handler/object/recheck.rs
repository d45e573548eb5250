//! Ends a stream when its caller has lost the right to an object of its route.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
    time::Duration,
};

use axum_core::response::Response;
use tokio::select;

use super::ObjectGate;
use crate::base::stream_end::StreamEnd;

/// How long a check may take: a stream does not outlive a right that cannot be checked.
const PATIENCE: Duration = Duration::from_secs(30);

/// Completes when an object is no longer there for the caller, or cannot be checked. `keys` are those of
/// the path.
pub(super) async fn right_ended<S, K, O, Checked>(
    mut gate: ObjectGate<S>,
    keys: impl Fn() -> Option<K>,
    check: impl Fn(K, ObjectGate<S>) -> Checked,
) -> StreamEnd
where
    S: Send + Sync + 'static,
    Checked: Future<Output = Result<(O, ObjectGate<S>), Response>>,
{
    loop {
        let clock = gate.clock().clone();
        clock.sleep(gate.interval()).await;
        let Some(keys) = keys() else { return StreamEnd::Right };
        let mut checked = Box::pin(check(keys, gate));
        // A panic would end the task that ends the stream.
        let checked = poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| checked.as_mut().poll(context)));
            polled.map_or(Poll::Ready(None), |polled| polled.map(Result::ok))
        });
        gate = select! {
            checked = checked => match checked {
                Some((_, gate)) => gate,
                None => return StreamEnd::Right,
            },
            () = clock.sleep(PATIENCE) => return StreamEnd::Right,
        };
    }
}
