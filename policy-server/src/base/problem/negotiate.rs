//! The format in which a problem is sent (RFC 9110 12.1).

use axum_core::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use policy_core::{
    negotiate::accept,
    vary::{self, VaryToken},
};

use super::{MEDIA_TYPE, OriginalProblem, Problem, own::Own, render};

/// The preferred format of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreferredFormat {
    /// `application/problem+json`; also the default, and the format for clients that accept none of
    /// these.
    Json,
    /// An HTML page, for browsers that open one.
    Html,
    /// Plain text.
    Text,
}

/// The offered formats; among equally preferred ones the first is used.
const OFFERS: [(&str, PreferredFormat); 4] = [
    ("application/problem+json", PreferredFormat::Json),
    ("application/json", PreferredFormat::Json),
    ("text/html;charset=utf-8", PreferredFormat::Html),
    ("text/plain;charset=utf-8", PreferredFormat::Text),
];

impl PreferredFormat {
    /// The format that `Accept` prefers.
    fn negotiate(headers: &HeaderMap) -> Self {
        accept(headers, &OFFERS.map(|(media_type, _)| media_type))
            .and_then(|offer| OFFERS.get(offer))
            .map_or(Self::Json, |(_, preferred)| *preferred)
    }
}

/// A copy of the lines of `Accept`, joined by line feeds.
pub(crate) fn formats(headers: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    for line in headers.get_all(ACCEPT) {
        if !lines.is_empty() {
            lines.push(b'\n');
        }
        lines.extend_from_slice(line.as_bytes());
    }
    lines
}

/// Converts a response that is a problem into the format that these [`formats`] prefer. Every
/// problem lists `Accept` in its `Vary`, whatever its format.
///
/// `types` is the address of the pages about problems, see
/// [`App::problem_types`](crate::App::problem_types).
///
/// A response whose body was replaced or encoded meanwhile is not changed.
pub(crate) fn negotiate(formats: &[u8], types: Option<&str>, response: &mut Response) {
    if response.extensions().is_empty() {
        return;
    }
    let Some(OriginalProblem(problem)) = response.extensions_mut().remove() else { return };
    let status = response.status();
    if let Some(code) = problem.own_code() {
        response.extensions_mut().insert(code);
    }
    let (problem, is_typed) = match types.and_then(|types| problem.typed(types)) {
        Some(typed) => (typed, true),
        None => (problem, false),
    };
    let members = |problem: Problem| Own { status, ..problem.into_members() };
    let headers = response.headers_mut();
    if headers.get(CONTENT_TYPE) != Some(&MEDIA_TYPE) || headers.contains_key(CONTENT_ENCODING) {
        return;
    }
    vary::add(headers, VaryToken::Accept);
    let lines = formats.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| Some((ACCEPT, HeaderValue::from_bytes(line).ok()?)));
    let (media_type, body) = match PreferredFormat::negotiate(&lines.collect()) {
        PreferredFormat::Json if is_typed => ("application/problem+json", members(problem).body()),
        PreferredFormat::Json => return,
        PreferredFormat::Html => {
            let page_policy = HeaderValue::from_static(render::PAGE_POLICY);
            headers.entry(CONTENT_SECURITY_POLICY).or_insert(page_policy);
            ("text/html; charset=utf-8", render::html(&members(problem)).into())
        }
        PreferredFormat::Text => {
            ("text/plain; charset=utf-8", render::text(&members(problem)).into())
        }
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.remove(CONTENT_LENGTH);
    *response.body_mut() = Body::from(body);
}

#[cfg(test)]
mod tests {
    use axum_core::response::IntoResponse;
    use http::{StatusCode, header::VARY};
    use http_body_util::BodyExt;
    use policy_core::Refusal;

    use super::*;
    use crate::handler::extract::Json;

