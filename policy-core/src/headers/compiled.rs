//! The prepared security headers.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        CONTENT_SECURITY_POLICY, CONTENT_TYPE, Entry, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
        X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
    },
};

use super::{
    Nonce,
    csp::{Directive, Name, Source},
    policy::HeadersPolicy,
    spec::{Frame, HeadersSpec},
};

/// A compiled policy: its headers are prepared once and copied into each response.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header};
/// use policy_core::headers::{HeadersPolicy, Nonce, SecurityHeaders};
///
/// let fields = SecurityHeaders::new(&HeadersPolicy::PAGES);
/// assert!(fields.takes_nonce());
///
/// let mut headers = HeaderMap::new();
/// headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
/// fields.apply(&mut headers, Some(&Nonce::from_bytes([0; 16])));
/// let csp = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
/// assert!(csp.contains("script-src 'self' 'nonce-AAAAAAAAAAAAAAAAAAAAAA';"));
///
/// // Over TLS alone.
/// fields.apply_secure(&mut headers);
/// assert_eq!(headers[header::STRICT_TRANSPORT_SECURITY], "max-age=31536000");
/// ```
#[derive(Clone, Debug)]
pub struct SecurityHeaders {
    everywhere: Fields,
    /// `Strict-Transport-Security`
    over_tls: Option<HeaderValue>,
    on_pages: Fields,
    /// The CSP with a nonce, split at the position of the nonce; empty if it has none.
    around_nonce: Box<[Box<str>]>,
}

type Fields = Box<[(HeaderName, HeaderValue)]>;

impl SecurityHeaders {
    /// Computes the fields.
    pub fn new(policy: &HeadersPolicy) -> Self {
        Self::from_spec(policy.spec())
    }

    /// As [`new`](Self::new), for a spec without violations that need not be a constant.
    ///
    /// ```
    /// use policy_core::headers::{HeadersSpec, SecurityHeaders};
    ///
    /// let corp = "same-site".to_owned();
    /// let spec = HeadersSpec { corp: Some(&corp), ..HeadersSpec::NOTHING };
    /// let [every, _] = SecurityHeaders::from_spec(&spec).texts();
    /// assert_eq!(every["cross-origin-resource-policy"], "same-site");
    /// ```
    pub fn from_spec(spec: &HeadersSpec<'_>) -> Self {
        let mut everywhere = vec![];
        everywhere.extend(spec.corp.map(|corp| (CORP, corp.to_owned())));

        let directives = directives(spec);
        let takes_nonce = directives.iter().any(|directive| directive.1.contains(&Source::Nonce));
        let around_nonce = if takes_nonce {
            render_csp(&directives, Some("\n")).split('\n').map(Box::from).collect()
        } else {
            Box::default()
        };
        let csp = render_csp(&directives, None);
        let mut of_csp = (!csp.is_empty()).then_some((CONTENT_SECURITY_POLICY, csp));
        let referrer = spec.referrer.unwrap_or("strict-origin-when-cross-origin").to_owned();
        // A cache that revalidates a page keeps its body, so a new nonce in a 304 would not match.
        // A policy with a nonce is therefore written only onto pages.
        let mut on_pages: Vec<_> = of_csp.take_if(|_| takes_nonce).into_iter().collect();
        let mut of_pages = vec![(REFERRER_POLICY, referrer)];
        of_pages.extend(of_csp);
        of_pages.extend(frame_options(&directives).map(|value| (X_FRAME_OPTIONS, value.into())));
        if !spec.permissions.is_empty() {
            of_pages.push((PERMISSIONS, spec.permissions.join(", ")));
        }
        of_pages.extend(spec.coop.map(|coop| (COOP, coop.to_owned())));
        of_pages.extend(spec.coep.map(|coep| (COEP, coep.to_owned())));
        if spec.every_response { &mut everywhere } else { &mut on_pages }.extend(of_pages);
        Self {
            everywhere: fields(everywhere),
            over_tls: HeaderValue::try_from(hsts(spec)).ok(),
            on_pages: fields(on_pages),
            around_nonce,
        }
    }

