//! Which routes are shown.

use clap::Args;
use policy_manifest::{Auth, ManifestRoute, RouteKind, rules::glob_matches};

use super::reader::{Page, Reading};
use crate::{failure::Failure, input::Input};

/// Which routes are shown: those that pass every filter.
#[derive(Debug, Args)]
pub(super) struct Filter {
    /// Only what pages of this origin may read, and whether with credentials.
    #[arg(long, value_name = "ORIGIN", value_parser = Page::parse, help_heading = "Filters")]
    pub(super) origin: Option<Page>,
    /// Only what a caller with this role may call. Several roles are those of one caller.
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    role: Vec<String>,
    /// Only what a caller with this scope may call. Several scopes are those of one caller.
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    scope: Vec<String>,
    /// Only what a caller without credentials may call.
    #[arg(long, conflicts_with_all = ["role", "scope"], help_heading = "Filters")]
    anonymous: bool,
    /// Only routes that serve one of these methods.
    #[arg(long, value_name = "METHOD", help_heading = "Filters")]
    method: Vec<String>,
    /// Only paths like this: `*` is a text without slash, `**` any text, `?` one character.
    #[arg(long, value_name = "GLOB", help_heading = "Filters")]
    path: Vec<String>,
}

/// A route that is shown.
#[derive(Debug)]
pub(super) struct Selected<'a> {
    pub(super) route: &'a ManifestRoute,
    /// How pages of the requested origin may read it.
    pub(super) reading: Option<Reading>,
}

impl Filter {
    /// The routes that pass.
    pub(super) fn select<'a>(&self, input: &'a Input) -> Result<Vec<Selected<'a>>, Failure> {
        let mut selected = Vec::with_capacity(input.manifest.routes.len());
        for route in &input.manifest.routes {
            if !(self.has_method(route) && self.has_path(route) && self.admits(route)) {
                continue;
            }
            let reading = match &self.origin {
                None => None,
                Some(page) => match page.reads(route, &input.manifest, input.sources.as_ref())? {
                    None => continue,
                    reading => reading,
                },
            };
            selected.push(Selected { route, reading });
        }
        Ok(selected)
    }

    /// The filters in words, for the title.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(page) = &self.origin {
            words.push(format!("what pages of {} may read", page.origin()));
        }
        if self.anonymous {
            words.push("what a caller without credentials may call".to_owned());
        } else if self.asks_caller() {
            let named = |name: &str, names: &[String]| match names {
                [] => None,
                [one] => Some(format!("{name} {one}")),
                many => Some(format!("{name}s {}", many.join(", "))),
            };
            let rights = [named("role", &self.role), named("scope", &self.scope)];
            let rights: Vec<_> = rights.into_iter().flatten().collect();
            words.push(format!("what a caller with {} may call", rights.join(" and ")));
        }
        if !self.method.is_empty() {
            words.push(format!("methods {}", self.method.join(", ")));
        }
        if !self.path.is_empty() {
            words.push(format!("paths {}", self.path.join(", ")));
        }
        words
    }

    fn asks_caller(&self) -> bool {
        self.anonymous || !self.role.is_empty() || !self.scope.is_empty()
    }

    fn has_method(&self, route: &ManifestRoute) -> bool {
        let serves = |method: &String| {
            route.methods.is_empty() || route.serves(method) || route.serves(&method.to_uppercase())
        };
        self.method.is_empty() || self.method.iter().any(serves)
    }

    fn has_path(&self, route: &ManifestRoute) -> bool {
        self.path.is_empty() || self.path.iter().any(|glob| glob_matches(glob, &route.path))
    }

    /// Whether the requested caller may call the route.
    fn admits(&self, route: &ManifestRoute) -> bool {
        if !self.asks_caller() {
            return true;
        }
        if route.kind == RouteKind::NotFound {
            return false;
        }
        match &route.auth {
            Auth::Public => true,
            Auth::Required(requirement) if self.anonymous => requirement.optional,
            Auth::Required(requirement) => {
                requirement.scopes.iter().all(|scope| self.scope.contains(scope))
                    && (requirement.roles.is_empty()
                        || requirement.roles.iter().any(|role| self.role.contains(role)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use policy_manifest::{Manifest, RouteRequirement};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        filter: Filter,
    }

    fn requirement(scopes: &[&str], roles: &[&str], optional: bool) -> Auth {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (scopes, roles) = (texts(scopes), texts(roles));
        Auth::Required(RouteRequirement {
            session: true,
            scopes,
            roles,
            optional,
            ..RouteRequirement::default()
        })
    }

    /// The paths that a command line selects.
    fn selected_paths(line: &str) -> Vec<String> {
        let mut manifest = Manifest::new();
        manifest.routes = vec![
            ManifestRoute::new(RouteKind::NotFound, "*", [""; 0], Auth::Public),
            ManifestRoute::handler("/any", ["GET"], requirement(&[], &[], false)),
            ManifestRoute::handler("/maybe", ["GET"], requirement(&[], &[], true)),
            ManifestRoute::handler("/public", ["GET", "POST"], Auth::Public),
            ManifestRoute::handler(
                "/role",
                ["DELETE"],
                requirement(&[], &["boss", "staff"], false),
            ),
            ManifestRoute::handler("/scopes", ["PURGE"], requirement(&["a", "b"], &[], false)),
        ];
        let input = Input {
            name: String::new(),
            manifest,
            folder: std::path::PathBuf::new(),
            sources: None,
            signed: Ok(policy_manifest::Lock::new(Manifest::new())),
            lock: None,
        };
        let Line { filter } = Line::parse_from(format!("show {line}").split_whitespace());
        let routes = filter.select(&input).unwrap();
        routes.iter().map(|selected| selected.route.path.clone()).collect()
    }

    #[test]
    fn a_caller_sees_what_its_rights_suffice_for() {
        assert_eq!(selected_paths("").len(), 6);
        assert_eq!(selected_paths("--anonymous"), ["/maybe", "/public"]);
        assert_eq!(selected_paths("--role staff"), ["/any", "/maybe", "/public", "/role"]);
        assert_eq!(selected_paths("--role other"), ["/any", "/maybe", "/public"]);
        assert_eq!(selected_paths("--scope a"), ["/any", "/maybe", "/public"]);
        assert_eq!(selected_paths("--scope a --scope b"), ["/any", "/maybe", "/public", "/scopes"]);
        assert_eq!(selected_paths("--scope a --scope b --role boss").len(), 5);
    }

    #[test]
    fn methods_and_paths_select() {
        assert_eq!(selected_paths("--method post"), ["*", "/public"]);
        assert_eq!(selected_paths("--method HEAD --method PURGE").len(), 5);
        assert_eq!(selected_paths("--path /p* --path /role"), ["/public", "/role"]);
        assert_eq!(selected_paths("--path /p* --method DELETE"), [""; 0]);
    }
}
