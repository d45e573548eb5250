//! How rules are read, and which are refused.

use policy_core_tests::folder::Folder;

use super::*;

#[test]
fn malformed_rules_are_refused_with_their_line() {
    for (rules, message) in [
        ("[never.a]\nroutes = [\"/a\"]\n\nroles = []", "policy.rules:4: `roles` is empty"),
        (
            "[never.a]\nrouts = [\"/a\"]\nroutes = [\"/a\"]",
            "policy.rules:2: `routs` is not a known key: did you mean `routes`?",
        ),
        ("[neverr.a]\n", "policy.rules:1: `neverr` is not a known key: did you mean `never`?"),
        ("[never]\nroutes = [\"/a\"]", "policy.rules:2: `routes` is not a rule"),
        ("[never.a]\nroutes = \"/a\"", "policy.rules:2: `routes` is not a list"),
        ("[never.a]\nroutes = [\"a\"]", "policy.rules:2: `a` has no path"),
        ("[never.a]\nroutes = [\n\"/a\",\n\"\"]", "policy.rules:4: `routes` has an empty text"),
        (
            "[never.\"a b\"]\nroutes = [\"/a\"]",
            "policy.rules:1: `a b` cannot be the name of a rule",
        ),
        ("[never.a]\n[never.a]", "policy.rules:2: duplicate key"),
        ("[require.a]\nroutes = [\"/a\"]", "policy.rules:1: it requires nothing"),
        (
            "[require.a]\nroutes = [\"/a\"]\ncsrf = false",
            "policy.rules:3: `csrf` can only be required",
        ),
        (
            "[require.a]\nroutes = [\"/a\"]\nobjects = \"all\"",
            "policy.rules:3: `objects` can only be required",
        ),
        (
            "[require.a]\nroutes = [\"GET /a\"]\ncsrf = true",
            "policy.rules:1: `csrf` is required of methods that change nothing",
        ),
        ("[require.a]\nroutes = [\"/a\"]\nrate = \"fast\"", "policy.rules:3: `fast`: "),
        (
            "[require.a]\nroutes = [\"/a\"]\ncache = \"public\"",
            "policy.rules:3: `cache` cannot be `public`",
        ),
        (
            "[require.a]\nroutes = [\"/a\"]\nheaders = { x = 1 }",
            "policy.rules:3: `x` is not a text",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\nroles = [\"a\"]\nwithout-roles = [\"b\"]",
            "policy.rules:4: `roles` and `without-roles` are both stated",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\ncallers = [\"anonymous\"]\nroles = [\"a\"]",
            "policy.rules:1: anonymous callers have neither",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\norigins = [\"no origin\"]",
            "policy.rules:3: `origins` has no origin",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\norigins = [\"partner\"]",
            "policy.rules:3: `partner` is no origin",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\nseverity = \"hihg\"",
            "policy.rules:3: `severity` cannot be `hihg`: did you mean `high`?",
        ),
        ("[[except]]\nrule = \"public\"", "policy.rules:1: `route` is missing"),
        (
            "[[except]]\nrule = \"public\"\nroute = \"GET /a\"\nwho = \" \"",
            "policy.rules:4: `who` is empty",
        ),
        (
            "[[except]]\nrule = \"public\"\nroute = \"/admin/**\"\nwho = \"a\"\nwhy = \"b\"",
            "policy.rules:3: `/admin/**` is not one route",
        ),
        (
            "[[except]]\nrule = \"public\"\nroute = \"/a\"\nwho = \"a\"\nwhy = \"b\"\nuntil = \"soon\"",
            "policy.rules:6: `soon` is not a date",
        ),
        ("extends = [\"a\"]", "policy.rules:1: `a` cannot be extended by a text"),
        (
            "[never.a]\nroutes = [\"/a\\u001b[31m\\n::error::\"]",
            "policy.rules:2: `/a\\u{1b}[31m\\n::error::`",
        ),
        ("[lifetimes]\nsession = \"12\"", "policy.rules:2: `12` is no time"),
        ("[lifetimes]\nwhy = \"a\"", "policy.rules:1: it limits nothing"),
        ("a = ", "policy.rules:1: "),
    ] {
        let error = match Rules::parse("policy.rules", rules) {
            Ok(rules) => {
                let manifest = app(Vec::new());
                let policy = CheckedPolicy { name: "shop", manifest: &manifest };
                check(&rules, &[policy], today()).unwrap().problems[0].to_string()
            }
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with(message), "{rules}\n{error}");
        assert!(!error.contains(['\u{1b}', '\r']), "{error:?}");
    }
}

#[test]
fn a_file_extends_others_by_paths_relative_to_it() {
    let never = "[never.a]\nroutes = [\"/a/**\"]\nwithout-roles = [\"b\"]\n";
    let folder = Folder::with(&[
        ("org/policy.rules", &format!("{never}[public]\nroutes = [\"/healthz\"]")),
        (
            "shop/policy.rules",
            "extends = [\"../org/policy.rules\"]\n[public]\nroutes = [\"/login\"]",
        ),
    ])
    .unwrap();
    let rules = Rules::read([folder.path().join("shop/policy.rules")]).unwrap();
    let ids: Vec<_> = rules.rules().iter().map(|it| (it.id.as_str(), it.is_shared)).collect();
    assert_eq!(ids, [("never.a", true), ("public", true), ("public", false)]);
    let manifest = app(vec![
        route(&["GET"], "/healthz", Auth::Public),
        route(&["GET"], "/login", Auth::Public),
    ]);
    let policy = CheckedPolicy { name: "shop", manifest: &manifest };
    // The shared rule may be about routes that this app does not have.
    assert!(check(&rules, &[policy], today()).unwrap().holds());
}

#[test]
fn files_that_cannot_be_joined_are_refused() {
    let folder = Folder::with(&[
        ("a.rules", "# one\nextends = [\"b.rules\"]"),
        ("b.rules", "extends = [\"./a.rules\"]"),
        ("c.rules", "extends = [\"absent.rules\"]"),
        ("d.rules", "[never.a]\nroutes = [\"/a\"]"),
        ("e.rules", "extends = [\"d.rules\"]\n[never.a]\nroutes = [\"/a\"]"),
    ])
    .unwrap();
    let error = |file: &str| Rules::read([folder.path().join(file)]).unwrap_err().to_string();
    let (cycle, absent, twice) = (error("a.rules"), error("c.rules"), error("e.rules"));
    assert!(cycle.contains("b.rules:1: ") && cycle.contains("extends itself"), "{cycle}");
    assert!(absent.contains("c.rules:1: ") && absent.contains("cannot be read"), "{absent}");
    assert!(twice.contains("e.rules:2: `never.a` is also a rule of"), "{twice}");
    assert!(error("missing.rules").contains("cannot be read"));
}