    /// Removes `Strict-Transport-Security`, for a service without an `https` origin or on loopback.
    /// Browsers apply HSTS per host, and all of a developer's programs share the loopback host.
    pub fn without_transport(mut self) -> Self {
        self.over_tls = None;
        self
    }

    /// Whether scripts or styles are allowed by a nonce. A response without a nonce gets the policy
    /// without it.
    pub fn takes_nonce(&self) -> bool {
        !self.around_nonce.is_empty()
    }

    /// Whether the response with these headers has this nonce in its `Content-Security-Policy`:
    /// [`apply`](Self::apply) writes it there, or the handler did.
    pub fn shows_nonce(&self, headers: &HeaderMap, nonce: &Nonce) -> bool {
        let nonce = nonce.as_str().as_bytes();
        let names_it =
            |line: &HeaderValue| line.as_bytes().windows(nonce.len()).any(|part| part == nonce);
        self.writes_nonce(headers) || headers.get_all(CONTENT_SECURITY_POLICY).iter().any(names_it)
    }

    /// Whether [`apply`](Self::apply) writes its nonce into a response with these headers.
    fn writes_nonce(&self, headers: &HeaderMap) -> bool {
        self.takes_nonce() && is_page(headers) && !headers.contains_key(CONTENT_SECURITY_POLICY)
    }

    /// Names and values of the headers: those of every response, then those of pages. A nonce is
    /// written as `'nonce'`.
    pub fn texts(&self) -> [std::collections::BTreeMap<String, String>; 2] {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let of = |fields: &Fields| {
            fields.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
        };
        let [mut every, mut pages]: [std::collections::BTreeMap<_, _>; 2] =
            [of(&self.everywhere), of(&self.on_pages)];
        every.insert(X_CONTENT_TYPE_OPTIONS.to_string(), text(&NOSNIFF));
        let over_tls = self.over_tls.as_ref();
        every.extend(over_tls.map(|value| (STRICT_TRANSPORT_SECURITY.to_string(), text(value))));
        if self.takes_nonce() {
            let csp = self.around_nonce.join("").replace("'nonce-'", "'nonce'");
            pages.insert(CONTENT_SECURITY_POLICY.to_string(), csp);
        }
        [every, pages]
    }

    /// The number of headers that a response gets if it is not a page.
    pub fn count(&self) -> usize {
        1 + usize::from(self.over_tls.is_some()) + self.everywhere.len()
    }

    /// Writes `X-Content-Type-Options`, and the other headers that the handler did not write itself.
    /// Pages are recognised by their `Content-Type` at the time of sending: a 304 has none and gets
    /// no page headers.
    pub fn apply(&self, headers: &mut HeaderMap, nonce: Option<&Nonce>) {
        headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        add(headers, &self.everywhere);
        let has_more = !self.on_pages.is_empty() || self.takes_nonce();
        if !has_more || !is_page(headers) {
            return;
        }
        if let Some(nonce) = nonce.filter(|_| self.writes_nonce(headers))
            && let Ok(value) = HeaderValue::try_from(self.around_nonce.join(nonce.as_str()))
        {
            headers.insert(CONTENT_SECURITY_POLICY, value);
        }
        add(headers, &self.on_pages);
    }

    /// Writes `Strict-Transport-Security` if the handler did not. Only for responses over TLS: over
    /// plain HTTP it is forbidden (RFC 6797 7.2).
    pub fn apply_secure(&self, headers: &mut HeaderMap) {
        if let Some(value) = &self.over_tls
            && let Entry::Vacant(entry) = headers.entry(STRICT_TRANSPORT_SECURITY)
        {
            entry.insert(value.clone());
        }
    }
}

