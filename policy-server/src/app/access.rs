//! The callers of targets without attributes: mounts, proxies, the fallback and the tunnel.

use std::{
    any::{TypeId, type_name},
    time::Duration,
};

use policy_core::{
    auth::{AuthPolicy, AuthSpec, OwnScheme, Requirement},
    csrf::CsrfPolicy,
    route::Level,
};

use crate::{auth::scheme::Scheme, handler::Description};

/// The requirements of a mount, a proxy, a fallback or a tunnel for its callers: the value form of
/// [`#[auth(..)]`](macro@crate::auth).
///
/// ```
/// use policy_server::AuthRequirement;
/// use std::time::Duration;
///
/// // `#[auth(session | token, roles = ["hr"], fresh = "10m")]`
/// let hr = AuthRequirement::session().or_token().roles(&["hr"]).fresh(Duration::from_secs(600));
/// // `#[auth(token, scopes = ["tunnel"])]`
/// let requirement = AuthRequirement::token().scopes(&["tunnel"]);
/// ```
///
/// It follows the rules of the attribute. Errors that the attribute reports at compile time, such as
/// an empty list of roles, are reported when the app starts.
#[derive(Clone, Copy, Debug)]
#[must_use = "it holds for what it is given to"]
pub struct AuthRequirement {
    requirement: Requirement,
    /// As stated, since an empty list is a mistake.
    issuers: Option<&'static [&'static str]>,
    scopes: Option<&'static [&'static str]>,
    roles: Option<&'static [&'static str]>,
    pub(crate) scheme: Option<TypeId>,
}

impl AuthRequirement {
    const fn new(requirement: Requirement) -> Self {
        Self { requirement, issuers: None, scopes: None, roles: None, scheme: None }
    }

    /// Requires the cookie of a session of the app's [`Sessions`](crate::Sessions).
    pub const fn session() -> Self {
        Self::new(Requirement { session: true, ..Requirement::NONE })
    }

    /// Requires a bearer token of the app's [`Tokens`](crate::Tokens).
    pub const fn token() -> Self {
        Self::new(Requirement { token: true, ..Requirement::NONE })
    }

    /// Requires a [ticket](crate::Tokens::ticket) in the query. It is accepted with GET only,
    /// whatever methods the mount takes.
    pub const fn ticket() -> Self {
        Self::new(Requirement { ticket: true, ..Requirement::NONE })
    }

    /// Requires a caller that one of the application's schemes recognises. The app registers it
    /// with [`App::scheme`](crate::App::scheme).
    pub fn scheme<T: Scheme>() -> Self {
        let path = type_name::<T>();
        // The name as attributes write it. The paths of its generic arguments are no part of its own.
        let own = path.split('<').next().unwrap_or(path);
        let start = own.rfind("::").map_or(0, |at| at + 2);
        let name = path.get(start..).unwrap_or(path);
        let scheme = Some(OwnScheme { name, ambient: T::AMBIENT });
        let requirement = Requirement { scheme, ..Requirement::NONE };
        Self { scheme: Some(TypeId::of::<T>()), ..Self::new(requirement) }
    }

    /// Takes a session, too.
    pub const fn or_session(mut self) -> Self {
        self.requirement.session = true;
        self
    }

    /// Takes a bearer token, too. If one is sent, it alone decides.
    pub const fn or_token(mut self) -> Self {
        self.requirement.token = true;
        self
    }

    /// Takes a ticket, too, with GET.
    pub const fn or_ticket(mut self) -> Self {
        self.requirement.ticket = true;
        self
    }

    /// Admits requests without a credential as well, as anonymous. An invalid token is refused.
    pub const fn optional(mut self) -> Self {
        self.requirement.optional = true;
        self
    }

