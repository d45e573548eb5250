//! The baseline: the cost of the same responses without a framework. hyper, a `match` over paths,
//! constant headers; nothing is generic.
//!
//! `raw-peer PORT [--threads N] [--per-core] [--no-timer] [--http2]`: one work-stealing runtime
//! with N threads, or N threads each with a runtime and a listener; with or without hyper's header
//! time-out, which arms a timer per request; HTTP/1.1, or HTTP/2 for clients that begin with it.

mod respond;
mod token;

use std::{
    convert::Infallible,
    error::Error,
    future::{Ready, ready},
    io,
    pin::Pin,
    sync::Arc,
    thread,
};

use contract::Arguments;
use futures_util::future::Either;
use hyper::{
    Method, Request, body::Incoming, server::conn::http1, server::conn::http2, service::Service,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Builder,
};

use crate::respond::{App, Reply, total};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let protocol = match (arguments.has("--http2"), arguments.has("--no-timer")) {
        (true, _) => Protocol::Http2,
        (false, true) => Protocol::Http1NoTimer,
        (false, false) => Protocol::Http1,
    };
    let app = Arc::new(App::new()?);
    if !arguments.has("--per-core") {
        let listener = arguments.listen()?;
        // On a worker's own thread.
        return Ok(arguments
            .runtime()?
            .block_on(async { tokio::spawn(serve(listener, app, protocol)).await })??);
    }
    let start = |_| -> io::Result<_> {
        let (listener, app) = (arguments.listen()?, Arc::clone(&app));
        Ok(thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(serve(listener, app, protocol))
        }))
    };
    let threads = (0..arguments.threads()).map(start).collect::<io::Result<Vec<_>>>()?;
    for thread in threads {
        thread.join().map_err(|_panic| "a thread panicked")??;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Protocol {
    Http1,
    Http1NoTimer,
    Http2,
}

async fn serve(
    listener: std::net::TcpListener,
    app: Arc<App>,
    protocol: Protocol,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(connection(stream, Handler(Arc::clone(&app)), protocol));
    }
}

/// Errors of a connection are caused by the client, and ignored.
async fn connection(stream: TcpStream, handler: Handler, protocol: Protocol) {
    let io = TokioIo::new(stream);
    let _ = match protocol {
        Protocol::Http1 => {
            http1::Builder::new().timer(TokioTimer::new()).serve_connection(io, handler).await
        }
        Protocol::Http1NoTimer => http1::Builder::new().serve_connection(io, handler).await,
        Protocol::Http2 => {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.timer(TokioTimer::new()).serve_connection(io, handler).await
        }
    };
}

struct Handler(Arc<App>);

type BoxedReply = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

impl Service<Request<Incoming>> for Handler {
    type Response = Reply;
    type Error = Infallible;
    type Future = Either<Ready<Result<Reply, Infallible>>, BoxedReply>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        if *request.method() == Method::POST && request.uri().path() == "/order" {
            return Either::Right(Box::pin(async { Ok(total(request.into_body()).await) }));
        }
        Either::Left(ready(Ok(self.0.respond(&request))))
    }
}
