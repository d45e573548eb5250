//! The facts about an app as a whole, and about what serves its mounts, proxies and tunnels.

#[cfg(any(feature = "config_file", feature = "files", feature = "gateway"))]
use std::path::Path;
use std::time::Duration;

use policy_core::head::OwnOrigin;
use policy_manifest::{AppFacts, EngineFacts, OriginListFacts, ServerFacts, TargetFacts};

#[cfg(feature = "gateway")]
use crate::app::{proxy::ReverseProxy, tunnel::Tunnel};
use crate::{
    app::{
        AppParts,
        mount::{Mount, ServedBy},
        origin_list::{OriginList, OriginSource, Texts},
        settings::ServerSettings,
    },
    build::own_text,
    client::trusted_proxies::TrustedProxies,
    handler::service::Wrap,
};

pub(super) fn describe_app(app: &AppParts, own: &OwnOrigin) -> AppFacts {
    let mut facts = AppFacts::default();
    facts.public_origin = app.public_origin.clone();
    facts.sessions = app.sessions.as_ref().and_then(|sessions| sessions.facts(own));
    facts.tokens = app.tokens.as_ref().map(|tokens| tokens.facts(own_text(own)));
    facts.engine = app.engine.as_ref().map(|engine| {
        let mut facts = EngineFacts::default();
        facts.name = engine.name().to_owned();
        facts.digest = engine.digest();
        facts
    });
    facts.trailing_slash = app.trailing_slash;
    facts.proxies = app.proxies.as_ref().map(TrustedProxies::facts).unwrap_or_default();
    #[cfg(feature = "gateway")]
    {
        facts.trace = app.gateway.traces;
    }
    facts.layers = app.layers.iter().map(|layer| short(layer.type_name)).collect();
    facts.lists =
        app.origins.iter().map(|(name, list)| (name.clone(), describe_list(list))).collect();
    facts.shared_limits = app.shared_limits.is_some();
    facts.rate_clients = Some(app.rate_capacity.clients as u64);
    facts.rate_clients_per_network = Some(app.rate_capacity.clients_per_network.into());
    #[cfg(feature = "tls")]
    {
        facts.tls = app.tls.as_ref().map(describe_tls);
    }
    facts.server = describe_server(&app.settings);
    facts
}

fn describe_list(list: &OriginList) -> OriginListFacts {
    let mut facts = OriginListFacts::default();
    match &list.source {
        OriginSource::Texts(Texts::Fixed(origins)) => facts.origins.clone_from(origins),
        OriginSource::Texts(Texts::Env(variable)) => facts.source = Some(format!("env {variable}")),
        OriginSource::Shared(_) => facts.source = Some("shared".to_owned()),
        OriginSource::Stored(_) => facts.source = Some("stored".to_owned()),
        #[cfg(feature = "config_file")]
        OriginSource::File(path) => facts.source = Some(format!("file {}", display_path(path))),
    }
    match &list.bound {
        None => (),
        Some(Texts::Fixed(patterns)) => facts.within = Some(patterns.clone()),
        Some(Texts::Env(variable)) => facts.within_env = Some(variable.clone()),
    }
    facts
}

#[cfg(feature = "tls")]
fn describe_tls(tls: &crate::app::tls::Tls) -> policy_manifest::TlsFacts {
    let mut facts = policy_manifest::TlsFacts::default();
    facts.development = matches!(tls.source, crate::app::tls::Source::Development { .. });
    facts.redirects_http = tls.redirect.is_some();
    #[cfg(feature = "http3")]
    {
        facts.http3 = tls.http3;
    }
    facts
}

fn describe_server(settings: &ServerSettings) -> ServerFacts {
    let mut facts = ServerFacts::default();
    facts.header_timeout_ms = millis(settings.header_timeout);
    facts.idle_timeout_ms = millis(settings.idle_timeout);
    facts.min_read_rate = Some(settings.min_read_rate.into());
    facts.header_limit = Some(settings.header_limit as u64);
    facts.max_connections = Some(settings.max_connections.into());
    facts.max_unsent_per_connection = Some(settings.max_unsent_per_connection as u64);
    facts.max_unsent_total = Some(settings.max_unsent_total as u64);
    facts.one_request_per_connection = !settings.keep_alive;
    facts.shared_port = settings.shares_port;
    let name = settings.server_header.as_ref();
    facts.server_header = name.map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned());
    facts
}

pub(super) fn describe_mount(mount: &Mount) -> TargetFacts {
    let mut facts = served_by(&mount.served_by);
    facts.strips_prefix = mount.strips_prefix;
    facts.exact_paths = mount.paths.are_exact;
    facts.problems = mount.converts_problems;
    facts
}

