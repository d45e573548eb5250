//! What an audit found, in text and in JSON.

use std::{borrow::Cow, collections::BTreeSet, fmt::Write as _};

use http::{HeaderName, HeaderValue, Request, header};
use serde_json::json;

use super::{codes::Code, judge::Finding, target::Target};
use crate::{
    escape::{json_text, printable},
    output::{BOLD, DIM},
    shell::{self, quote},
    shown,
};

#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) origin: String,
    /// How many requests were sent.
    pub(super) sent: u64,
    pub(super) findings: Vec<ReportEntry>,
    /// What could not be judged.
    pub(super) notes: Vec<String>,
    /// The routes about which no response shows anything.
    pub(super) inconclusive: BTreeSet<String>,
    /// What this audit cannot show.
    pub(super) unseen: Vec<String>,
}

/// A finding with the requests that show it.
#[derive(Debug)]
pub(super) struct ReportEntry {
    pub(super) finding: Finding,
    pub(super) curl: Vec<String>,
}

impl Report {
    /// Adds findings, and takes out those that are consequences of others.
    pub(super) fn complete(&mut self) {
        let has_dropped =
            self.findings.iter().any(|entry| entry.finding.code == Code::OriginDropped);
        // A response to a request without `Origin` has no grant.
        self.findings.retain(|entry| !(has_dropped && entry.finding.code == Code::CorsMissing));
        self.findings.sort_by_key(|entry| entry.finding.code);
        self.notes.dedup();
    }

    /// 1 with findings, and 2 without any if nothing is known about a route.
    pub(super) fn exit_code(&self) -> u8 {
        match (self.findings.is_empty(), self.inconclusive.is_empty()) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 0,
        }
    }

    /// The findings by their codes, in alphabetical order.
    fn by_code(&self) -> impl Iterator<Item = (Code, Vec<&ReportEntry>)> {
        Code::ALL.iter().filter_map(|code| {
            let of: Vec<_> =
                self.findings.iter().filter(|entry| entry.finding.code == *code).collect();
            (!of.is_empty()).then_some((*code, of))
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (code, of) in self.by_code() {
            let _ = writeln!(text, "{BOLD}{}{BOLD:#}: {}", code.code(), code.meaning());
            let Some(ReportEntry { finding, curl }) = of.first() else { continue };
            let routes = routes(&of);
            let mut line = |name: &str, value: &str| {
                let _ = writeln!(text, "  {DIM}{name:<9}{DIM:#} {}", printable(value));
            };
            line(if routes.len() > 1 { "routes" } else { "route" }, &shown::routes(routes.iter()));
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
            count => format!("{} from the policy", shown::count(count, "difference")),
        };
        if !self.inconclusive.is_empty() {
            let routes = shown::routes(self.inconclusive.iter());
            let _ = writeln!(text, "no response shows anything about {}", printable(&routes));
        }
        for unseen in &self.unseen {
            let _ = writeln!(text, "{DIM}not seen{DIM:#} {}", printable(unseen));
        }
        let unknown = match self.inconclusive.len() {
            0 => String::new(),
            count => format!(", nothing known about {}", shown::count(count, "route")),
        };
        let (origin, sent) = (printable(&self.origin), self.sent);
        let _ = writeln!(text, "{origin}: {sent} requests, {verdict}{unknown}");
        text
    }

    pub(super) fn json(&self) -> String {
        let findings: Vec<_> = self
            .by_code()
            .map(|(code, of)| {
                let cases: Vec<_> = of
                    .iter()
                    .map(|ReportEntry { finding, curl }| {
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
            "inconclusive": self.inconclusive,
            "unseen": self.unseen,
            "notes": self.notes,
        });
        json_text(&report)
    }
}

fn routes(of: &[&ReportEntry]) -> Vec<String> {
    let mut routes: Vec<_> = of.iter().map(|entry| entry.finding.route.clone()).collect();
    routes.dedup();
    routes
}

/// The command that sends a request, without its credential.
pub(super) fn curl(target: &Target, request: &Request<()>, is_secret: bool) -> String {
    let mut options = "-s --path-as-is -i".to_owned();
    if target.is_elsewhere {
        let to = format!("::{}", target.host_and_port());
        options += &format!(" --connect-to {}", quote(&to));
    }
    if let Some(file) = target.authority_file.as_ref().filter(|_| target.is_https) {
        options += &format!(" --cacert {}", quote(&file.to_string_lossy()));
    }
    let is_added = |name: &HeaderName, value: &HeaderValue| {
        (*name == header::HOST && value == target.authority.as_str()) || *name == header::USER_AGENT
    };
    let headers = request.headers().iter().filter(|(name, value)| !is_added(name, value));
    let headers = headers.map(|(name, value)| {
        let is_credential = matches!(*name, header::COOKIE | header::AUTHORIZATION);
        let value = String::from_utf8_lossy(value.as_bytes());
        (name, if is_credential && is_secret { Cow::Borrowed("...") } else { value })
    });
    let url = format!("{}{}", target.origin(), request.uri());
    shell::curl(&options, request.method(), &url, headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_connects_and_trusts_as_the_audit_does() {
        let line = |url: &str, connect: &str| {
            let mut target = Target::parse(url, Some(connect)).unwrap();
            target.authority_file = Some("my ca.pem".into());
            curl(&target, &Request::get("/a").body(()).unwrap(), false)
        };
        assert_eq!(
            line("https://api.example", "[::1]:8443"),
            "curl -s --path-as-is -i --connect-to '::[::1]:8443' --cacert 'my ca.pem' \
             https://api.example/a"
        );
        assert_eq!(
            line("http://api.example", "10.0.0.7:80"),
            "curl -s --path-as-is -i --connect-to ::10.0.0.7:80 http://api.example/a"
        );
    }
}
