//! What the OpenAPI document of an app says about the app as a whole, and the mount that serves it.

use std::{
    fmt,
    future::ready,
    sync::{Arc, OnceLock},
};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, header::CONTENT_TYPE};
use policy_manifest::ManifestRoute;

#[cfg(feature = "openapi_page")]
use crate::app::policies::Policies;
#[cfg(not(feature = "openapi_page"))]
use crate::base::problem::Problem;
use crate::{
    app::mount::{Mount, ServedBy},
    handler::{response::ETag, service::SharedService},
};

/// What the OpenAPI document of an app says about the app as a whole:
/// [`App::openapi_settings`](crate::App::openapi_settings).
///
/// ```
/// use policy_server::{OpenApiSettings, prelude::*};
///
/// let app = App::new(()).openapi_settings(
///     OpenApiSettings::new("Lamps", "1.4.0").description("Everything about lamps."),
/// );
/// let document = app.openapi().unwrap();
/// assert_eq!(document.as_json()["info"]["title"], "Lamps");
/// ```
#[derive(Clone, Debug)]
#[must_use = "they are given to `App::openapi_settings`"]
pub struct OpenApiSettings {
    pub(crate) title: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
}

impl OpenApiSettings {
    /// The title of the service, and the version of its interface.
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Self {
        Self { title: title.into(), version: version.into(), description: None }
    }

    /// A description in `CommonMark`.
    pub fn description(self, text: impl Into<String>) -> Self {
        Self { description: Some(text.into()), ..self }
    }
}

impl Default for OpenApiSettings {
    fn default() -> Self {
        Self::new("API", "0.0.0")
    }
}

/// The document that a mount serves. It is read when the app is built.
#[derive(Clone)]
pub(crate) struct ServedDocument {
    /// Which routes are in it.
    pub(crate) is_shown: Arc<dyn Fn(&ManifestRoute) -> bool + Send + Sync>,
    pub(crate) text: Arc<OnceLock<Bytes>>,
}

impl fmt::Debug for ServedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedDocument").finish_non_exhaustive()
    }
}

impl Mount {
    /// Serves the [OpenAPI document](crate::App::openapi) of the app as `openapi.json` below the
    /// prefix (feature `openapi`). With the feature `openapi_page`, the prefix itself serves
    /// Swagger UI, which is part of the program, loads nothing from elsewhere, and runs under a
    /// strict Content-Security-Policy.
    ///
    /// As for every mount, `auth` or `public` says who may read it.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// #[get("/lamps")]
    /// #[auth(public)]
    /// async fn lamps() -> Json<[u32; 2]> {
    ///     Json([40, 60])
    /// }
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let app = App::new(()).routes(routes![lamps]).mount("/docs", Mount::openapi().public());
    /// let document: serde_json::Value = app.test().get("/docs/openapi.json").send().await.json();
    /// assert_eq!(document["paths"]["/lamps"]["get"]["operationId"], "lamps");
    /// # });
    /// ```
    pub fn openapi() -> Self {
        Self::openapi_for(|_| true)
    }

    /// Serves the part of the document that is for one audience: see
    /// [`App::openapi_for`](crate::App::openapi_for).
    pub fn openapi_for(is_shown: impl Fn(&ManifestRoute) -> bool + Send + Sync + 'static) -> Self {
        let document = ServedDocument { is_shown: Arc::new(is_shown), text: Arc::default() };
        let served = document.clone();
        #[cfg(feature = "openapi_page")]
        let page = page::Page::new();
        let service = SharedService::boxed(move |request| match served.text.get() {
            Some(text) if request.uri().path() == "/openapi.json" => {
                Box::pin(ready(file("application/json", text.clone())))
            }
            #[cfg(feature = "openapi_page")]
            _ => page.respond(request),
            #[cfg(not(feature = "openapi_page"))]
            _ => Box::pin(ready(Problem::not_found().into_response())),
        });
        let mount = Self::from_shared(service, ServedBy::OpenApi(document)).strip_prefix();
        #[cfg(feature = "openapi_page")]
        let mount = mount.policies(Policies::new().headers(page::HEADERS));
        mount
    }
}

/// A file with an entity tag, so that clients can cache it.
fn file(media_type: &'static str, content: impl Into<Bytes>) -> Response {
    let content = content.into();
    let media_type = HeaderValue::from_static(media_type);
    (ETag::from_content(&content), [(CONTENT_TYPE, media_type)], Body::from(content))
        .into_response()
}

/// The page to read a document.
#[cfg(feature = "openapi_page")]
mod page {
    use std::future::ready;

    use axum_core::{extract::Request, response::IntoResponse};
    use http::{StatusCode, header::LOCATION};
    use policy_core::{
        headers::{
            Frame, HeadersPolicy,
            csp::{Directive, Name, Source},
        },
        path::TrailingSlash,
    };
    use swagger_ui_dist::{ApiDefinition, OpenApiSource, generate_routes};

    use super::file;
    use crate::{
        base::problem::Problem,
        handler::{
            BoxFuture,
            service::{RemovedPath, SharedService},
        },
    };

