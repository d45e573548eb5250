//! `cargo policy show`: a table of routes.

mod compact;
mod filter;
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

use self::{filter::Filter, view::View};
use crate::{failure::Failure, input::InputArguments, output::Output};

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
  cargo policy show --format html > policy.html       a page to browse and filter")]
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
    let input = arguments.input.read(output)?;
    let routes = filter.select(&input)?;
    if routes.is_empty() && !input.manifest.routes.is_empty() {
        output.note("no route matches; leave out a filter to see more");
    }
    let view = View::new(&input, &routes, filter).condense();
    match arguments.format {
        Format::Text => {
            let width = usize::from(width(arguments.width));
            output.write(&text::render(&view, width));
        }
        Format::Markdown => output.write(&markdown::render(&view)),
        Format::Json => output.write(&json::render(&input.manifest, &routes)),
        Format::Html => output.write(&html::render(&view)),
    }
    Ok(ExitCode::SUCCESS)
}

fn width(stated: Option<u16>) -> u16 {
    let of_terminal = || terminal_size::terminal_size().map(|(width, _)| width.0.max(40));
    stated.or_else(of_terminal).unwrap_or(80)
}
