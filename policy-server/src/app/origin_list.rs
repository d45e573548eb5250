//! Run-time lists of origins, as an app declares them.

#[cfg(feature = "config_file")]
use std::path::PathBuf;

use policy_core::cors::SharedOrigins;

use crate::store::stored_origins::StoredOrigins;

/// A run-time list of origins, which routes name by `origins = config("name")`. Pass it to
/// [`App::origins`](crate::App::origins). It is made from
///
/// - an array or a `Vec` of origins, which does not change;
/// - [`OriginList::env`], an environment variable, which is read at start;
/// - a [`SharedOrigins`], through which the list can be replaced while the app runs;
/// - a [`StoredOrigins`], which keeps it in a store, so that a change at one instance applies to all, and
///   survives a restart.
///
/// ```
/// use policy_server::{SharedOrigins, prelude::*};
///
/// #[get("/prices")]
/// #[cors(origins = config("partners", within = ["https://*.partner.example"]))]
/// #[auth(public)]
/// async fn prices() -> &'static str {
///     "prices"
/// }
///
/// let partners = SharedOrigins::new();
/// let client = App::new(()).origins("partners", &partners).routes(routes![prices]).test();
/// assert!(partners.replace(&["https://a.partner.example"]).is_ok());
/// // Outside of the bound: refused whole, and the list stays as it is.
/// assert!(partners.replace(&["https://evil.example"]).is_err());
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = client.get("/prices").origin("https://a.partner.example").send().await;
/// assert!(response.header("access-control-allow-origin").is_some());
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "a list is given to `App::origins`"]
pub struct OriginList {
    pub(crate) source: OriginSource,
    pub(crate) bound: Option<Texts>,
}

#[derive(Clone, Debug)]
pub(crate) enum OriginSource {
    Texts(Texts),
    Shared(SharedOrigins),
    Stored(StoredOrigins),
    /// All lists and bounds of a file, whose path is shown as the name.
    #[cfg(feature = "config_file")]
    File(PathBuf),
}

/// Origins or patterns that are read at start.
#[derive(Clone, Debug)]
pub(crate) enum Texts {
    Fixed(Vec<String>),
    /// Of this variable.
    Env(String),
}

impl OriginList {
    /// The origins in an environment variable, separated by commas or white space.
    pub fn env(variable: impl Into<String>) -> Self {
        OriginSource::Texts(Texts::Env(variable.into())).into()
    }

    /// States the bound of the list, for routes with `dangerous_configured_bound`: the domains on
    /// which customers install a product are unknown when it is compiled.
    ///
    /// **The author of the bound decides whose pages act with the cookies of their visitors**, for all
    /// origins that the list may contain; the compiler cannot check it. A notice at start reports this
    /// (`cors.bound-configured`). The rules are those of `within` in the attribute: with `credentials`,
    /// an app starts neither with `*`, nor with `http:`, nor with a wildcard over a public suffix.
    ///
    /// ```
    /// use policy_server::{OriginList, SharedOrigins, prelude::*};
    ///
    /// #[get("/me")]
    /// #[cors(origins = config("customer"), credentials, dangerous_configured_bound)]
    /// #[auth(public)]
    /// async fn me() {}
    ///
    /// let pages = SharedOrigins::new();
    /// let list = OriginList::from(&pages).within(["https://*.acme.example"]);
    /// let app = App::new(()).routes(routes![me]).origins("customer", list);
    /// assert!(app.check().is_ok());
    /// assert!(pages.replace(&["https://tasks.acme.example"]).is_ok());
    /// assert!(pages.replace(&["https://tasks.evil.example"]).is_err());
    /// ```
    pub fn within<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.bound = Some(Texts::fixed(patterns));
        self
    }

    /// Reads the [bound](Self::within) of the list from an environment variable, separated by commas
    /// or white space.
    pub fn within_env(mut self, variable: impl Into<String>) -> Self {
        self.bound = Some(Texts::Env(variable.into()));
        self
    }
}

impl Texts {
    fn fixed<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Fixed(texts.into_iter().map(Into::into).collect())
    }
}

impl From<OriginSource> for OriginList {
    fn from(source: OriginSource) -> Self {
        Self { source, bound: None }
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for OriginList {
    fn from(origins: [T; N]) -> Self {
        OriginSource::Texts(Texts::fixed(origins)).into()
    }
}

impl<T: Into<String>> From<Vec<T>> for OriginList {
    fn from(origins: Vec<T>) -> Self {
        OriginSource::Texts(Texts::fixed(origins)).into()
    }
}

impl From<&SharedOrigins> for OriginList {
    fn from(origins: &SharedOrigins) -> Self {
        OriginSource::Shared(origins.clone()).into()
    }
}

impl From<&StoredOrigins> for OriginList {
    fn from(origins: &StoredOrigins) -> Self {
        OriginSource::Stored(origins.clone()).into()
    }
}
