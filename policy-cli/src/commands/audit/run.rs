//! Sends the trials of a plan and collects what is found twice.

use std::time::{SystemTime, UNIX_EPOCH};

use policy_manifest::{Manifest, engine::Engine};

use super::{
    codes::Code,
    exchange::Exchange,
    judge::{Finding, is_inconclusive, judge},
    login::Login,
    plan::{Plan, Purpose, Trial, name_of},
    report::{Report, ReportEntry, curl},
    send::Sender,
    target::Target,
};
use crate::failure::Failure;

/// What a first trial without a conclusive response shows.
const NOT_REACHED: &str =
    "the app is not reached: every response is 429, or of a proxy without an upstream";

/// An audit in progress.
pub(super) struct Audit<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) engine: &'a Engine,
    pub(super) target: &'a Target,
    pub(super) login: Option<&'a Login>,
    pub(super) sender: Sender,
    /// Whether any response set the session cookie.
    pub(super) has_set_session: bool,
}

/// What a trial shows.
#[derive(Default)]
struct Outcome {
    findings: Vec<ReportEntry>,
    inconclusive: usize,
    /// Whether any response shows something about the policy.
    is_conclusive: bool,
}

impl Audit<'_> {
    /// Sends the plan.
    ///
    /// # Errors
    ///
    /// The host does not respond at all, or the login sets no session.
    pub(super) fn run(mut self, plan: &Plan) -> Result<Report, Failure> {
        let mut report = Report { origin: self.target.origin(), ..Report::default() };
        // Until a response shows something about a route, nothing is known about it.
        let planned = plan.trials.iter().map(|trial| &trial.route);
        report.inconclusive = planned.chain(&plan.left_out).cloned().collect();
        report.unseen.clone_from(&plan.unseen);
        let mut trials = plan.trials.iter();
        let Some(baseline) = trials.next() else { return Ok(report) };
        let is_https = self.manifest.app.public_origin.is_some();
        if is_https && !self.target.is_https {
            self.plain_http(baseline.clone(), &mut report)?;
        } else if self.baseline(baseline, &mut report)? {
            if let Some(login) = self.login {
                report.findings.extend(self.log_in(login)?);
            }
            let (mut inconclusive, mut lost) = (0, 0);
            for trial in trials {
                match self.confirm(trial, &mut report.notes) {
                    Ok(outcome) => {
                        if outcome.is_conclusive {
                            report.inconclusive.remove(&trial.route);
                        }
                        report.findings.extend(outcome.findings);
                        inconclusive += outcome.inconclusive;
                    }
                    // A proxy may close the connection on what it takes for an attack.
                    Err(_) if matches!(trial.purpose, Purpose::Host | Purpose::Path(_)) => (),
                    Err(_) => lost += 1,
                }
            }
            if !plan.left_out.is_empty() {
                report.notes.push(format!(
                    "{} groups of requests were not sent; `--max-probes` allows more",
                    plan.left_out.len()
                ));
            }
            for (count, words) in [
                (
                    inconclusive,
                    "responses are inconclusive: 429, or no upstream; try a lower `--rate`",
                ),
                (lost, "groups of requests got no response"),
            ] {
                if count > 0 {
                    report.notes.push(format!("{count} {words}"));
                }
            }
        }
        if self.manifest.app.sessions.is_some() && !self.has_set_session {
            let words = "the attributes of the session cookie, which no response sets: `--login`";
            report.unseen.push(words.to_owned());
        }
        report.sent = self.sender.count();
        report.complete();
        Ok(report)
    }

    /// Whether the app is reached under its own name, without which nothing else can be judged.
    fn baseline(&mut self, trial: &Trial, report: &mut Report) -> Result<bool, Failure> {
        let outcome = self.confirm(trial, &mut report.notes).map_err(|error| self.away(&*error))?;
        if !outcome.is_conclusive {
            report.notes.push(NOT_REACHED.to_owned());
            return Ok(false);
        }
        report.inconclusive.remove(&trial.route);
        report.findings.extend(outcome.findings);
        let stops = |entry: &ReportEntry| {
            matches!(
                entry.finding.code,
                Code::HostRewritten | Code::SchemeLost | Code::Redirected | Code::ForwardedPassed
            )
        };
        let is_stopped = report.findings.iter().any(stops);
        if is_stopped {
            report.notes.push("nothing else is checked until this is corrected".to_owned());
        }
        Ok(!is_stopped)
    }

    /// Logs in, uses the session from now on, and judges the response. The login is sent once.
    fn log_in(&mut self, login: &Login) -> Result<Vec<ReportEntry>, Failure> {
        let (request, body) = (login.request.clone(), login.body.clone());
        let sent = self.sender.send_with(request, body.into());
        let exchange = sent.map_err(|error| self.away(&*error))?;
        self.sender.use_session(login.session(&exchange.response)?);
        self.has_set_session = true;
        let (method, path) = (login.request.method(), login.request.uri().path());
        let route = self.engine.serving(method.as_str(), path);
        let route = route.map_or_else(|| format!("{method} {path}"), name_of);
        let findings = judge(self.manifest, self.engine, &login.trial(route), &[exchange]);
        let curl = vec![curl(self.target, &login.anonymous_request(), true)];
        let to_entry = |finding| ReportEntry { finding, curl: curl.clone() };
        Ok(findings.into_iter().map(to_entry).collect())
    }

    /// The audit of plain HTTP of an app that is served over TLS, of which nothing else is expected.
    fn plain_http(&mut self, baseline: Trial, report: &mut Report) -> Result<(), Failure> {
        let trial = Trial { purpose: Purpose::PlainHttp, ..baseline };
        let outcome =
            self.confirm(&trial, &mut report.notes).map_err(|error| self.away(&*error))?;
        if outcome.is_conclusive {
            report.inconclusive.clear();
            if outcome.findings.is_empty() {
                let words =
                    "plain HTTP is redirected to the own origin, or refused; audit that origin";
                report.notes.push(words.to_owned());
            }
            report.findings.extend(outcome.findings);
        } else {
            report.notes.push(NOT_REACHED.to_owned());
        }
        Ok(())
    }

    fn away(&self, error: &dyn std::error::Error) -> Failure {
        let mut words = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            words = format!("{words}: {cause}");
            source = cause.source();
        }
        Failure::new(format!(
            "`{}` does not respond at {}: {words}",
            self.target.origin(),
            self.target.host_and_port()
        ))
        .help(
            "name the host that browsers use, with `--ca FILE` for your own certificate authority",
        )
    }

    /// The findings that a trial shows twice. The last sending decides whether the trial is conclusive: if a
    /// proxy answers the repetition of a finding, nothing is known.
    fn confirm(
        &mut self,
        trial: &Trial,
        notes: &mut Vec<String>,
    ) -> Result<Outcome, super::send::NoResponse> {
        let first = self.send_trial(trial)?;
        if first.findings.is_empty() {
            return Ok(first);
        }
        let second = self.send_trial(trial)?;
        let codes: Vec<_> = second.findings.iter().map(|entry| entry.finding.code).collect();
        let (findings, once): (Vec<_>, Vec<_>) =
            first.findings.into_iter().partition(|entry| codes.contains(&entry.finding.code));
        for ReportEntry { finding, .. } in once {
            let code = finding.code.code();
            notes.push(format!("{code} was found once, but not again, at {}", finding.route));
        }
        Ok(Outcome { findings, ..second })
    }

    fn send_trial(&mut self, trial: &Trial) -> Result<Outcome, super::send::NoResponse> {
        let exchanges = self.exchanges(trial)?;
        let findings = judge(self.manifest, self.engine, trial, &exchanges);
        let to_entry = |finding: Finding| {
            let of = |index: &usize| {
                let (exchange, probe) = (exchanges.get(*index)?, trial.probes.get(*index)?);
                Some(curl(self.target, &exchange.request, probe.credential.is_some()))
            };
            let curl = finding.shown_by.iter().filter_map(of).collect();
            ReportEntry { finding, curl }
        };
        let inconclusive =
            exchanges.iter().filter(|exchange| is_inconclusive(&exchange.response)).count();
        let is_conclusive = inconclusive < exchanges.len();
        let findings = findings.into_iter().map(to_entry).collect();
        Ok(Outcome { findings, inconclusive, is_conclusive })
    }

    fn exchanges(&mut self, trial: &Trial) -> Result<Vec<Exchange>, super::send::NoResponse> {
        // With a new target, a cache can answer only with a response of this trial.
        let is_fresh = matches!(
            trial.purpose,
            Purpose::Origins
                | Purpose::Callers
                | Purpose::Host
                | Purpose::Forwarded
                | Purpose::StaticFile
        );
        let fresh = is_fresh.then(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("{:x}-{}", now.as_nanos(), self.sender.count())
        });
        let sent = trial.probes.iter().map(|probe| self.sender.send(probe, fresh.as_deref()));
        let exchanges: Vec<_> = sent.collect::<Result<_, _>>()?;
        let cookie = self.manifest.app.sessions.as_ref().map(|facts| facts.cookie.as_str());
        self.has_set_session |= cookie
            .is_some_and(|cookie| exchanges.iter().any(|exchange| exchange.response.sets(cookie)));
        Ok(exchanges)
    }
}
