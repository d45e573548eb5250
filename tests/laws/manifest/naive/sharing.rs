//! Which pages may read a response: CORS.

use serde_json::Value;

use super::{
    App, End, Found, Route,
    asked::{Asked, is_safe, is_standard, is_token},
    origins::{are_same, is_origin, matches},
    texts,
};

type Fields = Vec<(String, String)>;

impl<'a> App<'a> {
    /// The origins of a policy. For a run-time list without present entries, its bound.
    fn origins(&self, cors: &Value) -> Vec<String> {
        let Some(name) = cors["origins"]["list"].as_str() else { return texts(&cors["origins"]) };
        self.lists.get(name).cloned().unwrap_or_else(|| texts(&cors["origins"]["within"]))
    }

    /// Whether a policy has a run-time list that may have every origin.
    fn may_name_all(&self, cors: &Value) -> bool {
        let list = cors["origins"]["list"].as_str();
        let is_unknown = list.is_some_and(|name| !self.lists.contains_key(name));
        let within = cors["origins"].get("within");
        is_unknown && within.is_none_or(|within| texts(within) == ["*"])
    }

    fn is_for_all(&self, cors: &Value) -> bool {
        texts(&cors["origins"]) == ["*"]
    }

    /// The origin of the request, if a policy names it.
    fn named_origin(&self, cors: &Value, request: &Asked) -> Option<String> {
        let origin = str::from_utf8(request.once("origin")?).ok()?;
        let origins = self.origins(cors);
        let is_listed = || origins.iter().any(|it| matches(it, origin));
        let is_named = match self.may_name_all(cors) {
            true => is_origin(origin),
            false => !self.is_for_all(cors) && is_listed(),
        };
        is_named.then(|| origin.to_owned())
    }

    /// Whether pages of the stated origin may read the route.
    pub(super) fn grants(&self, route: Route<'_>, request: &Asked) -> bool {
        let Some(cors) = route.value.get("cors") else { return false };
        request.once("origin").is_some()
            && (self.is_for_all(cors) || self.named_origin(cors, request).is_some())
    }

    /// Whether they may read it with cookies, and so may act with them.
    pub(super) fn trusts(&self, route: Route<'_>, request: &Asked) -> bool {
        route.value["cors"]["credentials"] == true && self.grants(route, request)
    }

    /// Whether the request states an origin that the route does not grant.
    pub(super) fn refuses_origin(&self, route: Route<'_>, request: &Asked) -> bool {
        let cors = route.value.get("cors");
        cors.is_some_and(|cors| !self.is_for_all(cors) && request.has("origin"))
            && !self.grants(route, request)
    }

    /// The CORS headers of a response to any request but a preflight.
    pub(super) fn shared(&self, route: Route<'_>, request: &Asked) -> Fields {
        let Some(cors) = route.value.get("cors") else { return Vec::new() };
        let mut fields = self.varied(cors);
        let Some(origin) = self.echoed(cors, request) else { return fields };
        const READ_ANYWAY: [&str; 7] = [
            "cache-control",
            "content-language",
            "content-length",
            "content-type",
            "expires",
            "last-modified",
            "pragma",
        ];
        fields.push(field("access-control-allow-origin", origin));
        if cors["credentials"] == true {
            fields.push(field("access-control-allow-credentials", "true"));
        }
        let exposed = texts(&cors["expose"]).into_iter().map(|name| name.to_lowercase());
        let exposed = exposed.filter(|name| !READ_ANYWAY.contains(&name.as_str()));
        let exposed = join_names(exposed.collect());
        if !exposed.is_empty() {
            fields.push(field("access-control-expose-headers", exposed));
        }
        fields.sort();
        fields
    }

    fn varied(&self, cors: &Value) -> Fields {
        let depends = !self.is_for_all(cors);
        depends.then(|| field("vary", "origin")).into_iter().collect()
    }

    fn echoed(&self, cors: &Value, request: &Asked) -> Option<String> {
        if self.is_for_all(cors) { Some("*".to_owned()) } else { self.named_origin(cors, request) }
    }

