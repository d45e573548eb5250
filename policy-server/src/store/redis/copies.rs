//! Waits until replicas have a change (`WAIT`).

use std::time::Duration;

use redis::{ErrorKind, Pipeline, ScriptInvocation, ServerErrorKind, Value, cmd};

use super::{failure::Failure, link::Link};

/// How many replicas must have a change before it is acknowledged, and how long they may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    pub(super) replicas: u32,
    pub(super) within: Duration,
}

impl Copies {
    /// Runs a script, and waits for the replicas in the same round trip.
    pub(super) async fn confirm(
        self,
        script: &ScriptInvocation<'static>,
        link: &Link,
    ) -> Result<Value, Failure> {
        let mut wait = cmd("WAIT");
        wait.arg(self.replicas).arg(self.within.as_millis().to_string());
        let mut run = Pipeline::with_capacity(2);
        run.invoke_script(script).add_command(wait);
        let [mut answer, mut copies] = link.both(&run).await?;
        let unknown = ErrorKind::Server(ServerErrorKind::NoScript);
        if answer.as_ref().is_err_and(|error| error.kind() == unknown) {
            script.load_async(&mut link.connection()).await?;
            [answer, copies] = link.both(&run).await?;
        }
        let answer = answer?;
        match copies {
            Ok(Value::Int(copies)) if copies >= i64::from(self.replicas) => Ok(answer),
            Ok(Value::Int(copies)) => Err(Failure::NotCopied(self.short(copies))),
            Ok(_) => Err(Failure::NotCopied(self.short(0))),
            // The change is made, so the call is not repeated, whatever the error is.
            Err(error) => Err(Failure::NotCopied(error.to_string())),
        }
    }

    /// The message if only this many replicas have the change.
    fn short(self, copies: i64) -> String {
        format!("{copies} of {} replicas have it within {:?}", self.replicas, self.within)
    }
}
