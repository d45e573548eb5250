//! Conditional requests and ranges (RFC 9110 13, 14): whether a client has the answer already,
//! whether it changes what it saw, and which part of it is missing.
//!
//! A handler, or whoever answers for it, says what stands there now by [`Validators`];
//! [`Conditions`] are what the request says, in the order of RFC 9110 13.2.2. The conditions of
//! a request that changes something are asked before it does; those of one that reads may be
//! asked once its answer is there, and only where that is a success (RFC 9110 13.2.1).

mod conditions;
mod date;
mod etag;
mod not_modified;
mod range;

use http::{
    HeaderMap, HeaderName,
    header::{ETAG, LAST_MODIFIED},
};

pub use conditions::{Conditions, Verdict};
pub use date::LastModified;
pub use etag::ETag;
pub(crate) use not_modified::DIGESTS;
pub use not_modified::not_modified;
pub use range::{Range, is_one_range};

use crate::gate::Single;

/// What tells one state of a resource from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// The name of the state.
    pub etag: Option<ETag>,
    /// When it came to be.
    pub last_modified: Option<LastModified>,
}

impl Validators {
    /// Reads the fields of an answer. One that is malformed or repeated says nothing.
    ///
    /// ```
    /// use http::{HeaderMap, header::{ETAG, LAST_MODIFIED}};
    /// use policy_core::conditional::Validators;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert(ETAG, "\"v1\"".parse().unwrap());
    /// headers.insert(LAST_MODIFIED, "yesterday".parse().unwrap());
    /// let validators = Validators::of(&headers);
    /// assert!(validators.etag.is_some());
    /// assert_eq!(validators.last_modified, None);
    /// ```
    pub fn of(headers: &HeaderMap) -> Self {
        Self {
            etag: single(headers, &ETAG).and_then(ETag::parse),
            last_modified: single(headers, &LAST_MODIFIED).and_then(LastModified::parse),
        }
    }
}

/// The value of a field that stands there once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    match Single::of(headers, name) {
        Single::One(value) => Some(value.as_bytes()),
        Single::Absent | Single::Repeated => None,
    }
}
