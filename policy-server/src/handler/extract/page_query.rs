//! The page of a list that a client requests.

use axum_core::extract::FromRequestParts;
use base64ct::{Base64UrlUnpadded, Encoding};
use form_urlencoded::Serializer;
use http::request::Parts;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::content::{QueryRejection, parse_query};
use crate::{base::problem::Problem, handler::response::Page};

/// The number of rows of a page if the client requests no limit.
const USUAL_LIMIT: usize = 20;

const CURSOR: &str = "cursor";

/// The page of a list that a client requests: `?limit=20&cursor=..`.
///
/// `C` is the position at which a page begins, such as the id of the last row of the previous page, or
/// a tuple of the sort key and an id. Clients see it as an opaque text, and get it from the previous
/// page. A page that begins at a row, and not at an offset, repeats and misses nothing when rows are
/// inserted or deleted.
///
/// `MAX` is the maximum number of rows: a larger `limit` is reduced to it. Without a `limit`, a page
/// has 20.
///
/// ```
/// use policy_server::{extract::PageQuery, prelude::*, response::Page};
///
/// /// Stands for `SELECT id FROM orders WHERE id > $1 ORDER BY id LIMIT $2`.
/// fn orders_after(id: u64, limit: usize) -> Vec<u64> {
///     (id + 1..=45).take(limit).collect()
/// }
///
/// #[get("/orders")]
/// #[auth(public)]
/// async fn orders(page: PageQuery<u64>) -> Result<Page<u64>, Problem> {
///     let rows = orders_after(*page.cursor().unwrap_or(&0), page.rows_to_fetch());
///     page.paginate(rows, |order| *order)
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![orders]).test();
/// let first = client.get("/orders?limit=40").send().await;
/// assert_eq!(first.header("link"), Some("<?limit=40&cursor=NDA>; rel=\"next\""));
/// assert!(first.text().ends_with(",39,40],\"next\":\"NDA\"}"));
/// let last = client.get("/orders?limit=40&cursor=NDA").send().await;
/// assert_eq!(last.text(), "{\"items\":[41,42,43,44,45],\"next\":null}");
/// # });
/// ```
///
/// A cursor is neither secret nor signed: a client can read it, and can create one. Put nothing into it
/// that a client must not see, and decide by the route and its [`Principal`](crate::Principal) who may
/// see which row, not by the cursor.
///
/// 400 `request.query-invalid`: the limit is zero or not a number, or the cursor is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery<C, const MAX: usize = 100> {
    limit: usize,
    cursor: Option<C>,
    /// The query without its cursor, encoded again: the text of the client is not repeated.
    others: String,
}

#[derive(Deserialize)]
struct Fields {
    limit: Option<usize>,
    cursor: Option<String>,
}

impl<C, const MAX: usize> PageQuery<C, MAX> {
    /// The maximum number of rows of the page.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The number of rows to fetch for [`paginate`](Self::paginate): one more than the page may
    /// have, to find out whether there is a next page.
    pub fn rows_to_fetch(&self) -> usize {
        self.limit.saturating_add(1)
    }

    /// The position at which the page begins; `None` for the first page.
    pub fn cursor(&self) -> Option<&C> {
        self.cursor.as_ref()
    }

    /// Returns the page of these rows. If there are more than its [limit](Self::limit), the others
    /// are omitted, and the next page begins at the `cursor` of the last row.
    ///
    /// # Errors
    ///
    /// 500: the cursor cannot be written as JSON.
    pub fn paginate<T>(
        &self,
        mut rows: Vec<T>,
        cursor: impl FnOnce(&T) -> C,
    ) -> Result<Page<T>, Problem>
    where
        C: Serialize,
    {
        let is_last = rows.len() <= self.limit;
        rows.truncate(self.limit);
        let next = match rows.last().filter(|_| !is_last) {
            Some(row) => {
                let cursor = serde_json::to_vec(&cursor(row)).map_err(Problem::internal)?;
                Some(Base64UrlUnpadded::encode_string(&cursor))
            }
            None => None,
        };
        Ok(Page::new(rows, next, &self.others))
    }
}

