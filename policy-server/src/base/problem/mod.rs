//! Problem details: error responses in the format of RFC 9457.

mod declared;
mod from_others;
mod invalid;
mod negotiate;
mod own;
mod rejection;
mod render;

use std::{borrow::Cow, error::Error, fmt, time::Duration};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
pub use declared::Problems;
pub use from_others::{OrInternal, OrNotFound};
use http::{
    HeaderName, HeaderValue, StatusCode, Version,
    header::{ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
pub use invalid::Invalid;
pub(crate) use invalid::escaped;
pub(crate) use negotiate::{formats, negotiate};
use own::{Own, listed_body, status_of};
use policy_core::{Refusal, cache::forbid_storing, problem::RESERVED_MEMBERS};
use serde::Serialize;

pub(crate) use rejection::{convert_text, is_text, rejection, unsupported};

use crate::base::{error::Causes, escape::printable, event::log, log::RefusalEntry};

pub(crate) const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// An error for the client: status, stable code and text, sent as `application/problem+json` (RFC
/// 9457).
///
/// A handler returns `Result<T, Problem>`. Refusals by the framework have the same form, so clients
/// need to parse only one. They distinguish problems by `code`; `type` stays `about:blank` unless
/// [`type_uri`](Self::type_uri) or [`App::problem_types`](crate::App::problem_types) names a page about
/// the problem.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/orders/{id}")]
/// #[auth(public)]
/// async fn order(id: u64) -> Result<Json<&'static str>, Problem> {
///     match id {
///         1 => Ok(Json("a lamp")),
///         _ => Err(Problem::not_found()
///             .code("orders.unknown")
///             .title("There is no such order")
///             .with("order", id)),
///     }
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = App::new(()).routes(routes![order]).test().get("/orders/2").send().await;
/// assert_eq!(response.header("content-type"), Some("application/problem+json"));
/// assert_eq!(
///     response.text(),
///     r#"{"type":"about:blank","title":"There is no such order","status":404,"code":"orders.unknown","order":2}"#
/// );
/// # });
/// ```
///
/// # Application errors
///
/// Other error types do not convert into a problem automatically, since their text is written for
/// developers: `.or_internal()` ([`OrInternal`]) logs such an error and shows the client nothing of it,
/// and `.or_not_found()` is 404 for a missing value.
/// An application defines once what its errors mean to a client, and then converts them with `?`:
///
/// ```
/// use policy_server::prelude::*;
///
/// #[derive(Debug)]
/// enum ShopError {
///     SoldOut { lamp: u64 },
///     Storage(std::io::Error),
/// }
///
/// impl From<ShopError> for Problem {
///     fn from(error: ShopError) -> Self {
///         match error {
///             ShopError::SoldOut { lamp } => {
///                 Problem::conflict().code("lamps.sold-out").with("lamp", lamp)
///             }
///             ShopError::Storage(error) => Problem::internal(error),
///         }
///     }
/// }
///
/// fn reserve(lamp: u64) -> Result<(), ShopError> {
///     match lamp {
///         1 => Err(ShopError::SoldOut { lamp }),
///         _ => Err(ShopError::Storage(std::io::Error::other("disk 3 is gone"))),
///     }
/// }
///
/// #[post("/lamps/{id}/reservations")]
/// #[auth(public)]
/// async fn reservation(id: u64) -> Result<StatusCode, Problem> {
///     reserve(id)?;
///     Ok(StatusCode::CREATED)
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![reservation]).test();
/// let response = client.post("/lamps/1/reservations").send().await;
/// assert_eq!(response.status(), 409);
/// assert!(response.text().contains("lamps.sold-out"));
///
/// let response = client.post("/lamps/2/reservations").send().await;
/// assert_eq!(response.status(), 500);
/// assert!(!response.text().contains("disk"));
/// # });
/// ```
///
/// A handler can also return the error itself: `Result<T, ShopError>` is a response, since `ShopError`
/// converts into a problem.
///
/// # Formats
///
/// A browser that opens a page gets a problem as a small HTML page, and a client that prefers plain
/// text by `Accept` gets that. All others get JSON.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: Kind,
    /// For the access log, if a gate found the problem.
    refused: Option<Box<RefusalEntry>>,
}

/// Most problems are refusals of the catalogue without additions: they allocate nothing, and their
/// bodies are built once.
#[derive(Clone, Debug)]
enum Kind {
    Listed(Refusal),
    Own(Box<Own>),
}

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The problem that a response shows, kept in its extensions so that it can be sent in another
/// format.
#[derive(Clone, Debug)]
struct OriginalProblem(Problem);

