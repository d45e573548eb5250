//! What the crates offer by name, listed in `api/*.txt`, so that a change of it is seen in
//! review.
//!
//! `POLICY_API=update cargo test -p policy-ui --test api -- --ignored` writes the lists anew. A change in them
//! is a change for users: from the first release on, CHANGELOG.md states it with its reason.
//!
//! The lists come from rustdoc's JSON, whose format belongs to one release of Rust: this needs the
//! toolchain that the workspace pins.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use public_api::{Builder, PublicApi};

/// policy-attributes is not among them: only the macros and `cargo policy play` use it.
const CRATES: [&str; 6] = [
    "policy-browser",
    "policy-cedar",
    "policy-core",
    "policy-macros",
    "policy-manifest",
    "policy-server",
];

#[test]
#[ignore = "builds the documentation of all crates: `cargo xtask check` runs it"]
fn the_public_api_is_the_one_that_is_listed() {
    let update = env::var_os("POLICY_API").is_some_and(|value| value == "update");
    let mut changes = String::new();
    for (name, api) in CRATES.iter().zip(&*APIS) {
        let file = ui().join("api").join(format!("{name}.txt"));
        let mut seen = BTreeSet::new();
        // An item of a type that two modules name, such as the prelude, comes once for each.
        let items = api.items().map(ToString::to_string);
        let now: Vec<String> = items.filter(|item| seen.insert(item.clone())).collect();
        if update {
            fs::write(&file, now.join("\n") + "\n").unwrap();
            continue;
        }
        let listed = fs::read_to_string(&file).unwrap_or_default();
        let listed: Vec<&str> = listed.lines().collect();
        for gone in listed.iter().filter(|line| !now.iter().any(|item| item == **line)) {
            changes += &format!("- {gone}\n");
        }
        for added in now.iter().filter(|item| !listed.contains(&item.as_str())) {
            changes += &format!("+ {added}\n");
        }
    }
    assert!(
        changes.is_empty(),
        "the public API is not the one in `ui/api`:\n\n{changes}\n\
         Accept it by `POLICY_API=update cargo test -p policy-ui --test api -- --ignored`. After the first \
         release, state in CHANGELOG.md what changed and why."
    );
}

/// Every other enum and every other struct with public fields is `#[non_exhaustive]`.
#[test]
#[ignore = "builds the documentation of all crates: `cargo xtask check` runs it"]
fn every_public_type_is_open_or_complete_by_definition() {
    let closed: Vec<String> = APIS
        .iter()
        .flat_map(|api| {
            let items: Vec<String> = api.items().map(ToString::to_string).collect();
            items.iter().filter_map(|item| closed_type(item, &items)).collect::<Vec<_>>()
        })
        .collect();
    let listed = || COMPLETE.iter().flat_map(|(_, types)| *types);
    let unlisted: Vec<_> =
        closed.iter().filter(|name| !listed().any(|complete| complete == *name)).collect();
    assert!(
        unlisted.is_empty(),
        "neither `#[non_exhaustive]` nor listed as complete: {unlisted:?}"
    );
    for complete in listed() {
        assert!(closed.iter().any(|name| name == complete), "`{complete}` is no closed type");
    }
}

/// A name that two types share has to be looked up wherever both are used. policy-browser is used
/// without the other crates, and its names are those of the standards.
#[test]
#[ignore = "builds the documentation of all crates: `cargo xtask check` runs it"]
fn no_two_public_types_have_one_name() {
    let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, api) in CRATES.iter().zip(&*APIS).filter(|(name, _)| **name != "policy-browser") {
        for item in api.items().map(ToString::to_string) {
            let Some(path) = type_path(&item) else { continue };
            let name = path.rsplit("::").next().unwrap_or(&path).to_owned();
            if !path.starts_with("policy_server::prelude::") {
                paths.entry(name).or_default().insert(path);
            }
        }
    }
    assert!(paths.len() > 250, "only {} types were read", paths.len());
    let shared: Vec<_> = paths.into_values().filter(|paths| paths.len() > 1).collect();
    assert!(shared.is_empty(), "types with one name: {shared:#?}");
}

/// The path of the type or trait that an item defines.
fn type_path(item: &str) -> Option<String> {
    let item = item.strip_prefix("#[non_exhaustive] ").unwrap_or(item).strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| item.strip_prefix(kind))?;
    let path = rest.split(['<', '(', ' ']).next()?.trim_end_matches(':');
    // An associated type is named with its trait or type.
    let (parent, _) = path.rsplit_once("::")?;
    let parent = parent.rsplit("::").next().unwrap_or(parent);
    parent.starts_with(char::is_lowercase).then(|| path.to_owned())
}

