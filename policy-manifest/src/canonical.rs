//! The canonical text of a manifest: equal meaning, equal bytes.

use std::fmt::Write as _;

use serde::Serialize;

use crate::{Manifest, route::Route};

impl Manifest {
    /// The canonical JSON text, in UTF-8 with a line end at its end. A facet of a route is one line,
    /// so that a change of one is a change of one line.
    ///
    /// Equal policies have equal bytes: lists are in a fixed order, default values and entries that
    /// another one covers are left out, and fields are in the order in which they are documented.
    pub fn to_json(&self) -> String {
        let manifest = self.clone().normal();
        let mut text = format!(
            "{{\n  \"format\": {},\n  \"app\": {},\n",
            manifest.format,
            json(&manifest.app)
        );
        if !manifest.headers.is_empty() {
            text += "  \"headers\": {\n";
            let sets = manifest.headers.iter();
            let sets: Vec<_> =
                sets.map(|(name, set)| format!("    {}: {}", json(name), json(set))).collect();
            text += &sets.join(",\n");
            text += "\n  },\n";
        }
        text += "  \"routes\": [";
        for (index, route) in manifest.routes.iter().enumerate() {
            text += if index == 0 { "\n" } else { ",\n" };
            text += "    {\n";
            text += &facets(route).join(",\n");
            text += "\n    }";
        }
        text += if manifest.routes.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" };
        text
    }
}

/// The fields of a route, one a line.
fn facets(route: &Route) -> Vec<String> {
    let mut lines = Lines(Vec::new());
    let Route {
        path,
        methods,
        kind,
        takes_slashes,
        targets,
        auth,
        csrf,
        takes_session,
        cors,
        isolation,
        cache,
        jsonp,
        limits,
        headers,
    } = route;
    lines.field("path", path);
    lines.stated("methods", methods);
    lines.stated("kind", kind);
    lines.stated("takes_slashes", takes_slashes);
    lines.stated("targets", targets);
    lines.field("auth", auth);
    lines.stated("csrf", csrf);
    lines.stated("takes_session", takes_session);
    lines.stated("cors", cors);
    lines.stated("isolation", isolation);
    lines.stated("cache", cache);
    lines.stated("jsonp", jsonp);
    lines.stated("limits", limits);
    lines.stated("headers", headers);
    lines.0
}

struct Lines(Vec<String>);

impl Lines {
    fn field(&mut self, name: &str, value: &impl Serialize) {
        let mut line = String::new();
        let _ = write!(line, "      \"{name}\": {}", json(value));
        self.0.push(line);
    }

    /// Writes a field, unless it has its default value.
    fn stated<T: Serialize + Default + PartialEq>(&mut self, name: &str, value: &T) {
        if *value != T::default() {
            self.field(name, value);
        }
    }
}

/// The JSON text of a value on one line.
fn json(value: &impl Serialize) -> String {
    // INVARIANT: every map in a manifest has text as keys, and every type serializes.
    serde_json::to_string(value).unwrap_or_default()
}
