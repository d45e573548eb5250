//! The lines of a lock file that are about a route.

use std::collections::HashMap;

use serde_json::json;

/// The lines of routes in the text of a lock file.
#[derive(Debug, Default)]
pub(crate) struct RouteLines {
    app: Option<usize>,
    /// The indices of the lines with each path, each with the next line.
    of_path: HashMap<String, Vec<(usize, String)>>,
}

impl RouteLines {
    pub(crate) fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            if found.app.is_none() && line.starts_with("  \"app\"") {
                found.app = Some(index);
            }
            if line.starts_with("      \"path\": ") {
                let next = lines.peek().map(|(_, next)| *next).unwrap_or_default().to_owned();
                found.of_path.entry(line.to_owned()).or_default().push((index, next));
            }
        }
        found
    }

    /// The index of the line of a route.
    pub(crate) fn find(&self, route: &str) -> Option<usize> {
        if route == "app" {
            return self.app;
        }
        let (methods, path) = match route.split_once(' ') {
            Some((methods, path)) => (Some(methods.split(',').collect::<Vec<_>>()), path),
            None => (None, route),
        };
        let methods = methods.map(|methods| format!("      \"methods\": {},", json!(methods)));
        let of_path = self.of_path.get(&format!("      \"path\": {},", json!(path)))?;
        let is_route =
            |(_, next): &&(usize, String)| methods.as_ref().is_none_or(|methods| next == methods);
        of_path.iter().find(is_route).map(|(index, _)| *index)
    }
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
        let known = RouteLines::parse(&text);
        let at = |route: &str| known.find(route).map(|index| lines[index + 1].trim());
        assert_eq!(at("GET /a\"b"), Some("\"methods\": [\"GET\"],"));
        assert_eq!(at("DELETE,PUT /a\"b"), Some("\"methods\": [\"DELETE\",\"PUT\"],"));
        assert_eq!(at("POST /a\"b"), None);
        assert_eq!(known.find("app"), Some(2));
    }
}
