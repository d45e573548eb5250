//! Signed tokens: JSON Web Tokens in the compact form (RFC 7515, RFC 7519).