/// The code of the problem, kept in the extensions of a response whose format is chosen.
#[derive(Clone, Debug)]
enum Code {
    Listed(Refusal),
    Own(Cow<'static, str>),
}

/// The code of the problem that a response shows, once its format is chosen.
pub(crate) fn code(response: &Response) -> Option<Cow<'static, str>> {
    response.extensions().get().map(|code| match code {
        Code::Listed(refusal) => Cow::Borrowed(refusal.code()),
        Code::Own(code) => code.clone(),
    })
}

/// Adds the code of the problem that a response shows to `Server-Timing` (W3C Server Timing 3), for
/// developers: the tools of browsers show it beside the request, and pages of other origins do not
/// see it.
pub(crate) fn tell_code(response: &mut Response) {
    let Some(code) = code(response) else { return };
    // A code of an application may be any text.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if code.bytes().all(is_plain)
        && let Ok(value) = HeaderValue::from_str(&format!("policy;desc=\"{code}\""))
    {
        response.headers_mut().append(SERVER_TIMING, value);
    }
}

/// Ends an HTTP/1.1 connection with the response to a malformed request, so that nothing after it is
/// read (RFC 9112 9.6, 11.2).
pub(crate) fn end_connection(response: &mut Response, version: Version) {
    if version < Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// The refusal that a response shows, once its format is chosen.
#[cfg(feature = "manifest")]
pub(crate) fn refusal_written(response: &Response) -> Option<Refusal> {
    match response.extensions().get()? {
        Code::Listed(refusal) => Some(*refusal),
        Code::Own(_) => None,
    }
}

impl Problem {
    /// A problem with only a status; its title is the reason phrase.
    ///
    /// ```
    /// use policy_server::{Problem, http::StatusCode};
    ///
    /// let problem = Problem::new(StatusCode::GONE);
    /// assert_eq!(problem.to_string(), "410 Gone");
    /// ```
    pub fn new(status: StatusCode) -> Self {
        Self { kind: Kind::Own(Box::new(Own::new(status))), refused: None }
    }

    /// 400: the request is malformed.
    pub fn bad_request() -> Self {
        Self::new(StatusCode::BAD_REQUEST)
    }

    /// 401: the request is not authenticated. RFC 9110 15.5.2 also requires a `WWW-Authenticate`
    /// header: return `([(WWW_AUTHENTICATE, "..")], problem)`.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED)
    }

    /// 403: the caller may not do this.
    pub fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN)
    }

    /// 404: the resource does not exist.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND)
    }

    /// 409: the state of the resource does not allow this.
    pub fn conflict() -> Self {
        Self::new(StatusCode::CONFLICT)
    }

    /// 422: the request is well-formed but invalid.
    pub fn unprocessable() -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY)
    }

    /// 429: too many requests (RFC 6585 4); [`retry_after`](Self::retry_after) states how long to wait.
    pub fn too_many_requests() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS)
    }

    /// 500 for an internal error: its whole chain of sources is logged, and the response shows
    /// nothing of it.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// #[get("/motd")]
    /// #[auth(public)]
    /// async fn motd() -> Result<String, Problem> {
    ///     std::fs::read_to_string("/no/such/file").map_err(Problem::internal)
    /// }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let response = App::new(()).routes(routes![motd]).test().get("/motd").send().await;
    /// assert_eq!(response.status(), 500);
    /// assert!(!response.text().contains("No such file"));
    /// # });
    /// ```
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error = error.into();
        let text = Causes(&*error).to_string();
        // An error may quote a request, which must not be able to forge log lines.
        log!(HandlerError, error = %printable(&text));
        Self::from(Refusal::Internal)
    }

    /// The same problem with another status.
    fn with_status(self, status: StatusCode) -> Self {
        self.change(|own| own.status = status)
    }

    /// Sets the code by which programs identify this problem, such as `orders.unknown`. It should
    /// never change.
    #[must_use]
    pub fn code(self, code: impl Into<Cow<'static, str>>) -> Self {
        self.change(|own| own.code = Some(code.into()))
    }

    /// Sets the summary of this type of problem, the same text for every occurrence.
    #[must_use]
    pub fn title(self, title: impl Into<Cow<'static, str>>) -> Self {
        self.change(|own| own.title = Some(title.into()))
    }

    /// Explains this occurrence, so that the client can correct it.
    #[must_use]
    pub fn detail(self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.change(|own| own.detail = Some(detail.into()))
    }

    /// Sets the URI of a page about this type of problem.
    #[must_use]
    pub fn type_uri(self, uri: impl Into<Cow<'static, str>>) -> Self {
        self.change(|own| own.type_uri = uri.into())
    }

    /// Identifies this occurrence by a URI.
    #[must_use]
    pub fn instance(self, uri: impl Into<Cow<'static, str>>) -> Self {
        self.change(|own| own.instance = Some(uri.into()))
    }

    /// Sets when the client may try again, in `Retry-After` (RFC 9110 10.2.3); fractions of a
    /// second are rounded up.
    ///
    /// ```
    /// use std::time::Duration;
    /// use policy_server::{IntoResponse, Problem};
    ///
    /// let problem = Problem::too_many_requests().retry_after(Duration::from_millis(1_500));
    /// assert_eq!(problem.into_response().headers()["retry-after"], "2");
    /// ```
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        self.change(|own| own.retry_after = Some(seconds))
    }

    /// Adds an extension member (RFC 9457 3.2), or replaces one of the same name.
    ///
    /// The members `type`, `title`, `status`, `code`, `detail` and `instance` have their own methods.
    /// Here those names, and values that JSON cannot represent, are ignored with a warning in the
    /// log.
    ///
    /// ```
    /// use policy_server::Problem;
    ///
    /// let problem = Problem::conflict().with("holder", "Ada").with("since", 1815);
    /// # assert_eq!(problem.status(), 409);
    /// ```
    #[must_use]
    pub fn with(self, member: &str, value: impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) if !RESERVED_MEMBERS.contains(&member) => self.change(|own| {
                own.members.insert(member.to_owned(), value);
            }),
            Ok(_) => {
                log!(ProblemMemberReserved, member);
                self
            }
            Err(error) => {
                log!(ProblemMemberUnwritable, member, %error);
                self
            }
        }
    }

    /// Adds the refusal for the entry in the access log.
    pub(crate) fn with_refused(self, refused: Option<RefusalEntry>) -> Self {
        Self { refused: refused.map(Box::new), ..self }
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        match &self.kind {
            Kind::Listed(refusal) => status_of(*refusal),
            Kind::Own(own) => own.status,
        }
    }

    /// Whether it is this refusal of the catalogue, without additions.
    pub(crate) fn is(&self, refusal: Refusal) -> bool {
        matches!(&self.kind, Kind::Listed(listed) if *listed == refusal)
    }

    fn own_code(&self) -> Option<Code> {
        match &self.kind {
            Kind::Listed(refusal) => Some(Code::Listed(*refusal)),
            Kind::Own(own) => own.code.clone().map(Code::Own),
        }
    }

    /// The same problem with the address of its page, if it has a code and states no address.
    fn typed(&self, types: &str) -> Option<Self> {
        let code = match &self.kind {
            Kind::Listed(refusal) => refusal.code(),
            Kind::Own(own) if own.type_uri != own::NO_TYPE => return None,
            Kind::Own(own) => own.code.as_deref()?,
        };
        Some(self.clone().type_uri(format!("{types}{code}")))
    }

    fn into_members(self) -> Own {
        match self.kind {
            Kind::Listed(refusal) => Own::from(refusal),
            Kind::Own(own) => *own,
        }
    }

    fn change(self, change: impl FnOnce(&mut Own)) -> Self {
        let mut own = match self.kind {
            Kind::Listed(refusal) => Box::new(Own::from(refusal)),
            Kind::Own(own) => own,
        };
        change(&mut own);
        Self { kind: Kind::Own(own), ..self }
    }
}

