//! What a rule refuses, and what it accepts. Both are compiled by the tests of `ui`.

use policy_core::Entry;

/// The two examples of one code.
#[derive(Debug)]
pub(super) struct Example {
    /// What is refused.
    pub(super) bad: String,
    /// The same, corrected.
    pub(super) good: String,
}

impl Example {
    pub(super) fn find(entry: Entry) -> Option<Self> {
        let (_, bad, good) = AREAS.iter().find(|(area, ..)| *area == entry.area())?;
        let (_, words) = entry.code().split_once('.')?;
        let name = words.replace('-', "_");
        Some(Self { bad: module(bad, &name)?, good: module(good, &name)? })
    }
}

macro_rules! areas {
    ($($area:literal)*) => {
        /// The areas, with their bad and their good examples: a module for each code.
        const AREAS: &[(&str, &str, &str)] = &[$((
            $area,
            include_str!(concat!("../../../codes/bad/", $area, ".rs")),
            include_str!(concat!("../../../codes/good/", $area, ".rs")),
        ),)*];
    };
}

areas! {
    "auth" "cache" "cors" "csrf" "handler" "headers" "jsonp" "limit" "object" "problem" "route" "syntax"
}

/// The contents of a module, without the import that all of them have.
fn module(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().skip_while(|line| {
        let found = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {"));
        found.map(|found| found.trim_start_matches("r#")) != Some(name)
    });
    let inside = lines.skip(1).take_while(|line| *line != "}");
    let lines = inside.map(|line| line.strip_prefix("    ").unwrap_or(line));
    let lines = lines.filter(|line| *line != "use policy_server::prelude::*;");
    let text: String =
        lines.skip_while(|line| line.is_empty()).flat_map(|line| [line, "\n"]).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use policy_core::Rule;

    use super::*;

    #[test]
    fn a_module_is_found_without_its_import() {
        let text = "mod one {\n    x\n}\n\nmod r#two {\n    use policy_server::prelude::*;\n\n    fn a() {\n        b\n    }\n}\n";
        assert_eq!(module(text, "two").unwrap(), "fn a() {\n    b\n}\n");
        assert_eq!(module(text, "one").unwrap(), "x\n");
        assert_eq!(module(text, "three"), None);
    }

    /// Rules of these areas that no example shows: those about the app as a whole, about values at
    /// run time and about layers in front of other services, and four that are about a list of
    /// routes or need a page of code to break.
    const WITHOUT: &str = "\
        cors.any-origin-at-run-time cors.bound-unset cors.bound-unused cors.bound-configured \
        cors.origin-outside-bound cors.origin-list-missing cors.origin-list-unused cors.list-key \
        cors.list-by cors.extension-of-nothing cors.loopback-shared cors.list-without-store \
        auth.sessions-missing auth.tokens-missing auth.scheme-missing auth.mount-callers-missing \
        auth.callers-of-layer auth.group-missing auth.laxer-than-group auth.issuer-not-accepted \
        auth.issuers-missing auth.issuer-unused auth.realm-invalid csrf.exempt-by-default \
        csrf.token-of-layer headers.nonce-shared limit.store-missing limit.rate-of-layer \
        syntax.routes-entry syntax.testing-off route.path-prefix route.guarded-below \
        route.conflict handler.parameters-too-many handler.arguments-too-many \
        handler.not-a-handler object.name-repeated object.engine-missing object.engine-invalid \
        object.engine-unused";

    #[test]
    fn the_rules_of_attributes_have_examples() {
        let of_attributes = Rule::ALL.iter().map(|rule| Entry::Rule(*rule));
        let of_attributes =
            of_attributes.filter(|entry| AREAS.iter().any(|(area, ..)| *area == entry.area()));
        let (with, without): (Vec<_>, Vec<_>) =
            of_attributes.partition(|entry| Example::find(*entry).is_some());
        let without: Vec<_> = without.into_iter().map(Entry::code).collect();
        assert_eq!(without, WITHOUT.split(' ').collect::<Vec<_>>());
        assert_eq!(with.len(), 212);
    }

    #[test]
    fn every_example_is_of_a_code() {
        for (area, bad, good) in AREAS {
            for text in [bad, good] {
                for line in text.lines() {
                    let Some(rest) = line.strip_prefix("mod ") else { continue };
                    let name = rest.trim_end_matches(" {").trim_start_matches("r#");
                    let code = format!("{area}.{}", name.replace('_', "-"));
                    assert!(Entry::from_code(&code).is_some(), "{code}");
                }
            }
        }
    }
}