/// The name of the type, if users can match it or write it whole: an enum, or a struct with public
/// fields, that is not `#[non_exhaustive]`.
fn closed_type(item: &str, items: &[String]) -> Option<String> {
    // Without its parameters and fields.
    let name_of = |rest: &str| rest.split(['<', '(']).next().map(str::to_owned);
    if let Some(rest) = item.strip_prefix("pub enum ") {
        return name_of(rest);
    }
    let rest = item.strip_prefix("pub struct ")?;
    let name = name_of(rest)?;
    // What the prelude names again is listed where it is defined.
    if name.starts_with("policy_server::prelude::") {
        return None;
    }
    let has_field = |item: &String| {
        let path = item.strip_prefix("pub ").and_then(|field| field.split(": ").next());
        path.and_then(|path| path.rsplit_once("::")).is_some_and(|(of, _)| of == name)
    };
    (rest.contains("(pub ") || items.iter().any(has_field)).then_some(name)
}

/// Types that no later version adds to, or to which an addition has to be noticed wherever they
/// are matched or written, and why.
const COMPLETE: [(&str, &[&str]); 11] = [
    (
        "a standard defines all of them: CSP3, Fetch, Referrer Policy, RFC 6265bis, RFC 9110, RFC 9111",
        &[
            "policy_browser::CacheMode",
            "policy_browser::Credentials",
            "policy_browser::Mode",
            "policy_browser::PageOrigin",
            "policy_browser::Redirect",
            "policy_browser::ReferrerPolicy",
            "policy_browser::ResponseType",
            "policy_browser::SameSite",
            "policy_core::cache::Audience",
            "policy_core::conditional::Range",
            "policy_core::conditional::Validators",
            "policy_core::conditional::PreconditionVerdict",
            "policy_core::cookie::SameSite",
            "policy_core::headers::csp::Directive",
            "policy_core::tunnel::TunnelTarget",
        ],
    ),
    (
        "a decision: the caller acts on each outcome, and one that it does not know would pass",
        &[
            "policy_manifest::LeftCondition",
            "policy_manifest::Unsent",
            "policy_manifest::algebra::Implication",
            "policy_core::auth::Authorization",
            "policy_browser::Event",
            "policy_browser::Outcome",
            "policy_browser::Output",
            "policy_core::cookie::PresentedCookie",
            "policy_core::cors::OriginDecision",
            "policy_core::csrf::OriginVerdict",
            "policy_core::csrf::TokenVerdict",
            "policy_core::forwarded::ProxyReport",
            "policy_core::forwarded::proxy_protocol::Progress",
            "policy_core::gates::AdmittedHead",
            "policy_core::gates::RequestEnd",
            "policy_core::gates::EndResponse",
            "policy_core::gates::Gate",
            "policy_core::gates::PolicyOf",
            "policy_core::gates::authenticate::Credential",
            "policy_core::head::Single",
            "policy_core::isolation::StatedOrigin",
            "policy_core::router::AddError",
            "policy_manifest::Authority",
            "policy_manifest::Direction",
            "policy_manifest::Effect",
            "policy_manifest::Gain",
            "policy_manifest::Gainer",
            "policy_manifest::SourceLine",
            "policy_manifest::FindingSeverity",
            "policy_manifest::diff::Axis",
            "policy_manifest::diff::PageRead",
            "policy_manifest::engine::RequestCredentials",
            "policy_manifest::engine::CredentialState",
            "policy_manifest::engine::CsrfTokenState",
            "policy_manifest::engine::Decision",
            "policy_manifest::engine::Login",
            "policy_manifest::engine::Outcome",
            "policy_manifest::engine::Step",
            "policy_manifest::engine::Verdict",
            "policy_core::session::PrivilegeChange",
            "policy_core::session::HandlerOutcome",
            "policy_core::session::CommitPlan",
            "policy_core::session::Row",
            "policy_core::token::RevocationStatus",
            "policy_server::Subject",
        ],
    ),
    (
        "a format of manifests: a new field is a new format, which older releases refuse to read",
        &[
            "policy_manifest::Acceptance",
            "policy_manifest::AppScheme",
            "policy_manifest::Auth",
            "policy_manifest::Cache",
            "policy_manifest::Csrf",
            "policy_manifest::Dangers",
            "policy_manifest::FacetSource",
            "policy_manifest::Headers",
            "policy_manifest::Jsonp",
            "policy_manifest::Lock",
            "policy_manifest::ObjectUse",
            "policy_manifest::OwnProblem",
            "policy_manifest::RouteCors",
            "policy_manifest::RouteLimits",
            "policy_manifest::RouteOrigins",
            "policy_manifest::RouteRate",
            "policy_manifest::RouteRequirement",
            "policy_manifest::RuntimeOrigins",
            "policy_manifest::Suppression",
        ],
    ),
    (
        "what a server enforces: one that it does not know would not be enforced",
        &[
            "policy_core::auth::AuthPolicy",
            "policy_core::cors::Origins",
            "policy_core::csrf::CsrfPolicy",
            "policy_core::head::OwnOrigin",
            "policy_core::isolation::Isolation",
            "policy_core::object::Condition",
            "policy_core::path::Segment",
            "policy_core::route::Authentication",
        ],
    ),
    (
        "a store keeps and obeys each: one that it does not know would be lost",
        &[
            "policy_core::session::Record",
            "policy_server::store::LimitPolicy",
            "policy_server::store::Revocation",
        ],
    ),
    (
        "the facts of a decision: a caller that does not know one would decide without it",
        &[
            "policy_core::cache::CacheExchange",
            "policy_core::cache::ResponseFacts",
            "policy_core::csrf::OriginFacts",
            "policy_core::gates::ExplicitCredential",
            "policy_core::gates::RequestView",
            "policy_core::gates::Rights",
            "policy_core::gates::authenticate::CredentialKinds",
            "policy_core::reverse_proxy::OriginalRequest",
            "policy_core::router::PathMethod",
            "policy_core::route::CompiledFacets",
            "policy_core::router::Sharing",
            "policy_core::token::TokenCutOff",
            "policy_core::token::TokenNames",
        ],
    ),
    (
        "the parts that identify something: it takes all of them",
        &["policy_server::tokens::ForeignToken", "policy_server::tokens::ForeignUser"],
    ),
    (
        "the table of a facet: each tool shows all of it",
        &[
            "policy_manifest::rules::CheckedPolicy",
            "policy_manifest::rules::Place",
            "policy_manifest::facet::Cell",
            "policy_manifest::facet::Column",
            "policy_manifest::facet::Side",
            "policy_manifest::facet::ShownRoute",
            "policy_manifest::facet::Tone",
        ],
    ),
    (
        "one value under a name of its own",
        &[
            "policy_browser::LoadId",
            "policy_core::session::Handle",
            "policy_core::session::SessionKey",
            "policy_server::extract::ClientAddr",
            "policy_server::extract::Decoded",
            "policy_server::extract::Form",
            "policy_server::extract::Json",
            "policy_server::extract::PeerAddr",
            "policy_server::extract::Query",
            "policy_server::extract::SentTarget",
            "policy_server::extract::State",
            "policy_server::extract::Valid",
            "policy_server::store::LimitKey",
            "policy_server::store::TokenHash",
        ],
    ),
    (
        "the macros of the same release find the tokens of each part, and write each spec",
        &[
            "policy_core::object::ConditionToken",
            "policy_core::object::Field",
            "policy_core::object::FieldKind",
            "policy_core::object::Relation",
            "policy_server::object::ObjectFacts",
            "policy_core::auth::AuthSpec",
            "policy_core::auth::OwnScheme",
            "policy_core::auth::AuthPart",
            "policy_core::auth::Requirement",
            "policy_core::cache::CacheSpec",
            "policy_core::cache::CachePart",
            "policy_core::cors::CorsExtension",
            "policy_core::cors::CorsSpec",
            "policy_core::cors::CorsPart",
            "policy_core::headers::HeadersSpec",
            "policy_core::headers::HeadersPart",
            "policy_core::jsonp::JsonpSpec",
            "policy_core::jsonp::JsonpPart",
            "policy_core::limits::LimitSpec",
            "policy_core::limits::LimitPart",
            "policy_core::route::RouteFacts",
            "policy_core::route::RoutePolicy",
        ],
    ),
    (
        "a question that has these answers and no others",
        &[
            "policy_core::Confidence",
            "policy_core::EventLevel",
            "policy_core::Severity",
            "policy_core::forwarded::Hosts",
            "policy_server::object::Delete",
            "policy_server::object::Edit",
            "policy_server::object::PredicateValue",
            "policy_server::object::View",
            "policy_server::prelude::Delete",
            "policy_server::prelude::Edit",
            "policy_server::prelude::View",
            "policy_core::forwarded::UriScheme",
            "policy_core::origin::HostPattern",
            "policy_core::origin::Port",
            "policy_core::path::TrailingSlash",
            "policy_core::route::Facet",
            "policy_core::route::Level",
            "policy_core::tunnel::Host",
        ],
    ),
];

/// What rustdoc says of the crates. It builds what `cargo doc` builds.
static APIS: LazyLock<Vec<PublicApi>> = LazyLock::new(|| {
    let status = Command::new(env!("CARGO"))
        .args(["doc", "--quiet", "--workspace", "--no-deps", "--all-features"])
        .current_dir(ui().parent().unwrap())
        .env("RUSTDOC", ui().join("api/rustdoc"))
        // `build.rs` sets it for trybuild.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .status();
    assert!(status.unwrap().success(), "rustdoc failed");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let read = |name: &str| {
        let json = target.join("doc").join(name.replace('-', "_")).with_extension("json");
        let api = Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build();
        api.unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    CRATES.map(read).into()
});

fn ui() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
