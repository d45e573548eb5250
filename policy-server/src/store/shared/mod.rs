//! What the stores that instances share have in common: PostgreSQL and Redis.

pub(super) mod circuit;
pub(super) mod loads;
pub(super) mod notification;
pub(super) mod outcome;
pub(super) mod revocation;

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
