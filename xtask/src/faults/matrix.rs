//! A report of which test killed which faults.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::results::Trial;
use crate::steps::Seconds;

/// The faults that each test killed.
#[derive(Debug, Default)]
pub(super) struct Matrix(BTreeMap<Law, Vec<(String, Duration)>>);

/// A test by its name, theorems before all others.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Law {
    is_other: bool,
    test: String,
}

impl Law {
    fn new(test: &str) -> Self {
        let name = test.rsplit("::").next().unwrap_or(test);
        let number = name.strip_prefix('t').and_then(|rest| rest.split('_').next());
        let is_theorem =
            number.is_some_and(|number| !number.is_empty() && number.parse::<u8>().is_ok());
        Self { is_other: !is_theorem, test: if is_theorem { name } else { test }.to_owned() }
    }
}

impl Matrix {
    pub(super) fn new(trials: &[Trial]) -> Self {
        let mut matrix = Self::default();
        for trial in trials {
            for test in &trial.killed_by {
                matrix.0.entry(Law::new(test)).or_default().push((trial.fault.clone(), trial.took));
            }
        }
        matrix
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |is_other: bool| {
            let laws = self.0.iter().filter(|(law, _)| law.is_other == is_other);
            laws.fold((0, 0), |(tests, kills), (_, killed)| (tests + 1, kills + killed.len()))
        };
        let ((theorems, by_theorems), (tests, by_tests)) = (count(false), count(true));
        writeln!(f, "{theorems} theorems kill {by_theorems}, {tests} other tests {by_tests}")?;
        for (law, killed) in &self.0 {
            writeln!(f, "\n{} kills {}", law.test, killed.len())?;
            for (fault, took) in killed {
                writeln!(f, "  {:>8}  {fault}", Seconds(*took).to_string())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theorems_come_first_with_their_faults_below_them() {
        let trials = [
            ("origins::a_set", "no dot"),
            ("theorems::reads::t02_b", "no policy"),
            ("theorems::reads::t01_a", "no port"),
            ("theorems::reads::t01_a", "no scheme"),
        ]
        .map(|(test, fault)| Trial {
            fault: fault.to_owned(),
            verdict: String::new(),
            killed_by: vec![test.to_owned()],
            took: Duration::from_secs(1),
        });
        let text = Matrix::new(&trials).to_string();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.first(), Some(&"2 theorems kill 3, 1 other tests 1"));
        let laws: Vec<_> = lines.iter().filter(|line| line.contains(" kills ")).collect();
        assert_eq!(laws, [&"t01_a kills 2", &"t02_b kills 1", &"origins::a_set kills 1"]);
        assert!(lines[3].ends_with("no scheme"), "{text}");
    }

    #[test]
    fn only_a_number_makes_a_theorem() {
        assert!(Law::new("a::tokens_expire").is_other && Law::new("t_x").is_other);
        assert!(!Law::new("a::t13_x").is_other);
    }
}
