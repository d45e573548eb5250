//! Where a finding is shown: the source line that decided, or a line of the lock file.

use policy_manifest::{FacetSource, Sources};
use serde_json::json;

use crate::{input::LockFile, sarif::SarifLocation};

/// The sources of line numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a> {
    pub(crate) sources: Option<&'a Sources>,
    pub(crate) lock: Option<&'a LockFile>,
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
        let index = routes.into_iter().find_map(|route| line_of(&lock.text, route));
        let line = u32::try_from(index.unwrap_or_default()).unwrap_or_default().saturating_add(1);
        Some(SarifLocation { file: lock.path.clone(), line })
    }
}

/// The index of the line of a route in the text of a lock file.
fn line_of(text: &str, route: &str) -> Option<usize> {
    if route == "app" {
        return text.lines().position(|line| line.starts_with("  \"app\""));
    }
    let (methods, path) = match route.split_once(' ') {
        Some((methods, path)) => (Some(methods.split(',').collect::<Vec<_>>()), path),
        None => (None, route),
    };
    let path = format!("      \"path\": {},", json!(path));
    let methods = methods.map(|methods| format!("      \"methods\": {},", json!(methods)));
    let lines: Vec<_> = text.lines().collect();
    let is_route = |pair: &[&str]| match pair {
        [line, next] => *line == path && methods.as_ref().is_none_or(|methods| next == methods),
        _ => false,
    };
    lines.windows(2).position(is_route)
}

#[cfg(test)]
mod tests {
    use policy_manifest::{Auth, Lock, Manifest, ManifestRoute, SessionFacts};

    use super::*;

    #[test]
    fn a_route_is_found_by_its_methods_and_path() {
        let mut manifest = Manifest::new();
        manifest.app.sessions = Some(SessionFacts::new("memory", "sid", "lax"));
        let mut other = ManifestRoute::handler("/a\"b", ["PUT", "DELETE"], Auth::Public);
        other.takes_session = true;
        manifest.routes = vec![ManifestRoute::handler("/a\"b", ["GET"], Auth::Public), other];
        let text = Lock::new(manifest).to_json();
        let lines: Vec<_> = text.lines().collect();
        let at = |route: &str| line_of(&text, route).map(|index| lines[index + 1].trim());
        assert_eq!(at("GET /a\"b"), Some("\"methods\": [\"GET\"],"));
        assert_eq!(at("DELETE,PUT /a\"b"), Some("\"methods\": [\"DELETE\",\"PUT\"],"));
        assert_eq!(at("POST /a\"b"), None);
        assert_eq!(line_of(&text, "app"), Some(2));
    }
}