    /// The issuers whose tokens, and tickets issued from them, are accepted in place of this app's:
    /// issuers that the app accepts (`TokenSettings::accept`), by their names, and `own` for the app
    /// itself.
    pub const fn issuers(mut self, issuers: &'static [&'static str]) -> Self {
        self.requirement.issuers = issuers;
        self.issuers = Some(issuers);
        self
    }

    /// Also requires all of these scopes.
    pub const fn scopes(mut self, scopes: &'static [&'static str]) -> Self {
        self.requirement.scopes = scopes;
        self.scopes = Some(scopes);
        self
    }

    /// Also requires one of these roles.
    pub const fn roles(mut self, roles: &'static [&'static str]) -> Self {
        self.requirement.roles = roles;
        self.roles = Some(roles);
        self
    }

    /// Also requires that the caller authenticated within this time, in whole seconds.
    pub const fn fresh(mut self, time: Duration) -> Self {
        let seconds = time.as_secs();
        self.requirement.fresh =
            Some(if seconds > u32::MAX as u64 { u32::MAX } else { seconds as u32 });
        self
    }

    pub(crate) const fn policy(&self) -> AuthPolicy {
        AuthPolicy::Required(self.requirement)
    }

    /// The form that the rules of the attribute check.
    pub(crate) const fn spec(&self, csrf: Option<&CsrfPolicy>) -> AuthSpec<'static> {
        let spec = AuthSpec::from_policies(&AuthPolicy::Required(self.requirement), csrf);
        AuthSpec { issuers: self.issuers, scopes: self.scopes, roles: self.roles, ..spec }
    }
}

/// The statements of a mount, a proxy, a fallback, a group or an app about callers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Access {
    /// `None` where the outer level decides.
    pub(crate) callers: Option<Callers>,
    /// `None` where the outer level decides.
    pub(crate) csrf: Option<CsrfPolicy>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Callers {
    Public,
    Required(AuthRequirement),
}

/// The callers of a handler, and the level that states them.
pub(crate) struct HandlerCallers {
    pub(crate) auth: AuthPolicy,
    pub(crate) scheme: Option<TypeId>,
    pub(crate) level: Level,
}

impl HandlerCallers {
    /// The callers that the handler states, or that it inherits from the nearest level that states
    /// any. `None` if no level does.
    pub(crate) fn find(handler: &Description, group: Access, app: Access) -> Option<Self> {
        if !handler.inherits_auth {
            let (auth, scheme) = (handler.policy.auth, handler.scheme.map(|id| id()));
            return Some(Self { auth, scheme, level: Level::Route });
        }
        let levels = [(Level::Group, group.callers), (Level::App, app.callers)];
        let (callers, level) = levels.into_iter().find_map(|(level, it)| Some((it?, level)))?;
        Some(Self { auth: callers.policy(), scheme: callers.scheme(), level })
    }
}

impl Access {
    /// The statements of this level, or else of the outer one.
    pub(crate) fn or(self, outer: Self) -> Self {
        Self { callers: self.callers.or(outer.callers), csrf: self.csrf.or(outer.csrf) }
    }

    /// The CSRF protection of the nearest level that states one, and that level.
    pub(crate) fn nearest_csrf(
        own: Option<CsrfPolicy>,
        group: Self,
        app: Self,
    ) -> (CsrfPolicy, Option<Level>) {
        let levels = [(Level::Route, own), (Level::Group, group.csrf), (Level::App, app.csrf)];
        let stated = levels.into_iter().find_map(|(level, csrf)| Some((csrf?, Some(level))));
        stated.unwrap_or_default()
    }

    /// The same for a mount, a proxy or the fallback with these callers, whom its target may extract
    /// or not.
    pub(crate) fn csrf_of_target(
        self,
        group: Self,
        app: Self,
        auth: &AuthPolicy,
        extracts: bool,
    ) -> (CsrfPolicy, Option<Level>) {
        match Self::nearest_csrf(self.csrf, group, app) {
            // An upstream has no session of this app, to which a token could be bound.
            (CsrfPolicy::Token | CsrfPolicy::OriginElseToken, level)
                if *auth == AuthPolicy::Public && !extracts =>
            {
                (CsrfPolicy::Origin, level)
            }
            stated => stated,
        }
    }
}

impl Callers {
    pub(crate) const fn policy(&self) -> AuthPolicy {
        match self {
            Self::Public => AuthPolicy::Public,
            Self::Required(requirement) => requirement.policy(),
        }
    }

    pub(crate) const fn spec(&self, csrf: Option<&CsrfPolicy>) -> AuthSpec<'static> {
        match self {
            Self::Public => AuthSpec::from_policies(&AuthPolicy::Public, csrf),
            Self::Required(requirement) => requirement.spec(csrf),
        }
    }

    pub(crate) fn scheme(&self) -> Option<TypeId> {
        match self {
            Self::Public => None,
            Self::Required(requirement) => requirement.scheme,
        }
    }
}

