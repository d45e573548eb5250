//! `cargo policy lint`: what is odd about the policy of an app.

mod fleet;
mod report;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use policy_manifest::{Date, Finding, FindingSeverity};

use self::{fleet::FleetReport, report::Report};
use crate::{failure::Failure, fleet::FleetArguments, input::InputArguments, output::Output};

/// Find oddities in the policy of an app.
///
/// What it finds is legal, and perhaps more than was meant, or of no use. Each finding has a severity, by
/// who gains what with whose authority, and is sure or a guess. What is
/// sure and of medium severity or worse fails, as in the tests of `policy_tests!`; so do suppressions
/// that have ended, suppress nothing or are not signed. A line in `suppressed` of policy.lock suppresses
/// a finding, with who and why.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy lint
  cargo policy lint --deny low                          also fail on less severe findings
  cargo policy lint --format sarif > policy.sarif       for the code scanning of a host
  cargo policy lint --format markdown >> $GITHUB_STEP_SUMMARY
  cargo policy lint --from HEAD~1                       as policy.lock was one commit ago
  cargo policy lint services                            all lock files below a folder
  cargo policy code lint.subdomain-origins              the explanation of a lint

Exit codes: 0 nothing fails, 1 something does, 2 wrong use or unreadable input.")]
pub(crate) struct Arguments {
    /// Fail on every finding of this severity or worse, whether sure or a guess.
    #[arg(long, value_name = "SEVERITY")]
    deny: Option<Deny>,
    /// The format of the report.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    fleet: FleetArguments,
    #[command(flatten)]
    input: InputArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Deny {
    High,
    Medium,
    Low,
    Info,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For a terminal.
    Text,
    /// For a review.
    Markdown,
    /// For programs.
    Json,
    /// SARIF 2.1.0, which code hosts show beside the changed lines.
    Sarif,
}

impl Deny {
    fn severity(self) -> FindingSeverity {
        match self {
            Self::High => FindingSeverity::High,
            Self::Medium => FindingSeverity::Medium,
            Self::Low => FindingSeverity::Low,
            Self::Info => FindingSeverity::Info,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let today = Date::today();
    let deny = arguments.deny.map(Deny::severity);
    let fails = |finding: &Finding| {
        finding.is_error() || deny.is_some_and(|deny| finding.severity() >= deny)
    };
    let count = match arguments.fleet.read()? {
        None => {
            let report = Report::new(arguments.input.read(output)?, today, fails)?;
            output.write(&match arguments.format {
                Format::Text => report.text(),
                Format::Markdown => report.markdown(),
                Format::Json => report.json(),
                Format::Sarif => report.sarif(fails),
            });
            report.fails
        }
        Some(fleet) => {
            let mut problems = Vec::new();
            let reports = fleet.into_iter().map(|input| Report::new(input, today, fails));
            let reports = reports.filter_map(|it| it.map_err(|it| problems.push(it)).ok());
            let reports: Vec<_> = reports.collect();
            if let Some(problem) = Failure::combine(problems) {
                return Err(problem);
            }
            let report = FleetReport::new(reports);
            output.write(&match arguments.format {
                Format::Text => report.text(),
                Format::Markdown => report.markdown(),
                Format::Json => report.json(),
                Format::Sarif => report.sarif(fails),
            });
            report.fails()
        }
    };
    Ok(if count == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