    /// The response to a preflight, for a path that was found.
    pub(super) fn preflight(&self, found: &Found<'a>, request: &Asked) -> End {
        let methods = request.lines("access-control-request-method");
        let wanted = match *methods {
            [method] => str::from_utf8(method).ok().and_then(|method| found.route(method)),
            _ => None,
        };
        let Some(route) = wanted.or(found.first()) else {
            return End { outcome: "cors.origin-not-granted", cors: Vec::new() };
        };
        let Some(cors) = route.value.get("cors") else {
            return End { outcome: "cors.origin-not-granted", cors: Vec::new() };
        };
        match unserved_method(cors, request).filter(|_| wanted.is_none()) {
            Some(method) => self.unserved(cors, method, request),
            None => {
                self.announced(cors, request, |origin| self.preflight_fields(found, cors, origin))
            }
        }
    }

    /// The response to a preflight for a standard method that no route serves here: the page may
    /// read the 404 or 405.
    pub(super) fn unserved(&self, cors: &Value, method: &str, request: &Asked) -> End {
        self.announced(cors, request, |origin| {
            let methods = match ["TRACE", "CONNECT"].contains(&method) {
                true => Vec::new(),
                false => vec![method.to_owned()],
            };
            let methods = match join_names(methods).as_str() {
                "" => "GET,HEAD,POST".to_owned(),
                methods => methods.to_owned(),
            };
            let mut headers: Vec<String> =
                texts(&cors["headers"]).iter().map(|name| name.to_lowercase()).collect();
            let takes_all = headers.iter().any(|name| name == "*");
            let has_body = ["POST", "PUT", "PATCH", "DELETE", "QUERY"].contains(&method);
            if has_body && !takes_all {
                headers.push("content-type".to_owned());
            }
            headers.push("authorization".to_owned());
            let mut fields = self.varied(cors);
            fields.push(field("access-control-allow-origin", origin));
            if cors["credentials"] == true {
                headers.push("x-csrf-token".to_owned());
                fields.push(field("access-control-allow-credentials", "true"));
            }
            fields.push(field("access-control-allow-methods", methods));
            fields.push(field("access-control-allow-headers", join_names(headers)));
            fields.push(field("access-control-max-age", "0"));
            fields.sort();
            fields
        })
    }

    /// The response to a preflight, with these headers if its origin and method are granted.
    fn announced(
        &self,
        cors: &Value,
        request: &Asked,
        granted: impl FnOnce(String) -> Fields,
    ) -> End {
        let methods = request.lines("access-control-request-method");
        let refused = |outcome, cors| End { outcome, cors };
        let Some(origin) = self.echoed(cors, request) else {
            return refused(
                match request.lines("origin").len() {
                    1 => "cors.origin-not-granted",
                    _ => "cors.preflight-origin-repeated",
                },
                self.varied(cors),
            );
        };
        if methods.len() != 1 || !is_token(methods[0]) {
            return refused("cors.request-method-malformed", self.varied(cors));
        }
        End { outcome: "preflight", cors: granted(origin) }
    }

