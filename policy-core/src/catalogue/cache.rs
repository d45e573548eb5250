//! `#[cache]`: what caches may do.

area! { $ cache
    rules {
        /// A caching policy without content.
        CacheUnsaid Error "cache.unsaid",
            "nothing here says what caches may do",
            "write `no_store`, `private` or `public`, or an age such as `max_age = 60`";
        /// `no_store` next to anything else.
        CacheNoStoreNotAlone Error "cache.no-store-not-alone",
            "what is not stored cannot be used again, so the other words mean nothing",
            "keep `no_store` alone, or remove it";
        /// `private` and `public`.
        CacheTwofold Error "cache.private-and-public",
            "`private` and `public` contradict each other",
            "keep `private` for what is one user's, and `public` for what is the same for everybody";
        /// What opens shared caches, for answers that are one person's.
        CachePersonal Error "cache.personal-and-shared",
            "the answers depend on who asks, and this lets a cache serve them to others (RFC 9111 3.5)",
            "write `private`, or `no_store`; for what is the same for everybody, a route of its own with `#[auth(public)]` and without a session";
        /// An age for answers that are one person's, without `private`.
        CacheAudienceUnsaid Warning "cache.personal-and-unsaid",
            "the answers depend on who asks, so without `private` each of them is asked for again and the age has no effect",
            "add `private`";
        /// `immutable` next to `no_cache`.
        CacheImmutableAsked Error "cache.immutable-and-no-cache",
            "`no_cache` asks before each use, and `immutable` says that nobody needs to ask",
            "keep one of them";
        /// `immutable` without an age.
        CacheImmutableAge Error "cache.immutable-without-age",
            "`immutable` is about the time in which an answer is fresh, and there is none",
            "add an age, such as `max_age = 31536000`";
        /// A time of stale answers that are never fresh.
        CacheStaleAge Error "cache.stale-without-age",
            "without an age no cache knows when an answer becomes stale",
            "add one, such as `max_age = 60`";
        /// A time of stale answers that nobody may serve.
        CacheStaleAsked Error "cache.stale-and-revalidated",
            "`no_cache` and `must_revalidate` forbid to serve what is stale",
            "remove them, or this";
        /// `s_maxage` next to `private`.
        CacheSharedAgeOfPrivate Error "cache.shared-age-of-private",
            "this is the age in caches of many users, and `private` keeps answers out of them",
            "write `max_age`";
        /// An age that is none.
        CacheAge Error "cache.age-out-of-bounds",
            "an age is a number of seconds from 0 to 2147483647",
            "write seconds, such as `3600` for an hour";
        /// `*` in `vary`.
        CacheVaryAny Error "cache.vary-any",
            "an answer that varies by `*` is never used again",
            "name the request fields that the answer depends on, or write `no_store`";
        /// Not a field name, in `vary`.
        CacheVaryInvalid Error "cache.vary-invalid",
            "this is not a header name",
            "write a name such as `accept`";
        /// A field twice in `vary`.
        CacheVaryRepeated Warning "cache.vary-repeated",
            "this stands in the list twice",
            "remove one of them";
        /// A caching policy of a method that no cache keeps answers to.
        CacheMethod Error "cache.method",
            "no cache keeps the answers to this method (RFC 9110 9.2.3)",
            "remove `#[cache]` or write `no_store`; GET has a handler of its own";
        /// A POST or PATCH without an age.
        CacheMethodAge Error "cache.method-without-age",
            "the answers to POST and PATCH are kept only where they say for how long (RFC 9110 9.3.3)",
            "add `max_age`, and have the handler write the `Content-Location` of what it answers with; or remove `#[cache]`";
    }
}
