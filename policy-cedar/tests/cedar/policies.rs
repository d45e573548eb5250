//! What the start says of policies, and what the lock file keeps of them.

use policy_manifest::{Acceptance, Direction, Lock, Manifest, changes};
use policy_server::object::{ObjectEngine as _, ObjectSchema};

use super::*;

/// The problems of these policies, each after its code.
fn problems(policies: &str) -> Vec<String> {
    match app(policies).check() {
        Ok(()) => Vec::new(),
        Err(Error::Start(problems)) => problems
            .iter()
            .map(|problem| {
                assert_eq!(problem.code(), "object.engine-invalid");
                std::error::Error::source(problem).expect("the engine's words").to_string()
            })
            .collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn policies_are_validated_against_the_objects() {
    assert_eq!(problems(POLICIES), [""; 0]);
    for (policies, lines) in [
        ("\npermit (principal, action,", &["line 2: unexpected end of input"][..]),
        (
            "permit (principal is Usr, action, resource);",
            &["line 1: for policy `policy0`, unrecognized entity type `Usr`; did you mean `User`?"],
        ),
        (
            "permit (principal, action == Action::\"close\", resource);",
            &["line 1: for policy `policy0`, unrecognized action `Action::\"close\"`"],
        ),
        (
            "permit (principal, action, resource);\n\nforbid (principal, action, resource)\nwhen { resource.is_open };",
            &["line 4: for policy `policy1`, attribute `is_open`"],
        ),
        // Attributes that may be missing, and values of another type.
        (
            "permit (principal, action, resource) when { principal.tenant == \"a\" };",
            &[
                "line 1: for policy `policy0`, unable to guarantee safety of access to optional attribute `tenant`",
            ],
        ),
        (
            "permit (principal, action, resource) when { resource.clerk == principal };",
            &["optional attribute `clerk`"],
        ),
        (
            "permit (principal, action, resource) when { resource.customer == \"ada\" };",
            &["line 1: the types "],
        ),
        // The roles of the owner are not known.
        (
            "permit (principal, action, resource) when { resource.customer.roles.contains(\"a\") };",
            &["this policy requires level 2"],
        ),
        (
            "forbid (principal, action, resource) when { resource.is_closed && !resource.is_closed };\npermit (principal is Order, action, resource);",
            &[
                "line 2: for policy `policy1`, policy is impossible",
                "line 2: for policy `policy1`, unable to find an applicable action",
            ],
        ),
        ("permit (principal == ?principal, action, resource);", &["`policy0` is a template"]),
    ] {
        let found = problems(policies);
        assert_eq!(found.len(), lines.len(), "{found:?}");
        for (found, line) in found.iter().zip(lines) {
            assert!(found.contains(line), "{found}\n{line}");
        }
    }
}

/// A schema of one object with this name.
fn schema_of(name: &'static str) -> Vec<String> {
    let mut schema = ObjectSchema::for_type::<Order>();
    schema.name = name;
    Cedar::new(POLICIES).validate(&[schema])
}

#[test]
fn the_name_of_an_object_is_the_name_of_a_type() {
    assert_eq!(schema_of("Order"), [""; 0]);
    for name in ["User", "", "an order", "Order } ;", "Ördr", "1st"] {
        let found = schema_of(name);
        assert!(found.len() == 1 && found[0].contains("#[object(name = "), "{name} {found:?}");
    }
    let found = schema_of("in");
    assert!(found.len() == 1 && found[0].contains("no schema"), "{found:?}");
}

#[test]
fn another_digest_is_to_be_accepted() {
    let [before, after] = [POLICIES.to_owned(), POLICIES.replace("is_closed", "is_closed && true")]
        .map(|policies| app(&policies).manifest());
    assert_eq!(before.app.engine.as_ref().expect("an engine").name, "cedar");
    assert_eq!(app(&POLICIES.replace('\n', "\r\n")).manifest(), before);
    let found = changes(&before, &after).expect("two policies");
    let [change] = &found[..] else { panic!("{found:?}") };
    assert_eq!((change.facet, change.direction), ("engine", Direction::OpensAndNarrows));
    let update = Lock::new(before.clone()).update(&after).expect("a policy");
    let [(_, acceptance)] = &update.to_accept[..] else { panic!("{:?}", update.to_accept) };
    assert_eq!(acceptance.route, "app");
    // Accepted by name, until the policies change again.
    let text = str::to_owned;
    let signed = Acceptance { who: text("ada"), why: text("as before"), ..acceptance.clone() };
    let accepted = |manifest: &Manifest| {
        let lock = Lock { accepted: vec![signed.clone()], ..Lock::new(before.clone()) };
        lock.update(manifest).expect("a policy").to_accept.is_empty()
    };
    assert!(accepted(&after));
    assert!(!accepted(&app(&POLICIES.replace("lead", "clerk")).manifest()));
}
