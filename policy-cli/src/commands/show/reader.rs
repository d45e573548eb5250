//! What pages of one origin may read.

use policy_core::origin::{Origin, OriginPattern, OriginSet};
use policy_manifest::{Manifest, ManifestRoute, RouteOrigins, Sources};

use crate::failure::Failure;

/// An origin whose pages send requests.
#[derive(Clone, Debug)]
pub(super) struct Page(String);

/// How pages of an origin may read the responses of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) how: ReadAccess,
    /// The list that decides at run time, if its entries are not known.
    pub(super) if_listed: Option<String>,
    /// The methods that they may use, if those are not all methods of the route.
    pub(super) methods: Option<Vec<String>>,
}

/// How the responses of a route can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadAccess {
    /// The page has the origin of the app.
    SameOrigin,
    /// With `fetch`, cookies included.
    WithCredentials,
    /// With `fetch`, without cookies.
    WithoutCredentials,
    /// As a script, by JSONP.
    Script,
}

impl Page {
    /// The pages of an origin as browsers send it; `null` is that of sandboxed frames.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "null" || Origin::parse(text.as_bytes()).is_some() {
            return Ok(Self(text.to_owned()));
        }
        Err(match OriginPattern::parse(text) {
            Ok(_) => {
                "this is a pattern: name one origin, such as `https://app.example.com`".to_owned()
            }
            Err(rule) => format!("{}: {} ({})", rule.message(), rule.help(), rule.code()),
        })
    }

    pub(super) fn origin(&self) -> &str {
        &self.0
    }

    /// How the pages may read responses of a route, if they may.
    pub(super) fn reads(
        &self,
        route: &ManifestRoute,
        manifest: &Manifest,
        sources: Option<&Sources>,
    ) -> Result<Option<Reading>, Failure> {
        let plain = |how| Reading { how, if_listed: None, methods: None };
        if manifest.app.public_origin.as_ref() == Some(&self.0) {
            return Ok(Some(plain(ReadAccess::SameOrigin)));
        }
        let as_script = route.jsonp.as_ref().map(|_| plain(ReadAccess::Script));
        let Some(cors) = &route.cors else { return Ok(as_script) };
        let mut if_listed = None;
        let is_granted = match &cors.origins {
            RouteOrigins::Listed(patterns) => {
                patterns.iter().any(|pattern| pattern == "*") || self.is_in(patterns)?
            }
            RouteOrigins::AtRunTime(list) => {
                let is_within = match &list.within {
                    Some(patterns) => self.is_in(patterns)?,
                    None => true,
                };
                let is_listed = match sources.and_then(|sources| sources.lists.get(&list.list)) {
                    Some(patterns) => self.is_in(patterns)?,
                    None => {
                        if_listed = Some(list.list.clone());
                        self.0 != "null"
                    }
                };
                is_within && is_listed
            }
        };
        if !is_granted {
            return Ok(as_script);
        }
        let how = match cors.credentials {
            true => ReadAccess::WithCredentials,
            false => ReadAccess::WithoutCredentials,
        };
        let may_use = |method: &&String| {
            // Methods that need no preflight are allowed by every list of methods.
            matches!(method.as_str(), "GET" | "HEAD" | "POST")
                || cors.methods.as_ref().is_none_or(|methods| {
                    methods.contains(method)
                        || (!cors.credentials && methods.iter().any(|method| method == "*"))
                })
        };
        let methods: Vec<_> = route.methods.iter().filter(may_use).cloned().collect();
        if methods.is_empty() && !route.methods.is_empty() {
            return Ok(as_script);
        }
        let methods = (methods != route.methods).then_some(methods);
        Ok(Some(Reading { how, if_listed, methods }))
    }

    fn is_in(&self, patterns: &[String]) -> Result<bool, Failure> {
        let set = OriginSet::new(patterns.iter().map(String::as_str)).map_err(|rule| {
            Failure::new(format!(
                "the manifest has an origin that no app accepts, in `{}`: {} ({})",
                patterns.join(", "),
                rule.message(),
                rule.code()
            ))
            .help("write the manifest anew with `cargo test`")
        })?;
        Ok(set.matches(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use policy_manifest::{Auth, Jsonp, RouteCors, RuntimeOrigins};

    use super::*;

    fn cors_for(origins: &[&str]) -> RouteCors {
        RouteCors::new(RouteOrigins::Listed(
            origins.iter().map(|origin| (*origin).to_owned()).collect(),
        ))
    }

    fn route(methods: &[&str], cors: Option<RouteCors>) -> ManifestRoute {
        let mut route = ManifestRoute::handler("/", methods.iter().copied(), Auth::Public);
        route.cors = cors;
        route
    }

    fn how(origin: &str, route: &ManifestRoute) -> Option<ReadAccess> {
        let page = Page::parse(origin).unwrap();
        page.reads(route, &Manifest::new(), None).unwrap().map(|reading| reading.how)
    }

    #[test]
    fn pages_read_what_lists_their_origin() {
        let get = |origins: &[&str]| route(&["GET"], Some(cors_for(origins)));
        let without = Some(ReadAccess::WithoutCredentials);
        for (origin, origins, expected) in [
            ("https://a.example", &["https://a.example"][..], without),
            ("https://b.example", &["https://a.example"], None),
            ("https://x.a.example", &["https://*.a.example"], without),
            ("https://a.example", &["https://*.a.example"], None),
            ("https://b.example", &["*"], without),
            ("null", &["*"], without),
            ("null", &["https://a.example"], None),
        ] {
            assert_eq!(how(origin, &get(origins)), expected, "{origin} {origins:?}");
        }
        assert_eq!(how("https://a.example", &route(&["GET"], None)), None);
        let mut with = cors_for(&["https://a.example"]);
        with.credentials = true;
        let with = route(&["GET"], Some(with));
        assert_eq!(how("https://a.example", &with), Some(ReadAccess::WithCredentials));
    }

    #[test]
    fn pages_of_the_app_itself_read_everything() {
        let mut manifest = Manifest::new();
        manifest.app.public_origin = Some("https://api.example".to_owned());
        let page = Page::parse("https://api.example").unwrap();
        let reading = page.reads(&route(&["GET"], None), &manifest, None).unwrap().unwrap();
        assert_eq!(reading.how, ReadAccess::SameOrigin);
    }

    #[test]
    fn a_script_is_read_by_pages_of_any_origin() {
        let mut script = route(&["GET"], Some(cors_for(&["https://a.example"])));
        script.jsonp = Some(Jsonp { callback: "cb".to_owned(), dotted: false });
        assert_eq!(how("https://a.example", &script), Some(ReadAccess::WithoutCredentials));
        assert_eq!(how("https://b.example", &script), Some(ReadAccess::Script));
    }

    #[test]
    fn a_list_at_run_time_is_asked_if_it_is_known_and_is_bounded_if_not() {
        let list = RuntimeOrigins {
            list: "partners".to_owned(),
            within: Some(vec!["https://*.partner.example".to_owned()]),
            by: None,
        };
        let route = route(&["GET"], Some(RouteCors::new(RouteOrigins::AtRunTime(list))));
        let mut sources = Sources::default();
        let entries = vec!["https://a.partner.example".to_owned()];
        sources.lists.insert("partners".to_owned(), entries);
        let reads = |origin: &str, sources| {
            let reading = Page::parse(origin).unwrap().reads(&route, &Manifest::new(), sources);
            reading.unwrap().map(|reading| reading.if_listed)
        };
        assert_eq!(reads("https://a.partner.example", Some(&sources)), Some(None));
        assert_eq!(reads("https://b.partner.example", Some(&sources)), None);
        let if_listed = Some(Some("partners".to_owned()));
        assert_eq!(reads("https://b.partner.example", None), if_listed);
        assert_eq!(reads("https://b.example", None), None);
    }

    #[test]
    fn a_page_uses_the_methods_of_the_policy_and_those_that_need_no_preflight() {
        let methods = |listed_methods: &[&str]| {
            let mut cors = cors_for(&["https://a.example"]);
            cors.methods = Some(listed_methods.iter().map(|it| (*it).to_owned()).collect());
            let route = route(&["DELETE", "GET", "PUT"], Some(cors));
            let page = Page::parse("https://a.example").unwrap();
            page.reads(&route, &Manifest::new(), None).unwrap().unwrap().methods
        };
        let some = |methods: &[&str]| Some(methods.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(methods(&["PUT"]), some(&["GET", "PUT"]));
        assert_eq!(methods(&["DELETE", "PUT"]), None);
        assert_eq!(methods(&["*"]), None);
        let mut only_put = cors_for(&["https://a.example"]);
        only_put.methods = Some(vec!["PUT".to_owned()]);
        assert_eq!(how("https://a.example", &route(&["DELETE"], Some(only_put))), None);
    }

    #[test]
    fn what_is_no_origin_is_explained() {
        for (text, words) in [
            ("https://a.example/", "cors.origin-path"),
            ("a.example", "cors.origin-scheme"),
            ("https://*.a.example", "this is a pattern"),
            ("https://A.example", "cors.origin-upper-case"),
        ] {
            let error = Page::parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
