//! The canonical text of a manifest: equal meaning, equal bytes.

use crate::{
    Manifest,
    facets::{facts::Facts as _, json, shared_sets::Names},
};

impl Manifest {
    /// The canonical JSON text, in UTF-8 with a line end at its end. A fact of the app and a facet of a
    /// route are one line each, so that a change of one is a change of one line. A CORS policy or limits
    /// that several routes share are written once, with a name, as security headers are. Rules of objects
    /// are one line each.
    ///
    /// Equal policies have equal bytes: lists are in a fixed order, default values and entries that
    /// another one covers are left out, and fields are in the order in which they are documented.
    pub fn to_json(&self) -> String {
        let manifest = self.clone().normal();
        let mut text = format!("{{\n  \"format\": {},\n", manifest.format);
        let facts = manifest.app.fields();
        let facts: Vec<_> = facts.iter().map(|(name, text)| line(name, text)).collect();
        text += &match facts.is_empty() {
            true => "  \"app\": {},\n".to_owned(),
            false => section("app", &facts),
        };
        let names = Names::from_manifest(&manifest);
        for field in ["cors", "limits", "headers"] {
            let sets = names.sets(field);
            let sets: Vec<_> = sets.iter().map(|(name, text)| line(name, text)).collect();
            if !sets.is_empty() {
                text += &section(field, &sets);
            }
        }
        let rules: Vec<_> =
            manifest.objects.iter().map(|(name, text)| line(name, &json(text))).collect();
        if !rules.is_empty() {
            text += &section("objects", &rules);
        }
        text += "  \"routes\": [";
        for (index, route) in manifest.routes.iter().enumerate() {
            text += if index == 0 { "\n" } else { ",\n" };
            text += "    {\n";
            let mut lines = Vec::new();
            route.for_each_field(|name, json| {
                lines.push(format!("      \"{name}\": {}", names.name_or_text(name, json)));
            });
            text += &lines.join(",\n");
            text += "\n    }";
        }
        text += if manifest.routes.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" };
        text
    }
}

/// A member of a section.
fn line(name: &str, text: &str) -> String {
    format!("    {}: {text}", json(&name))
}

fn section(name: &str, lines: &[String]) -> String {
    format!("  \"{name}\": {{\n{}\n  }},\n", lines.join(",\n"))
}
