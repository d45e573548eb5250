//! `cargo policy audit`: what a network makes of the policy of a running app.

mod codes;
mod credentials;
mod exchange;
mod expected;
mod judge;
mod login;
mod plan;
mod report;
mod run;
mod send;
mod target;

use std::{num::NonZeroU32, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, ValueEnum};
use policy_manifest::{Manifest, engine::Engine};

pub(crate) use self::codes::Code;
use self::{
    credentials::Credentials,
    login::Login,
    plan::{Credential, Options, Plan, plan},
    report::curl,
    send::{Pace, Sender},
    target::Target,
};
use crate::{
    escape::printable,
    failure::Failure,
    input::InputArguments,
    output::{DIM, Output},
};

/// Compare the responses of a running app with its policy.
///
/// Sends a few requests for each distinct policy of the manifest, and reports where the network
/// between here and the app changes what it says: a CDN that strips `Vary`, a gateway that answers
/// preflights, a cache that mixes users up, a proxy that normalizes paths. It connects to the host that
/// is named and to no other, follows no redirect, and sends GET, HEAD and OPTIONS alone unless it is
/// told otherwise. What it finds is sent once more before it is reported. The report also lists what these
/// requests cannot show.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy audit https://api.shop.example
  cargo policy audit https://api.shop.example --plan        print the requests only
  cargo policy audit https://api.shop.example --connect 10.0.0.7:8443 --ca internal.pem
  cargo policy audit https://api.shop.example --login login.curl --format json
  cargo policy audit https://api.shop.example --from v1.4   compare with policy.lock of v1.4

Exit codes: 0 no differences, 1 findings, 2 wrong use, not reachable, or no response that shows anything
about some route. docs/schema/audit-1.json describes the JSON.")]
pub(crate) struct Arguments {
    /// The origin to audit, such as `https://api.shop.example`.
    #[arg(value_name = "ORIGIN")]
    origin: String,
    /// Connect to this address instead of the host, for example to audit an origin behind a CDN.
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,
    /// A PEM file with a certificate authority to trust, beside the usual ones.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The session cookie of a user, to audit routes that need a login: `env:NAME` or `file:PATH`.
    #[arg(long, value_name = "SOURCE")]
    session: Option<String>,
    /// A file with the request that logs a user in: a line of curl, or a HAR file. It is sent once, and
    /// its session is used as that of `--session`.
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    login: Option<PathBuf>,
    /// The number of the login in the HAR file, from 1.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "login")]
    login_entry: usize,
    /// A bearer token for the same purpose: `env:NAME` or `file:PATH`.
    #[arg(long, value_name = "SOURCE")]
    token: Option<String>,
    /// Also send requests with unsafe methods that the policy refuses.
    #[arg(long)]
    unsafe_methods: bool,
    /// Ask each route, not one for each distinct policy.
    #[arg(long)]
    all_routes: bool,
    /// The maximum number of requests per second.
    #[arg(long, value_name = "NUMBER", default_value = "5")]
    rate: NonZeroU32,
    /// The maximum number of requests, beside the login. A request with a finding is repeated once.
    /// Routes that are left out for this are reported as inconclusive.
    #[arg(long, value_name = "NUMBER", default_value_t = 300)]
    max_probes: usize,
    /// The time-out of a response.
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    timeout: NonZeroU32,
    /// Print the requests, and send nothing.
    #[arg(long)]
    plan: bool,
    /// The format of the report.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    input: InputArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut target = Target::parse(&arguments.origin, arguments.connect.as_deref())?;
    target.authority_file.clone_from(&arguments.ca);
    let manifest = arguments.input.read(output)?.manifest;
    let engine = Engine::new(&manifest)?;
    check_origin(&manifest, &target)?;
    let credentials =
        Credentials::read(&manifest, arguments.session.as_deref(), arguments.token.as_deref())?;
    let login = arguments.login.as_deref();
    let login = login.map(|file| Login::read(file, arguments.login_entry, &manifest, &target));
    let login = login.transpose()?;
    let options = Options {
        authority: target.authority.clone(),
        has_session: credentials.has(Credential::Session) || login.is_some(),
        has_token: credentials.has(Credential::Token),
        sends_unsafe_methods: arguments.unsafe_methods,
        asks_all_routes: arguments.all_routes,
        max_probes: arguments.max_probes,
    };
    let plan = plan(&manifest, &engine, &options);
    if arguments.plan {
        output.write(&list_requests(&plan, login.as_ref(), &target));
        return Ok(ExitCode::SUCCESS);
    }
    let pace = Pace {
        rate: arguments.rate.get(),
        patience: Duration::from_secs(u64::from(arguments.timeout.get())),
    };
    let sender = Sender::new(target.clone(), credentials, pace)?;
    let audit = run::Audit {
        manifest: &manifest,
        engine: &engine,
        target: &target,
        login: login.as_ref(),
        sender,
        has_set_session: false,
    };
    let report = audit.run(&plan)?;
    match arguments.format {
        Format::Text => {
            report.notes.iter().for_each(|note| output.note(note));
            output.write(&report.text());
        }
        Format::Json => output.write(&report.json()),
    }
    Ok(ExitCode::from(report.exit_code()))
}

/// A manifest is about one origin. Another one would be refused by every route.
fn check_origin(manifest: &Manifest, target: &Target) -> Result<(), Failure> {
    let Some(own) = &manifest.app.public_origin else { return Ok(()) };
    let authority = own.split_once("://").map_or(own.as_str(), |(_, authority)| authority);
    if authority == target.authority {
        return Ok(());
    }
    Err(Failure::new(format!("the app of this manifest is `{own}`, not `{}`", target.origin()))
        .help(format!("audit `{own}`, with `--connect HOST:PORT` if it has another address")))
}

/// The requests of a plan, as commands.
fn list_requests(plan: &Plan, login: Option<&Login>, target: &Target) -> String {
    let mut text = String::new();
    if let Some(login) = login {
        let curl = curl(target, &login.anonymous_request(), true);
        text += &format!("{DIM}the login, without its body{DIM:#}\n  {}\n", printable(&curl));
    }
    let mut route = "";
    for trial in &plan.trials {
        if trial.route != route {
            route = &trial.route;
            text += &format!("{DIM}{}{DIM:#}\n", printable(route));
        }
        for probe in &trial.probes {
            let curl = curl(target, &probe.request, probe.credential.is_some());
            text += &format!("  {}\n", printable(&curl));
        }
    }
    let probes: usize = plan.trials.iter().map(|trial| trial.probes.len()).sum();
    let requests = probes + usize::from(login.is_some());
    text + &format!("{requests} requests\n")
}
