//! What an audit found, in text and in JSON.

use std::fmt::Write as _;

use http::{Method, Request, header};
use serde_json::json;

use super::{codes::Code, judge::Finding, target::Target};
use crate::{
    escape::printable,
    output::{BOLD, DIM},
};

/// What an audit found.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) origin: String,
    /// How many requests were sent.
    pub(super) sent: u64,
    pub(super) findings: Vec<Shown>,
    /// What could not be judged.
    pub(super) notes: Vec<String>,
}

/// A finding with the requests that show it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) finding: Finding,
    pub(super) curl: Vec<String>,
}

impl Report {
    /// Adds findings, and takes out those that are consequences of others.
    pub(super) fn complete(&mut self) {
        let has_dropped =
            self.findings.iter().any(|shown| shown.finding.code == Code::OriginDropped);
        // A response without `Origin` in its request has no grant.
        self.findings.retain(|shown| !(has_dropped && shown.finding.code == Code::CorsMissing));
        self.findings.sort_by_key(|shown| shown.finding.code);
        self.notes.dedup();
    }

    /// The findings by their codes, in alphabetical order.
    fn by_code(&self) -> impl Iterator<Item = (Code, Vec<&Shown>)> {
        Code::ALL.iter().filter_map(|code| {
            let of: Vec<_> =
                self.findings.iter().filter(|shown| shown.finding.code == *code).collect();
            (!of.is_empty()).then_some((*code, of))
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (code, of) in self.by_code() {
            let _ = writeln!(text, "{BOLD}{}{BOLD:#}: {}", code.code(), code.meaning());
            let Some(Shown { finding, curl }) = of.first() else { continue };
            let routes = routes(&of);
            let mut line = |name: &str, value: &str| {
                let _ = writeln!(text, "  {DIM}{name:<9}{DIM:#} {}", printable(value));
            };
            let shown = routes.iter().take(SHOWN_ROUTES).cloned().collect::<Vec<_>>().join(", ");
            match routes.len().checked_sub(SHOWN_ROUTES) {
                Some(more @ 1..) => line("routes", &format!("{shown} and {more} more")),
                _ => line(if routes.len() > 1 { "routes" } else { "route" }, &shown),
            }
            line("expected", &finding.expected);
            line("got", &finding.found);
            if let Some(traces) = &finding.traces {
                line("says", traces);
            }
            line("cause", code.cause());
            line("mend", code.mend());
            curl.iter().for_each(|curl| line("shown by", curl));
            text.push('\n');
        }
        let count = self.by_code().count();
        let verdict = match count {
            0 => "no differences from the policy".to_owned(),
            1 => "1 difference from the policy".to_owned(),
            count => format!("{count} differences from the policy"),
        };
        let _ = writeln!(text, "{}: {} requests, {verdict}", printable(&self.origin), self.sent);
        text
    }

    pub(super) fn json(&self) -> String {
        let findings: Vec<_> = self
            .by_code()
            .map(|(code, of)| {
                let cases: Vec<_> = of
                    .iter()
                    .map(|Shown { finding, curl }| {
                        json!({
                            "route": finding.route,
                            "expected": finding.expected,
                            "found": finding.found,
                            "traces": finding.traces,
                            "curl": curl,
                        })
                    })
                    .collect();
                json!({
                    "code": code.code(),
                    "meaning": code.meaning(),
                    "cause": code.cause(),
                    "mend": code.mend(),
                    "cases": cases,
                })
            })
            .collect();
        let report = json!({
            "version": 1,
            "origin": self.origin,
            "requests": self.sent,
            "findings": findings,
            "notes": self.notes,
        });
        let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// How many routes a text names with a finding.
const SHOWN_ROUTES: usize = 4;

fn routes(of: &[&Shown]) -> Vec<String> {
    let mut routes: Vec<_> = of.iter().map(|shown| shown.finding.route.clone()).collect();
    routes.dedup();
    routes
}

/// The command that sends a request, without its credential.
pub(super) fn curl(target: &Target, request: &Request<()>, is_secret: bool) -> String {
    let mut words = vec!["curl -s --path-as-is".to_owned()];
    words.push(match *request.method() {
        Method::HEAD => "-I".to_owned(),
        Method::GET => "-i".to_owned(),
        ref method => format!("-i -X {}", quote(method.as_str())),
    });
    if target.is_elsewhere {
        let (host, port) = &target.address;
        words.push(format!("--connect-to {}", quote(&format!("::{host}:{port}"))));
    }
    for (name, value) in request.headers() {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let is_credential = matches!(*name, header::COOKIE | header::AUTHORIZATION);
        if (*name == header::HOST && value == target.authority) || *name == header::USER_AGENT {
            continue;
        }
        let value = if is_credential && is_secret { "...".to_owned() } else { value };
        words.push(format!("-H {}", quote(&format!("{name}: {value}"))));
    }
    words.push(quote(&format!("{}{}", target.origin(), request.uri())));
    words.join(" ")
}

/// A word of a shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
