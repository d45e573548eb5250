//! What the other attributes and the arguments of a handler say, where a policy has to agree.

use crate::args::{
    auth::AuthArgs, cache::CacheArgs, cors::CorsArgs, csrf::CsrfArgs, headers::HeadersArgs,
    jsonp::JsonpArgs, limit::LimitArgs,
};
use syn::{Ident, LitStr};

/// Everything that stands on one handler, read.
pub(crate) struct Surroundings<'a> {
    /// The name of the handler.
    pub(crate) handler: &'a Ident,
    /// Method and path of each route.
    pub(crate) routes: &'a [(String, LitStr)],
    pub(crate) cors: Option<&'a CorsArgs>,
    /// Nothing after an error.
    pub(crate) auth: Option<&'a AuthArgs>,
    pub(crate) csrf: Option<&'a CsrfArgs>,
    pub(crate) cache: Option<&'a CacheArgs>,
    pub(crate) jsonp: Option<&'a JsonpArgs>,
    pub(crate) limit: Option<&'a LimitArgs>,
    pub(crate) headers: Option<&'a HeadersArgs>,
    /// Whether an argument is a `Session` or the `Sessions`.
    pub(crate) takes_session: bool,
}
