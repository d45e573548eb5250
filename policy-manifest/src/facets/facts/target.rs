//! The target of a route that is not a handler.

use super::{FactChange, facts, order};

facts! {
    /// What serves a mount, a proxy, a tunnel or the fallback, and what is passed on to it.
    TargetFacts {
        /// The address of the upstream, with its base path.
        upstream: Option<String> => order::unordered,
        /// The file of the certificate authorities of the upstream, if these are not those of the public
        /// web.
        root_certificates: Option<String> => order::unordered,
        /// The type of the service.
        service: Option<String> => services,
        /// The folder of the files.
        folder: Option<String> => order::unordered,
        /// Whether files and folders are served whose names begin with a dot.
        dotfiles: bool => order::opening,
        /// Whether navigations to missing files get a page.
        single_page: bool => order::shifting,
        /// The paths below which they do not.
        not_below: Vec<String> => order::requirements,
        /// Whether it gets paths without the prefix.
        strips_prefix: bool => order::unordered,
        /// Whether it never treats two paths as one resource.
        exact_paths: bool => order::unordered,
        /// Whether its errors are converted into problems.
        problems: bool => order::shifting,
        /// Whether it gets the session cookie of the app.
        forwards_session: bool => order::opening,
        /// Whether it is spoken to in HTTP/2 only.
        http2: bool => order::shifting,
        /// How many milliseconds a connection to it may take.
        connect_timeout_ms: Option<u64> => order::longer_ms,
        /// How many milliseconds it may take to begin a response.
        answer_timeout_ms: Option<u64> => order::longer_ms,
        /// How many milliseconds either side may pause.
        idle_timeout_ms: Option<u64> => order::longer_ms,
        /// The private networks to which tunnels may lead.
        private: Vec<String> => order::members,
        /// How many tunnels may be open.
        max_tunnels: Option<u64> => order::more,
    }
}

/// Without a service, the code of the app responds.
fn services(old: &Option<String>, new: &Option<String>) -> FactChange {
    if new.is_none() { order::shifting(old, new) } else { order::unordered(old, new) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facets::Direction;

    #[test]
    fn another_service_opens() {
        for (old, new, expected) in [
            (Some("app::Status"), Some("Metrics"), Direction::Opens),
            (None, Some("Metrics"), Direction::Opens),
            (Some("app::Status"), None, Direction::Shifts),
        ] {
            let [old, new] = [old, new].map(|name| name.map(str::to_owned));
            let found = services(&old, &new).map(|(direction, _)| direction);
            assert_eq!(found, Some(expected), "{old:?} {new:?}");
        }
    }
}
