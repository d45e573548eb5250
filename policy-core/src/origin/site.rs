//! The site of an origin, by which browsers decide whether a request carries `SameSite` cookies.

use super::{HostPattern, OriginPattern, host::is_loopback, public_suffix::registrable_domain};

/// The site of an origin (HTML, "obtain a site"): its scheme and registrable domain, without port.
/// Each address, public suffix and loopback name is a separate site.
///
/// ```
/// use policy_core::origin::{OriginPattern, Site};
///
/// let own = Site::from_origin(&OriginPattern::parse("https://api.shop.example")?);
/// assert!(own.includes(&OriginPattern::parse("https://*.shop.example:8443")?));
/// assert!(!own.includes(&OriginPattern::parse("http://app.shop.example")?));
/// assert!(!own.includes(&OriginPattern::parse("https://shop.other.example")?));
/// # Ok::<_, policy_core::Rule>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    scheme: Box<str>,
    domain: Box<str>,
}

impl Site {
    /// The site of an origin; for a pattern, the site of its host.
    pub fn from_origin(origin: &OriginPattern<'_>) -> Self {
        Self { scheme: origin.scheme().into(), domain: registrable_domain(origin.host()).into() }
    }

    /// Whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(self.domain.as_bytes())
    }

    /// Whether every origin of the pattern is of this site.
    pub fn includes(&self, pattern: &OriginPattern<'_>) -> bool {
        let is_own = |host: &str| registrable_domain(host) == &*self.domain;
        // Below a public suffix each name is a separate site.
        *self.scheme == *pattern.scheme()
            && is_own(pattern.host())
            && (!pattern.is_wildcard() || is_own(&format!("www.{}", pattern.host())))
    }

    /// Whether an origin of the pattern is of this site.
    pub fn meets(&self, pattern: &OriginPattern<'_>) -> bool {
        let (own, host) = (&*self.domain, pattern.host());
        let above = own.strip_suffix(host).and_then(|above| above.strip_suffix('.'));
        let is_covered = || match (pattern.hosts(), above) {
            (HostPattern::One, _) | (_, None) => false,
            (HostPattern::Below, Some(_)) => true,
            (HostPattern::Label { prefix, suffix }, Some(label)) => {
                let middle = label.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
                middle.is_some_and(|middle| !middle.is_empty() && !middle.contains('.'))
            }
        };
        *self.scheme == *pattern.scheme() && (registrable_domain(host) == own || is_covered())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn includes(own: &str, pattern: &str) -> bool {
        let [own, pattern] = [own, pattern].map(|text| OriginPattern::parse(text).unwrap());
        Site::from_origin(&own).includes(&pattern)
    }

    fn meets(own: &str, pattern: &str) -> bool {
        let [own, pattern] = [own, pattern].map(|text| OriginPattern::parse(text).unwrap());
        Site::from_origin(&own).meets(&pattern)
    }

    #[test]
    fn a_site_is_scheme_and_registrable_domain() {
        for (own, other, expected) in [
            ("https://api.shop.example", "https://app.shop.example", true),
            ("https://api.shop.example", "https://shop.example:8443", true),
            ("https://api.shop.example", "https://*.shop.example", true),
            ("https://api.shop.example", "https://*.eu.shop.example:*", true),
            ("https://api.shop.example", "http://app.shop.example", false),
            ("https://api.shop.example", "https://*.example", false),
            ("https://api.shop.example", "https://evilshop.example", false),
            ("https://a.b.shop.co.uk", "https://shop.co.uk", true),
            ("https://a.shop.co.uk", "https://a.store.co.uk", false),
            ("https://alice.github.io", "https://bob.github.io", false),
            ("https://alice.github.io", "https://*.alice.github.io", true),
            ("https://github.io", "https://*.github.io", false),
            ("https://10.0.0.1", "https://10.0.0.1:8443", true),
            ("https://10.0.0.1", "https://10.0.0.2", false),
            ("https://[::1]", "https://[::1]:8443", true),
            ("https://localhost", "https://localhost:3000", true),
            ("https://localhost", "https://127.0.0.1", false),
            ("https://localhost", "https://app.localhost", false),
        ] {
            assert_eq!(includes(own, other), expected, "{own} {other}");
        }
    }

    /// Below `*.kawasaki.jp` every name is a public suffix.
    #[test]
    fn names_below_a_wildcard_rule_are_sites_of_their_own() {
        assert!(!includes("https://kawasaki.jp", "https://*.kawasaki.jp"));
    }

    #[test]
    fn a_pattern_intersects_the_sites_that_it_covers() {
        for (pattern, expected) in [
            ("https://*.example", true),
            ("https://*.shop.example", true),
            ("https://app.shop.example", true),
            ("http://*.example", false),
            ("https://*.other.example", false),
            ("https://*.le", false),
            ("https://s*-p.example", false),
            ("https://*-b.shop.example", true),
        ] {
            assert_eq!(meets("https://api.shop.example", pattern), expected, "{pattern}");
        }
    }

    /// The registrable domain of a name directly below a public suffix is the name itself.
    #[test]
    fn a_partial_label_covers_the_domains_with_its_ending() {
        for (own, expected) in [
            ("https://shop-1f-acme.vercel.app", true),
            ("https://api.shop-1f-acme.vercel.app", true),
            ("https://shop--acme.vercel.app", false),
            ("https://shop-acme.vercel.app", false),
            ("https://shop-1f-acme.github.io", false),
        ] {
            assert_eq!(meets(own, "https://shop-*-acme.vercel.app"), expected, "{own}");
            assert!(!includes(own, "https://shop-*-acme.vercel.app"), "{own}");
        }
        assert!(includes("https://api.shop.example", "https://pr-*-web.shop.example"));
    }
}
