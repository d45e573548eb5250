//! Which part of a query a trace may contain.

/// Parts of the names of parameters that carry credentials.
const PARTS: [&str; 12] = [
    "accesskey",
    "access_key",
    "api-key",
    "api_key",
    "apikey",
    "credential",
    "jwt",
    "passw",
    "secret",
    "signature",
    "ticket",
    "token",
];

/// Other names of such parameters, too short to be searched for within a name.
const NAMES: [&str; 13] = [
    "auth",
    "authorization",
    "code",
    "hmac",
    "key",
    "otp",
    "pass",
    "pin",
    "pwd",
    "session",
    "sid",
    "sig",
    "state",
];

/// Whether a parameter of this name carries a credential: a ticket or token, a signature of a
/// presigned address, a code or state of OAuth 2. Compared without case.
///
/// ```
/// use policy_core::trace::is_credential_parameter;
///
/// assert!(is_credential_parameter("ticket") && is_credential_parameter("X-Amz-Signature"));
/// assert!(!is_credential_parameter("page") && !is_credential_parameter("author"));
/// ```
pub fn is_credential_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&&*name) || PARTS.iter().any(|part| name.contains(part))
}

/// The parameters of a query that have one of these names, as they were sent; `None` without any.
/// Names are compared by bytes, so that one with percent codes is left out.
///
/// ```
/// use policy_core::trace::recorded_query;
///
/// let names = ["page", "sort"];
/// assert_eq!(recorded_query("page=2&ticket=s3cr3t&sort=a", &names).as_deref(), Some("page=2&sort=a"));
/// assert_eq!(recorded_query("s3cr3t", &names), None);
/// ```
pub fn recorded_query<N: AsRef<str>>(query: &str, names: &[N]) -> Option<String> {
    let is_named = |parameter: &&str| {
        let name = parameter.split_once('=').map_or(*parameter, |(name, _value)| name);
        names.iter().any(|one| one.as_ref() == name)
    };
    let kept: Vec<_> = query.split('&').filter(is_named).collect();
    (!kept.is_empty()).then(|| kept.join("&"))
}
