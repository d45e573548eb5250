//! `#[cache]`: what caches may do.

area! { $ cache
    rules {
        /// A caching policy without directives.
        CacheUnsaid Error "cache.unsaid",
            "nothing here says what caches may do",
            "write `no_store`, `private` or `public`, or an age such as `max_age = 60`",
            builder "begin with `CachePolicy::no_store()`, `private()` or `public()`, or add an age such as `.max_age(60)`";
        /// `no_store` next to anything else.
        CacheNoStoreNotAlone Error "cache.no-store-not-alone",
            "a response that is not stored cannot be reused, so the other words have no effect",
            "keep `no_store` alone, or remove it";
        /// `private` and `public`.
        CacheTwofold Error "cache.private-and-public",
            "`private` and `public` contradict each other",
            "keep `private` for responses to one user, or `public` for responses that are the same for everybody";
        /// Shared caching of responses that depend on the caller.
        CachePersonal Error "cache.personal-and-shared",
            "the responses depend on the caller, and this lets a cache serve them to others (RFC 9111 3.5)",
            "write `private`, or `no_store`; serve what is the same for everybody by a separate route with `#[auth(public)]` and without a session";
        /// An age for responses that depend on the caller, without `private`.
        CacheAudienceUnsaid Warning "cache.personal-and-unsaid",
            "the responses depend on the caller, so without `private` they are revalidated before each use and the age has no effect",
            "add `private`";
        /// `immutable` next to `no_cache`.
        CacheImmutableAsked Error "cache.immutable-and-no-cache",
            "`no_cache` requires revalidation before each use, and `immutable` says that none is needed",
            "keep one of them";
        /// `immutable` without an age.
        CacheImmutableAge Error "cache.immutable-without-age",
            "`immutable` applies while a response is fresh, and without an age it never is",
            "add an age, such as `max_age = 31536000`",
            builder "add an age, such as `.max_age(31536000)`";
        /// A time for stale responses, without an age after which they are stale.
        CacheStaleAge Error "cache.stale-without-age",
            "without an age, no cache knows when a response becomes stale",
            "add one, such as `max_age = 60`",
            builder "add one, such as `.max_age(60)`";
        /// A time for stale responses, which another directive forbids to serve.
        CacheStaleAsked Error "cache.stale-and-revalidated",
            "`no_cache` and `must_revalidate` forbid caches to serve stale responses",
            "remove them, or this";
        /// `s_maxage` next to `private`.
        CacheSharedAgeOfPrivate Error "cache.shared-age-of-private",
            "this is the age for shared caches, and `private` keeps responses out of them",
            "write `max_age`";
        /// An age that is out of range.
        CacheAge Error "cache.age-out-of-bounds",
            "an age is a number of seconds from 0 to 2147483647",
            "write seconds, such as `3600` for an hour";
        /// `*` in `vary`.
        CacheVaryAny Error "cache.vary-any",
            "a response that varies by `*` is never reused",
            "name the request fields that the response depends on, or write `no_store`";
        /// An entry of `vary` that is not a field name.
        CacheVaryInvalid Error "cache.vary-invalid",
            "this is not a header name",
            "write a name such as `accept`";
        /// A field that `vary` lists twice.
        CacheVaryRepeated Warning "cache.vary-repeated",
            "this is listed twice",
            "remove one of them";
        /// A caching policy for a method whose responses no cache stores.
        CacheMethod Error "cache.method",
            "no cache stores the responses to this method (RFC 9110 9.2.3)",
            "remove `#[cache]` or write `no_store`; serve GET by a separate handler";
        /// A caching policy for QUERY, whose responses depend on the content of the request.
        CacheQuery Error "cache.query",
            "a cache that does not know QUERY may keep the response under the address alone, whatever was asked (RFC 10008 2.7)",
            "remove `#[cache]` or write `no_store`; for stored results name the address of a GET route in `Location` (RFC 10008 2.4)";
        /// A POST or PATCH without an age.
        CacheMethodAge Error "cache.method-without-age",
            "responses to POST and PATCH are stored only if they state an age (RFC 9110 9.3.3)",
            "add `max_age`, and let the handler set `Content-Location` on its response; or remove `#[cache]`";
    }
}
