//! The comparisons of two versions of a fleet of services.

use std::{cmp::Reverse, fmt::Write as _};

use policy_manifest::diff::{Axis, DiffFinding, diff};
use serde_json::json;

use super::{Compared, failure, json, markdown, sarif, text};
use crate::{
    escape::{json_text, printable},
    failure::Failure,
    fleet::Fleets,
    input::Input,
    markdown::words,
    output::{BOLD, Output},
    shown,
};

/// Texts list this many services that differ, and count the rest.
const SHOWN: usize = 40;

/// Two versions of a fleet and what differs.
pub(super) struct ComparedFleets {
    /// The services that differ, by name, the worst first.
    differing: Vec<(String, Compared)>,
    /// The services that are equal; their lock files may still differ.
    equal: Vec<Compared>,
    added: Vec<Input>,
    removed: Vec<Input>,
}

impl ComparedFleets {
    pub(super) fn new(Fleets { both, added, removed }: Fleets) -> Result<Self, Failure> {
        let (mut differing, mut equal, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for (name, old, new) in both {
            match diff(&old.manifest, &new.manifest) {
                Ok(diff) if diff.is_empty() => equal.push(Compared { old, new, diff }),
                Ok(diff) => differing.push((name, Compared { old, new, diff })),
                Err(error) => {
                    let failure = failure(&error);
                    let message = format!("`{name}`: {}", failure.message);
                    problems.push(Failure { message, ..failure });
                }
            }
        }
        if let Some(problem) = Failure::combine(problems) {
            return Err(problem);
        }
        differing.sort_by_cached_key(|(name, compared)| {
            let worst = compared.findings_on(Axis::Widened).map(|finding| finding.severity).max();
            (Reverse((worst, compared.opens())), name.clone())
        });
        Ok(Self { differing, equal, added, removed })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.differing.is_empty() && self.added.is_empty() && self.removed.is_empty()
    }

    /// Whether anybody gains access, including by a new service.
    pub(super) fn opens(&self) -> bool {
        !self.added.is_empty() || self.differing.iter().any(|(_, compared)| compared.opens())
    }

    /// Whether lock files accept all that opens. No line accepts a service that is new.
    pub(super) fn check_acceptances(self, output: &Output) -> Result<bool, Failure> {
        for added in &self.added {
            let name = &added.name;
            output.note(&format!(
                "`--accepted`: no line can accept the service `{name}`, which is new"
            ));
        }
        let mut are_accepted = self.added.is_empty();
        let differing = self.differing.into_iter().map(|(_, compared)| compared);
        for compared in differing.chain(self.equal) {
            are_accepted &= compared.check_acceptances(output)?;
        }
        Ok(are_accepted)
    }

    pub(super) fn text(&self, most: usize) -> String {
        let mut out = format!("{BOLD}{}{BOLD:#}\n", self.summary());
        for (word, services) in [("added", &self.added), ("removed", &self.removed)] {
            for service in services.iter().take(SHOWN) {
                let _ = writeln!(out, "  {word} {}", printable(&describe_service(service)));
            }
            out += &more(services.len(), "  ");
        }
        for (name, compared) in self.differing.iter().take(SHOWN) {
            let _ = write!(
                out,
                "\n{BOLD}{}{BOLD:#}\n{}",
                printable(name),
                text::render(compared, most)
            );
        }
        out + &more(self.differing.len(), "\n")
    }

    pub(super) fn markdown(&self, most: usize) -> String {
        let mut out = format!("# Policies\n\n{}.\n", words(&self.summary()));
        for (word, services) in [("Added", &self.added), ("Removed", &self.removed)] {
            if !services.is_empty() {
                out += &format!("\n{word}:\n\n");
            }
            for service in services.iter().take(SHOWN) {
                out += &format!("- {}\n", words(&describe_service(service)));
            }
            out += &more(services.len(), "- ");
        }
        for (_, compared) in self.differing.iter().take(SHOWN) {
            out += &format!("\n{}", markdown::render(compared, most));
        }
        out + &more(self.differing.len(), "\n")
    }

    pub(super) fn json(&self) -> String {
        let names = |services: &[Input]| {
            services.iter().map(|service| service.name.clone()).collect::<Vec<_>>()
        };
        let services = self
            .differing
            .iter()
            .map(|(name, compared)| json!({ "name": name, "comparison": json::value(compared) }));
        let value = json!({
            "version": 1,
            "services": services.collect::<Vec<_>>(),
            "equal": self.equal.len(),
            "added": names(&self.added),
            "removed": names(&self.removed),
            "opens": self.opens(),
        });
        json_text(&value)
    }

    pub(super) fn sarif(&self) -> String {
        let findings = self.differing.iter().flat_map(|(name, compared)| {
            let mut findings = sarif::findings(compared);
            findings.iter_mut().for_each(|it| it.message = format!("{name}: {}", it.message));
            findings
        });
        crate::sarif::render(&findings.collect::<Vec<_>>())
    }

    fn summary(&self) -> String {
        let all = self.equal.len() + self.differing.len();
        let mut words = match self.differing.len() {
            0 => vec![format!("none of {all} services differs")],
            1 => vec![format!("1 of {all} services differs")],
            some => vec![format!("{some} of {all} services differ")],
        };
        let on = |axis| {
            let finding = |(_, it): &(String, Compared)| it.findings_on(axis).count();
            self.differing.iter().map(finding).sum::<usize>()
        };
        let worst = self.differing.iter().flat_map(|(_, it)| it.findings_on(Axis::Widened));
        let worst = worst.map(|finding: &DiffFinding| finding.severity).max();
        let counts =
            [(on(Axis::Widened), "widening access"), (on(Axis::Narrowed), "breaking clients")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        words.extend(counts.map(|(count, what)| match count {
            1 => format!("1 finding {what}"),
            count => format!("{count} findings {what}"),
        }));
        words.extend(worst.map(|worst| format!("worst: {worst}")));
        let counts = [(self.added.len(), "added"), (self.removed.len(), "removed")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        words.extend(counts.map(|(count, word)| format!("{count} {word}")));
        words.join(", ")
    }
}

fn describe_service(Input { name, manifest, .. }: &Input) -> String {
    format!("{name} ({})", shown::count(manifest.routes.len(), "route"))
}

fn more(all: usize, before: &str) -> String {
    let more = shown::more(all, SHOWN);
    more.map(|more| format!("{before}{more}\n")).unwrap_or_default()
}