fn add(headers: &mut HeaderMap, fields: &Fields) {
    for (name, value) in fields {
        // Most responses have few headers: a scan costs less than a hash.
        if headers.keys().all(|written| written != name) {
            headers.insert(name, value.clone());
        }
    }
}

fn fields(texts: Vec<(HeaderName, String)>) -> Fields {
    let of = |(name, text)| Some((name, HeaderValue::try_from(text).ok()?));
    // INVARIANT: a validated policy consists of text that is valid in a header.
    texts.into_iter().filter_map(of).collect()
}

// Constants, since `from_static` checks every byte.
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const COOP: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const COEP: HeaderName = HeaderName::from_static("cross-origin-embedder-policy");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");

fn hsts(spec: &HeadersSpec<'_>) -> String {
    let mut value = format!("max-age={}", spec.hsts.unwrap_or(31_536_000));
    if spec.include_subdomains {
        value.push_str("; includeSubDomains");
    }
    if spec.preload {
        value.push_str("; preload");
    }
    value
}

/// The directives of a policy, and the one about its frames.
fn directives<'a>(spec: &HeadersSpec<'a>) -> Vec<(Name, Vec<Source<'a>>)> {
    let stated = spec.csp.unwrap_or_default();
    let has = |name| super::csp::has(stated, name);
    let mut all: Vec<_> =
        stated.iter().map(|Directive(name, sources)| (*name, sources.to_vec())).collect();
    // Directives that a policy omits get a default. `default-src` covers `object-src`.
    if !has(Name::BaseUri) {
        all.push((Name::BaseUri, vec![Source::SelfOrigin]));
    }
    if !has(Name::ObjectSrc) && !has(Name::DefaultSrc) {
        all.push((Name::ObjectSrc, vec![Source::None]));
    }
    if !has(Name::FrameAncestors) {
        let ancestors = match spec.frame {
            None | Some(Frame::SameOrigin) => vec![Source::SelfOrigin],
            Some(Frame::Nobody) => vec![Source::None],
            Some(Frame::Listed(origins)) => origins.iter().copied().map(Source::Host).collect(),
            Some(Frame::Anybody) => return all,
        };
        all.push((Name::FrameAncestors, ancestors));
    }
    all
}

