//! Origins that are near a pattern: the ones it stands for, and those that only look so.

/// An origin that a pattern stands for, with one thing changed.
pub(crate) fn near(pattern: impl AsRef<str>, variation: usize) -> Vec<u8> {
    let pattern = pattern.as_ref();
    let concrete = pattern.replace("*.", "x.").replace(":*", ":8443");
    let (scheme, rest) = concrete.split_once("://").unwrap_or(("https", &concrete));
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, format!(":{port}")),
        _ => (rest, String::new()),
    };
    let vary = VARIATIONS.get(variation).copied().unwrap_or(exact);
    vary(&Concrete { pattern, scheme, host, port: &port })
}

pub(crate) struct Concrete<'a> {
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
}

fn exact(origin: &Concrete<'_>) -> Vec<u8> {
    origin.with_host(origin.host)
}

/// The first is the origin itself; those after it are near misses, and some hits.
pub(crate) const VARIATIONS: [fn(&Concrete<'_>) -> Vec<u8>; 37] = [
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
    |origin| origin.with_host(&format!("{}.", origin.host)),
    |origin| origin.with_host(&origin.host.to_uppercase()),
    |origin| origin.with_host(&format!("evil.test?.{}", origin.host)),
    |origin| origin.with_host(&format!("{}@evil.test", origin.host)),
    |origin| origin.with_host(&format!("evil.test\\.{}", origin.host)),
    |origin| origin.with_host(&format!("ä.{}", origin.host)),
    // Around the longest origin that is one.
    |origin| origin.with_host(&format!("{}.{}", "l".repeat(310 - origin.host.len()), origin.host)),
    |origin| origin.with_host(&format!("{}.{}", "l".repeat(330 - origin.host.len()), origin.host)),
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
