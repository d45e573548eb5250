//! The canonical text of a manifest: equal meaning, equal bytes.

use crate::{Manifest, facets::json, facts::Facts as _};

impl Manifest {
    /// The canonical JSON text, in UTF-8 with a line end at its end. A fact of the app and a facet of a route are one line each,
    /// so that a change of one is a change of one line.
    ///
    /// Equal policies have equal bytes: lists are in a fixed order, default values and entries that
    /// another one covers are left out, and fields are in the order in which they are documented.
    pub fn to_json(&self) -> String {
        let manifest = self.clone().normal();
        let mut text = format!("{{\n  \"format\": {},\n", manifest.format);
        let facts = manifest.app.fields();
        let facts: Vec<_> =
            facts.into_iter().map(|(name, json)| format!("    \"{name}\": {json}")).collect();
        text += &match facts.is_empty() {
            true => "  \"app\": {},\n".to_owned(),
            false => format!("  \"app\": {{\n{}\n  }},\n", facts.join(",\n")),
        };
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
            let mut lines = Vec::new();
            route.for_each_field(|name, json| lines.push(format!("      \"{name}\": {json}")));
            text += &lines.join(",\n");
            text += "\n    }";
        }
        text += if manifest.routes.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" };
        text
    }
}