/// `X-Frame-Options` for browsers without `frame-ancestors`, if it can express the same.
fn frame_options(directives: &[(Name, Vec<Source<'_>>)]) -> Option<&'static str> {
    let (_, ancestors) = directives.iter().find(|(name, _)| *name == Name::FrameAncestors)?;
    match **ancestors {
        [Source::None] => Some("DENY"),
        [Source::SelfOrigin] => Some("SAMEORIGIN"),
        _ => None,
    }
}

/// Writes the value of `Content-Security-Policy`.
fn render_csp(directives: &[(Name, Vec<Source<'_>>)], nonce: Option<&str>) -> String {
    let directive = |(name, sources): &(Name, Vec<Source<'_>>)| {
        let mut text = name.text().to_owned();
        for source in sources {
            match (source, nonce) {
                (Source::Nonce, Some(nonce)) => text += &format!(" 'nonce-{nonce}'"),
                (Source::Nonce, None) if sources.len() == 1 => text += " 'none'",
                (Source::Nonce, None) => (),
                (Source::Hash(hash), _) => text += &format!(" '{hash}'"),
                (source, _) => {
                    text.push(' ');
                    text += source.text();
                }
            }
        }
        text
    };
    directives.iter().map(directive).collect::<Vec<_>>().join("; ")
}

/// Whether a browser may display the response with these headers as a page whose scripts run: HTML, and
/// all XML. If there are several types, browsers take the last valid one (Fetch, extract a MIME type);
/// here, one that is a page is enough.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
/// use policy_core::headers::is_page;
///
/// let of = |value| HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
/// assert!(is_page(&of("image/svg+xml")) && is_page(&of("image/png, text/html")));
/// assert!(!is_page(&of("image/png")));
/// ```
pub fn is_page(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(CONTENT_TYPE).iter();
    lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).any(is_page_type)
}

fn is_page_type(media_type: &[u8]) -> bool {
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
    let media_type = media_type.trim_ascii();
    let ends_with_xml = media_type.split_last_chunk::<4>().is_some_and(|(_, end)| {
        end.eq_ignore_ascii_case(b"+xml") || end.eq_ignore_ascii_case(b"/xml")
    });
    // Chromium and WebKit display `text/xsl` as XML, and Firefox `text/rdf`.
    let known = ["text/html", "text/rdf", "text/xsl"];
    ends_with_xml || known.iter().any(|page| media_type.eq_ignore_ascii_case(page.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "text/html; charset=utf-8";

    fn finished(
        policy: &HeadersPolicy,
        content_type: &'static str,
        nonce: Option<&Nonce>,
    ) -> Vec<String> {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        SecurityHeaders::new(policy).apply(&mut headers, nonce);
        headers.remove(CONTENT_TYPE);
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        let mut lines: Vec<_> = headers.iter().map(line).collect();
        lines.sort();
        lines
    }

    #[test]
    fn an_app_that_says_nothing_has_safe_fields() {
        assert_eq!(
            finished(&HeadersPolicy::DEFAULT, "application/json", None),
            ["x-content-type-options: nosniff"]
        );
        assert_eq!(
            finished(&HeadersPolicy::DEFAULT, PAGE, None),
            [
                "content-security-policy: base-uri 'self'; object-src 'none'; frame-ancestors 'self'",
                "referrer-policy: strict-origin-when-cross-origin",
                "x-content-type-options: nosniff",
                "x-frame-options: SAMEORIGIN",
            ]
        );
    }

    #[test]
    fn data_has_a_policy_that_runs_nothing() {
        let expected = [
            "content-security-policy: default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
        ];
        for content_type in ["application/json", PAGE, ""] {
            assert_eq!(finished(&HeadersPolicy::API, content_type, None), expected);
        }
    }

    #[test]
    fn strict_pages_take_a_nonce_where_there_is_one() {
        let nonce = Nonce::from_bytes([0; 16]);
        let with = |nonce| finished(&HeadersPolicy::PAGES, PAGE, nonce);
        assert_eq!(
            with(Some(&nonce)),
            [
                "content-security-policy: default-src 'self'; script-src 'self' 'nonce-AAAAAAAAAAAAAAAAAAAAAA'; \
                 style-src 'self' 'nonce-AAAAAAAAAAAAAAAAAAAAAA'; img-src 'self' data:; object-src 'none'; \
                 base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
                "cross-origin-opener-policy: same-origin",
                "permissions-policy: camera=(), geolocation=(), microphone=()",
                "referrer-policy: strict-origin-when-cross-origin",
                "x-content-type-options: nosniff",
                "x-frame-options: DENY",
            ]
        );
        let without = with(None);
        assert!(without[0].contains("script-src 'self'; style-src 'self';"), "{without:?}");
    }

    #[test]
    fn a_list_of_nothing_but_a_nonce_allows_nothing_without_one() {
        const POLICY: HeadersPolicy = HeadersPolicy::builder()
            .csp(&[Directive(Name::ScriptSrc, &[Source::Nonce])])
            .frame(Frame::Anybody)
            .build();
        let expected =
            "content-security-policy: script-src 'none'; base-uri 'self'; object-src 'none'";
        assert_eq!(finished(&POLICY, PAGE, None)[0], expected);
    }

    #[test]
    fn a_stated_policy_keeps_the_defaults_that_it_does_not_cover() {
        use Name::{BaseUri, DefaultSrc, ImgSrc, ObjectSrc};
        const OWN: &[Source<'_>] = &[Source::SelfOrigin];
        for (stated, expected) in [
            (&[Directive(DefaultSrc, OWN)][..], "default-src 'self'; base-uri 'self'"),
            (&[Directive(ImgSrc, OWN)], "img-src 'self'; base-uri 'self'; object-src 'none'"),
            (
                &[Directive(BaseUri, &[Source::None]), Directive(ObjectSrc, OWN)],
                "base-uri 'none'; object-src 'self'",
            ),
        ] {
            let spec = HeadersSpec { csp: Some(stated), ..HeadersSpec::NOTHING };
            let written = render_csp(&directives(&spec), None);
            assert_eq!(written, format!("{expected}; frame-ancestors 'self'"));
        }
    }

    #[test]
    fn frame_policies_become_csp_and_x_frame_options() {
        let of = |frame| {
            let policy = HeadersPolicy::builder().frame(frame).build();
            let lines = finished(&policy, PAGE, None);
            let find = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
            let ancestors = find("content-security-policy: ").unwrap();
            let ancestors = ancestors.split("frame-ancestors ").nth(1).map(str::to_owned);
            (ancestors, find("x-frame-options: ").map(str::to_owned))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of(Frame::Nobody), (some("'none'"), some("DENY")));
        assert_eq!(of(Frame::SameOrigin), (some("'self'"), some("SAMEORIGIN")));
        assert_eq!(of(Frame::Anybody), (None, None));
        let listed = Frame::Listed(&["https://a.example", "https://*.b.example"]);
        assert_eq!(of(listed), (some("https://a.example https://*.b.example"), None));
    }

    #[test]
    fn transport_is_for_answers_over_tls() {
        const LISTED: HeadersPolicy =
            HeadersPolicy::builder().hsts(63_072_000).include_subdomains().preload().build();
        let mut headers = HeaderMap::new();
        let fields = SecurityHeaders::new(&LISTED);
        fields.apply(&mut headers, None);
        fields.clone().without_transport().apply_secure(&mut headers);
        assert!(!headers.contains_key(STRICT_TRANSPORT_SECURITY));
        fields.apply_secure(&mut headers);
        let expected = "max-age=63072000; includeSubDomains; preload";
        assert_eq!(headers[STRICT_TRANSPORT_SECURITY], expected);
        let own = HeaderValue::from_static("max-age=0");
        headers.insert(STRICT_TRANSPORT_SECURITY, own.clone());
        fields.apply_secure(&mut headers);
        assert_eq!(headers[STRICT_TRANSPORT_SECURITY], own);
    }

    #[test]
    fn pages_are_html_and_all_xml() {
        let is_page = |content_type: &[u8]| {
            let content_type = HeaderValue::from_bytes(content_type).unwrap();
            is_page(&HeaderMap::from_iter([(CONTENT_TYPE, content_type)]))
        };
        for content_type in [
            "text/html",
            "TEXT/HTML;charset=utf-8",
            " text/html ; a=b",
            "application/xhtml+xml",
            "image/svg+xml",
            "text/xml",
            "application/XML",
            "application/rss+xml",
            "text/xsl",
            "text/rdf",
        ] {
            assert!(is_page(content_type.as_bytes()), "{content_type}");
        }
        for content_type in ["application/json", "text/plain", "", "text/htmlx", "xml", "text"] {
            assert!(!is_page(content_type.as_bytes()), "{content_type}");
        }
        assert!(!is_page(b"text/\xff"));
    }

    /// Fetch, extract a MIME type: of several lines and of several values in a line, the last valid one
    /// counts.
    #[test]
    fn a_page_among_several_types_is_a_page() {
        for lines in [
            &["image/png", "text/html"][..],
            &["image/png, text/html"],
            &["image/png;a=b,TEXT/HTML;charset=utf-8"],
            &["text/plain, image/svg+xml", "*/*"],
            &["text/html", "image"],
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(CONTENT_TYPE, HeaderValue::from_static(line));
            }
            SecurityHeaders::new(&HeadersPolicy::DEFAULT).apply(&mut headers, None);
            assert!(headers.contains_key(X_FRAME_OPTIONS), "{lines:?}");
        }
    }
}