    /// The headers of a granted preflight: for all methods of the path whose policy is the same.
    fn preflight_fields(&self, found: &Found<'a>, cors: &Value, origin: String) -> Fields {
        let alike = |route: &Route<'_>| {
            route.value.get("cors").is_some_and(|other| self.are_alike(cors, other))
        };
        let (alike, others): (Vec<_>, Vec<_>) =
            found.methods.iter().partition(|(_, route)| alike(route));
        let mut served: Vec<String> = alike.iter().map(|(method, _)| (*method).clone()).collect();
        if served.iter().any(|method| method == "GET") {
            served.push("HEAD".to_owned());
        }
        let methods = match cors.get("methods") {
            Some(stated) => normalized(&texts(stated)),
            None => served.clone(),
        };
        let methods = match join_names(methods).as_str() {
            "" => "GET,HEAD,POST".to_owned(),
            methods => methods.to_owned(),
        };
        let stated: Vec<String> =
            texts(&cors["headers"]).iter().map(|name| name.to_lowercase()).collect();
        let mut headers = stated.clone();
        let has_body = served
            .iter()
            .any(|method| ["POST", "PUT", "PATCH", "DELETE", "QUERY"].contains(&method.as_str()));
        if has_body && cors.get("methods").is_none() && !stated.iter().any(|name| name == "*") {
            headers.push("content-type".to_owned());
        }
        for (method, route) in alike {
            let takes_token = route.required().is_some_and(|required| required["token"] == true);
            if takes_token {
                headers.push("authorization".to_owned());
            }
            if cors["credentials"] == true && self.needs_csrf_token(*route, method) {
                headers.push("x-csrf-token".to_owned());
            }
        }
        let mut fields = self.varied(cors);
        fields.push(field("access-control-allow-origin", origin));
        if cors["credentials"] == true {
            fields.push(field("access-control-allow-credentials", "true"));
        }
        fields.push(field("access-control-allow-methods", methods));
        let headers = join_names(headers);
        if !headers.is_empty() {
            fields.push(field("access-control-allow-headers", headers));
        }
        // Browsers cache a preflight for all methods of the URL.
        let may_be_kept = others.iter().all(|(method, _)| is_safe(method));
        match cors["max_age"].as_i64() {
            _ if !may_be_kept => fields.push(field("access-control-max-age", "0")),
            Some(seconds) => {
                fields.push(field("access-control-max-age", seconds.max(0).to_string()));
            }
            None => (),
        }
        fields.sort();
        fields
    }

    /// Whether a request with this method acts with a session, and so needs its CSRF token. A
    /// public route may handle the session itself, and a mount takes all methods in the same way.
    fn needs_csrf_token(&self, route: Route<'_>, method: &str) -> bool {
        let is_ambient = match route.required() {
            None => self.fact("sessions").is_some(),
            Some(required) => required["session"] == true || required["scheme"]["ambient"] == true,
        };
        let is_unsafe = match route.is_prefix() {
            true => route.methods().iter().any(|method| !is_safe(method)),
            false => !is_safe(method),
        };
        route.csrf() == "token" && is_ambient && is_unsafe
    }

    /// Whether a preflight for one policy is one for the other.
    fn are_alike(&self, one: &Value, two: &Value) -> bool {
        let names = |cors: &Value, name: &str| {
            let names = texts(&cors[name]).into_iter();
            join_names(names.map(|name| name.to_lowercase()).collect())
        };
        let methods = |cors: &Value| {
            cors.get("methods").map(|methods| join_names(normalized(&texts(methods))))
        };
        let bound = |cors: &Value| {
            let within = texts(&cors["origins"]["within"]);
            cors["origins"].get("within").is_some_and(|_| within != ["*"]).then_some(within)
        };
        let has_same_bound = match (bound(one), bound(two)) {
            (Some(one), Some(two)) => are_same(&one, &two),
            (one, two) => one == two,
        };
        one["origins"].get("list") == two["origins"].get("list")
            && has_same_bound
            && are_same(&texts(&one["origins"]), &texts(&two["origins"]))
            && (one["credentials"] == true) == (two["credentials"] == true)
            && methods(one) == methods(two)
            && names(one, "headers") == names(two, "headers")
    }
}

/// The method of a preflight, if it is a standard one and the policy does not name its methods.
pub(super) fn unserved_method<'a>(cors: &Value, request: &'a Asked) -> Option<&'a str> {
    if cors.get("methods").is_some() {
        return None;
    }
    let method = str::from_utf8(request.once("access-control-request-method")?).ok()?;
    is_standard(method).then_some(method)
}

/// Fetch, 2.2.1: the methods that browsers write in upper case.
fn normalized(methods: &[String]) -> Vec<String> {
    let one = |method: &String| {
        let upper = method.to_uppercase();
        let is_one = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"].contains(&upper.as_str());
        if is_one { upper } else { method.clone() }
    };
    methods.iter().map(one).collect()
}

/// Joins the names of a list field, each once and in their order; `*` is the first of all.
fn join_names(mut names: Vec<String>) -> String {
    names.sort_by_key(|name| (name != "*", name.clone()));
    names.dedup();
    names.join(",")
}

fn field(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}
