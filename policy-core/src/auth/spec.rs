//! The auth policy of a route as written, before validation.

use super::{AuthPolicy, OwnScheme};
use crate::{csrf::CsrfPolicy, validator::parts};

/// The auth policy of a route before validation: `#[auth]` and `#[csrf]`, and the parts of
/// `#[cors]` and of the handler's arguments that must be consistent with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthSpec<'a> {
    /// `public`
    pub public: bool,
    /// `session`
    pub session: bool,
    /// `token`
    pub token: bool,
    /// `ticket`
    pub ticket: bool,
    /// The methods of the handler; empty where they are not known, as for a mount.
    pub methods: &'a [&'a str],
    /// `scheme = ..`
    pub scheme: bool,
    /// Whether browsers send the credential of that scheme automatically.
    pub ambient: bool,
    /// `optional`
    pub optional: bool,
    /// `issuers = [..]`
    pub issuers: Option<&'a [&'a str]>,
    /// `scopes = [..]`
    pub scopes: Option<&'a [&'a str]>,
    /// `roles = [..]`
    pub roles: Option<&'a [&'a str]>,
    /// The seconds of `fresh = ".."`, see [`seconds_of`](super::seconds_of).
    pub fresh: Option<u32>,
    /// Whether there is a `#[csrf]`.
    pub csrf: bool,
    /// The reason in `#[csrf(exempt = "..")]`.
    pub exempt: Option<&'a str>,
    /// Whether pages of other origins may read responses without `credentials`.
    pub without_credentials: bool,
    /// Whether an argument of the handler is a `Principal` or a `Caller`.
    pub principal: bool,
    /// Whether that argument is a `Principal`, which is always a user of this app.
    pub takes_user: bool,
    /// Whether an argument of the handler is a `Session` or the `Sessions`.
    pub takes_session: bool,
}

impl AuthSpec<'static> {
    /// An empty spec.
    pub const NOTHING: Self = Self {
        public: false,
        session: false,
        token: false,
        ticket: false,
        methods: &[],
        scheme: false,
        ambient: false,
        optional: false,
        issuers: None,
        scopes: None,
        roles: None,
        fresh: None,
        csrf: false,
        exempt: None,
        without_credentials: false,
        principal: false,
        takes_user: false,
        takes_session: false,
    };

    /// The spec of these policies; `csrf` is the route's own policy.
    pub const fn from_policies(auth: &AuthPolicy, csrf: Option<&CsrfPolicy>) -> Self {
        let mut spec = Self::NOTHING;
        match auth {
            AuthPolicy::Public => spec.public = true,
            AuthPolicy::Required(requirement) => {
                spec.session = requirement.session;
                spec.token = requirement.token;
                spec.ticket = requirement.ticket;
                if let Some(OwnScheme { ambient, .. }) = requirement.scheme {
                    spec.scheme = true;
                    spec.ambient = ambient;
                }
                spec.optional = requirement.optional;
                spec.issuers = non_empty(requirement.issuers);
                spec.scopes = non_empty(requirement.scopes);
                spec.roles = non_empty(requirement.roles);
                spec.fresh = requirement.fresh;
            }
        }
        spec.csrf = csrf.is_some();
        if let Some(CsrfPolicy::Exempt(reason)) = csrf {
            spec.exempt = Some(reason);
        }
        spec
    }
}

parts! {
    /// A part of the auth policy of a route.
    AuthPart: "auth" {
        /// The arguments of `#[auth]` that state who may call.
        Auth = "auth",
        /// `ticket`
        Ticket = "ticket",
        /// `scheme`
        Scheme = "scheme",
        /// `issuers`
        Issuers = "issuers"[..],
        /// `scopes`
        Scopes = "scopes"[..],
        /// `roles`
        Roles = "roles"[..],
        /// `fresh`
        Fresh = "fresh",
        /// `#[csrf]`
        Csrf = "csrf",
        /// `#[cors]`, where it has to agree with `#[auth]`
        Cors = "cors",
        /// The handler's argument
        Principal = "Principal",
    }
}

/// The list of a policy; `None` if it is empty, since the policy then states none.
const fn non_empty(list: &'static [&'static str]) -> Option<&'static [&'static str]> {
    if list.is_empty() { None } else { Some(list) }
}
