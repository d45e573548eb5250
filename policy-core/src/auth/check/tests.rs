use super::*;
use crate::{
    Severity,
    auth::{AuthPolicy, OWN_ISSUER, OwnScheme, Requirement, seconds_of},
    csrf::CsrfPolicy,
};

const SESSION: AuthSpec<'static> = AuthSpec { session: true, ..AuthSpec::NOTHING };
const TOKEN: AuthSpec<'static> = AuthSpec { token: true, ..AuthSpec::NOTHING };
const PUBLIC: AuthSpec<'static> = AuthSpec { public: true, ..AuthSpec::NOTHING };
const BASIC: AuthSpec<'static> = AuthSpec { scheme: true, ambient: true, ..AuthSpec::NOTHING };
const KEYS: AuthSpec<'static> = AuthSpec { ambient: false, ..BASIC };

fn rules(spec: AuthSpec<'_>) -> Vec<(Rule, usize)> {
    spec.violations().map(|found| (found.rule, found.index)).collect()
}

#[test]
fn callers_are_named_and_public_and_schemes_stand_alone() {
    for alone in [SESSION, TOKEN, PUBLIC, BASIC, KEYS] {
        assert_eq!(rules(alone), []);
    }
    assert_eq!(rules(AuthSpec::NOTHING), [(Rule::CallersMissing, 0)]);
    let optional = AuthSpec { optional: true, ..AuthSpec::NOTHING };
    assert_eq!(rules(optional), [(Rule::CallersMissing, 0)]);
    let beside = [
        AuthSpec { public: true, ..SESSION },
        AuthSpec { public: true, ..KEYS },
        AuthSpec { optional: true, ..PUBLIC },
        AuthSpec { scopes: Some(&["a"]), ..PUBLIC },
        AuthSpec { roles: Some(&["a"]), ..PUBLIC },
        AuthSpec { fresh: Some(1), ..PUBLIC },
    ];
    for spec in beside {
        assert_eq!(rules(spec), [(Rule::PublicNotAlone, 0)]);
    }
    for (session, token, ticket) in
        [(true, false, false), (false, true, false), (false, false, true)]
    {
        let spec = AuthSpec { session, token, ticket, ..KEYS };
        assert_eq!(rules(spec), [(Rule::SchemeNotAlone, 0)]);
    }
}

#[test]
fn a_ticket_is_taken_with_get_only() {
    let ticket = AuthSpec { ticket: true, ..TOKEN };
    for methods in [&[][..], &["GET"]] {
        assert_eq!(rules(AuthSpec { methods, ..ticket }), []);
    }
    for methods in [&["POST"][..], &["GET", "POST"], &["HEAD"], &["QUERY"], &["get"]] {
        assert_eq!(rules(AuthSpec { methods, ..ticket }), [(Rule::TicketMethod, 0)]);
        assert_eq!(rules(AuthSpec { methods, ..TOKEN }), []);
    }
}

#[test]
fn scopes_follow_rfc_6749_and_roles_are_any_text() {
    for byte in 0..=u8::MAX {
        let text = char::from(byte).to_string();
        let is_scope = matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E);
        let found = rules(AuthSpec { scopes: Some(&["a", &text]), ..TOKEN });
        let wrong = [(Rule::ScopeInvalid, 1)];
        let repeated = [(Rule::RequirementRepeated, 1)];
        let want: &[_] = match (text.as_str(), is_scope) {
            ("a", _) => &repeated,
            (_, true) => &[],
            (_, false) => &wrong,
        };
        assert_eq!(found, want, "{text:?}");
        let found = rules(AuthSpec { roles: Some(&[&text]), ..TOKEN });
        assert_eq!(found == [(Rule::RoleInvalid, 0)], text.contains(char::is_control));
    }
    for list in [&[][..], &[""]] {
        let both = AuthSpec { scopes: Some(list), roles: Some(list), ..TOKEN };
        let want = match list {
            [] => [(Rule::RequirementEmpty, 0), (Rule::RequirementEmpty, 0)],
            _ => [(Rule::ScopeInvalid, 0), (Rule::RoleInvalid, 0)],
        };
        assert_eq!(rules(both), want);
    }
}

