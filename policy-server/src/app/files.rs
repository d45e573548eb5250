//! The files of a folder, by the `ServeDir` of tower-http.

use std::{path::PathBuf, sync::Arc};

use axum_core::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use policy_core::{head::Single, path::TrailingSlash};
use tower_http::services::ServeDir;
use tower_service::Service;

use crate::{
    app::{
        fallback::Fallback,
        mount::{Mount, ServedBy},
    },
    base::problem::Problem,
    handler::service::{RemovedPath, SharedService},
};

/// The files of a folder (feature `files`), for [`Mount::files`] and [`Fallback::files`].
///
/// GET and HEAD get a file with its media type, `ETag` and `Last-Modified`; conditions and ranges
/// are evaluated. A folder is served as its `index.html`; its address without a trailing slash is
/// redirected to the one with it. A missing file is 404, and so is every file or folder whose name
/// begins with a dot, unless [`dotfiles`](Self::dotfiles) are served. Symbolic links are followed.
///
/// ```
/// use policy_server::{Files, prelude::*};
///
/// #[get("/api/orders")]
/// #[auth(public)]
/// async fn orders() -> &'static str {
///     "orders"
/// }
///
/// // An application with one page: its assets, and its page wherever a user navigates.
/// let app = App::new(())
///     .routes(routes![orders])
///     .mount("/assets", Mount::files(Files::new("dist/assets")).public())
///     .fallback(Fallback::files(Files::new("dist").single_page().not_below(["/api"])).public());
/// # assert!(app.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use = "files are served by a mount or a fallback"]
pub struct Files {
    pub(crate) folder: PathBuf,
    pub(crate) serves_dotfiles: bool,
    pub(crate) is_single_page: bool,
    /// The prefixes below which the page does not replace missing files.
    pub(crate) other: Vec<String>,
}

impl Files {
    /// The files of this folder, relative to where the server is started. The folder is not opened
    /// before a request asks for a file.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            serves_dotfiles: false,
            is_single_page: false,
            other: Vec::new(),
        }
    }

    /// Serves files and folders whose names begin with a dot, too: `.well-known`, but also `.git`
    /// and `.env`, if they are there.
    pub fn dotfiles(mut self) -> Self {
        self.serves_dotfiles = true;
        self
    }

    /// Responds to a navigation to a path without a file with 200 and the folder's `index.html`,
    /// for an application that routes in the browser.
    ///
    /// A navigation is a GET or HEAD request that accepts `text/html` by name, and whose
    /// `Sec-Fetch-Mode` is `navigate`, if the browser sends it. The last segment of its path has no
    /// dot, so that a missing script is 404 and not a page. Other requests for missing files get
    /// 404 as before.
    pub fn single_page(mut self) -> Self {
        self.is_single_page = true;
        self
    }

    /// Excludes these paths, and all below them, from [`single_page`](Self::single_page): a missing
    /// file there is always 404, as in an API. As in routes, each begins with a slash.
    pub fn not_below<T: Into<String>>(mut self, prefixes: impl IntoIterator<Item = T>) -> Self {
        self.other.extend(prefixes.into_iter().map(Into::into));
        self
    }

    fn service(self) -> SharedService {
        let files = Arc::new(FolderService {
            folder: ServeDir::new(&self.folder).ignore_multi_range_requests(true),
            files: self,
        });
        SharedService::from_fn(move |request| {
            let files = Arc::clone(&files);
            async move { files.respond(request).await }
        })
    }
}

impl Mount {
    /// The [files](Files) of a folder below a prefix, which is not a part of their paths:
    /// `/assets/app.js` is the file `app.js`.
    pub fn files(files: Files) -> Self {
        Self::from_shared(files.clone().service(), ServedBy::Files(files)).strip_prefix()
    }
}

impl Fallback {
    /// The [files](Files) of a folder, for every path without a route.
    pub fn files(files: Files) -> Self {
        Self::from_shared(files.clone().service(), ServedBy::Files(files))
    }
}

struct FolderService {
    folder: ServeDir,
    files: Files,
}

const PAGE: &str = "/index.html";
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const OF_NAVIGATION: HeaderValue = HeaderValue::from_static("accept, sec-fetch-mode");

impl FolderService {
    async fn respond(&self, mut request: Request) -> Response {
        if let Some(RemovedPath(path)) = request.extensions_mut().remove() {
            // The links of the index are relative to the folder.
            return redirected(&path, request.uri().query());
        }
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_read || self.files.hides(request.uri().path()) {
            return Problem::not_found().into_response();
        }
        let (path, query) =
            (request.uri().path().to_owned(), request.uri().query().map(str::to_owned));
        let page = self.files.is_single_page.then(|| self.files.page_for(&request));
        let response = self.file(request).await;
        match (response.status(), page) {
            (StatusCode::NOT_FOUND, Some(page)) => {
                let mut response = match page {
                    Some(page) => self.file(page).await,
                    None => response,
                };
                response.headers_mut().append(header::VARY, OF_NAVIGATION);
                response
            }
            (status, _) if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                redirected(&path, query.as_deref())
            }
            _ => response,
        }
    }

    async fn file(&self, request: Request) -> Response {
        match self.folder.clone().call(request).await {
            Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                Problem::not_found().into_response()
            }
            Ok(response) => response.map(Body::new),
            Err(never) => match never {},
        }
    }
}

