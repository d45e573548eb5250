//! What the stores that instances share have in common: PostgreSQL and Redis.

pub(super) mod circuit;
pub(super) mod loads;
pub(super) mod notification;
pub(super) mod outcome;
pub(super) mod revocation;

/// The parameters of a URL, decoded. A `+` is no space: in URLs of databases it is a literal character, and passwords and
/// paths contain it. Only forms write a space as `+`.
pub(super) fn url_parameters(query: &str) -> Vec<(String, String)> {
    let literal = query.replace('+', "%2B");
    form_urlencoded::parse(literal.as_bytes()).into_owned().collect()
}

/// Makes a store of its URL, which is not printed: it contains a password.
macro_rules! opened_by_url {
    ($store:ident) => {
        impl From<&str> for $store {
            fn from(url: &str) -> Self {
                Self::new(url)
            }
        }

        impl From<String> for $store {
            fn from(url: String) -> Self {
                Self::new(url)
            }
        }

        impl std::fmt::Debug for $store {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($store))
            }
        }
    };
}

pub(super) use opened_by_url;
