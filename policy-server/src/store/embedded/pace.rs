//! How much of a purge is done at a time.

use std::time::Duration;

/// The size of the steps of a purge: as many rows as take about as long as a few logins.
///
/// A step and a login are each a commit, and the time of a commit depends on the disk. So the size
/// follows from what was measured: logins wait for one step of a purge at most.
#[derive(Debug)]
pub(super) struct Pace {
    rows: usize,
    /// The time of a commit of logins, on average.
    commit: Duration,
}

/// The fewest and the most rows of a step.
const FEWEST: usize = 8;
const MOST: usize = 256;

/// A step may take as long as this many commits, but no longer than this time.
const COMMITS: u32 = 3;
const LONGEST: Duration = Duration::from_millis(10);

/// On a disk where one commit takes nearly as long, or longer, a step may take as long as this many commits:
/// it is a commit itself, and has to remove more than is added meanwhile.
const COMMITS_OF_SLOW_DISK: u32 = 2;

impl Default for Pace {
    /// Until there is a measurement: an ordinary disk.
    fn default() -> Self {
        Self { rows: 16, commit: Duration::from_millis(3) }
    }
}

impl Pace {
    /// The rows of the next step.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Records the duration of a commit without a purge.
    pub(super) fn record_commit(&mut self, took: Duration) {
        self.commit = (self.commit * 7 + took) / 8;
    }

    /// Records the duration of a step.
    pub(super) fn record_step(&mut self, took: Duration) {
        let allowed = (self.commit * COMMITS).min(LONGEST).max(self.commit * COMMITS_OF_SLOW_DISK);
        if took > allowed {
            self.rows = (self.rows / 2).max(FEWEST);
        } else if took < allowed / 2 {
            self.rows = (self.rows + self.rows / 4 + 1).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    /// On any disk: the time of a commit, and of each row.
    #[test]
    fn a_step_of_a_purge_takes_as_long_as_three_commits_and_ten_milliseconds_at_most() {
        for (commit, allowed) in
            [(300, 900), (1_000, 3_000), (4_000, 10_000), (10_000, 20_000), (50_000, 100_000)]
        {
            for row in [2, 20, 46, 100, 500] {
                let mut pace = Pace::default();
                let step = |rows: usize| MICRO * (commit + row * rows as u32);
                for _ in 0..100 {
                    pace.record_commit(MICRO * commit);
                }
                let mut steps = vec![];
                for _ in 0..60 {
                    let took = step(pace.rows());
                    pace.record_step(took);
                    steps.push(took);
                }
                let allowed = (MICRO * allowed).max(step(FEWEST));
                let settled = steps.split_off(20);
                // The first step beyond is followed by a shorter one.
                let beyond = settled.iter().filter(|took| **took > allowed).count();
                assert_eq!(beyond, 0, "{commit} {row}: {settled:?} of {allowed:?}");
                // Nor is it too slow: it uses half of what it may, if there is that much to do.
                let most = settled.iter().max().copied().unwrap_or_default();
                assert!(most >= (allowed / 2).min(step(MOST)), "{commit} {row}: {settled:?}");
            }
        }
    }
}