/// A redirect to the address of a folder. That of `ServeDir` lacks the prefix of the mount.
fn redirected(path: &str, query: Option<&str>) -> Response {
    let location = TrailingSlash::target(path, query);
    (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, location)]).into_response()
}

impl Files {
    /// Whether a name of the path begins with a dot, and such names are not served. Paths are in
    /// their normal form, in which only a mount that takes encoded slashes has them.
    fn hides(&self, path: &str) -> bool {
        let begins = ["/.", "%2F.", "%5C."].iter().any(|begin| path.contains(begin));
        begins && !self.serves_dotfiles
    }

    /// The request for the page, if the page is the response to this request.
    fn page_for(&self, request: &Request) -> Option<Request> {
        let path = request.uri().path();
        let is_other = self.other.iter().any(|prefix| {
            let prefix = prefix.trim_matches('/');
            let rest = path.get(1..).and_then(|path| path.strip_prefix(prefix));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let has_extension = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
        if is_other || has_extension || !is_navigation(request.headers()) {
            return None;
        }
        let mut page = Request::new(Body::empty());
        *page.method_mut() = request.method().clone();
        *page.uri_mut() = Uri::from_static(PAGE);
        page.headers_mut().clone_from(request.headers());
        Some(page)
    }
}

/// Whether a browser requests a page to show, according to its headers.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is_stated = match Single::read(headers, &SEC_FETCH_MODE) {
        Single::Absent => true,
        Single::One(mode) => mode == "navigate",
        Single::Repeated => false,
    };
    is_stated && headers.get_all(header::ACCEPT).iter().any(names_html)
}

/// Whether `text/html` is named, with a quality that is not zero (RFC 9110 12.5.1).
fn names_html(accept: &HeaderValue) -> bool {
    let ranges = accept.as_bytes().split(|byte| *byte == b',');
    ranges.into_iter().any(|range| {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let is_html = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(b"text/html"));
        let is_zero = |part: &[u8]| {
            let quality = part.strip_prefix(b"q=").or(part.strip_prefix(b"Q="));
            quality.is_some_and(|text| text.iter().all(|byte| matches!(byte, b'0' | b'.')))
        };
        is_html && !parts.any(is_zero)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, fields: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = path.parse().unwrap();
        for (name, value) in fields {
            request.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        request
    }

    #[test]
    fn the_page_is_for_navigations() {
        let files = Files::new("dist").single_page().not_below(["/api", "v1/", "/a/b"]);
        let html = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        let is_for = |path: &str, fields: &[_]| files.page_for(&request(path, fields)).is_some();
        for path in ["/", "/settings", "/orders/7", "/apis", "/a", "/a/bc", "/x.y/z"] {
            assert!(is_for(path, &[html]), "{path}");
            assert!(is_for(path, &[html, ("sec-fetch-mode", "navigate")]), "{path}");
            assert!(!is_for(path, &[]), "{path}");
        }
        for path in ["/api", "/api/", "/api/x", "/v1/x", "/a/b", "/a/b/c", "/app.js", "/x/y.css"] {
            assert!(!is_for(path, &[html]), "{path}");
        }
        for (accept, is_named) in [
            ("text/html", true),
            ("TEXT/HTML;q=0.1", true),
            ("application/json, text/html ; level=1", true),
            ("*/*", false),
            ("text/*", false),
            ("application/json", false),
            ("text/html;q=0", false),
            ("text/html; q=0.000", false),
            ("text/htmlx", false),
        ] {
            assert_eq!(is_for("/x", &[("accept", accept)]), is_named, "{accept}");
        }
        for mode in ["cors", "no-cors", "same-origin", "websocket"] {
            assert!(!is_for("/x", &[html, ("sec-fetch-mode", mode)]), "{mode}");
        }
    }

    #[test]
    fn names_that_begin_with_a_dot_are_hidden_unless_said() {
        let files = Files::new("dist");
        for path in ["/.env", "/.git/config", "/a/.b/c", "/a%2F.env", "/a%5C.env"] {
            assert!(files.hides(path), "{path}");
            assert!(!files.clone().dotfiles().hides(path), "{path}");
        }
        for path in ["/", "/a.b", "/a./b", "/a..b"] {
            assert!(!files.hides(path), "{path}");
        }
    }
}
