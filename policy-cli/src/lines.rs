//! Where a finding is shown: the source line that decided, or a line of the lock file.

use policy_manifest::{FacetSource, Sources};

use crate::{
    input::{Input, LockFile},
    sarif::SarifLocation,
};

/// The sources of line numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a> {
    pub(crate) sources: Option<&'a Sources>,
    pub(crate) lock: Option<&'a LockFile>,
}

impl Input {
    /// Where findings about it are shown.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines { sources: self.sources.as_ref(), lock: self.lock.as_ref() }
    }
}

impl Lines<'_> {
    /// The line of the source that decided, else the line of the first of these routes in the lock
    /// file.
    pub(crate) fn find<'r>(
        &self,
        source: Option<&FacetSource>,
        routes: impl IntoIterator<Item = &'r str>,
    ) -> Option<SarifLocation> {
        if let Some(source) = source {
            let file = self.lock.map(|lock| lock.below(&source.file));
            let file = file.unwrap_or_else(|| source.file.clone());
            return Some(SarifLocation { file, line: source.line });
        }
        let lock = self.lock?;
        let index = routes.into_iter().find_map(|route| lock.lines.find(route));
        let line = u32::try_from(index.unwrap_or_default()).unwrap_or_default().saturating_add(1);
        Some(SarifLocation { file: lock.path.clone(), line })
    }
}
