//! The rules about callers, for attributes, constants and the start.

use super::spec::{AuthSpec, Part, Violation};
use crate::{
    catalogue::Rule,
    grammar::{entry, eq},
    validator::validator,
};

validator!(AuthSpec; then check_repeated);

impl<'a> AuthSpec<'a> {
    const fn value(&self, part: Part, index: usize) -> &'a str {
        entry(self.entries(part), index)
    }

    /// How many questions a part has: one for each entry of a list, and one for all else.
    const fn slots(&self, part: Part) -> usize {
        match self.entries(part).len() {
            0 => 1,
            entries => entries,
        }
    }

    const fn entries(&self, part: Part) -> &'a [&'a str] {
        let list = match part {
            Part::Issuers => self.issuers,
            Part::Scopes => self.scopes,
            Part::Roles => self.roles,
            _ => None,
        };
        match list {
            Some(list) => list,
            None => &[],
        }
    }

    const fn check(&self, part: Part, index: usize) -> Option<Rule> {
        match part {
            Part::Auth => self.check_callers(),
            Part::Ticket if self.ticket && !is_only_get(self.methods) => Some(Rule::TicketMethod),
            Part::Ticket => None,
            Part::Scheme if self.scheme && self.takes_standard() => Some(Rule::SchemeNotAlone),
            Part::Scheme => None,
            Part::Issuers => match self.issuers {
                Some([]) => Some(Rule::RequirementEmpty),
                Some(_) if index == 0 && !self.token && !self.ticket => {
                    Some(Rule::IssuersWithoutToken)
                }
                Some(list) if !is_issuer(entry(list, index)) => Some(Rule::IssuerInvalid),
                _ => None,
            },
            Part::Scopes => match self.scopes {
                Some([]) => Some(Rule::RequirementEmpty),
                Some(list) if !is_scope(entry(list, index)) => Some(Rule::ScopeInvalid),
                _ => None,
            },
            Part::Roles => match self.roles {
                Some([]) => Some(Rule::RequirementEmpty),
                Some(list) if !is_role(entry(list, index).as_bytes()) => Some(Rule::RoleInvalid),
                _ => None,
            },
            Part::Fresh => match self.fresh {
                None | Some(1..=LONGEST_FRESH) => None,
                Some(_) => Some(Rule::FreshOutOfBounds),
            },
            Part::Csrf => self.check_csrf(),
            Part::Cors => self.check_cors(),
            Part::Principal if self.principal && self.public => Some(Rule::PrincipalOfPublic),
            Part::Principal if self.principal && self.optional => Some(Rule::PrincipalOfOptional),
            Part::Principal if self.takes_user && self.names_others() => {
                Some(Rule::PrincipalOfOthers)
            }
            Part::Principal => None,
        }
    }

    const fn check_callers(&self) -> Option<Rule> {
        let asks = self.names_credential();
        let demands = self.issuers.is_some()
            || self.scopes.is_some()
            || self.roles.is_some()
            || self.fresh.is_some();
        if self.public && (asks || demands || self.optional) {
            Some(Rule::PublicNotAlone)
        } else if !self.public && !asks {
            Some(Rule::CallersMissing)
        } else {
            None
        }
    }

    /// A handler can reach the session through its arguments, whatever credentials its route takes,
    /// and a custom extractor may do so unseen by the macro. On a `public` route, such as a login,
    /// this is only a warning.
    const fn check_csrf(&self) -> Option<Rule> {
        match self.exempt {
            Some(reason) if reason.trim_ascii().is_empty() => Some(Rule::ExemptWithoutReason),
            _ if !self.csrf || self.is_ambient() || self.takes_session => None,
            _ if self.public => Some(Rule::CsrfWithoutSession),
            _ if self.names_credential() => Some(Rule::NothingToForge),
            _ => None,
        }
    }

    const fn check_cors(&self) -> Option<Rule> {
        if !self.without_credentials || !self.is_ambient() {
            None
        } else if self.optional || self.token || self.ticket {
            Some(Rule::CorsWithoutSession)
        } else {
            Some(Rule::CorsWithoutCredentials)
        }
    }

    /// Only a warning, so it is not checked for constants.
    fn check_repeated(&self, part: Part, index: usize) -> Option<Rule> {
        let (before, rest) = self.entries(part).split_at_checked(index)?;
        before.contains(rest.first()?).then_some(Rule::RequirementRepeated)
    }

    /// Whether the route names an issuer other than the app itself.
    const fn names_others(&self) -> bool {
        let mut rest = self.entries(Part::Issuers);
        while let [first, tail @ ..] = rest {
            if !is_own_issuer(first) {
                return true;
            }
            rest = tail;
        }
        false
    }

    /// Whether the route takes any credentials.
    pub(crate) const fn names_credential(&self) -> bool {
        self.takes_standard() || self.scheme
    }

    const fn takes_standard(&self) -> bool {
        self.session || self.token || self.ticket
    }

    const fn is_ambient(&self) -> bool {
        self.session || (self.scheme && self.ambient)
    }
}

/// Whether a handler has no method but GET, as far as is known.
const fn is_only_get(methods: &[&str]) -> bool {
    let mut rest = methods;
    while let [method, tail @ ..] = rest {
        if !eq(method.as_bytes(), b"GET") {
            return false;
        }
        rest = tail;
    }
    true
}

/// 365 days.
const LONGEST_FRESH: u32 = 365 * 86_400;

