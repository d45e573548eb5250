//! `#[headers]` and `#[isolation]`: security headers, and which pages may load a response.

area! { $ headers
    rules {
        /// A CSP without directives.
        CspEmpty Error "headers.csp-empty",
            "this has no directive, so it allows everything",
            "write one such as `default-src 'self'`, or leave `csp` out";
        /// A name that is not a directive.
        CspDirectiveUnknown Error "headers.csp-directive-unknown",
            "no directive has this name",
            "write one such as `script-src`, in lower case; sources follow their directive";
        /// A repeated directive, of which browsers use only the first.
        CspDirectiveRepeated Error "headers.csp-directive-repeated",
            "this directive is repeated, and browsers use only the first one",
            "write all of its sources after one name";
        /// A directive that needs a value and has none.
        CspDirectiveEmpty Error "headers.csp-directive-empty",
            "this directive has no value",
            "write `'none'` to allow nothing";
        /// A malformed source.
        CspSourceInvalid Error "headers.csp-source-invalid",
            "this is not a source",
            "write a host such as `https://cdn.example`, a scheme such as `data:`, or a keyword such as `'self'`; directives are separated by `;`";
        /// A keyword that browsers read as a host.
        CspKeywordUnquoted Error "headers.csp-keyword-unquoted",
            "without quotes, browsers read this as the name of a host",
            "write it in single quotes";
        /// Quotes around something that is neither a keyword nor a hash.
        CspKeywordUnknown Error "headers.csp-keyword-unknown",
            "this is neither a keyword nor a complete hash",
            "write a keyword such as `'self'`, or a hash such as `'sha256-..'` with 44 characters after `sha256-`; hosts and schemes have no quotes";
        /// A nonce that is always the same.
        CspNonceFixed Error "headers.csp-nonce-fixed",
            "a nonce that is known in advance protects nothing",
            "write `'nonce'`: each response gets its own";
        /// A source that has no effect in its directive.
        CspSourceMisplaced Error "headers.csp-source-misplaced",
            "this source has no effect in this directive",
            "remove it";
        /// `'none'` next to other sources, where browsers ignore it.
        CspNoneNotAlone Error "headers.csp-none-not-alone",
            "`'none'` next to other sources is ignored",
            "keep `'none'` alone, or remove it";
        /// `'strict-dynamic'` without a nonce or a hash.
        CspStrictDynamicAlone Error "headers.csp-strict-dynamic-alone",
            "with `'strict-dynamic'`, only a nonce or a hash allows a script, and there is none",
            "add `'nonce'`, or a hash";
        /// Inline scripts without a nonce or a hash.
        CspScriptsInline Warning "headers.csp-scripts-inline",
            "with this, anyone who can inject markup into the page can run scripts there",
            "use `'nonce'` for scripts of your own";
        /// Scripts from any host.
        CspScriptsOfAnybody Warning "headers.csp-scripts-of-anybody",
            "with this, scripts from any host can run in the page",
            "name the hosts, or use `'nonce'` and `'strict-dynamic'`";
        /// Both `frame` and `frame-ancestors`.
        FrameTwice Error "headers.frame-twice",
            "`frame-ancestors` in `csp` already sets this",
            "remove one of them";
        /// An empty list of origins that may embed the response.
        FrameEmpty Error "headers.frame-empty",
            "the list of origins is empty",
            "write `frame = none`, or name an origin such as `https://app.example.com`",
            builder "write `.frame(Frame::Nobody)`, or name an origin such as `https://app.example.com`";
        /// An unknown referrer policy.
        ReferrerUnknown Error "headers.referrer-unknown",
            "this is not a referrer policy",
            "write `no-referrer`, `same-origin`, `strict-origin`, `strict-origin-when-cross-origin`, `origin`, `origin-when-cross-origin` or `no-referrer-when-downgrade`";
        /// A referrer policy that sends the whole URL to every site.
        ReferrerWhole Warning "headers.referrer-whole",
            "this sends the path and query of the page to every site, even without `https`",
            "write `strict-origin-when-cross-origin`";
        /// An entry of `permissions` that browsers would not understand.
        PermissionInvalid Error "headers.permission-invalid",
            "this is not a feature with its allowlist",
            "write `camera=()` to allow no origin, `camera=(self)`, or `camera=(self \"https://a.example\")`";
        /// A feature that is listed twice.
        PermissionRepeated Error "headers.permission-repeated",
            "this feature is listed twice",
            "remove one of them";
        /// An unknown value of `coop`.
        CoopUnknown Error "headers.coop-unknown",
            "this is not a value of Cross-Origin-Opener-Policy",
            "write `same-origin`, `same-origin-allow-popups`, `noopener-allow-popups` or `unsafe-none`";
        /// An unknown value of `coep`.
        CoepUnknown Error "headers.coep-unknown",
            "this is not a value of Cross-Origin-Embedder-Policy",
            "write `require-corp`, `credentialless` or `unsafe-none`";
        /// An unknown value of `corp`.
        CorpUnknown Error "headers.corp-unknown",
            "this is not a value of Cross-Origin-Resource-Policy",
            "write `same-origin`, `same-site` or `cross-origin`";
        /// A `corp` that blocks pages which CORS or JSONP allows.
        CorpOfShared Error "headers.corp-of-shared",
            "other policies of this route let pages of other origins read its responses, and this forbids it",
            "write `cross-origin`, remove `corp`, or allow no other origin with `#[cors(none)]`";
        /// An HSTS time that is out of range.
        HstsOutOfBounds Error "headers.hsts-out-of-bounds",
            "the time is a number of seconds from 0 to 2147483647",
            "write `hsts = 31536000` for a year",
            builder "write `.hsts(31536000)` for a year";
        /// A `preload` that does not meet the requirements of the preload list.
        HstsPreload Error "headers.hsts-preload",
            "the preload list of browsers requires at least a year, and all subdomains",
            "write `include_subdomains, preload`, and no `hsts` below 31536000",
            builder "write `.include_subdomains().preload()`, and no `.hsts(..)` below 31536000";
        /// A nonce in responses that a cache may serve to many users.
        HeadersNonceShared Error "headers.nonce-shared",
            "a cache would serve the same nonce to everybody, and anyone who knows it can inject scripts",
            "write `#[cache(private)]` or `#[cache(no_store)]`, or allow scripts by their hash";
    }

    refusals {
        /// Fetch Metadata: the request came from a page that may not load this.
        CrossSite 403 "isolation.cross-site", "Pages of other sites may not load this";
    }
}