/// Implemented by no type; it only improves compiler errors. For a type that does not convert, the
/// compiler lists those that do; only a trait of this crate can add what to write instead. With `?`
/// the compiler shows the label, otherwise the note.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this error cannot be converted to a response (handler.error-not-a-problem)",
    label = "write `.or_internal()?` to log it and respond with 500",
    note = "to respond with something else, write `.map_err(|error| ..)?`, or return an error type of your own that has `From<{Self}>`, and `impl From` of it for `Problem`"
)]
pub trait ErrorForClients {
    /// Its problem.
    fn into_problem(self) -> Problem;
}

impl<E: ErrorForClients> From<E> for Problem {
    fn from(error: E) -> Self {
        error.into_problem()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self { kind: Kind::Listed(refusal), refused: None }
    }
}

impl IntoResponse for Problem {
    fn into_response(mut self) -> Response {
        let body = match &self.kind {
            Kind::Listed(refusal) => listed_body(*refusal),
            Kind::Own(own) => own.body(),
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, MEDIA_TYPE);
        if let Kind::Listed(Refusal::ContentCoding) = self.kind {
            // RFC 9110 12.5.3: the coding that would have been accepted.
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let retry_after = match &self.kind {
            Kind::Listed(refusal) => refusal.retry_after().map(u64::from),
            Kind::Own(own) => own.retry_after,
        };
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        // For a listed refusal, the policy of the response does this.
        if matches!(&self.kind, Kind::Own(own) if own.is_uncacheable) {
            forbid_storing(headers);
        }
        let refused = self.refused.take();
        response.extensions_mut().insert(OriginalProblem(self));
        RefusalEntry::note(refused.map(|refused| *refused), response)
    }
}

/// The refusal that a response shows, if it is a problem of the catalogue whose format is not
/// chosen yet.
pub(crate) fn refusal_of(response: &Response) -> Option<Refusal> {
    if response.extensions().is_empty() {
        return None;
    }
    match response.extensions().get()? {
        OriginalProblem(Problem { kind: Kind::Listed(refusal), .. }) => Some(*refusal),
        OriginalProblem(_) => None,
    }
}

/// For logs: on one line, with everything quoted escaped.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed;
        let own = match &self.kind {
            Kind::Listed(refusal) => {
                listed = Own::from(*refusal);
                &listed
            }
            Kind::Own(own) => own,
        };
        write!(f, "{} {}", own.status.as_u16(), printable(own.title()))?;
        if let Some(code) = &own.code {
            write!(f, " ({})", printable(code))?;
        }
        if let Some(detail) = &own.detail {
            write!(f, ": {}", printable(detail))?;
        }
        for (place, detail) in render::faults(own) {
            match place {
                "" => write!(f, ": {}", printable(detail))?,
                place => write!(f, ": `{}` {}", printable(place), printable(detail))?,
            }
        }
        Ok(())
    }
}

