//! `cargo policy play`: a page that shows what each kind of caller gets from a policy.

mod cast;
mod decide;
mod scenes;
mod world;

use std::{net::Ipv4Addr, process::ExitCode, thread};

use clap::Args;
use http::{HeaderName, header::CONTENT_TYPE};
use policy_server::{
    policy::{
        Frame,
        csp::{Directive, Name, Source},
    },
    prelude::*,
};
use serde_json::{Value, json};

use self::decide::{PlayResult, Question, decide};
use crate::{failure::Failure, output::Output};

/// Show what a policy does, on a page of this machine.
///
/// Left is an app of a few routes, whose attributes you edit; right is what happens when your own page, a
/// page that you allow, an attacker's page, a program and a CDN ask it. The attributes are checked as the
/// macros check them, and the engine of the server decides about each request. The page is served on the
/// loopback address alone, and loads nothing from elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy play
  cargo policy play --open           open the page in your browser
  cargo policy play --port 8642      the same address each time, for links")]
pub(crate) struct Arguments {
    /// The port of the page; any free one by default.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    port: u16,
    /// Open the page in your browser.
    #[arg(long)]
    open: bool,
}

/// The stack of a thread that parses a text: frames of parsers are large without optimisation.
const STACK: usize = 32 * 1024 * 1024;

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    let failed = |error: policy_server::Error| Failure::new(error.to_string());
    runtime.block_on(async {
        let server = app().bind((Ipv4Addr::LOCALHOST, arguments.port)).await.map_err(failed)?;
        let url = format!("http://{}/", server.local_addr());
        output.write(&format!("the playground is at {url}, until ctrl-c\n"));
        output.finish()?;
        if arguments.open {
            open(&url, output);
        }
        server.run().await.map_err(failed)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a page in the browser of the user.
fn open(url: &str, output: &Output) {
    let (program, arguments): (_, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/c", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    if let Err(error) = std::process::Command::new(program).args(arguments).arg(url).spawn() {
        output.note(&format!("`{program}` cannot be run ({error}): open {url} yourself"));
    }
}

/// The page runs its own script, and loads nothing else.
const HEADERS: HeadersPolicy = HeadersPolicy::builder()
    .csp(&[
        Directive(Name::DefaultSrc, &[Source::None]),
        Directive(Name::ScriptSrc, &[Source::SelfOrigin]),
        Directive(Name::StyleSrc, &[Source::SelfOrigin]),
        Directive(Name::ImgSrc, &[Source::SelfOrigin]),
        Directive(Name::ConnectSrc, &[Source::SelfOrigin]),
        Directive(Name::BaseUri, &[Source::None]),
        Directive(Name::FormAction, &[Source::None]),
    ])
    .frame(Frame::Nobody)
    .referrer("no-referrer")
    .coop("same-origin")
    .corp("same-origin")
    .build();

fn app() -> App<()> {
    App::new(())
        .policies(Policies::new().headers(HEADERS).isolation(Isolation::SameOrigin))
        .routes(routes![page, style, script, icon, mistakes, answer])
}

type File = ([(HeaderName, &'static str); 1], &'static str);

#[get("/")]
#[auth(public)]
#[cache(no_store)]
async fn page() -> File {
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], include_str!("page/index.html"))
}

#[get("/play.css")]
#[auth(public)]
#[cache(no_store)]
async fn style() -> File {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("page/play.css"))
}

#[get("/play.js")]
#[auth(public)]
#[cache(no_store)]
async fn script() -> File {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("page/play.js"))
}

#[get("/icon.svg")]
#[auth(public)]
#[cache(no_store)]
async fn icon() -> File {
    let icon = include_str!("../../../templates/spa/web/icon.svg");
    ([(CONTENT_TYPE, "image/svg+xml")], icon)
}

#[get("/scenes")]
#[auth(public)]
#[cache(no_store)]
async fn mistakes() -> Json<Value> {
    Json(json!({ "origin": scenes::ORIGIN, "scenes": scenes::ALL }))
}

/// Answers a question, both as JSON.
pub(crate) fn played(question: &str) -> Result<String, serde_json::Error> {
    serde_json::to_string(&decide(&serde_json::from_str(question)?))
}

/// What the page asks while somebody types.
#[post("/decide")]
#[auth(public)]
#[limit(body = "64 KiB", timeout = "10s", concurrency = 4)]
async fn answer(Json(question): Json<Question>) -> Result<Json<PlayResult>, Problem> {
    let decided = tokio::task::spawn_blocking(move || {
        let thread = thread::Builder::new().stack_size(STACK).spawn(move || decide(&question));
        thread.map(thread::JoinHandle::join)
    });
    match decided.await {
        Ok(Ok(Ok(answer))) => Ok(Json(answer)),
        _ => Err(Problem::internal("the question was not decided")),
    }
}
