//! `cargo policy explain`: why a request is decided as it is.

mod caller;
pub(crate) mod curl;
pub(crate) mod har;
pub(super) mod json;
mod record;
mod request;
mod shell;
mod text;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use policy_manifest::explain;

pub use self::request::ParsedRequest;
use self::{caller::CallerArguments, request::RequestArguments};
use crate::{failure::Failure, input::InputArguments, output::Output};

/// Explain why a request is let through or refused.
///
/// The request goes through the gates of the policy, and nowhere else: nothing is sent. The output says
/// which gate decided and where it is written, which gates were not reached, what the page sees, the
/// most similar request that is let through, and the smallest edit that would let this one through,
/// with everything else that this edit opens. It names no edit for a request that lacks a credential.
///
/// A browser sends a preflight before some requests of pages, and programs do not: if only a browser
/// would not send the request, the output has both decisions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy explain GET /orders/7 --session --role staff
  cargo policy explain PUT /orders/7 -H 'origin: https://partner.example' --session
  cargo policy explain --curl \"curl -X POST https://api.example/orders -H 'origin: null'\"
  cargo policy explain --har page.har --entry 3
  cargo policy explain CONNECT /live --protocol websocket -H 'origin: https://app.example'
  cargo policy explain --log \"$(grep policy::decision app.log | tail -1)\"
  cargo policy explain POST /orders --from HEAD~1     by policy.lock of the commit before

Exit codes: 0 the request is let through, 1 it is refused, 2 wrong use or unreadable input. The requests
of `--curl` and `--log` are judged as a program sends them; the others, if they have the `Origin` of
another page, as a browser does.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    caller: CallerArguments,
    /// The format of the explanation.
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
    let input = arguments.input.read(output)?;
    let mut request = arguments.request.read(&input.manifest, output)?;
    let caller = arguments.caller.read(&input.manifest, &mut request, output)?;
    let sources = input.sources.unwrap_or_default();
    let explanation = explain(&input.manifest, &sources, &request, &caller)?;
    match arguments.format {
        Format::Text => output.write(&text::render(&request, &explanation)),
        Format::Json => output.write(&json::render(&request, &explanation)),
    }
    let is_unsent = explanation.unsent.is_some() && arguments.request.is_of_page();
    let is_refused = is_unsent || explanation.decision.refusal().is_some();
    Ok(if is_refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