pub(super) fn served_by(served_by: &ServedBy) -> TargetFacts {
    let mut facts = TargetFacts::default();
    match served_by {
        ServedBy::Service(name) => facts.service = Some(short(name)),
        #[cfg(feature = "openapi")]
        ServedBy::OpenApi(_) => facts.service = Some("OpenAPI document".to_owned()),
        #[cfg(feature = "metrics")]
        ServedBy::Metrics => facts.service = Some("Metrics".to_owned()),
        #[cfg(feature = "files")]
        ServedBy::Files(files) => {
            facts.folder = Some(display_path(&files.folder));
            facts.dotfiles = files.serves_dotfiles;
            facts.single_page = files.is_single_page;
            facts.not_below.clone_from(&files.other);
        }
    }
    facts
}

#[cfg(feature = "gateway")]
pub(super) fn describe_proxy(proxy: &ReverseProxy) -> TargetFacts {
    let mut facts = TargetFacts::default();
    facts.upstream = Some(proxy.upstream.clone());
    facts.root_certificates = proxy.root_certificates.as_deref().map(display_path);
    facts.strips_prefix = proxy.strips;
    facts.exact_paths = proxy.paths.are_exact;
    facts.forwards_session = proxy.forwards_session;
    facts.http2 = proxy.is_http2;
    facts.connect_timeout_ms = millis(proxy.timeouts.connect);
    facts.answer_timeout_ms = millis(proxy.timeouts.response);
    facts.idle_timeout_ms = millis(proxy.timeouts.idle);
    facts
}

#[cfg(feature = "gateway")]
pub(super) fn describe_tunnel(tunnel: &Tunnel) -> TargetFacts {
    let mut facts = TargetFacts::default();
    facts.private.clone_from(&tunnel.private);
    facts.connect_timeout_ms = millis(tunnel.connect_timeout);
    facts.idle_timeout_ms = millis(tunnel.idle_timeout);
    facts.max_tunnels = Some(tunnel.max_tunnels.into());
    facts
}

/// The layers of a group or of the fallback, the outermost first.
pub(super) fn layers<'a>(level: &str, layers: &'a [Wrap]) -> impl Iterator<Item = String> + 'a {
    let level = format!("{level} ");
    layers.iter().rev().map(move |layer| level.clone() + &short(layer.type_name))
}

fn millis(time: Duration) -> Option<u64> {
    Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// A path as the code writes it, without the folders of the machine: only the name of an absolute
/// one. A lock file is written on one machine and compared on others.
#[cfg(any(feature = "config_file", feature = "files", feature = "gateway"))]
fn display_path(path: &Path) -> String {
    match path.file_name().filter(|_| path.is_absolute()) {
        Some(name) => format!("../{}", name.display()),
        None => path.display().to_string(),
    }
}

/// A type's crate and name, such as `tower_http::TraceLayer`: modules and type arguments change
/// without a change of the layer.
fn short(type_name: &str) -> String {
    let (mut depth, mut names) = (0_usize, vec![String::new()]);
    for character in type_name.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth > 0 => (),
            ',' | '(' | ')' | ' ' | '&' => names.push(String::new()),
            _ => names.iter_mut().last().into_iter().for_each(|name| name.push(character)),
        }
    }
    let names = names.iter().filter(|name| !name.is_empty()).map(|name| {
        let (first, last) = (name.split("::").next(), name.rsplit("::").next());
        match (first, last) {
            (Some(first), Some(last)) if first != last => format!("{first}::{last}"),
            _ => name.clone(),
        }
    });
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_by_crate_and_name() {
        for (full, name) in [
            ("tower_http::trace::layer::TraceLayer<A<B>, C::D>", "tower_http::TraceLayer"),
            ("(a::b::C<d::E>, f::G)", "a::C f::G"),
            ("app::main::{{closure}}", "app::{{closure}}"),
            ("Layer", "Layer"),
        ] {
            assert_eq!(short(full), name);
        }
    }

    #[test]
    #[cfg(any(feature = "config_file", feature = "files", feature = "gateway"))]
    fn no_folder_of_the_machine_is_in_a_manifest() {
        assert_eq!(display_path(Path::new("dist/assets")), "dist/assets");
        assert_eq!(display_path(Path::new("/home/ada/shop/pages")), "../pages");
        assert_eq!(display_path(Path::new("/srv/shop/pages")), "../pages");
        assert_eq!(display_path(Path::new("/")), "/");
    }
}
