//! Which of two content security policies is the stricter one (CSP 3).

use std::ops::BitOr;

use policy_core::headers::csp::{Name, Parsed, Source, parse};

use super::strictness::Comparison;

/// What a policy restricts, each with the directives that decide if there is none of this name
/// (CSP 3, 6.8.3).
const RESTRICTED: [(Name, &[Name]); 20] = [
    (Name::DefaultSrc, &[]),
    (Name::ScriptSrc, &[Name::DefaultSrc]),
    (Name::ScriptSrcElem, &[Name::ScriptSrc, Name::DefaultSrc]),
    (Name::ScriptSrcAttr, &[Name::ScriptSrc, Name::DefaultSrc]),
    (Name::StyleSrc, &[Name::DefaultSrc]),
    (Name::StyleSrcElem, &[Name::StyleSrc, Name::DefaultSrc]),
    (Name::StyleSrcAttr, &[Name::StyleSrc, Name::DefaultSrc]),
    (Name::ImgSrc, &[Name::DefaultSrc]),
    (Name::FontSrc, &[Name::DefaultSrc]),
    (Name::ConnectSrc, &[Name::DefaultSrc]),
    (Name::MediaSrc, &[Name::DefaultSrc]),
    (Name::ObjectSrc, &[Name::DefaultSrc]),
    (Name::FrameSrc, &[Name::ChildSrc, Name::DefaultSrc]),
    (Name::WorkerSrc, &[Name::ChildSrc, Name::ScriptSrc, Name::DefaultSrc]),
    (Name::ManifestSrc, &[Name::DefaultSrc]),
    (Name::BaseUri, &[]),
    (Name::FormAction, &[]),
    (Name::FrameAncestors, &[]),
    (Name::Sandbox, &[]),
    (Name::TrustedTypes, &[]),
];

/// Directives that each protect by being there.
const PROTECTIONS: [Name; 2] = [Name::RequireTrustedTypesFor, Name::UpgradeInsecureRequests];

/// Compares two values of `Content-Security-Policy`; `None` if one of them cannot be read.
///
/// The new one opens unless each of its sources is one of the old ones, or obviously within one. So a
/// policy that is as strict but worded in another way can count as one that opens, never the reverse.
pub(super) fn compare(old: &str, new: &str) -> Option<Comparison> {
    let [old, new] = [old, new].map(|value| value.split(',').map(str::trim).collect::<Vec<_>>());
    match (old.as_slice(), new.as_slice()) {
        ([old], [new]) => Some(policies(&read(old)?, &read(new)?)),
        // All policies of a list hold.
        _ if old.iter().all(|policy| new.contains(policy)) => {
            Some(Comparison { opens: false, narrows: old.len() != new.len() })
        }
        _ => None,
    }
}

fn read(policy: &str) -> Option<Parsed<'_>> {
    let parsed = parse(policy);
    // Browsers ignore a keyword that they do not know.
    let is_known = |source: &Source<'_>| match source {
        Source::Hash(text) => ["nonce-", "sha256-", "sha384-", "sha512-"]
            .iter()
            .any(|prefix| text.starts_with(prefix)),
        _ => true,
    };
    let mut sources = parsed.directives.iter().flat_map(|(_, sources)| sources);
    (parsed.violations.is_empty() && sources.all(is_known)).then_some(parsed)
}

fn policies(old: &Parsed<'_>, new: &Parsed<'_>) -> Comparison {
    let restricted = RESTRICTED.iter().map(|&(name, fallbacks)| {
        let [old, new] = [old, new].map(|policy| effective_sources(policy, name, fallbacks));
        Comparison {
            opens: exceeds(new.as_deref(), old.as_deref()),
            narrows: exceeds(old.as_deref(), new.as_deref()),
        }
    });
    let protections = PROTECTIONS.iter().map(|&name| {
        let [old, new] = [old, new].map(|policy| protects(policy, name));
        Comparison::from_protections(old, new)
    });
    restricted.chain(protections).fold(Comparison::default(), BitOr::bitor)
}

/// Whether a policy has a protection. Without a sink, Trusted Types are required for nothing.
fn protects(policy: &Parsed<'_>, name: Name) -> bool {
    let sources = sources_of(policy, name);
    let needs_sink = name == Name::RequireTrustedTypesFor;
    sources.is_some_and(|sources| !needs_sink || sources.contains(&Source::Script))
}

/// The sources of a directive. The first of several directives of one name counts (CSP 3, 2.2.1).
fn sources_of<'p, 'a>(policy: &'p Parsed<'a>, name: Name) -> Option<&'p [Source<'a>]> {
    let found = policy.directives.iter().find(|(directive, _)| *directive == name);
    found.map(|(_, sources)| sources.as_slice())
}

/// The sources that count for a directive; `None` if everything is allowed.
fn effective_sources<'a>(
    policy: &Parsed<'a>,
    name: Name,
    fallbacks: &[Name],
) -> Option<Vec<Source<'a>>> {
    let mut names = [name].into_iter().chain(fallbacks.iter().copied());
    let sources = names.find_map(|name| sources_of(policy, name))?;
    let has_unique = |source: &Source<'_>| matches!(source, Source::Nonce | Source::Hash(_));
    let is_dynamic = is_of_scripts(name) && sources.contains(&Source::StrictDynamic);
    let is_strict = is_dynamic || sources.iter().any(has_unique);
    let counts = |source: &&Source<'_>| match source {
        Source::None | Source::ReportSample => false,
        // CSP 3, 6.7.3.2: ignored beside nonces and hashes.
        Source::DangerousUnsafeInline => !is_strict,
        // CSP 3, 8.2: ignored beside `'strict-dynamic'`.
        Source::SelfOrigin | Source::Any | Source::Scheme(_) | Source::Host(_) => !is_dynamic,
        _ => true,
    };
    Some(sources.iter().filter(counts).copied().collect())
}

fn is_of_scripts(name: Name) -> bool {
    matches!(
        name,
        Name::DefaultSrc
            | Name::ScriptSrc
            | Name::ScriptSrcElem
            | Name::ScriptSrcAttr
            | Name::WorkerSrc
    )
}

/// Whether some source of `one` is not within `other`.
fn exceeds(one: Option<&[Source<'_>]>, other: Option<&[Source<'_>]>) -> bool {
    match (one, other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(one), Some(other)) => {
            !one.iter().all(|source| other.iter().any(|wider| covers(wider, source)))
        }
    }
}

/// Whether everything that a source allows is allowed by another.
fn covers(wider: &Source<'_>, source: &Source<'_>) -> bool {
    match (wider, source) {
        (Source::Any, Source::SelfOrigin | Source::Word(_)) => true,
        (Source::Any, Source::Scheme(text) | Source::Host(text)) => is_of_network(text),
        (Source::Scheme("http:"), Source::Scheme("https:")) => true,
        (Source::Scheme(scheme), Source::Host(host)) => host.starts_with(scheme),
        (Source::DangerousUnsafeEval, Source::WasmUnsafeEval) => true,
        _ => wider == source,
    }
}

/// Whether `*` matches a scheme or host (CSP 3, 6.7.2.8): no local scheme such as `data:`.
fn is_of_network(text: &str) -> bool {
    let schemes = ["http:", "https:", "ws:", "wss:"];
    let is_scheme = text.ends_with(':') || text.contains("://");
    !is_scheme || schemes.iter().any(|scheme| text.starts_with(scheme))
}