impl<C, S, const MAX: usize> FromRequestParts<S> for PageQuery<C, MAX>
where
    C: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, QueryRejection> {
        const { assert!(MAX > 0, "a page has at least one row") };
        let Fields { limit, cursor } = parse_query(&parts.uri)?;
        let limit = match limit {
            Some(0) => return Err(QueryRejection::at("limit", "must be at least 1")),
            limit => limit.unwrap_or(USUAL_LIMIT).min(MAX),
        };
        let cursor = match cursor {
            Some(text) => {
                Some(read(&text).ok_or(QueryRejection::at(CURSOR, "this is not a cursor"))?)
            }
            None => None,
        };
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let others = form_urlencoded::parse(query).filter(|(name, _)| name != CURSOR);
        let others = Serializer::new(String::new()).extend_pairs(others).finish();
        Ok(Self { limit, cursor, others })
    }
}

fn read<C: DeserializeOwned>(text: &str) -> Option<C> {
    serde_json::from_slice(&Base64UrlUnpadded::decode_vec(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    type Place = (String, u32);

    async fn query(query: &str) -> Result<PageQuery<Place, 50>, String> {
        let (mut parts, ()) = Request::get(format!("/rows?{query}")).body(()).unwrap().into_parts();
        let read = PageQuery::from_request_parts(&mut parts, &()).await;
        read.map_err(|rejection: QueryRejection| rejection.mismatch().to_string())
    }

    #[tokio::test]
    async fn limits_are_bounded() {
        for (input, limit) in [
            ("", 20),
            ("cursor=", 20),
            ("limit=1", 1),
            ("limit=50", 50),
            ("limit=51", 50),
            ("limit=999999", 50),
        ] {
            assert_eq!(query(input).await.unwrap().limit(), limit, "{input}");
        }
        for (input, problem) in [
            ("limit=0", "`limit`: must be at least 1"),
            ("limit=-1", "`limit`: invalid digit found in string"),
            ("limit=1&limit=2", "`limit`: occurs more than once"),
            ("cursor=NDA", "`cursor`: this is not a cursor"),
            ("cursor=NDA%3D", "`cursor`: this is not a cursor"),
        ] {
            assert_eq!(query(input).await, Err(problem.to_owned()), "{input}");
        }
    }

    #[tokio::test]
    async fn the_next_page_begins_where_this_one_ends() {
        let mut rows: Vec<Place> = (0..60).map(|id| (format!("n{}", id / 7), id)).collect();
        rows.sort();
        let after = |place: Option<&Place>, count: usize| -> Vec<Place> {
            rows.iter()
                .filter(|row| place.is_none_or(|place| *row > place))
                .take(count)
                .cloned()
                .collect()
        };
        let (mut seen, mut pages, mut next_query) = (Vec::new(), 0, "limit=25".to_owned());
        while !next_query.is_empty() {
            let page = query(&next_query).await.unwrap();
            let found = after(page.cursor(), page.rows_to_fetch());
            let page = page.paginate(found, Place::clone).unwrap();
            seen.extend_from_slice(page.items());
            next_query =
                page.next().map_or(String::new(), |next| format!("limit=25&cursor={next}"));
            pages += 1;
        }
        assert_eq!(pages, 3);
        assert_eq!(seen, rows);
    }

    #[tokio::test]
    async fn the_rest_of_the_query_is_kept_and_normalized() {
        let input = "a=%3Cb%3E&%63ursor=WyJhIiwxXQ&c=d%0d%0ae&limit=2&f";
        let page = query(input).await.unwrap();
        assert_eq!(page.cursor(), Some(&("a".to_owned(), 1)));
        assert_eq!(page.others, "a=%3Cb%3E&c=d%0D%0Ae&limit=2&f=");
    }
}