#[test]
fn issuers_are_https_urls_and_need_a_route_for_their_tokens() {
    for issuer in [
        OWN_ISSUER,
        "https://id.example",
        "https://id.example/",
        "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
        "https://id.example:8443/realms/a@b",
        "http://localhost",
        "http://127.0.0.1:8080/realms/shop",
        "http://[::1]/",
    ] {
        for spec in [TOKEN, AuthSpec { token: false, ticket: true, ..TOKEN }] {
            assert_eq!(rules(AuthSpec { issuers: Some(&[issuer]), ..spec }), [], "{issuer}");
        }
        for spec in [SESSION, KEYS] {
            let found = rules(AuthSpec { issuers: Some(&[issuer]), ..spec });
            assert_eq!(found, [(Rule::IssuersWithoutToken, 0)]);
        }
    }
    for text in [
        "",
        "Own",
        "self",
        "id.example",
        "http://id.example",
        "http://localhost.example",
        "http://127.0.0.10",
        "https://",
        "https:///a",
        "https://:443",
        "HTTPS://id.example",
        "https://ID.example",
        "https://user@id.example",
        "https://id.example?a",
        "https://id.example/#a",
        "https://id.example/a b",
        "https://id.example/<a>",
        "https://id.example/\u{e9}",
    ] {
        let found = rules(AuthSpec { issuers: Some(&[OWN_ISSUER, text]), ..TOKEN });
        assert_eq!(found, [(Rule::IssuerInvalid, 1)], "{text}");
    }
    let twice = ["https://id.example"; 2];
    let found = rules(AuthSpec { issuers: Some(&twice), ..TOKEN });
    assert_eq!(found, [(Rule::RequirementRepeated, 1)]);
    let none = rules(AuthSpec { issuers: Some(&[]), ..TOKEN });
    assert_eq!(none, [(Rule::RequirementEmpty, 0)]);
    let public = AuthSpec { issuers: Some(&[OWN_ISSUER]), ..PUBLIC };
    assert_eq!(rules(public), [(Rule::PublicNotAlone, 0), (Rule::IssuersWithoutToken, 0)]);
}

#[test]
fn a_principal_is_refused_on_routes_for_other_issuers() {
    for (issuers, is_right) in [
        (None, true),
        (Some(&[OWN_ISSUER][..]), true),
        (Some(&["https://id.example"][..]), false),
        (Some(&[OWN_ISSUER, "https://id.example"][..]), false),
    ] {
        let caller = AuthSpec { issuers, principal: true, ..TOKEN };
        assert_eq!(rules(caller), []);
        let want: &[_] = if is_right { &[] } else { &[(Rule::PrincipalOfOthers, 0)] };
        assert_eq!(rules(AuthSpec { takes_user: true, ..caller }), want);
    }
}

#[test]
fn a_time_has_a_number_and_a_unit_and_is_at_most_a_year() {
    let read = |text| match seconds_of(text) {
        Ok(seconds) => match rules(AuthSpec { fresh: Some(seconds), ..SESSION }).first() {
            Some((rule, _)) => Err(*rule),
            None => Ok(seconds),
        },
        Err(rule) => Err(rule),
    };
    for (text, seconds) in
        [("1s", 1), ("010m", 600), ("8h", 28_800), ("365d", 31_536_000), ("31536000s", 31_536_000)]
    {
        assert_eq!(read(text), Ok(seconds), "{text}");
    }
    for text in ["", "s", "10", "10w", "10M", "+1s", "-1s", "1.5h", " 1s", "1 s", "1ms", "1s "] {
        assert_eq!(read(text), Err(Rule::FreshMalformed), "{text}");
    }
    for text in ["0s", "0d", "366d", "31536001s", "4294967296s", "99999999999999999999d"] {
        assert_eq!(read(text), Err(Rule::FreshOutOfBounds), "{text}");
    }
}

#[test]
fn a_session_needs_credentials_where_it_is_the_only_way_in() {
    let shared = |spec| rules(AuthSpec { without_credentials: true, ..spec });
    for spec in [SESSION, BASIC] {
        assert_eq!(shared(spec), [(Rule::CorsWithoutCredentials, 0)]);
        let optional = AuthSpec { optional: true, ..spec };
        assert_eq!(shared(optional), [(Rule::CorsWithoutSession, 0)]);
    }
    for other in [AuthSpec { token: true, ..SESSION }, AuthSpec { ticket: true, ..SESSION }] {
        assert_eq!(shared(other), [(Rule::CorsWithoutSession, 0)]);
    }
    for spec in [PUBLIC, TOKEN, KEYS] {
        assert_eq!(shared(spec), []);
    }
}