impl Error for Problem {}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::Value;

    use super::*;

    async fn render(problem: Problem) -> (StatusCode, Value) {
        let response = problem.into_response();
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn every_refusal_is_sent_with_its_own_body() {
        for refusal in Refusal::ALL {
            let (status, body) = render(Problem::from(*refusal)).await;
            assert_eq!(status, refusal.status());
            assert_eq!(
                body,
                serde_json::json!({
                    "type": "about:blank",
                    "title": refusal.title(),
                    "status": refusal.status(),
                    "code": refusal.code(),
                })
            );
        }
    }

    #[test]
    fn an_explained_refusal_still_says_when_to_come_back() {
        let problem = Problem::from(Refusal::ConcurrencyExceeded);
        for problem in [problem.clone(), problem.detail("all desks are taken")] {
            assert_eq!(problem.into_response().headers()[RETRY_AFTER], "1");
        }
        let never = Problem::from(Refusal::RouteNotFound).detail("gone").into_response();
        assert!(!never.headers().contains_key(RETRY_AFTER));
    }

    #[tokio::test]
    async fn a_problem_contains_all_its_members() {
        let problem = Problem::conflict()
            .code("orders.sold")
            .detail("\"quoted\"\n")
            .type_uri("https://api.example/problems/sold")
            .instance("/orders/7")
            .with("order", 7)
            .with("tags", ["a", "b"]);
        assert_eq!(problem.to_string(), "409 Conflict (orders.sold): \"quoted\"\\n");
        let (status, body) = render(problem).await;
        assert_eq!(status, StatusCode::CONFLICT);
        assert_eq!(
            body,
            serde_json::json!({
                "type": "https://api.example/problems/sold", "title": "Conflict", "status": 409,
                "code": "orders.sold", "detail": "\"quoted\"\n", "instance": "/orders/7",
                "order": 7, "tags": ["a", "b"],
            })
        );
    }

    #[tokio::test]
    async fn reserved_members_cannot_be_overwritten() {
        for member in RESERVED_MEMBERS {
            let (_, body) = render(Problem::forbidden().with(member, "forged")).await;
            let plain =
                serde_json::json!({"type": "about:blank", "title": "Forbidden", "status": 403});
            assert_eq!(body, plain, "{member}");
        }
    }

    /// The access log changes no response.
    #[test]
    fn a_problem_for_the_access_log_stays_a_refusal() {
        let refusal = Refusal::CsrfOrigin;
        let refused = RefusalEntry { cause: None, detail: None, origin: "none".into() };
        let response = Problem::from(refusal).with_refused(Some(refused)).into_response();
        assert_eq!(refusal_of(&response), Some(refusal));
        assert!(response.extensions().get::<RefusalEntry>().is_some());
    }

    #[tokio::test]
    async fn internal_errors_are_hidden_from_clients() {
        let (status, body) = render(Problem::internal("password is hunter2")).await;
        assert_eq!(status, 500);
        assert!(!body.to_string().contains("hunter2"));
    }
}
