//! What policies need of the Fetch standard: the methods without a preflight, and the token
//! grammar. Written from the standards, without the product's code.

/// Fetch, 2.2.1: methods that need no preflight.
pub const SAFELISTED_METHODS: [&str; 3] = ["GET", "HEAD", "POST"];

/// RFC 9110 5.6.2.
pub fn is_token(text: &str) -> bool {
    const SIGNS: &str = "!#$%&'*+-.^_`|~";
    let valid = |sign: char| sign.is_ascii_alphanumeric() || SIGNS.contains(sign);
    !text.is_empty() && text.chars().all(valid)
}
