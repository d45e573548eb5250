//! Origins near a pattern: those that it matches, and those that only look like them.

/// An origin that `pattern` matches, followed by origins that differ from it in one thing: mostly
/// near misses. All of them are valid values of an `Origin` header; browsers send few of them.
///
/// ```
/// use policy_core::testing::origins_near;
///
/// let near: Vec<_> = origins_near("https://*.shop.example").collect();
/// assert_eq!(near[0], b"https://x.shop.example");
/// assert!(near.contains(&b"https://evilx.shop.example".to_vec()));
/// assert!(near.contains(&b"https://evilshop.example".to_vec()));
/// ```
pub fn origins_near(pattern: &str) -> impl Iterator<Item = Vec<u8>> {
    (0..VARIATIONS.len()).map(move |variation| near(pattern, variation))
}

/// One of the variations, by its number.
pub(super) fn near(pattern: &str, variation: usize) -> Vec<u8> {
    let concrete = pattern.replace("*.", "x.").replace("*-", "x-").replace(":*", ":8443");
    let (scheme, rest) = concrete.split_once("://").unwrap_or(("https", &concrete));
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, format!(":{port}")),
        _ => (rest, String::new()),
    };
    let vary = VARIATIONS.get(variation).copied().unwrap_or(exact);
    vary(&Concrete { pattern, scheme, host, port: &port })
}

pub(super) struct Concrete<'a> {
    pattern: &'a str,
    scheme: &'a str,
    host: &'a str,
    port: &'a str,
}

impl Concrete<'_> {
    fn with_host(&self, host: &str) -> Vec<u8> {
        format!("{}://{host}{}", self.scheme, self.port).into()
    }

    fn with_port(&self, port: &str) -> Vec<u8> {
        format!("{}://{}{port}", self.scheme, self.host).into()
    }

    fn with_scheme(&self, scheme: &str) -> Vec<u8> {
        format!("{scheme}://{}{}", self.host, self.port).into()
    }

    /// The origin, padded with one label to a host of this length.
    fn as_long_as(&self, len: usize) -> Vec<u8> {
        let label = "l".repeat(len.saturating_sub(self.host.len()));
        self.with_host(&format!("{label}.{}", self.host))
    }
}

fn exact(origin: &Concrete<'_>) -> Vec<u8> {
    origin.with_host(origin.host)
}

/// The first is the origin itself; those after it are near misses, and some hits.
pub(super) const VARIATIONS: [fn(&Concrete<'_>) -> Vec<u8>; 43] = [
    exact,
    |origin| origin.with_host(&format!("y.{}", origin.host)),
    |origin| origin.with_host(&format!("y.{}", origin.host).replace("y.x.", "z.y.x.")),
    |origin| origin.with_host(origin.host.strip_prefix("x.").unwrap_or("b.test")),
    |origin| origin.with_host(origin.host.split_once('.').map_or("test", |(_, below)| below)),
    |origin| origin.with_host(&origin.host.replacen("x.", "evil", 1)),
    |origin| origin.with_host(&format!("evil{}", origin.host)),
    |origin| origin.with_host(&format!("{}.evil.test", origin.host)),
    |origin| origin.with_host(&format!("{}evil", origin.host)),
    |origin| origin.with_host(&format!(".{}", origin.host)),
    |origin| origin.with_host(&origin.host.replacen("x.", ".", 1)),
    |origin| origin.with_host(&origin.host.replacen('.', "..", 1)),
    // A label with fixed parts: nothing for the `*`, a dot, more characters, and other fixed parts.
    |origin| origin.with_host(&origin.host.replacen("x-", "-", 1)),
    |origin| origin.with_host(&origin.host.replacen("x-", "x.y-", 1)),
    |origin| origin.with_host(&origin.host.replacen("x-", "y-x_z-", 1)),
    |origin| origin.with_host(&origin.host.replacen('.', "-evil.", 1)),
    |origin| origin.with_host(&origin.host.replacen('-', "", 1)),
    // Another character in place of a dot, which a regular expression would match.
    |origin| origin.with_host(&origin.host.replacen('.', "-", 1)),
    |origin| origin.with_host(&format!("{}.", origin.host)),
    |origin| origin.with_host(&origin.host.to_uppercase()),
    |origin| origin.with_host(&format!("evil.test?.{}", origin.host)),
    |origin| origin.with_host(&format!("{}@evil.test", origin.host)),
    |origin| origin.with_host(&format!("evil.test\\.{}", origin.host)),
    |origin| origin.with_host(&format!("ä.{}", origin.host)),
    // Around the maximum length of an origin.
    |origin| origin.as_long_as(310),
    |origin| origin.as_long_as(330),
    |origin| origin.with_scheme("http"),
    |origin| origin.with_scheme("https"),
    |origin| origin.with_scheme("HTTPS"),
    |origin| origin.with_port(""),
    |origin| origin.with_port(":443"),
    |origin| origin.with_port(":1"),
    |origin| origin.with_port(":0"),
    |origin| origin.with_port(":65536"),
    |origin| origin.with_port(":08443"),
    |origin| origin.with_port("/"),
    |origin| [exact(origin), b", ".to_vec(), exact(origin)].concat(),
    |origin| [b" ".to_vec(), exact(origin)].concat(),
    |origin| origin.pattern.into(),
    |_| b"null".to_vec(),
    |_| b"*".to_vec(),
    |_| Vec::new(),
    |_| b"https://\xe4.test".to_vec(),
];
