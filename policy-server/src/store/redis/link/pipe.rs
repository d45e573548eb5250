//! One connection for concurrent calls.

use std::{
    collections::VecDeque,
    future::poll_fn,
    io,
    sync::{Arc, Mutex},
    task::Poll,
};

use redis::{Cmd, Pipeline, RedisFuture, Value, aio::ConnectionLike};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split},
    select,
    sync::{Notify, oneshot},
};

use super::resp::{Replies, strange};
use crate::base::locks::lock;

/// Minimum free read capacity, and the capacity kept after a large reply.
const MIN_FREE: usize = 16 * 1024;
const KEPT: usize = 8 * MIN_FREE;

/// One connection for the calls of all requests. The server replies in the order of the commands.
///
/// A task writes the commands of several requests in one system call, and sends each caller its replies.
#[derive(Clone)]
pub(super) struct Pipe(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there are unsent commands.
    has_unsent: Notify,
}

#[derive(Default)]
struct State {
    unsent: Vec<u8>,
    /// The callers, in the order of their commands.
    waiting: VecDeque<Waiting>,
    /// The error with which the connection ended.
    ended: Option<(io::ErrorKind, String)>,
}

struct Waiting {
    replies: usize,
    caller: oneshot::Sender<Replies>,
}

impl Pipe {
    /// Also returns the future that writes and reads until the connection ends.
    pub(super) fn new(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let shared = Arc::new(Shared::default());
        (Self(Arc::clone(&shared)), run(stream, shared))
    }

    /// Sends the commands that `write` appends, and returns as many replies.
    pub(super) async fn ask(
        &self,
        replies: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<Replies> {
        let (caller, reply) = oneshot::channel();
        {
            let mut state = lock(&self.0.state);
            if state.ended.is_some() {
                return Err(state.error());
            }
            if state.unsent.is_empty() {
                self.0.has_unsent.notify_one();
            }
            write(&mut state.unsent);
            state.waiting.push_back(Waiting { replies, caller });
        }
        reply.await.map_err(|_ended| lock(&self.0.state).error())
    }
}

impl ConnectionLike for Pipe {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async {
            let replies = self.ask(1, |unsent| command.write_packed_command(unsent)).await?;
            replies.values()?.pop().ok_or_else(|| strange().into())
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let write = |unsent: &mut Vec<u8>| unsent.extend(commands.get_packed_pipeline());
            let replies = self.ask(offset + count, write).await?;
            Ok(replies.values()?.split_off(offset))
        })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

impl Shared {
    /// Fails all pending calls, and those to come.
    fn fail_all(&self, error: &io::Error) {
        let mut state = lock(&self.state);
        if state.ended.is_none() {
            state.ended = Some((error.kind(), error.to_string()));
        }
        state.waiting.clear();
    }
}

impl State {
    fn error(&self) -> io::Error {
        match &self.ended {
            Some((kind, error)) => io::Error::new(*kind, error.clone()),
            None => broken_pipe(),
        }
    }
}

fn broken_pipe() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the connection ended")
}

/// Fails pending calls when the task ends or is aborted.
struct FailOnDrop(Arc<Shared>);

impl Drop for FailOnDrop {
    fn drop(&mut self) {
        self.0.fail_all(&broken_pipe());
    }
}

async fn run(stream: impl AsyncRead + AsyncWrite, shared: Arc<Shared>) {
    let _fail_on_drop = FailOnDrop(Arc::clone(&shared));
    let (input, output) = split(stream);
    // Reads and writes concurrently: with full buffers, the server could otherwise wait for this task to read
    // while the task waits for the server.
    let ended = select! {
        ended = read(input, &shared) => ended,
        ended = write(output, &shared) => ended,
    };
    if let Err(error) = ended {
        shared.fail_all(&error);
    }
}

async fn write(mut output: WriteHalf<impl AsyncWrite>, shared: &Shared) -> io::Result<()> {
    let mut batch = Vec::new();
    loop {
        shared.has_unsent.notified().await;
        yield_to_other_requests().await;
        std::mem::swap(&mut batch, &mut lock(&shared.state).unsent);
        output.write_all(&batch).await?;
        output.flush().await?;
        batch.clear();
        batch.shrink_to(KEPT);
    }
}

