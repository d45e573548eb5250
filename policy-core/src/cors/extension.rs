//! Header names that a route adds to the nearest policy.

use super::spec::{CorsSpec, Origins};

/// Header names that a route adds to the nearest CORS policy of its group or app. Origins, methods
/// and credentials are always those of the policy.
///
/// ```
/// use policy_core::cors::{Cors, CorsExtension, CorsPolicy, OriginLists};
///
/// const PAGES: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"])
///     .headers(&["x-shop"])
///     .build();
/// let tracing = CorsExtension { headers: &["traceparent", "baggage"], expose: &[] };
///
/// let cors = Cors::new("GET /orders", &PAGES, &OriginLists::new())?.extended(&tracing);
/// let preflight = cors.preflight(&[http::Method::GET], &[]);
/// # let origin = http::HeaderValue::from_static("https://app.shop.example");
/// # let get = http::HeaderValue::from_static("GET");
/// # use policy_core::head::Single::One;
/// let (_, headers) = preflight.answer(&cors, One(&origin), One(&get)).unwrap();
/// assert_eq!(headers["access-control-allow-headers"], "baggage,traceparent,x-shop");
/// # Ok::<(), policy_core::cors::PolicyErrors>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CorsExtension<'a> {
    /// Request headers that a preflight allows beyond those of the policy.
    pub headers: &'a [&'a str],
    /// Response headers that a page may read beyond those of the policy.
    pub expose: &'a [&'a str],
}

impl<'a> CorsExtension<'a> {
    /// No names.
    pub const NONE: Self = Self { headers: &[], expose: &[] };

    /// Whether it has no names.
    pub const fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.expose.is_empty()
    }

    /// A spec with these names, to check them with. It has credentials, since the extended policy
    /// may have them, and `*` is not a wildcard with credentials (Fetch, CORS protocol and
    /// credentials).
    pub const fn spec(&self) -> CorsSpec<'a> {
        let origins = Origins::Listed(&["https://extended.example"]);
        CorsSpec {
            credentials: true,
            headers: self.headers,
            expose: self.expose,
            ..CorsSpec::new(origins)
        }
    }
}
