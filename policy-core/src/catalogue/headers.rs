//! `#[headers]` and `#[isolation]`: what browsers are told, and which pages may load a response.

area! { $ headers
    rules {
        /// A policy without directives.
        CspEmpty Error "headers.csp-empty",
            "this has no directive, so it allows everything",
            "write one such as `default-src 'self'`, or leave `csp` out";
        /// A name that is no directive.
        CspDirectiveUnknown Error "headers.csp-directive-unknown",
            "there is no directive of this name",
            "write one such as `script-src`, in lower case; a source has a directive in front";
        /// A directive twice; browsers look at the first alone.
        CspDirectiveRepeated Error "headers.csp-directive-repeated",
            "this directive stands here twice, and browsers look at the first alone",
            "write all of its sources behind one name";
        /// A directive that needs a value and has none.
        CspDirectiveEmpty Error "headers.csp-directive-empty",
            "this directive has nothing behind it",
            "write `'none'` to allow nothing";
        /// A host, scheme or word that is malformed.
        CspSourceInvalid Error "headers.csp-source-invalid",
            "this is not a source",
            "write a host such as `https://cdn.example`, a scheme such as `data:`, or a keyword such as `'self'`; directives are separated by `;`";
        /// A keyword that browsers take for a host.
        CspKeywordUnquoted Error "headers.csp-keyword-unquoted",
            "without quotes browsers take this for the name of a host",
            "write it in single quotes";
        /// Quotes around what is no keyword and no hash.
        CspKeywordUnknown Error "headers.csp-keyword-unknown",
            "this is no keyword and no whole hash",
            "write a keyword such as `'self'`, or a hash such as `'sha256-..'` with 44 characters behind the name; hosts and schemes have no quotes";
        /// A nonce that is always the same.
        CspNonceFixed Error "headers.csp-nonce-fixed",
            "a nonce that everybody can read beforehand protects nothing",
            "write `'nonce'`: each answer gets its own";
        /// A source that means nothing to its directive.
        CspSourceMisplaced Error "headers.csp-source-misplaced",
            "this means nothing to the directive it stands in",
            "remove it";
        /// `'none'` next to others; browsers ignore it then.
        CspNoneNotAlone Error "headers.csp-none-not-alone",
            "`'none'` next to other sources is ignored",
            "keep `'none'` alone, or remove it";
        /// `'strict-dynamic'` where nothing can be let in.
        CspStrictDynamicAlone Error "headers.csp-strict-dynamic-alone",
            "with `'strict-dynamic'` only a nonce or a hash lets a script in, and there is none",
            "add `'nonce'`, or a hash";
        /// Scripts in the page itself, by whoever wrote there.
        CspScriptsInline Warning "headers.csp-scripts-inline",
            "with this, whoever can write into the page can run scripts there",
            "use `'nonce'` for scripts of your own";
        /// Scripts from anywhere.
        CspScriptsOfAnybody Warning "headers.csp-scripts-of-anybody",
            "with this, scripts of anybody can run in the page",
            "name the hosts, or use `'nonce'` and `'strict-dynamic'`";
        /// `frame` and `frame-ancestors` both.
        FrameTwice Error "headers.frame-twice",
            "`frame-ancestors` in `csp` says this already",
            "remove one of them";
        /// An empty list of those who may frame.
        FrameEmpty Error "headers.frame-empty",
            "the list of origins is empty",
            "write `frame = none`, or name an origin such as `https://app.example.com`";
        /// A referrer policy that is none.
        ReferrerUnknown Error "headers.referrer-unknown",
            "this is no referrer policy",
            "write `no-referrer`, `same-origin`, `strict-origin`, `strict-origin-when-cross-origin`, `origin`, `origin-when-cross-origin` or `no-referrer-when-downgrade`";
        /// A referrer policy that tells everybody everything.
        ReferrerWhole Warning "headers.referrer-whole",
            "this tells path and query of the page to everybody, also without `https`",
            "write `strict-origin-when-cross-origin`";
        /// An entry of `permissions` that browsers would not understand.
        PermissionInvalid Error "headers.permission-invalid",
            "this is not a feature with those who may use it",
            "write `camera=()` for nobody, `camera=(self)`, or `camera=(self \"https://a.example\")`";
        /// A feature twice.
        PermissionRepeated Error "headers.permission-repeated",
            "this feature stands here twice",
            "remove one of them";
        /// A `coop` that is none.
        CoopUnknown Error "headers.coop-unknown",
            "this is no value of Cross-Origin-Opener-Policy",
            "write `same-origin`, `same-origin-allow-popups`, `noopener-allow-popups` or `unsafe-none`";
        /// A `coep` that is none.
        CoepUnknown Error "headers.coep-unknown",
            "this is no value of Cross-Origin-Embedder-Policy",
            "write `require-corp`, `credentialless` or `unsafe-none`";
        /// A `corp` that is none.
        CorpUnknown Error "headers.corp-unknown",
            "this is no value of Cross-Origin-Resource-Policy",
            "write `same-origin`, `same-site` or `cross-origin`";
        /// A `corp` that keeps out whom CORS or JSONP lets in.
        CorpOfShared Error "headers.corp-of-shared",
            "pages of other origins may have the answers of this route, and this says that they may not",
            "write `cross-origin`, leave `corp` out, or share the route with nobody by `#[cors(none)]`";
        /// Seconds that browsers do not count.
        HstsOutOfBounds Error "headers.hsts-out-of-bounds",
            "the time is a number of seconds from 0 to 2147483647",
            "write `hsts = 31536000` for a year";
        /// A word about `hsts` without it.
        HstsMissing Error "headers.hsts-missing",
            "this says something about `hsts`, which is not there",
            "add `hsts = 31536000`";
        /// A wish to be listed that the lists do not accept.
        HstsPreload Error "headers.hsts-preload",
            "browsers list who promises a year at least, and for all names below",
            "write `hsts = 31536000, include_subdomains, preload`";
        /// A nonce in answers that many people get.
        HeadersNonceShared Error "headers.nonce-shared",
            "a cache would give the same nonce to everybody, and who knows it can smuggle in scripts",
            "write `#[cache(private)]` or `#[cache(no_store)]`, or let scripts in by their hash";
    }

    refusals {
        /// Fetch Metadata: the request came from a page that may not load this.
        CrossSite 403 "isolation.cross-site", "Pages of other sites may not load this";
    }
}