/// Lets other tasks that are ready add their commands first, so that one system call sends all of them.
/// Unlike `tokio::task::yield_now`, it does not wait until the thread has polled for I/O.
async fn yield_to_other_requests() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn read(mut input: ReadHalf<impl AsyncRead>, shared: &Shared) -> io::Result<()> {
    let mut arrived = Vec::new();
    let mut next = None;
    loop {
        arrived.reserve(MIN_FREE);
        if input.read_buf(&mut arrived).await? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            ));
        }
        let mut rest = &*arrived;
        while !rest.is_empty() {
            let first = match next.take() {
                Some(first) => first,
                None => lock(&shared.state).waiting.pop_front().ok_or_else(strange)?,
            };
            match Replies::take(first.replies, &mut rest)? {
                // The receiver may have been dropped.
                Some(replies) => _ = first.caller.send(replies),
                None => {
                    next = Some(first);
                    break;
                }
            }
        }
        let taken = arrived.len() - rest.len();
        arrived.drain(..taken);
        arrived.shrink_to(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        sync::atomic::{AtomicUsize, Ordering},
        task::Context,
        time::Duration,
    };

    use futures_util::{FutureExt, future::join_all};
    use tokio::{
        io::{DuplexStream, ReadBuf, duplex},
        task::yield_now,
        time::timeout,
    };

    use super::*;

    /// Counts the system calls that a socket would take.
    struct CountingStream(DuplexStream, Arc<AtomicUsize>);

    impl AsyncRead for CountingStream {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, buffer)
        }
    }

    impl AsyncWrite for CountingStream {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut self.0).poll_write(context, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Sends each line back as two replies, before it reads the next one.
    async fn echo(stream: DuplexStream) {
        let (input, mut output) = split(stream);
        let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(input));
        while let Ok(Some(line)) = lines.next_line().await {
            let reply = format!("*1\r\n${}\r\n{line}\r\n:1\r\n", line.len());
            if output.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    async fn ask(pipe: &Pipe, line: &str) -> Vec<Value> {
        let write = |unsent: &mut Vec<u8>| unsent.extend(format!("{line}\n").bytes());
        pipe.ask(2, write).await.unwrap().values().unwrap()
    }

    fn echoed(line: &str) -> Vec<Value> {
        vec![Value::Array(vec![Value::BulkString(line.into())]), Value::Int(1)]
    }

    /// The room between both is less than one command: each has to read before the other one can write.
    #[tokio::test(start_paused = true)]
    async fn each_call_gets_its_replies_however_they_arrive() {
        for room in [1, 7, 64, 100_000] {
            let (near, far) = duplex(room);
            let (pipe, task) = Pipe::new(near);
            tokio::spawn(task);
            tokio::spawn(echo(far));
            let lines: Vec<_> = (0..100).map(|number| number.to_string().repeat(number)).collect();
            let calls = join_all(lines.iter().map(|line| ask(&pipe, line)));
            let replies =
                timeout(Duration::from_secs(60), calls).await.expect("neither waits for the other");
            assert_eq!(
                replies,
                lines.iter().map(|line| echoed(line)).collect::<Vec<_>>(),
                "{room}"
            );
        }
    }

    /// A multi-threaded runtime polls a task that was just woken before the other ready tasks.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn concurrent_commands_share_a_system_call() {
        let (near, far) = duplex(100_000);
        let writes = Arc::new(AtomicUsize::new(0));
        let (pipe, task) = Pipe::new(CountingStream(near, Arc::clone(&writes)));
        tokio::spawn(task);
        let all = async move {
            let requests = (0..50).map(|number| {
                let (pipe, line) = (pipe.clone(), number.to_string());
                tokio::spawn(async move { assert_eq!(ask(&pipe, &line).await, echoed(&line)) })
            });
            let requests: Vec<_> = requests.collect();
            // The server replies when it has the commands of all calls.
            yield_now().await;
            tokio::spawn(echo(far));
            for request in requests {
                request.await.unwrap();
            }
        };
        tokio::spawn(all).await.unwrap();
        assert!(writes.load(Ordering::Relaxed) < 5, "{writes:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn all_waiting_calls_fail_when_the_connection_ends() {
        for is_aborted in [false, true] {
            let (near, far) = duplex(100);
            let (pipe, task) = Pipe::new(near);
            let task = tokio::spawn(task);
            let ask = || pipe.ask(1, |unsent| unsent.extend(b"PING\r\n"));
            let end = async {
                yield_now().await;
                if is_aborted { task.abort() } else { drop(far) }
            };
            let calls = timeout(Duration::from_secs(60), async { tokio::join!(ask(), ask(), end) });
            let (first, second, ()) = calls.await.expect("nobody waits in vain");
            assert!(first.is_err() && second.is_err());
            assert!(ask().await.is_err(), "and who asks later");
        }
    }

    #[tokio::test]
    async fn a_dropped_call_does_not_shift_replies() {
        let (near, far) = duplex(100_000);
        let (pipe, task) = Pipe::new(near);
        tokio::spawn(task);
        assert!(ask(&pipe, "first").now_or_never().is_none());
        tokio::spawn(echo(far));
        assert_eq!(ask(&pipe, "second").await, echoed("second"));
    }
}
