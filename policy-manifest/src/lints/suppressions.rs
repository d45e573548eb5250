//! Suppressions: findings that were reviewed and deliberately left.

use std::{collections::HashMap, fmt};

use policy_core::Lint;
use serde::{Deserialize, Serialize};

use super::Finding;
use crate::Date;

/// A finding that was reviewed and is deliberately left.
///
/// It is a line of the lock file, and holds until the end of its last day.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Suppression {
    /// The code of the lint.
    pub lint: String,
    /// The route as the finding names it, such as `GET /orders/{id}` or `app`; without it, every
    /// finding of the lint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The name of the reviewer.
    pub who: String,
    /// The reason.
    pub why: String,
    /// The last day on which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
}

/// The line of a lock file.
impl fmt::Display for Suppression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// How many days before its end a suppression is reported.
const SOON: u32 = 14;

impl Suppression {
    /// The lines that suppress a finding, one for each route, for a reviewer to sign. A finding
    /// about a suppression has none.
    pub fn lines_for(finding: &Finding) -> Vec<Self> {
        if finding.lint.is_about_suppressions() {
            return Vec::new();
        }
        let routes = finding.routes.iter().map(|route| Self {
            lint: finding.lint.code().to_owned(),
            route: Some(route.clone()),
            who: String::new(),
            why: String::new(),
            until: None,
        });
        routes.collect()
    }

    fn is_signed(&self) -> bool {
        [&self.who, &self.why].iter().all(|text| !text.trim().is_empty())
    }

    fn is_expired(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}

/// The remaining findings, each of one route, with findings about the suppressions; and the
/// suppressed findings.
pub(super) fn apply(
    suppressions: &[Suppression],
    found: Vec<Finding>,
    today: Date,
) -> (Vec<Finding>, Vec<(Finding, Suppression)>) {
    let sorted = sort(suppressions, found, today, |in_force| {
        let mut first: HashMap<(&str, Option<&str>), usize> = HashMap::new();
        for (index, Suppression { lint, route, .. }) in in_force.iter().enumerate() {
            first.entry((lint, route.as_deref())).or_insert(index);
        }
        move |finding: &Finding| {
            let routes = finding.routes.iter().map(|route| Some(route.as_str()));
            let keys = routes.chain([None]).map(|route| (finding.lint.code(), route));
            keys.filter_map(|key| first.get(&key)).min().copied()
        }
    });
    let reports = sorted.reports.into_iter().map(|(suppression, lint)| {
        let route = suppression.route.clone().unwrap_or_else(|| "app".to_owned());
        let finding = Finding::new(lint, route, "suppressed");
        finding.about(suppression.to_string())
    });
    let left = sorted.left.into_iter().chain(reports).collect();
    let suppressed = sorted.suppressed.into_iter();
    (left, suppressed.map(|(finding, suppression)| (finding, suppression.clone())).collect())
}

/// Findings of any kind, divided by suppressions.
#[derive(Debug)]
pub(crate) struct SortedFindings<'s, F> {
    /// The findings that nothing suppresses.
    pub(crate) left: Vec<F>,
    /// The others, each with its suppression.
    pub(crate) suppressed: Vec<(F, &'s Suppression)>,
    /// The findings about the suppressions themselves.
    pub(crate) reports: Vec<(&'s Suppression, Lint)>,
}

/// Divides findings by the suppressions that are in force. `index` gets these, and returns a
/// function that finds the index of the first that covers a finding.
pub(crate) fn sort<'s, F, Covering: Fn(&F) -> Option<usize>>(
    suppressions: &'s [Suppression],
    found: Vec<F>,
    today: Date,
    index: impl FnOnce(Vec<&'s Suppression>) -> Covering,
) -> SortedFindings<'s, F> {
    let in_force: Vec<&Suppression> = suppressions
        .iter()
        .filter(|suppression| suppression.is_signed() && !suppression.is_expired(today))
        .collect();
    let covering = index(in_force.clone());
    let mut sorted =
        SortedFindings { left: Vec::new(), suppressed: Vec::new(), reports: Vec::new() };
    let mut uses = vec![0_usize; in_force.len()];
    for finding in found {
        let covering = covering(&finding);
        match covering.and_then(|index| in_force.get(index).zip(uses.get_mut(index))) {
            Some((suppression, uses)) => {
                *uses += 1;
                sorted.suppressed.push((finding, *suppression));
            }
            None => sorted.left.push(finding),
        }
    }
    for suppression in suppressions {
        if !suppression.is_signed() {
            sorted.reports.push((suppression, Lint::SuppressionUnsigned));
        } else if suppression.is_expired(today) {
            sorted.reports.push((suppression, Lint::SuppressionExpired));
        }
    }
    for (suppression, uses) in in_force.into_iter().zip(uses) {
        let days = suppression.until.and_then(|until| until.days_since(today));
        if uses == 0 {
            sorted.reports.push((suppression, Lint::SuppressionUnused));
        } else if days.is_some_and(|days| days < SOON) {
            sorted.reports.push((suppression, Lint::SuppressionEndsSoon));
        }
    }
    sorted
}
