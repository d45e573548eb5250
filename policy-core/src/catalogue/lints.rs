//! Lints: legal parts of a policy that may grant more than was meant. A row has the confidence, the code,
//! the message and the fix.

use super::Row;

/// Whether a [`Lint`] may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// The finding is always right.
    Sure,
    /// The finding may be intended or harmless, for a reason that no policy states.
    Heuristic,
}

impl Lint {
    /// The finding: lower case, no full stop.
    pub const fn message(self) -> &'static str {
        self.row().message
    }

    /// The fix.
    pub const fn help(self) -> &'static str {
        self.row().help
    }

    /// Whether it may be wrong.
    pub const fn confidence(self) -> Confidence {
        self.row().mark
    }

    /// Whether it is about a line that suppresses findings, and not about the policy. Such a finding
    /// cannot be suppressed.
    pub const fn is_about_suppressions(self) -> bool {
        matches!(
            self,
            Self::SuppressionExpired
                | Self::SuppressionEndsSoon
                | Self::SuppressionUnused
                | Self::SuppressionUnsigned
        )
    }
}

entries! {
    /// A part of the policy of an app that is legal but odd.
    #[derive(PartialOrd, Ord)]
    Lint, Confidence::Confidence:

    /// Wildcards over names that belong to different people, from the Public Suffix List.
    PublicSuffixOrigins Sure "lint.public-suffix-origins",
        "anybody can register a name that these origins cover",
        "name the domains of your own, such as `https://*.you.github.io`";
    /// Origins of plain HTTP on other machines.
    InsecureOrigins Sure "lint.insecure-origins",
        "anybody who controls the network can act as a page of this origin",
        "serve the page over `https`, and grant that origin";
    /// A wildcard whose pages act with the credentials of their visitors.
    SubdomainOrigins Heuristic "lint.subdomain-origins",
        "any page below this name acts with the session of its visitor: one page that is taken over or runs an injected script is enough",
        "list the origins that need it";
    /// A run-time list that may name any origin.
    UnboundedOrigins Sure "lint.unbounded-origins",
        "the list of origins that is given at run time may name any origin",
        "add a bound, as in `config(\"partners\", within = [\"https://*.partner.example\"])`";
    /// A server on the machine of a visitor, in an app that has a public origin.
    DevelopmentOrigin Heuristic "lint.development-origin",
        "a server on the machine of a visitor acts with the session of the visitor, as in development, but the app has a public origin",
        "grant this origin in the development profile only, or remove `credentials`";
    /// The own origin among those of others.
    OwnOrigin Sure "lint.own-origin",
        "pages of the app itself need no CORS, but their origin is granted",
        "remove it";
    /// A list of origins for a response that is also a script for everybody.
    JsonpBesideCors Sure "lint.jsonp-beside-cors",
        "only some origins may read the response, but every page can read it as a script",
        "remove `#[jsonp]`, or grant `*` if everybody may read it";
    /// A copy of the same response for each origin in a shared cache.
    SharedCacheSplit Sure "lint.shared-cache-split",
        "a shared cache keeps one copy of this public response for each origin",
        "write `origins = [\"*\"]` if everybody may read it, or `private`";
    /// A response for the holder of a one-time link, in shared caches.
    OneTimeLinkCached Heuristic "lint.one-time-link-cached",
        "shared caches keep the response to a link that is a credential itself, also after it was used or has expired",
        "write `#[cache(no_store)]`";
    /// Credentials for a route that takes no credential that browsers send.
    CredentialsUnneeded Heuristic "lint.credentials-unneeded",
        "pages may send cookies, but the route takes no credential that browsers send automatically",
        "remove `credentials`, unless the handler reads cookies of its own";
    /// A session cookie that browsers do not send from the pages that the policy names.
    CookieWithheld Sure "lint.cookie-withheld",
        "pages of another site are granted credentials, but `SameSite` keeps the session cookie out of their requests",
        "serve page and app below one registrable domain, take tokens here, or set `same_site(SameSite::None)` for the sessions";
    /// Methods of preflights that nothing serves.
    MethodNotServed Sure "lint.method-not-served",
        "preflights allow a method that nothing serves at this path",
        "remove it from `methods`; without `methods`, the served methods are allowed";
    /// A list of methods that lacks the method of the route.
    OwnMethodMissing Sure "lint.own-method-missing",
        "the policy names pages for this route, but its list of methods lacks the method of the route",
        "add the method to `methods`, or remove `methods` to allow the served methods";
    /// A response header with a credential, for pages of others.
    ExposedSecret Heuristic "lint.exposed-secret",
        "pages of other origins may read a response header that usually carries a credential",
        "remove it from `expose`, and return the credential in the body of a separate route";
    /// Rights on a route that admits callers without a credential.
    RightsOfOptional Heuristic "lint.rights-of-optional",
        "callers who lack the rights are admitted if they leave the credential out",
        "remove `optional`, or check the rights in the handler, which takes its caller as an `Option`";
    /// A path that anybody may change, and that not everybody may read.
    ChangeWithoutCredential Heuristic "lint.change-without-credential",
        "this path can be changed without the credential that reading it requires",
        "require the credential for this method, too";
    /// A name of a scope or role that differs from another one in a letter.
    NameNearlyAnother Heuristic "lint.name-nearly-another",
        "this name is used once, and a name that differs in one letter is used elsewhere",
        "write the name that callers have; without it, they are refused";
    /// A route that is less guarded than those beside it.
    Outlier Heuristic "lint.outlier",
        "this route is less guarded than those beside it",
        "require the same right, or move it to a path where others are as open";
    /// A change by scopes that are for reading.
    ScopeOfReadingWrites Heuristic "lint.scope-of-reading-writes",
        "the route changes something, but all its scopes are for reading",
        "require a scope for writing";
    /// A login that a program may try as often as it likes.
    LoginWithoutRate Heuristic "lint.login-without-rate",
        "a program can try passwords and codes here as fast as the server responds",
        "add a rate per address, as in `#[limit(rate = \"10/min\")]`";
    /// Metrics, debugging or configuration for everybody.
    InternalsPublic Heuristic "lint.internals-public",
        "the path is for operators of the service, and anybody may call it",
        "require a caller, or serve it on an address that only operators reach";
    /// Large bodies from everybody, for a long time.
    UploadWithoutCaller Heuristic "lint.upload-without-caller",
        "anybody can fill the disk, or hold a connection for long, with large bodies",
        "require a caller, or add `concurrency`, a smaller `body` or a shorter `timeout`";
    /// Credentials on the way to an upstream, without TLS.
    CleartextUpstream Heuristic "lint.cleartext-upstream",
        "credentials of users are sent to the upstream without encryption, over a network of others",
        "connect to the upstream by `https`, or by an address of a private network";
    /// A login that holds for years.
    LongLifetime Heuristic "lint.long-lifetime",
        "a stolen credential works for this long",
        "let sessions and tokens end sooner; who is active can stay logged in by `idle` and by refresh tokens";
    /// TRACE in production.
    TraceServed Heuristic "lint.trace-served",
        "a response to TRACE shows anybody which header fields the proxies in front of the app add",
        "remove `.trace()` once the proxies are examined";
    /// A tunnel for everybody.
    OpenTunnel Sure "lint.open-tunnel",
        "anybody can connect to the targets from the address of this server",
        "write `.auth(..)` instead of `.public()`";
    /// Forwarding information from every address.
    AddressForgeable Heuristic "lint.address-forgeable",
        "every client is trusted as a proxy, so a client that reaches the server directly chooses its address in rates and logs",
        "name the networks of the proxies in `TrustedProxies::new(..)`";
    /// No CSRF protection, and a credential that browsers send from every site.
    ForgeableFromAnySite Sure "lint.forgeable-from-any-site",
        "the route is exempt from CSRF protection, and browsers send its credential with requests from every site",
        "remove the exemption, or set `same_site(SameSite::Lax)` for the sessions";
    /// A path that names a change, and that GET serves.
    ChangeByGet Heuristic "lint.change-by-get",
        "the path names a change, and a link on any page sends the request with the session of the user who follows it",
        "serve it with POST or DELETE, where CSRF protection applies";
    /// A session cookie for all subdomains.
    CookieOfDomain Sure "lint.cookie-of-domain",
        "every server below this domain receives the session cookie, and can replace it",
        "remove `domain`, so that the cookie is `__Host-`";
    /// Pages without a rule about frames, in an app with credentials that browsers send.
    FramingOpen Heuristic "lint.framing-open",
        "any page can show this one in a frame, and trick its user into clicking on it",
        "write `frame = none`, `frame = same_origin` or the origins that may show it";
    /// HSTS that no route has, or that one revokes, in an app with credentials.
    HstsOff Sure "lint.hsts-off",
        "responses do not tell browsers to use `https` only, so the first request of a visit can be intercepted",
        "remove `hsts = 0`, or `headers(none)`";
    /// A route that changes something that its path names, and that no rule protects.
    ObjectUncheckedChange Heuristic "lint.object-unchecked-change",
        "the route changes what its path names, and no rule says which callers may",
        "take the object as an argument, such as `Allowed<Order, Edit>`, in place of `#[object(none = \"..\")]`";
    /// Ids in a body or a query, on a route that loads no object by them.
    ObjectFieldUnchecked Heuristic "lint.object-field-unchecked",
        "the body or the query has fields named like ids, and no rule says which callers may use what they name",
        "take `Lookup<Order, Edit>`, and load the object by it: `orders.get(&id).await?`";
    /// A rule that every caller satisfies.
    ObjectRuleAlwaysTrue Sure "lint.object-rule-always-true",
        "the rule is true for every caller and every object",
        "write `anyone` if that is meant, and otherwise the condition";
    /// A rule that a function or an engine decides.
    ObjectRuleOpaque Heuristic "lint.object-rule-opaque",
        "code or an engine decides, so that no comparison and no proof sees what this rule allows",
        "write the rule with fields, roles and scopes, and keep `with(..)` and `engine` for what they cannot say";
    /// A suppression whose end has passed.
    SuppressionExpired Sure "lint.suppression-expired",
        "this suppression has ended",
        "correct what it suppressed and remove it, or have somebody suppress it again with a later `until`";
    /// A suppression that ends within two weeks.
    SuppressionEndsSoon Sure "lint.suppression-ends-soon",
        "this suppression ends within two weeks, and the tests fail then",
        "correct what it suppresses";
    /// A suppression that suppresses nothing.
    SuppressionUnused Sure "lint.suppression-unused",
        "this suppresses nothing",
        "remove it, or correct the names of its lint and route";
    /// A suppression without a name or a reason.
    SuppressionUnsigned Sure "lint.suppression-unsigned",
        "a suppression states who suppresses and why",
        "write `who` and `why`";
}
