//! The properties of methods in the standard (RFC 9110 9.2, 9.3; RFC 5789; RFC 10008).

/// The properties of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Properties {
    /// Safe: it only retrieves (RFC 9110 9.2.1).
    safe: bool,
    /// Idempotent: repeating a request has no further effect (RFC 9110 9.2.2). The second response
    /// may differ: a deleted resource is not found the second time.
    idempotent: bool,
    /// Cacheable: a cache may keep its responses (RFC 9110 9.2.3). Responses to POST and PATCH are
    /// cacheable only if they state a lifetime and a `Content-Location`; responses to QUERY only
    /// with the content of the request in the key (RFC 10008 2.7), so [`cache`](crate::cache) does
    /// not permit it.
    cacheable: bool,
}

/// The properties of a method by its case-sensitive name; `None` if the standard does not define
/// it.
const fn properties(method: &str) -> Option<Properties> {
    let (safe, idempotent, cacheable) = match method.as_bytes() {
        b"GET" | b"HEAD" | b"QUERY" => (true, true, true),
        b"OPTIONS" | b"TRACE" => (true, true, false),
        b"PUT" | b"DELETE" => (false, true, false),
        b"POST" | b"PATCH" => (false, false, true),
        b"CONNECT" => (false, false, false),
        _ => return None,
    };
    Some(Properties { safe, idempotent, cacheable })
}

/// The methods of targets that take all of them: the standard methods with a meaning for every
/// resource. HEAD follows from GET, and a server answers OPTIONS, TRACE and CONNECT itself.
pub const EVERY: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "QUERY"];

/// Whether a method is safe; unknown methods are not.
pub const fn is_safe(method: &str) -> bool {
    matches!(properties(method), Some(Properties { safe: true, .. }))
}

/// Whether a method is idempotent; unknown methods are not.
///
/// ```
/// use policy_core::method::{is_idempotent, is_safe};
///
/// assert!(is_idempotent("DELETE") && !is_safe("DELETE") && !is_idempotent("delete"));
/// ```
pub const fn is_idempotent(method: &str) -> bool {
    matches!(properties(method), Some(Properties { idempotent: true, .. }))
}

/// Whether a cache may keep responses to a method; not for unknown methods.
pub(crate) const fn is_cacheable(method: &str) -> bool {
    matches!(properties(method), Some(Properties { cacheable: true, .. }))
}

/// Whether the standard defines a method. A server responds to others with 501 (RFC 9110 15.6.2),
/// unless a route serves them.
pub const fn is_known(method: &str) -> bool {
    properties(method).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9110 18.2 (the registry) and 9.2.3, RFC 5789 2, RFC 10008 5.
    #[test]
    fn properties_match_the_registry() {
        let registry = [
            ("GET", true, true, true),
            ("HEAD", true, true, true),
            ("POST", false, false, true),
            ("PUT", false, true, false),
            ("DELETE", false, true, false),
            ("CONNECT", false, false, false),
            ("OPTIONS", true, true, false),
            ("TRACE", true, true, false),
            ("PATCH", false, false, true),
            ("QUERY", true, true, true),
        ];
        for (method, safe, idempotent, cacheable) in registry {
            assert_eq!(properties(method), Some(Properties { safe, idempotent, cacheable }));
            assert_eq!(is_safe(method), safe, "{method}");
            assert_eq!(is_idempotent(method), idempotent, "{method}");
            assert_eq!(is_cacheable(method), cacheable, "{method}");
        }
    }

    #[test]
    fn an_unknown_method_has_no_property() {
        for method in ["get", "query", "PURGE", "", "GET "] {
            assert!(!is_known(method) && !is_safe(method) && !is_idempotent(method));
            assert!(!is_cacheable(method), "{method}");
        }
    }
}
