//! Which routes a rule is about: methods and a glob, such as `GET,PUT /orders/**`.

use std::collections::BTreeSet;

use super::error::plain;
use crate::{ManifestRoute, RouteKind};

/// Some methods of the paths that a glob matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Selector {
    /// Empty for all.
    pub(super) methods: BTreeSet<String>,
    pub(super) glob: String,
}

/// The most characters of a glob.
const LONGEST: usize = 1_000;

impl Selector {
    /// Reads methods and a glob. The error is the message and the help.
    pub(super) fn parse(text: &str) -> Result<Self, (&'static str, &'static str)> {
        let (methods, glob) = match text.split_once(' ') {
            Some((methods, glob)) => (methods.split(',').collect(), glob),
            None => (Vec::new(), text),
        };
        let is_method = |method: &&str| {
            !method.is_empty()
                && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
        };
        if !methods.iter().all(is_method) {
            let help =
                "write methods in capitals with commas between them, such as `GET,PUT /orders`";
            return Err(("has no valid methods", help));
        }
        if !glob.starts_with(['/', '*']) || glob.contains(char::is_whitespace) {
            return Err(("has no path", "write a path that begins with `/`, or `**` for all"));
        }
        if glob.chars().nth(LONGEST).is_some() {
            return Err(("is too long", "write a glob of at most 1,000 characters"));
        }
        let methods = methods.into_iter().map(str::to_owned).collect();
        Ok(Self { methods, glob: glob.to_owned() })
    }

    /// As it is written.
    pub(super) fn text(&self) -> String {
        let methods = self.methods.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        plain(format!("{methods} {}", self.glob).trim_start())
    }

    /// Whether it names methods, all of which are safe.
    pub(super) fn is_safe(&self) -> bool {
        !self.methods.is_empty()
            && self.methods.iter().all(|method| policy_core::method::is_safe(method))
    }

    /// The methods of a route that it selects, if its glob matches. HEAD counts as GET, unless it is
    /// named.
    pub(super) fn methods_of(&self, route: &ManifestRoute) -> BTreeSet<String> {
        let own = methods_of(route);
        if self.methods.is_empty() {
            return own.iter().map(|method| (*method).to_owned()).collect();
        }
        let is_served = |method: &&String| {
            route.methods.is_empty() || route.serves(method) || own.contains(&method.as_str())
        };
        self.methods.iter().filter(is_served).cloned().collect()
    }
}

/// The methods of a route. A fallback serves all; these are the ones that decide differently.
pub(super) fn methods_of(route: &ManifestRoute) -> Vec<&str> {
    const OF_FALLBACK: [&str; 6] = ["GET", "POST", "PUT", "QUERY", "OPTIONS", "TRACE"];
    match (route.kind, route.methods.as_slice()) {
        (RouteKind::Tunnel, _) => vec!["CONNECT"],
        (RouteKind::Fallback, []) => OF_FALLBACK.to_vec(),
        (_, methods) => methods.iter().map(String::as_str).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Auth;

    #[test]
    fn a_selector_has_methods_and_a_glob() {
        let parsed = Selector::parse("GET,PUT /orders/**").unwrap();
        assert_eq!(parsed.methods.iter().collect::<Vec<_>>(), ["GET", "PUT"]);
        assert_eq!(parsed.glob, "/orders/**");
        assert!(Selector::parse("**").unwrap().methods.is_empty());
        for text in
            ["", "orders", "get /a", "GET", "GET,/a", "GET, PUT /a", "GET|PUT /a", " /a", "/a b"]
        {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
        assert!(Selector::parse(&format!("/{}", "a".repeat(1_000))).is_err());
    }

    #[test]
    fn a_selector_selects_the_methods_of_a_route() {
        let of = |text: &str, route: &ManifestRoute| {
            let methods = Selector::parse(text).unwrap().methods_of(route);
            methods.into_iter().collect::<Vec<_>>().join(",")
        };
        let route = ManifestRoute::handler("/a", ["GET", "PUT"], Auth::Public);
        for (text, methods) in
            [("/a", "GET,PUT"), ("PUT,POST /a", "PUT"), ("HEAD /a", "HEAD"), ("POST /a", "")]
        {
            assert_eq!(of(text, &route), methods, "{text}");
        }
        let fallback = ManifestRoute::new(RouteKind::Fallback, "*", [""; 0], Auth::Public);
        assert_eq!(of("PATCH **", &fallback), "PATCH");
        assert_eq!(of("GET,POST **", &fallback), "GET,POST");
    }
}