    /// Everything comes from the mount itself. Swagger UI draws its icons from `data:` URLs.
    pub(super) const HEADERS: HeadersPolicy = HeadersPolicy::builder()
        .csp(&[
            Directive(Name::DefaultSrc, &[Source::None]),
            Directive(Name::ScriptSrc, &[Source::SelfOrigin]),
            Directive(Name::StyleSrc, &[Source::SelfOrigin]),
            Directive(Name::ImgSrc, &[Source::SelfOrigin, Source::Scheme("data:")]),
            Directive(Name::ConnectSrc, &[Source::SelfOrigin]),
            Directive(Name::BaseUri, &[Source::None]),
            Directive(Name::FormAction, &[Source::None]),
        ])
        .frame(Frame::Nobody)
        .build();

    const INDEX: &str = include_str!("viewer.html");
    const START: &str = include_str!("viewer.js");
    const STYLE: &str = "/viewer/swagger-ui.css";
    const SCRIPT: &str = "/viewer/swagger-ui-bundle.js";

    pub(super) struct Page {
        /// The files of Swagger UI. Its own page contains a script, which the policy forbids.
        viewer: SharedService,
    }

    impl Page {
        pub(super) fn new() -> Self {
            let routes = generate_routes(ApiDefinition {
                uri_prefix: "/viewer",
                api_definition: OpenApiSource::Uri("../openapi.json"),
                title: None,
            });
            Self { viewer: SharedService::new(routes) }
        }

        pub(super) fn respond(&self, mut request: Request) -> BoxFuture {
            if let Some(RemovedPath(path)) = request.extensions_mut().remove() {
                // The addresses in the page are relative to the prefix with a slash.
                let location = TrailingSlash::target(&path, None);
                let redirect = (StatusCode::PERMANENT_REDIRECT, [(LOCATION, location)]);
                return Box::pin(ready(redirect.into_response()));
            }
            let response = match request.uri().path() {
                "/" => file("text/html;charset=utf-8", INDEX),
                "/start.js" => file("text/javascript", START),
                STYLE | SCRIPT => return self.viewer.run(request),
                _ => Problem::not_found().into_response(),
            };
            Box::pin(ready(response))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[get("/lamps")]
    #[auth(public)]
    async fn lamps() -> &'static str {
        "none"
    }

    #[get("/audit")]
    #[auth(session)]
    async fn audit() -> &'static str {
        "nothing"
    }

    fn app() -> App<()> {
        App::new(()).sessions(Sessions::memory()).routes(routes![lamps, audit])
    }

    #[tokio::test]
    async fn a_document_is_served_to_whom_the_mount_admits() {
        let client = app().mount("/docs", Mount::openapi().public()).test();
        let response = client.get("/docs/openapi.json").send().await;
        assert_eq!(response.status(), 200);
        let text = app().openapi().unwrap().to_json();
        // The mount itself is no operation.
        assert_eq!(response.text(), text);
        let tag = response.header("etag").unwrap().to_owned();
        let again = client.get("/docs/openapi.json").header("if-none-match", &tag).send().await;
        assert_eq!(again.status(), 304);
        assert_eq!(client.get("/docs/other").send().await.status(), 404);
        let private =
            app().mount("/docs", Mount::openapi().auth(AuthRequirement::session())).test();
        assert_eq!(private.get("/docs/openapi.json").send().await.status(), 401);
    }

    #[tokio::test]
    async fn an_audience_gets_its_part() {
        let public = Mount::openapi_for(|route| !route.path.starts_with("/audit")).public();
        let client = app().mount("/docs", public).test();
        let text = client.get("/docs/openapi.json").send().await.text().to_owned();
        assert!(text.contains("/lamps") && !text.contains("audit"), "{text}");
    }

    #[test]
    fn an_app_with_a_faulty_document_does_not_start() {
        #[get("/twice", id = "lamps")]
        #[auth(public)]
        async fn twice() {}

        #[get("/thrice", id = "lamps")]
        #[auth(public)]
        async fn thrice() {}

        let faulty = || app().routes(routes![twice, thrice]);
        assert!(faulty().check().is_ok(), "nobody serves it");
        let served = faulty().mount("/docs", Mount::openapi().public());
        let error = served.mount("/more", Mount::openapi().public()).check().unwrap_err();
        let count = error.to_string().matches("(openapi.operation-ids)").count();
        assert_eq!(count, 1, "{error}");
    }

    #[cfg(feature = "openapi_page")]
    #[tokio::test]
    async fn the_page_loads_nothing_from_elsewhere() {
        let client = app().mount("/docs", Mount::openapi().public()).test();
        let redirect = client.get("/docs").send().await;
        assert_eq!(
            (redirect.status(), redirect.header("location")),
            (StatusCode::PERMANENT_REDIRECT, Some("./docs/"))
        );
        let page = client.get("/docs/").send().await;
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(!page.text().contains("//"), "{}", page.text());
        for file in ["start.js", "viewer/swagger-ui.css", "viewer/swagger-ui-bundle.js"] {
            assert!(page.text().contains(file));
            assert_eq!(client.get(&format!("/docs/{file}")).send().await.status(), 200, "{file}");
        }
        // Swagger UI's own page has a script in it.
        assert_eq!(client.get("/docs/viewer/").send().await.status(), 404);
    }
}