#[test]
fn a_protection_has_something_to_protect_and_an_exemption_a_reason() {
    let protected = |spec| rules(AuthSpec { csrf: true, ..spec });
    let with_session = |spec| AuthSpec { takes_session: true, ..spec };
    for spec in [SESSION, BASIC, with_session(PUBLIC), with_session(TOKEN)] {
        assert_eq!(protected(spec), []);
    }
    for spec in [TOKEN, KEYS] {
        assert_eq!(protected(spec), [(Rule::NothingToForge, 0)]);
    }
    assert_eq!(protected(PUBLIC), [(Rule::CsrfWithoutSession, 0)]);
    for (reason, want) in [("", 1), (" \t", 1), ("state checked", 0)] {
        let found = protected(AuthSpec { exempt: Some(reason), ..SESSION });
        assert_eq!(found.len(), want);
        assert!(found.iter().all(|found| found.0 == Rule::ExemptWithoutReason));
    }
}

#[test]
fn a_principal_needs_a_route_that_authenticates() {
    let with = |spec| rules(AuthSpec { principal: true, ..spec });
    assert_eq!(with(SESSION), []);
    assert_eq!(with(PUBLIC), [(Rule::PrincipalOfPublic, 0)]);
    assert_eq!(with(AuthSpec { optional: true, ..TOKEN }), [(Rule::PrincipalOfOptional, 0)]);
    // An `Option<Principal>` is always `None` on a public route, and may be one on an optional route.
    let takes_user = |spec| rules(AuthSpec { takes_user: true, ..spec });
    assert_eq!(takes_user(PUBLIC), [(Rule::PrincipalOfPublic, 0)]);
    assert_eq!(takes_user(AuthSpec { optional: true, ..TOKEN }), []);
}

#[test]
fn a_policy_and_its_attribute_follow_the_same_rules() {
    let requirement = Requirement {
        scheme: Some(OwnScheme { name: "Basic", ambient: true }),
        optional: true,
        issuers: &["b"],
        scopes: &["a"],
        fresh: Some(0),
        ..Requirement::NONE
    };
    let spec =
        AuthSpec::from_policies(&AuthPolicy::Required(requirement), Some(&CsrfPolicy::Exempt(" ")));
    let written = AuthSpec {
        optional: true,
        issuers: Some(&["b"]),
        scopes: Some(&["a"]),
        fresh: Some(0),
        csrf: true,
        exempt: Some(" "),
        ..BASIC
    };
    assert_eq!(spec, written);
    assert_eq!(AuthSpec::from_policies(&AuthPolicy::Public, None), PUBLIC);
}

#[test]
fn constants_report_the_first_error() {
    let lists = [None, Some(&[][..]), Some(&["a", "a"]), Some(&["a", " \n"])];
    let is_error =
        |found: &crate::Violation<'_, AuthPart>| found.rule.severity() == Severity::Error;
    let (mut errors, mut warnings) = (0, 0);
    for (flags, scopes) in (0..1 << 10).flat_map(|flags| lists.map(|list| (flags, list))) {
        let has = |flag: u32| flags & (1 << flag) != 0;
        let spec = AuthSpec {
            public: has(0),
            session: has(1),
            token: has(2),
            ticket: has(3),
            scheme: has(4),
            ambient: has(5),
            issuers: scopes.filter(|_| has(6)),
            scopes,
            roles: scopes.filter(|_| has(5)),
            fresh: has(6).then_some(0),
            csrf: has(6),
            takes_session: has(7),
            principal: has(8),
            takes_user: has(8) && has(4),
            without_credentials: has(9),
            ..AuthSpec::NOTHING
        };
        assert_eq!(spec.first_error(), spec.violations().find(is_error));
        errors += usize::from(spec.first_error().is_some());
        warnings += usize::from(spec.violations().any(|found| !is_error(&found)));
    }
    assert!(errors > 100 && warnings > 100, "{errors} {warnings}");
}