/// The builder methods that state who may call. Without arguments they are those of a mount, a proxy or
/// the fallback, which also state the policies of responses.
macro_rules! access_methods {
    () => {
        $crate::app::access::access_methods!(, "it"; csrf: "it");

        /// The policies of its responses. If it is called again, the facets that the later call
        /// states replace those of the earlier one.
        pub fn policies(mut self, policies: $crate::Policies) -> Self {
            self.policies.replace(policies);
            self
        }
    };
    ($($parts:ident)?, $of:literal; csrf: $of_csrf:literal) => {
        #[doc = concat!("Admits the callers that meet this requirement to ", $of, ".")]
        /// The gates are those of a handler with the [attribute](macro@crate::auth).
        #[track_caller]
        pub fn auth(mut self, requirement: $crate::AuthRequirement) -> Self {
            self.$($parts.)?policies.note("auth");
            self.$($parts.)?access.callers = Some($crate::app::access::Callers::Required(requirement));
            self
        }

        #[doc = concat!("Admits everybody, without credentials, to ", $of, ".")]
        #[track_caller]
        pub fn public(mut self) -> Self {
            self.$($parts.)?policies.note("auth");
            self.$($parts.)?access.callers = Some($crate::app::access::Callers::Public);
            self
        }

        #[doc = concat!("The CSRF protection of ", $of_csrf, ", in place of the strict default.")]
        /// It is the value form of the [attribute](macro@crate::csrf).
        ///
        /// By default a request with an unsafe method and a session needs the session's CSRF token,
        /// and a page that it states has to be of this origin or of one that CORS grants with
        /// credentials. [`CsrfPolicy::OriginElseToken`](crate::CsrfPolicy) asks for the token only
        /// where the request states no page, as programs do; [`CsrfPolicy::Origin`](crate::CsrfPolicy)
        /// needs such a page and no token, such as for services that render their own forms.
        ///
        /// Without a session, a service without attributes may still use its own cookies, so an unsafe
        /// request of a page of another site is refused (403 `csrf.origin`), unless CORS grants that
        /// page and the request has no cookie, nor an `Authorization` other than a bearer token. A
        /// request with neither `Origin`, Fetch Metadata nor `Cookie`, such as a webhook, passes.
        /// [`CsrfPolicy::Exempt`](crate::CsrfPolicy) with a reason turns all of this off; a notice
        /// at start lists the handlers that inherit it.
        #[track_caller]
        pub fn csrf(mut self, policy: $crate::CsrfPolicy) -> Self {
            self.$($parts.)?policies.note("csrf");
            self.$($parts.)?access.csrf = Some(policy);
            self
        }
    };
}

pub(crate) use access_methods;

#[cfg(test)]
mod tests {
    use policy_core::Rule;

    use super::*;

    fn rules(requirement: AuthRequirement) -> Vec<Rule> {
        requirement.spec(None).violations().map(|found| found.rule).collect()
    }

    #[test]
    fn a_requirement_is_shown_as_its_attribute() {
        let all = AuthRequirement::ticket().or_session().or_token().optional();
        let all = all
            .issuers(&["own", "https://id.example"])
            .scopes(&["a"])
            .roles(&["b", "c"])
            .fresh(Duration::from_secs(600));
        assert_eq!(
            all.policy().to_string(),
            "session | token | ticket, optional, issuers own https://id.example, scopes a, \
             roles b c, fresh 10m"
        );
        assert_eq!(AuthRequirement::token().or_ticket().policy().to_string(), "token | ticket");
    }

    #[test]
    fn a_requirement_keeps_the_rules_of_its_attribute() {
        assert_eq!(rules(AuthRequirement::session().or_token().roles(&["a"])), []);
        let empty = AuthRequirement::token().roles(&[]).scopes(&[]);
        assert_eq!(rules(empty), [Rule::RequirementEmpty; 2]);
        let no_issuer = AuthRequirement::token().issuers(&[]);
        assert_eq!(rules(no_issuer), [Rule::RequirementEmpty]);
        let no_token = AuthRequirement::session().issuers(&["https://id.example"]);
        assert_eq!(rules(no_token), [Rule::IssuersWithoutToken]);
        let no_url = AuthRequirement::token().issuers(&["id.example"]);
        assert_eq!(rules(no_url), [Rule::IssuerInvalid]);
        for time in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
            assert_eq!(rules(AuthRequirement::token().fresh(time)), [Rule::FreshOutOfBounds]);
        }
    }
}
