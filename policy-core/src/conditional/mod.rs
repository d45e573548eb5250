//! Conditional requests and ranges (RFC 9110 13, 14): whether a client already has the response,
//! whether it changes the state that it saw, and which part of the content it wants.
//!
//! A handler, or a service that responds for it, describes the current state by [`Validators`];
//! [`Conditions`] are those of the request, in the order of RFC 9110 13.2.2. The conditions of a
//! state-changing request are evaluated before it runs; those of a read may be evaluated once its
//! response exists, and only if that is a success (RFC 9110 13.2.1).

mod coded;
mod conditions;
mod date;
mod etag;
mod not_modified;
mod range;

use http::{
    HeaderMap, HeaderName,
    header::{ETAG, LAST_MODIFIED},
};

pub use coded::weaken_coded;
pub use conditions::{Conditions, PreconditionVerdict};
pub use date::ModificationDate;
pub use etag::EntityTag;
pub use not_modified::not_modified;
pub use range::{Range, one_range};

use crate::head::Single;

/// The validators of one state of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// The name of the state.
    pub etag: Option<EntityTag>,
    /// When the state was last modified.
    pub last_modified: Option<ModificationDate>,
}

impl Validators {
    /// Reads the headers of a response. Malformed or repeated ones are ignored.
    ///
    /// ```
    /// use http::{HeaderMap, header::{ETAG, LAST_MODIFIED}};
    /// use policy_core::conditional::Validators;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert(ETAG, "\"v1\"".parse().unwrap());
    /// headers.insert(LAST_MODIFIED, "yesterday".parse().unwrap());
    /// let validators = Validators::read(&headers);
    /// assert!(validators.etag.is_some());
    /// assert_eq!(validators.last_modified, None);
    /// ```
    pub fn read(headers: &HeaderMap) -> Self {
        Self {
            etag: single(headers, &ETAG).and_then(EntityTag::parse),
            last_modified: single(headers, &LAST_MODIFIED).and_then(ModificationDate::parse),
        }
    }
}

/// The value of a field that occurs once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    match Single::read(headers, name) {
        Single::One(value) => Some(value.as_bytes()),
        Single::Absent | Single::Repeated => None,
    }
}
