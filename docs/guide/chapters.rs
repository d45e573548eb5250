//! The chapters of the guide, so that their examples are compiled and run as those of the documentation
//! are. Chapters that the guide takes from policy-server are tested there.

#[cfg(test)]
mod links;

macro_rules! chapters {
    ($($name:ident $file:literal;)*) => {
        $(
            #[doc = include_str!(concat!("src/", $file))]
            pub mod $name {}
        )*

        /// The files of the chapters above.
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
    };
}

chapters! {
    index "index.md";
    extractors "how-to/extractors.md";
    responses "how-to/responses.md";
    errors "how-to/errors.md";
    state "how-to/state.md";
    modules "how-to/modules.md";
    middleware "how-to/middleware.md";
    background "how-to/background.md";
    html "how-to/html.md";
    login "how-to/login.md";
    passwords "how-to/passwords.md";
    objects "how-to/objects.md";
    engines "how-to/engines.md";
    pages "how-to/pages.md";
    single_page "how-to/single-page.md";
    machines "how-to/machines.md";
    apps "how-to/apps.md";
    uploads "how-to/uploads.md";
    streams "how-to/streams.md";
    files "how-to/files.md";
    http "how-to/http.md";
    openapi "how-to/openapi.md";
    openapi_changes "how-to/openapi-changes.md";
    databases "how-to/databases.md";
    lists "how-to/lists.md";
    logs "how-to/logs.md";
    traces "how-to/traces.md";
    metrics "how-to/metrics.md";
    troubleshooting "troubleshooting.md";
    skill "../skills/policy/SKILL.md";
    operation "how-to/operation.md";
    proxies "how-to/proxies.md";
    axum_words "how-to/axum.md";
    words "how-to/words.md";
    attributes "reference/attributes.md";
    cors "explanation/cors.md";
    csrf "explanation/csrf.md";
    cookies "explanation/cookies.md";
    caches "explanation/caches.md";
}
