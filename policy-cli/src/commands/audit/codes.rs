//! The codes of findings: what each means, what usually causes it, and how to fix it.

macro_rules! codes {
    ($($name:ident $code:literal, $meaning:literal, $cause:literal, $mend:literal;)*) => {
        /// A way in which a deployment differs from its policy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Code { $($name,)* }

        impl Code {
            /// All codes, in alphabetical order.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The stable code.
            pub(crate) const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What the audit observed.
            pub(crate) const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }

            /// The usual cause.
            pub(crate) const fn cause(self) -> &'static str {
                match self { $(Self::$name => $cause,)* }
            }

            /// How to fix it.
            pub(crate) const fn mend(self) -> &'static str {
                match self { $(Self::$name => $mend,)* }
            }
        }
    };
}

codes! {
    AllowChanged "audit.allow-changed",
        "`Allow` does not list the methods of the path",
        "a proxy writes `Allow` itself",
        "nginx: `proxy_pass_header Allow` and no `add_header Allow`; HAProxy: no `set-header Allow`";
    AnsweredElsewhere "audit.answered-elsewhere",
        "something in front of the app responds instead of it",
        "a gateway, firewall or maintenance page",
        "pass the request on: nginx `location / { proxy_pass http://app; }`; HAProxy: no `http-request deny` or \
         `return` for it";
    CacheControlChanged "audit.cache-control-changed",
        "`Cache-Control` differs from the policy",
        "a proxy or CDN writes `Cache-Control` or `Expires` itself",
        "nginx: no `expires` and no `add_header Cache-Control`; HAProxy: no `set-header Cache-Control`; CDN: respect \
         the headers of the origin";
    CacheSharesOrigins "audit.cache-shares-origins",
        "a page gets a response for a page of another origin",
        "a cache whose key ignores `Vary: origin`",
        "nginx: no `proxy_ignore_headers Vary`, or `$http_origin` in `proxy_cache_key`; HAProxy: \
         `process-vary on`; CDN: `Origin` in the cache key";
    CacheSharesUsers "audit.cache-shares-users",
        "a client gets a response for another client",
        "a cache whose key lacks the credential, and that ignores `Cache-Control`",
        "nginx: no `proxy_ignore_headers Cache-Control Set-Cookie` and no `proxy_cache_valid any`; CDN: respect the \
         headers of the origin";
    CorsAnyOrigin "audit.cors-any-origin",
        "`Access-Control-Allow-Origin: *`, though the policy does not share with every origin",
        "a proxy or CDN adds CORS headers",
        "nginx: no `add_header Access-Control-Allow-Origin`; HAProxy: no `set-header \
         Access-Control-Allow-Origin`; CDN: no CORS rule";
    CorsChanged "audit.cors-changed",
        "a CORS header differs from the policy",
        "a proxy or CDN rewrites CORS headers",
        "leave every `Access-Control-` header of responses to the app";
    CorsDuplicated "audit.cors-duplicated",
        "a CORS header is there twice, so browsers refuse the response",
        "a proxy adds CORS headers beside those of the app",
        "nginx: no `add_header Access-Control-Allow-Origin`; HAProxy: no `add-header \
         Access-Control-Allow-Origin`";
    CorsMissing "audit.cors-missing",
        "an origin that the policy grants gets no `Access-Control-Allow-Origin`",
        "a proxy removes CORS headers from responses",
        "nginx: no `proxy_hide_header Access-Control-Allow-Origin`; HAProxy: no `http-response del-header \
         Access-Control-Allow-Origin`";
    CorsReflected "audit.cors-origin-reflected",
        "`Access-Control-Allow-Origin` names an origin that the policy does not grant",
        "a proxy or CDN copies `Origin` into the response",
        "nginx: no `add_header Access-Control-Allow-Origin $http_origin`; HAProxy: no `set-header \
         Access-Control-Allow-Origin` from the request";
    CredentialDropped "audit.credential-dropped",
        "the app does not see the credential of the request",
        "a proxy removes `Authorization` or `Cookie`; or the session has ended",
        "nginx: no `proxy_set_header Authorization \"\"`; HAProxy: no `del-header Authorization`; CDN: forward \
         `Authorization` and `Cookie`";
    EncodingWithoutVary "audit.encoding-without-vary",
        "a compressed response does not say `Vary: Accept-Encoding`",
        "a proxy compresses, and caches in front of it are not informed",
        "nginx: `gzip_vary on`";
    ErrorReplaced "audit.error-replaced",
        "a refusal of the app loses its problem document and its code",
        "a proxy sends its own error pages",
        "nginx: `proxy_intercept_errors off`; HAProxy: no `http-response return` and no `errorfile` for it";
    EtagShared "audit.etag-shared",
        "two encodings of one response have the same strong `ETag`",
        "a proxy compresses and leaves the `ETag` as it is (RFC 9110 8.8.3.3)",
        "let the proxy weaken the `ETag`, or compress in the app";
    FetchMetadataDropped "audit.fetch-metadata-dropped",
        "the app does not see the `Sec-Fetch-` headers of requests",
        "a proxy or CDN removes them",
        "nginx: no `proxy_set_header Sec-Fetch-Site \"\"`; HAProxy: no `del-header Sec-Fetch-Site`; CDN: forward \
         `Sec-Fetch-Site`, `Sec-Fetch-Mode` and `Sec-Fetch-Dest`";
    ForwardedPassed "audit.forwarded-passed",
        "the app believes forwarding headers that a client wrote",
        "a proxy passes on `X-Forwarded-For`, `X-Forwarded-Proto` or `Forwarded` of its clients",
        "nginx: `proxy_set_header X-Forwarded-Proto $scheme` and `X-Forwarded-For \
         $proxy_add_x_forwarded_for`; HAProxy: `http-request set-header X-Forwarded-Proto https` and \
         `option forwardfor`";
    HeadDiffers "audit.head-differs",
        "the response to HEAD differs from the response to GET",
        "a proxy answers HEAD itself, or adds headers for some methods only",
        "pass HEAD on as GET is; nginx: `add_header` with `always`, and no `if ($request_method = HEAD)`";
    HostRewritten "audit.host-rewritten",
        "the app does not see the host that the client names",
        "a proxy writes another `Host`",
        "nginx: `proxy_set_header Host $host`; HAProxy: no `set-header Host`";
    MethodBlocked "audit.method-blocked",
        "a method does not reach the app",
        "a proxy or firewall refuses it",
        "nginx: no `limit_except`; HAProxy: no `http-request deny` by method";
    NoStoreKept "audit.no-store-kept",
        "a cache keeps a response that says `no-store`",
        "a cache that ignores `Cache-Control`",
        "nginx: no `proxy_ignore_headers Cache-Control`; CDN: respect the headers of the origin";
    NonceReused "audit.nonce-reused",
        "two responses have the same nonce in `Content-Security-Policy`",
        "a cache keeps a page that is generated for each request",
        "keep this page out of caches: `#[cache(no_store)]`, and a cache that obeys it";
    OptionsAnsweredElsewhere "audit.options-answered-elsewhere",
        "OPTIONS is not answered by the app",
        "a gateway answers OPTIONS itself",
        "nginx: no `if ($request_method = OPTIONS)`; HAProxy: no `http-request return` for it";
    OriginDropped "audit.origin-dropped",
        "the app does not see the `Origin` of requests",
        "a proxy or CDN removes `Origin`",
        "nginx: no `proxy_set_header Origin \"\"`; HAProxy: no `del-header Origin`; CDN: forward `Origin`";
    OtherPolicy "audit.other-policy",
        "the app decides differently than this policy",
        "another release is deployed; or a proxy changes requests in a way that no probe covers",
        "audit with the `policy.lock` of the release: `--from REVISION`";
    PathDecoded "audit.path-decoded",
        "percent codes of the path are decoded before the app sees it",
        "a proxy sends a normalized path, so it and the app may understand one path in two ways",
        "nginx: `proxy_pass http://app;` without a path behind it, and no `rewrite`; HAProxy: no \
         `normalize-uri percent-decode-unreserved` and no `url_dec` in `set-path`";
    PathDotSegments "audit.path-dot-segments",
        "dot segments of the path are resolved before the app sees it",
        "a proxy sends a normalized path, so it and the app may understand one path in two ways",
        "nginx: `proxy_pass http://app;` without a path behind it; HAProxy: no `normalize-uri \
         path-strip-dotdot`; else refuse such paths in the proxy";
    PathSlashes "audit.path-slashes",
        "slashes of the path are merged, added or removed before the app sees it",
        "a proxy sends a normalized path, so it and the app may understand one path in two ways",
        "nginx: `proxy_pass http://app;` without a path behind it; HAProxy: no `normalize-uri \
         path-merge-slashes`; else refuse such paths in the proxy";
    PlainHttp "audit.plain-http",
        "the app is served over plain HTTP",
        "a listener without TLS passes requests on and reports `https`",
        "redirect `http` to `https` in the proxy, and let it report the scheme of the client: nginx \
         `X-Forwarded-Proto $scheme`";
    PreflightAnsweredElsewhere "audit.preflight-answered-elsewhere",
        "a preflight is not answered by the app",
        "a gateway or CDN answers OPTIONS or preflights itself",
        "pass OPTIONS on; nginx: no `if ($request_method = OPTIONS)`; HAProxy: no `http-request return`; \
         CDN: no CORS rule";
    Redirected "audit.redirected",
        "something in front of the app redirects",
        "a proxy adds or removes a slash, a scheme or a name",
        "audit the address that it redirects to, or pass the request on";
    SchemeLost "audit.scheme-not-reported",
        "the app treats requests over TLS as plain HTTP",
        "the proxy that ends TLS does not report the scheme, or another one overwrites it",
        "nginx: `proxy_set_header X-Forwarded-Proto $scheme`; HAProxy: `http-request set-header \
         X-Forwarded-Proto https if { ssl_fc }`";
    SecurityHeaderChanged "audit.security-header-changed",
        "a security header differs from the policy",
        "a proxy overwrites it",
        "nginx: no `add_header` for it; HAProxy: no `set-header` for it";
    SecurityHeaderDuplicated "audit.security-header-duplicated",
        "a security header is there twice",
        "a proxy adds its own to the header of the app",
        "nginx: no `add_header` for it; HAProxy: no `add-header` for it";
    SecurityHeaderMissing "audit.security-header-missing",
        "a security header of the policy is missing",
        "a proxy removes it",
        "nginx: no `proxy_hide_header` for it; HAProxy: no `del-header` for it";
    SecurityHeaderWeakened "audit.security-header-weakened",
        "a security header allows more than the policy, or cannot be shown to be as strict",
        "a proxy overwrites it; or the handler writes a weaker one than its policy",
        "nginx: no `proxy_hide_header` and `add_header` for it; HAProxy: no `set-header` for it; a handler: write \
         the value in `#[headers]`, where reviews see it";
    SetCookieChanged "audit.set-cookie-changed",
        "the attributes of a cookie differ from the policy, or break what its prefix promises",
        "a proxy rewrites `Set-Cookie`",
        "nginx: no `proxy_cookie_flags`, `proxy_cookie_path` or `proxy_cookie_domain`; HAProxy: no \
         `replace-header Set-Cookie`";
    StaticFileCached "audit.static-file-cached",
        "a client without a credential gets the response for a user, under a name like that of a static file",
        "a cache that takes a path for a static file by its end, and keeps it whatever `Cache-Control` says (web \
         cache deception)",
        "nginx: no `proxy_ignore_headers Cache-Control` and no `proxy_cache_valid` in a `location` for file name \
         extensions; CDN: respect the headers of the origin, and cache no path by its extension";
    TraceServed "audit.trace-served",
        "a response to TRACE returns the received request",
        "a proxy or a server behind it serves TRACE, which the policy does not",
        "refuse TRACE; HAProxy: `http-request deny if { method TRACE }`";
    VaryMissing "audit.vary-missing",
        "`Vary` does not name all request headers that the response depends on",
        "a CDN or proxy removes or rewrites `Vary`",
        "nginx: no `proxy_hide_header Vary`; HAProxy: no `del-header Vary` and no `set-header Vary`; CDN: \
         pass `Vary` on";
}

impl Code {
    /// The code of this text.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.code() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unlike_and_in_order() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.code() < b.code()));
        for code in Code::ALL {
            assert_eq!(Code::from_text(code.code()), Some(*code));
            assert!(code.code().starts_with("audit."));
        }
    }
}
