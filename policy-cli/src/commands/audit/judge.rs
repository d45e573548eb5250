//! Compares the responses to a trial with the policy. Nothing here does I/O.

mod cookies;
mod decision;
mod headers;
mod plain_http;
mod sequence;

use http::Request;
use policy_manifest::{Manifest, engine::Engine};

use super::{
    codes::Code,
    exchange::{Exchange, Response},
    expected::Expected,
    plan::{Probe, Purpose, Trial},
};

/// A difference between a response and the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) code: Code,
    /// The methods and the path of the route.
    pub(super) route: String,
    /// What the policy requires.
    pub(super) expected: String,
    /// What the response has instead.
    pub(super) found: String,
    /// The headers that show which server handled the response.
    pub(super) traces: Option<String>,
    /// The requests that show it, as they are written in the plan: without credentials.
    pub(super) shown_by: Vec<usize>,
}

/// One exchange with what was expected of it.
struct JudgedExchange<'a> {
    index: usize,
    probe: &'a Probe,
    request: &'a Request<()>,
    response: &'a Response,
    expected: Expected<'a>,
}

/// The findings of a trial.
struct Findings<'a> {
    trial: &'a Trial,
    all: Vec<Finding>,
}

impl Findings<'_> {
    /// Adds a finding about one response.
    fn add(&mut self, code: Code, judged: &JudgedExchange<'_>, expected: String, found: String) {
        self.add_for_all(code, &[judged], expected, found);
    }

    /// Adds a finding about several responses in a row, the last of which is wrong.
    fn add_for_all(
        &mut self,
        code: Code,
        judged: &[&JudgedExchange<'_>],
        expected: String,
        found: String,
    ) {
        let traces = judged.last().and_then(|judged| judged.response.traces());
        let shown_by = judged.iter().map(|judged| judged.index).collect();
        let route = self.trial.route.clone();
        self.all.push(Finding { code, route, expected, found, traces, shown_by });
    }
}

/// The findings of a trial; each response belongs to the probe at the same index.
pub(super) fn judge(
    manifest: &Manifest,
    engine: &Engine,
    trial: &Trial,
    exchanges: &[Exchange],
) -> Vec<Finding> {
    let judged: Vec<_> = trial
        .probes
        .iter()
        .zip(exchanges)
        .enumerate()
        .map(|(index, (probe, Exchange { request, response }))| {
            let expected = Expected::new(manifest, engine, request, &probe.caller);
            JudgedExchange { index, probe, request, response, expected }
        })
        .collect();
    let mut findings = Findings { trial, all: Vec::new() };
    if trial.purpose == Purpose::PlainHttp {
        let own = manifest.app.public_origin.as_deref().unwrap_or_default();
        let all = judged.iter().filter(|one| !is_inconclusive(one.response));
        all.for_each(|one| plain_http::judge(own, one, &mut findings));
        return findings.all;
    }
    let is_mixed = sequence::judge(manifest, &judged, &mut findings);
    let mut own = Vec::new();
    for one in &judged {
        if is_inconclusive(one.response) || is_mixed.contains(&one.index) {
            continue;
        }
        if decision::judge(one, &mut findings) {
            own.push(one);
        }
    }
    // A server that answers some preflights itself answers all, though some of its responses may be
    // right.
    let is_elsewhere = |finding: &Finding| finding.code == Code::PreflightAnsweredElsewhere;
    if !findings.all.iter().any(is_elsewhere) {
        own.into_iter().for_each(|one| headers::judge(one, &judged, &mut findings));
    }
    let all = judged.iter().filter(|one| !is_inconclusive(one.response));
    all.for_each(|one| cookies::judge(manifest, one, &mut findings));
    findings.all
}

/// Whether a response shows nothing about the policy: rate limits, and upstreams that are
/// unavailable.
pub(super) fn is_inconclusive(response: &Response) -> bool {
    response.status == 429 || (matches!(response.status, 502..=504) && response.code().is_none())
}

/// Whether a code is one with which gates refuse requests.
fn is_refusal(code: &str) -> bool {
    policy_core::Refusal::ALL.iter().any(|refusal| refusal.code() == code)
}

/// Status and code of a response, in words.
pub(super) fn outcome(response: &Response) -> String {
    match response.code() {
        Some(code) => format!("{} {code}", response.status),
        None => format!("{} without a problem document", response.status),
    }
}

/// The purposes whose probes a proxy may refuse on its own.
fn may_be_refused_early(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::Path(_)
            | Purpose::Host
            | Purpose::Trace
            | Purpose::Forwarded
            | Purpose::StaticFile
    )
}

#[cfg(test)]
mod tests;
