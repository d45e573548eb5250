//! A comparison as SARIF 2.1.0, which code scanning shows on the lines that changed.

use policy_manifest::{
    Change, FindingSeverity,
    diff::{Axis, DiffFinding, PathMethods},
};

use super::{Compared, causes::is_of_objects, witness};
use crate::sarif::{self, SarifFinding, SarifLevel};

pub(super) fn render(compared: &Compared) -> String {
    sarif::render(&findings(compared))
}

pub(super) fn findings(compared: &Compared) -> Vec<SarifFinding> {
    let findings = compared.diff.findings.iter().map(|found| finding(compared, found));
    let changes = compared.diff.changes.iter().map(|found| change(compared, found));
    findings.chain(changes).collect()
}

fn finding(compared: &Compared, finding: &DiffFinding) -> SarifFinding {
    let (rule, can, help) = match finding.axis {
        Axis::Widened => {
            ("access-widened", "can", "make sure that this gain of access is intended")
        }
        Axis::Narrowed => {
            ("access-narrowed", "can no longer", "make sure that no client needs this access")
        }
    };
    let routes: Vec<_> = finding.places.iter().map(PathMethods::words).collect();
    let own = compared.new.manifest.app.public_origin.as_deref();
    let mut message = format!("{}: {}", finding.severity, routes.join(", "));
    for case in &finding.cases {
        let callers = match case.callers.as_slice() {
            [] => String::new(),
            callers => format!(" with {}", callers.join("; or ")),
        };
        let who = case.senders.words();
        let what = case.gains.words().join(", ");
        message += &format!("\n{who} {can} {what}{callers}");
        let runner = witness::runner(case);
        message += &format!("\n{runner}: {}", witness::fetch(case, own));
    }
    let source = finding.changes.iter().find_map(|change| compared.source(change));
    let paths = finding.places.iter().map(|place| place.path.as_str());
    SarifFinding {
        rule: rule.to_owned(),
        level: match (finding.axis, finding.severity) {
            (Axis::Widened, FindingSeverity::High) => SarifLevel::Error,
            (Axis::Widened, _) => SarifLevel::Warning,
            (Axis::Narrowed, _) => SarifLevel::Note,
        },
        message,
        help: help.to_owned(),
        location: compared.new.line_of(source, paths),
        routes,
        suppressed: None,
    }
}

fn change(compared: &Compared, change: &Change) -> SarifFinding {
    let help = match is_of_objects(change) {
        true => "make sure that this change of rights on objects is intended",
        false => {
            "make sure that this change is intended, although no request gains or loses access by it"
        }
    };
    SarifFinding {
        rule: "policy-changed".to_owned(),
        level: if change.direction.opens() { SarifLevel::Warning } else { SarifLevel::Note },
        message: change.to_string(),
        help: help.to_owned(),
        location: compared.new.line_of(compared.source(change), [change.path.as_str()]),
        routes: vec![change.route()],
        suppressed: None,
    }
}
