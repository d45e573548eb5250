//! `cargo policy show`: a table of routes.

mod compact;
mod filter;
mod fleet;
mod html;
mod json;
mod markdown;
mod reader;
mod text;
mod view;
mod words;
mod wrap;

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use self::{filter::Filter, fleet::ServiceRoutes, view::View};
use crate::{failure::Failure, fleet::FleetArguments, input::InputArguments, output::Output};

/// Show what each route requires and allows.
///
/// The table says who may call, which pages of other origins may read responses, how requests are
/// protected against CSRF, which caches may keep responses, the limits, the security headers, and
/// where each of it is declared. What holds for all routes alike stands above the table. In a terminal
/// that is too narrow for a table, each route has lines of its own.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy show                                   all routes
  cargo policy show --origin https://shop.example     what pages of this origin may read
  cargo policy show --anonymous --method POST         what a stranger may change
  cargo policy show --role staff --path '/admin/**'   what staff may call there
  cargo policy show --from HEAD~1                     as policy.lock was one commit ago
  cargo policy show --format html > policy.html       a page to browse and filter
  cargo policy show services                          all lock files below a folder
  cargo policy show @services.txt --anonymous         those of a list of files and folders

With LOCK, the table has the routes of all services, and says who may call whom: the service whose
CORS policies grant the public origin of another one, or that accepts its tokens.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: Filter,
    /// The form of the table.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// The width of the text in columns; by default that of the terminal, or 80 where there is none.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..))]
    width: Option<u16>,
    #[command(flatten)]
    fleet: FleetArguments,
    #[command(flatten)]
    input: InputArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For a terminal.
    Text,
    /// For a review or a wiki.
    Markdown,
    /// For programs: a manifest of the routes that are shown.
    Json,
    /// A page of its own, to filter and sort.
    Html,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let filter = &arguments.filter;
    let inputs = match arguments.fleet.read()? {
        Some(fleet) => fleet,
        None => vec![arguments.input.read(output)?],
    };
    let select = |input| Ok(ServiceRoutes { input, routes: filter.select(input)? });
    let fleet = inputs.iter().map(select).collect::<Result<Vec<_>, Failure>>()?;
    let is_empty = fleet.iter().all(|member| member.routes.is_empty());
    if is_empty && inputs.iter().any(|input| !input.manifest.routes.is_empty()) {
        output.note("no route matches; leave out a filter to see more");
    }
    let app = fleet.first().filter(|_| !arguments.fleet.is_stated());
    let view = || match app {
        Some(app) => View::for_app(app, filter).condense(),
        None => View::for_fleet(&fleet, filter).condense(),
    };
    output.write(&match (arguments.format, app) {
        (Format::Text, _) => text::render(&view(), usize::from(width(arguments.width))),
        (Format::Markdown, _) => markdown::render(&view()),
        (Format::Json, Some(app)) => json::render(&app.input.manifest, &app.routes),
        (Format::Json, None) => fleet::to_json(&fleet),
        (Format::Html, _) => html::render(&view()),
    });
    Ok(ExitCode::SUCCESS)
}

fn width(stated: Option<u16>) -> u16 {
    let of_terminal = || terminal_size::terminal_size().map(|(width, _)| width.0.max(40));
    stated.or_else(of_terminal).unwrap_or(80)
}
