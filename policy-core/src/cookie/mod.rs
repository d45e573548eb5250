//! Cookies: read, written and signed (RFC 6265bis).