/// The seconds that a time such as `90s`, `10m`, `8h` or `30d` is; one that does not fit counts as
/// the longest.
///
/// # Errors
///
/// [`Rule::FreshMalformed`].
///
/// ```
/// use policy_core::{Rule, auth::seconds_of};
///
/// assert_eq!(seconds_of("10m"), Ok(600));
/// assert_eq!(seconds_of("10 minutes"), Err(Rule::FreshMalformed));
/// ```
pub fn seconds_of(text: &str) -> Result<u32, Rule> {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400_u32)];
    let read = |(name, unit)| Some((text.strip_suffix(name)?, unit));
    let (number, unit) = units.into_iter().find_map(read).ok_or(Rule::FreshMalformed)?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Rule::FreshMalformed);
    }
    Ok(number.parse().unwrap_or(u32::MAX).saturating_mul(unit))
}

/// Whether a text is a `scope-token` (RFC 6749 3.3).
///
/// ```
/// use policy_core::auth::is_scope;
///
/// assert!(is_scope("orders:read"));
/// assert!(!is_scope("") && !is_scope("orders read") && !is_scope("\"orders\""));
/// ```
pub const fn is_scope(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        if !matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E) {
            return false;
        }
        rest = tail;
    }
    !text.is_empty()
}

/// The word for the app itself in a list of issuers.
pub const OWN_ISSUER: &str = "own";

const fn is_own_issuer(text: &str) -> bool {
    matches!(text.as_bytes(), b"own")
}

/// Whether a route can name an issuer so: by `own`, or by its `https` URL without a query or a
/// fragment (RFC 8414 2). One on this machine, for development, may be an `http` URL.
///
/// ```
/// use policy_core::auth::is_issuer;
///
/// assert!(is_issuer("https://id.example/realms/shop") && is_issuer("own"));
/// assert!(is_issuer("http://localhost:8080/realms/shop"));
/// assert!(!is_issuer("id.example") && !is_issuer("http://id.example"));
/// ```
pub const fn is_issuer(text: &str) -> bool {
    let mut rest = match text.as_bytes() {
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', rest @ ..] => rest,
        [b'h', b't', b't', b'p', b':', b'/', b'/', rest @ ..] if is_loopback(rest) => rest,
        _ => return is_own_issuer(text),
    };
    if let [] | [b'/' | b':', ..] = rest {
        return false;
    }
    let mut is_host = true;
    while let [byte, tail @ ..] = rest {
        is_host = is_host && *byte != b'/';
        let is_plain = matches!(byte, 0x21..=0x7E)
            && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
            && !matches!(byte, b'?' | b'#');
        if !is_plain || (is_host && (*byte == b'@' || byte.is_ascii_uppercase())) {
            return false;
        }
        rest = tail;
    }
    true
}

/// Whether what follows `http://` begins with a host of this machine.
const fn is_loopback(rest: &[u8]) -> bool {
    matches!(
        rest,
        [b'l', b'o', b'c', b'a', b'l', b'h', b'o', b's', b't']
            | [b'l', b'o', b'c', b'a', b'l', b'h', b'o', b's', b't', b':' | b'/', ..]
            | [b'1', b'2', b'7', b'.', b'0', b'.', b'0', b'.', b'1']
            | [b'1', b'2', b'7', b'.', b'0', b'.', b'0', b'.', b'1', b':' | b'/', ..]
            | [b'[', b':', b':', b'1', b']']
            | [b'[', b':', b':', b'1', b']', b':' | b'/', ..]
    )
}

/// Not empty, and without the control characters of Unicode (C0, DEL and C1), here in UTF-8.
const fn is_role(text: &[u8]) -> bool {
    let mut rest = text;
    while let [_, tail @ ..] = rest {
        if matches!(rest, [0..0x20 | 0x7F, ..] | [0xC2, 0x80..0xA0, ..]) {
            return false;
        }
        rest = tail;
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;
    use crate::{
        auth::{AuthPolicy, OwnScheme, Requirement},
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
    fn somebody_is_named_and_public_and_schemes_stand_alone() {
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
    fn scopes_are_those_of_rfc_6749_and_roles_are_texts() {
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
    fn a_user_of_this_app_is_no_argument_where_others_may_call() {
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
        for (text, seconds) in [
            ("1s", 1),
            ("010m", 600),
            ("8h", 28_800),
            ("365d", 31_536_000),
            ("31536000s", 31_536_000),
        ] {
            assert_eq!(read(text), Ok(seconds), "{text}");
        }
        for text in ["", "s", "10", "10w", "10M", "+1s", "-1s", "1.5h", " 1s", "1 s", "1ms", "1s "]
        {
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
    fn a_principal_is_there_where_one_is_asked_for() {
        let with = |spec| rules(AuthSpec { principal: true, ..spec });
        assert_eq!(with(SESSION), []);
        assert_eq!(with(PUBLIC), [(Rule::PrincipalOfPublic, 0)]);
        assert_eq!(with(AuthSpec { optional: true, ..TOKEN }), [(Rule::PrincipalOfOptional, 0)]);
    }

    #[test]
    fn a_policy_is_asked_the_same_as_its_attribute() {
        let requirement = Requirement {
            scheme: Some(OwnScheme { name: "Basic", ambient: true }),
            optional: true,
            issuers: &["b"],
            scopes: &["a"],
            fresh: Some(0),
            ..Requirement::NONE
        };
        let spec = AuthSpec::of(&AuthPolicy::Required(requirement), Some(&CsrfPolicy::Exempt(" ")));
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
        assert_eq!(AuthSpec::of(&AuthPolicy::Public, None), PUBLIC);
    }

    #[test]
    fn what_constants_are_told_is_the_first_error() {
        let lists = [None, Some(&[][..]), Some(&["a", "a"]), Some(&["a", " \n"])];
        let is_error = |found: &Violation<'_>| found.rule.severity() == Severity::Error;
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
}
