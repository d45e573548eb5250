//! A page of a list.

use axum_core::response::{IntoResponse, Response};
use http::{HeaderValue, header::LINK};
use serde::Serialize;

use super::ETag;
use crate::{base::problem::Problem, handler::extract::json_answer};

/// A page of a list, made by [`PageQuery::paginate`](crate::extract::PageQuery::paginate).
///
/// It is JSON: `items` has the rows, and `next` the cursor of the next page, or `null` on the last
/// one. The `Link` header with `rel="next"` has the address of the next page, too (RFC 8288),
/// relative to the address of this one: the query with the new cursor. Scripts of other origins can
/// read that header if the route exposes it, `#[cors(.., expose = ["link"])]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
    link: Option<HeaderValue>,
    has_etag: bool,
}

impl<T> Page<T> {
    /// The page with the cursor of the next one, which is requested with the rest of this query.
    pub(crate) fn new(items: Vec<T>, next: Option<String>, query: &str) -> Self {
        let link = next.as_ref().and_then(|cursor| {
            let and = if query.is_empty() { "" } else { "&" };
            HeaderValue::try_from(format!("<?{query}{and}cursor={cursor}>; rel=\"next\"")).ok()
        });
        Self { items, next, link, has_etag: false }
    }

    /// Adds a strong [`ETag`] of its JSON to the response, as
    /// [`Json::etag`](crate::handler::extract::Json::etag) does. A client that already has the page
    /// gets 304.
    ///
    /// ```
    /// use policy_server::{extract::PageQuery, prelude::*, response::Page};
    ///
    /// #[get("/orders")]
    /// #[auth(public)]
    /// async fn orders(page: PageQuery<u64>) -> Result<Page<u64>, Problem> {
    ///     Ok(page.paginate(vec![1, 2], |order| *order)?.etag())
    /// }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let client = App::new(()).routes(routes![orders]).test();
    /// let first = client.get("/orders").send().await;
    /// let etag = first.header("etag").unwrap();
    /// let again = client.get("/orders").header("if-none-match", etag).send().await;
    /// assert_eq!(again.status(), 304);
    /// # });
    /// ```
    #[must_use]
    pub fn etag(self) -> Self {
        Self { has_etag: true, ..self }
    }

    /// The rows.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The cursor of the next page; `None` for the last one.
    pub fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

#[derive(Serialize)]
struct Body<'a, T> {
    items: &'a [T],
    next: Option<&'a str>,
}

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        let body = Body { items: &self.items, next: self.next.as_deref() };
        match serde_json::to_vec(&body) {
            Ok(body) => {
                let etag = self.has_etag.then(|| ETag::from_content(&body));
                let link = self.link.map(|link| [(LINK, link)]);
                (etag, link, json_answer(body)).into_response()
            }
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}
