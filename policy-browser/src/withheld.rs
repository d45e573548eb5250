//! The cookies that a request or a response could have, and that the browser keeps out of it: the
//! first thing to check if a login seems to be lost.

use std::fmt;

use crate::{Credentials, SameSite, ThirdParty};

/// A cookie that a browser did not send, or did not store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithheldCookie {
    /// Its name; invalid UTF-8 is replaced.
    pub name: String,
    /// Whether it was in a response and is not stored. Otherwise it is stored and was not sent.
    pub is_new: bool,
    /// The reason.
    pub reason: Withheld,
}

/// Why a browser does not send or store a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Withheld {
    /// By its `SameSite`, which is `Lax` where the browser takes that as the default: the page is of
    /// another site.
    SameSite(SameSite),
    /// By the setting for third-party cookies.
    ThirdParty(ThirdParty),
    /// It is partitioned, and the page is below another site than the one that got it.
    Partition,
    /// By the credentials mode of the load.
    Credentials(Credentials),
}

impl WithheldCookie {
    pub(crate) fn new(name: &[u8], is_new: bool, reason: Withheld) -> Self {
        Self { name: String::from_utf8_lossy(name).into_owned(), is_new, reason }
    }
}

/// As in the console of a browser.
impl fmt::Display for WithheldCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, is_new, reason } = self;
        let what = if *is_new { "not stored" } else { "withheld" };
        write!(f, "cookie {what}: {reason} (`{}`)", name.escape_debug())
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameSite(SameSite::Strict) => "SameSite=Strict, cross-site",
            Self::SameSite(_) => "SameSite=Lax, cross-site",
            Self::ThirdParty(ThirdParty::Partitioned) => {
                "third-party cookies are partitioned, cross-site"
            }
            Self::ThirdParty(_) => "third-party cookies are blocked, cross-site",
            Self::Partition => "partitioned, below another site",
            Self::Credentials(Credentials::Omit) => "the fetch says `credentials: \"omit\"`",
            Self::Credentials(_) => {
                "the fetch is cross-origin and does not say `credentials: \"include\"`"
            }
        })
    }
}
