//! Errors of cookies.

use std::fmt;

/// Why a cookie is neither read nor written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CookieError {
    /// The `Cookie` fields of a request are too long.
    RequestTooLarge,
    /// A request has the name more than once, with different values.
    Ambiguous,
    /// The name is not a token (RFC 9110 5.6.2).
    Name,
    /// The value has an octet that cookies cannot carry (RFC 6265 4.1.1).
    Value,
    /// Name and value have more than 4096 bytes.
    TooLarge,
    /// The path does not begin with `/`, or cannot be the value of an attribute.
    Path,
    /// The domain is not a name of at least two lower-case labels, or does not cover the public
    /// origin.
    Domain,
    /// The lifetime is over 400 days.
    MaxAge,
    /// The name begins with a prefix of cookie names in another case.
    PrefixCase,
    /// `__Secure-` without `Secure`.
    PrefixSecure,
    /// `__Host-` without `Secure` and `Path=/`, or with a domain.
    PrefixHost,
    /// `__Http-` or `__Host-Http-` without `Secure` and `HttpOnly`.
    PrefixHttp,
    /// `SameSite=None` without `Secure`.
    SameSiteNoneInsecure,
    /// `Partitioned` without `Secure`.
    PartitionedInsecure,
    /// No key has signed this cookie for this name and context.
    Signature,
    /// A signed cookie has expired.
    Expired,
}

impl fmt::Display for CookieError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RequestTooLarge => "the cookies of a request have at most 16 KiB",
            Self::Ambiguous => "the request has this cookie more than once, with different values",
            Self::Name => "the name of a cookie is a token: letters, digits and ``!#$%&'*+-.^_`|~``",
            Self::Value => {
                "the value of a cookie has no spaces, controls, quotes, commas, semicolons, backslashes or characters outside of ASCII; encode it first"
            }
            Self::TooLarge => "name and value of a cookie have at most 4096 bytes",
            Self::Path => {
                "the path of a cookie begins with `/` and has at most 1024 bytes of ASCII without controls and `;`"
            }
            Self::Domain => {
                "the domain of a cookie is the host of the public origin or above it, in lower case, below a public suffix, without dot in front, port or IP address"
            }
            Self::MaxAge => "no browser keeps a cookie longer than 400 days",
            Self::PrefixCase => {
                "browsers take this name for one of `__Secure-`, `__Host-`, `__Http-` and `__Host-Http-`; write the prefix in its own case"
            }
            Self::PrefixSecure => "a cookie `__Secure-` is `Secure`",
            Self::PrefixHost => "a cookie `__Host-` is `Secure`, has `Path=/` and no domain",
            Self::PrefixHttp => "a cookie `__Http-` is `Secure` and `HttpOnly`",
            Self::SameSiteNoneInsecure => "a cookie with `SameSite=None` is `Secure`",
            Self::PartitionedInsecure => "a `Partitioned` cookie is `Secure`",
            Self::Signature => "the cookie was not signed here, or was changed since",
            Self::Expired => "the signed cookie is past its time",
        })
    }
}

impl std::error::Error for CookieError {}