    fn preferred(lines: &[&'static str]) -> PreferredFormat {
        let value = |line: &&'static str| (ACCEPT, HeaderValue::from_static(line));
        PreferredFormat::negotiate(&lines.iter().map(value).collect())
    }

    #[test]
    fn every_line_is_copied() {
        let mut headers = HeaderMap::new();
        assert!(formats(&headers).is_empty());
        for line in ["text/html;q=0.1", "text/plain;a=\"", "text/plain"] {
            headers.append(ACCEPT, HeaderValue::from_static(line));
        }
        assert_eq!(formats(&headers), b"text/html;q=0.1\ntext/plain;a=\"\ntext/plain");
        let mut response = Problem::not_found().into_response();
        negotiate(&formats(&headers), None, &mut response);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    }

    #[test]
    fn browsers_that_open_a_page_get_one() {
        for lines in [
            // Firefox, Chromium, Safari.
            &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"][..],
            &["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,\
               image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"],
            &["text/html"],
            &["text/*"],
            &["TEXT/HTML;charset=utf-8"],
            &["application/json;q=0.5", "text/html;q=0.6"],
        ] {
            assert_eq!(preferred(lines), PreferredFormat::Html, "{lines:?}");
        }
    }

    #[test]
    fn programs_get_json() {
        for lines in [
            &[][..],
            &["*/*"],
            &["application/json"],
            &["application/problem+json"],
            &["application/*"],
            &["application/json, text/plain, */*"],
            &["text/html, application/json"],
            &["image/avif,image/webp,*/*;q=0.8"],
            &["image/png"],
            &["text/html;q=0"],
            &[""],
            &[";;,=/"],
        ] {
            assert_eq!(preferred(lines), PreferredFormat::Json, "{lines:?}");
        }
    }

    #[test]
    fn plain_text_is_sent_to_clients_that_prefer_it() {
        for lines in
            [&["text/plain"][..], &["text/plain, */*;q=0.1"], &["text/html;q=0.5", "text/plain"]]
        {
            assert_eq!(preferred(lines), PreferredFormat::Text, "{lines:?}");
        }
    }

    async fn text(response: Response) -> String {
        let body = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_same_problem_is_sent_in_three_forms() {
        for (accept, media_type, part) in [
            ("application/json", "application/problem+json", "\"code\":\"route.not-found\""),
            ("text/html", "text/html; charset=utf-8", "<code>route.not-found</code>"),
            ("text/plain", "text/plain; charset=utf-8", "code: route.not-found"),
        ] {
            let mut response = Problem::from(Refusal::RouteNotFound).into_response();
            negotiate(accept.as_bytes(), None, &mut response);
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
            assert_eq!(response.headers()[CONTENT_TYPE], media_type);
            assert_eq!(response.headers()[VARY], "accept");
            let is_page = accept == "text/html";
            assert_eq!(response.headers().contains_key(CONTENT_SECURITY_POLICY), is_page);
            let text = text(response).await;
            assert!(text.contains(part), "{text}");
        }
    }

    #[tokio::test]
    async fn fields_that_a_handler_adds_to_a_problem_are_kept() {
        let written =
            (StatusCode::GONE, [("vary", "origin"), ("x-order", "7")], Problem::not_found());
        let mut response = written.into_response();
        negotiate(b"text/plain", None, &mut response);
        assert_eq!(response.status(), StatusCode::GONE);
        assert_eq!(response.headers()["x-order"], "7");
        let vary: Vec<_> = response.headers().get_all(VARY).iter().collect();
        assert_eq!(vary, ["origin, accept"]);
        assert!(text(response).await.starts_with("410 "));
    }

    #[tokio::test]
    async fn replaced_problem_bodies_are_not_changed() {
        let replaced = ([(CONTENT_TYPE, "application/json")], Problem::not_found());
        let encoded = ([(CONTENT_ENCODING, "br")], Problem::not_found());
        for mut response in
            [Json(7).into_response(), replaced.into_response(), encoded.into_response()]
        {
            let before = response.headers().clone();
            negotiate(b"text/html", None, &mut response);
            assert_eq!(*response.headers(), before);
        }
    }
}
