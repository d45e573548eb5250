//! The rules about security fields, for attributes, constants and the start.

use super::{
    csp::{self, Directive, Name},
    permissions,
    spec::{Frame, HeadersPart, HeadersSpec},
};
use crate::{
    catalogue::Rule,
    grammar::{any, entry, eq, names_contain},
    origin::OriginPattern,
    validator::validator,
};

validator!(HeadersSpec, HeadersPart);

impl<'a> HeadersSpec<'a> {
    /// The number of checks of a part.
    const fn slots(&self, part: HeadersPart) -> usize {
        match (part, self.frame) {
            (HeadersPart::Csp, _) => match self.csp {
                None => 0,
                Some([]) => 1,
                Some(csp) => csp::slots(csp),
            },
            (HeadersPart::Permissions, _) => self.permissions.len(),
            // An empty list is checked as a whole, and so is a list next to a directive.
            (HeadersPart::Frame, Some(Frame::Listed(origins))) => origins.len() + 1,
            _ => 1,
        }
    }

    const fn value(&self, part: HeadersPart, index: usize) -> &'a str {
        match (part, self.frame) {
            (HeadersPart::Csp, _) => csp::text(self.directives(), index),
            (HeadersPart::Permissions, _) => entry(self.permissions, index),
            (HeadersPart::Frame, Some(Frame::Listed(origins))) => entry(origins, index),
            (HeadersPart::Referrer, _) => text(self.referrer),
            (HeadersPart::Coop, _) => text(self.coop),
            (HeadersPart::Coep, _) => text(self.coep),
            (HeadersPart::Corp, _) => text(self.corp),
            _ => "",
        }
    }

    const fn directives(&self) -> &'a [Directive<'a>] {
        match self.csp {
            Some(csp) => csp,
            None => &[],
        }
    }

    const fn check(&self, part: HeadersPart, index: usize) -> Option<Rule> {
        match part {
            HeadersPart::Csp => match self.directives() {
                [] => Some(Rule::CspEmpty),
                csp => csp::check(csp, index),
            },
            HeadersPart::Frame => self.check_frame(index),
            HeadersPart::Referrer => check_referrer(self.referrer),
            HeadersPart::Permissions => permissions::check(self.permissions, index),
            HeadersPart::Coop => one_of(self.coop, &COOP, Rule::CoopUnknown),
            HeadersPart::Coep => one_of(self.coep, &COEP, Rule::CoepUnknown),
            HeadersPart::Corp => self.check_corp(),
            HeadersPart::Hsts => match self.hsts {
                None | Some(0..=MOST_SECONDS) => None,
                Some(_) => Some(Rule::HstsOutOfBounds),
            },
            HeadersPart::Preload if self.preload => self.check_preload(),
            HeadersPart::IncludeSubdomains | HeadersPart::Preload => None,
        }
    }

    const fn check_frame(&self, index: usize) -> Option<Rule> {
        match self.frame {
            None => None,
            Some(Frame::Listed([])) => Some(Rule::FrameEmpty),
            Some(Frame::Listed(origins)) if index < origins.len() => {
                let text = entry(origins, index);
                match OriginPattern::parse(text) {
                    // It becomes a source of `frame-ancestors`, which some patterns cannot be.
                    Ok(_) if !csp::is_host(text) => Some(Rule::CspSourceInvalid),
                    Ok(_) => None,
                    Err(rule) => Some(rule),
                }
            }
            Some(_) if csp::has(self.directives(), Name::FrameAncestors) => Some(Rule::FrameTwice),
            Some(_) => None,
        }
    }

    /// Browsers check this field for loads without CORS only (Fetch, HTTP fetch), so it contradicts no
    /// CORS policy.
    const fn check_corp(&self) -> Option<Rule> {
        match self.corp {
            Some(corp) if self.route.has_jsonp && !eq(corp.as_bytes(), b"cross-origin") => {
                match one_of(self.corp, &CORP, Rule::CorpUnknown) {
                    None => Some(Rule::CorpOfShared),
                    unknown => unknown,
                }
            }
            corp => one_of(corp, &CORP, Rule::CorpUnknown),
        }
    }

    /// The requirements of browser preload lists (hstspreload.org).
    const fn check_preload(&self) -> Option<Rule> {
        match self.hsts {
            None | Some(YEAR..) if self.include_subdomains => None,
            _ => Some(Rule::HstsPreload),
        }
    }
}

const YEAR: i64 = 365 * 24 * 60 * 60;
/// The maximum number of seconds that browsers count.
const MOST_SECONDS: i64 = i32::MAX as i64;

/// HTML 7.1.3
const COOP: [&str; 4] =
    ["same-origin", "same-origin-allow-popups", "noopener-allow-popups", "unsafe-none"];
/// HTML 7.1.4
const COEP: [&str; 3] = ["require-corp", "credentialless", "unsafe-none"];
/// Fetch 3.7
const CORP: [&str; 3] = ["same-origin", "same-site", "cross-origin"];
/// Referrer Policy 3, without the empty value.
const REFERRER: [&str; 8] = [
    "no-referrer",
    "no-referrer-when-downgrade",
    "same-origin",
    "origin",
    "strict-origin",
    "origin-when-cross-origin",
    "strict-origin-when-cross-origin",
    "unsafe-url",
];

const fn check_referrer(referrer: Option<&str>) -> Option<Rule> {
    match referrer {
        Some(referrer) if eq(referrer.as_bytes(), b"unsafe-url") => Some(Rule::ReferrerWhole),
        referrer => one_of(referrer, &REFERRER, Rule::ReferrerUnknown),
    }
}

const fn one_of(text: Option<&str>, known: &[&str], otherwise: Rule) -> Option<Rule> {
    let Some(text) = text else { return None };
    let bytes = text.as_bytes();
    // Browsers compare the values of some of these fields byte for byte.
    let has_upper_case = any!(bytes, byte => byte.is_ascii_uppercase());
    if !has_upper_case && names_contain(known, bytes) { None } else { Some(otherwise) }
}

const fn text(text: Option<&str>) -> &str {
    match text {
        Some(text) => text,
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facet::RouteFacts,
        headers::{HeadersPolicy, csp::Source},
    };

    const SCRIPT: RouteFacts<'static> = RouteFacts { has_jsonp: true, ..RouteFacts::UNKNOWN };

    fn rules(spec: HeadersSpec<'_>) -> Vec<(Rule, String)> {
        let found = spec.violations().map(|found| (found.rule, found.value.to_owned()));
        found.collect()
    }

    fn csp_rules(text: &str) -> Vec<(Rule, String)> {
        let parsed = csp::parse(text);
        let of_text = parsed.violations.iter().map(|(rule, word)| (*rule, (*word).to_owned()));
        let mut found: Vec<_> = of_text.collect();
        let csp = Some(&*parsed.borrowed());
        found.extend(rules(HeadersSpec { csp, ..HeadersSpec::NOTHING }));
        found
    }

    #[test]
    fn presets_break_no_rule() {
        for policy in [HeadersPolicy::DEFAULT, HeadersPolicy::API, HeadersPolicy::PAGES] {
            assert_eq!(rules(*policy.spec()), []);
        }
    }

    #[test]
    fn a_good_policy_for_contents_breaks_no_rule() {
        let digest = "A".repeat(43);
        for text in [
            "default-src 'self'; script-src 'self' 'nonce'",
            "script-src 'strict-dynamic' 'nonce' https: 'unsafe-inline'",
            &format!("script-src 'strict-dynamic' 'sha256-{digest}='"),
            "default-src *; script-src 'self'",
            "sandbox; upgrade-insecure-requests",
            "sandbox allow-scripts allow-forms; report-to csp",
            "trusted-types; require-trusted-types-for 'script'",
            "trusted-types one two 'allow-duplicates'; report-uri /csp https://r.example/a?b",
            "img-src * data:;; font-src https://fonts.example;",
        ] {
            assert_eq!(csp_rules(text), [], "{text}");
        }
    }

    #[test]
    fn each_mistake_in_a_policy_for_contents_is_found_and_named() {
        for (text, rule, value) in [
            ("", Rule::CspEmpty, ""),
            (" ; ", Rule::CspEmpty, ""),
            ("script 'self'", Rule::CspDirectiveUnknown, "script"),
            ("Script-Src 'self'", Rule::CspDirectiveUnknown, "Script-Src"),
            ("img-src *; img-src 'self'", Rule::CspDirectiveRepeated, "img-src"),
            ("img-src", Rule::CspDirectiveEmpty, "img-src"),
            ("report-to", Rule::CspDirectiveEmpty, "report-to"),
            ("img-src a..b", Rule::CspSourceInvalid, "a..b"),
            ("img-src 'self', data:", Rule::CspSourceInvalid, "'self',"),
            ("img-src self", Rule::CspKeywordUnquoted, "self"),
            ("script-src nonce-abc", Rule::CspKeywordUnquoted, "nonce-abc"),
            ("img-src 'https://a.example'", Rule::CspKeywordUnknown, "https://a.example"),
            ("script-src 'nonce-abc'", Rule::CspNonceFixed, "nonce-abc"),
            ("script-src 'sha256-abc'", Rule::CspKeywordUnknown, "sha256-abc"),
            ("img-src 'nonce'", Rule::CspSourceMisplaced, "'nonce'"),
            ("style-src 'strict-dynamic' 'nonce'", Rule::CspSourceMisplaced, "'strict-dynamic'"),
            ("sandbox scripts", Rule::CspSourceMisplaced, "scripts"),
            ("upgrade-insecure-requests *", Rule::CspSourceMisplaced, "*"),
            ("img-src 'none' data:", Rule::CspNoneNotAlone, "'none'"),
            ("script-src 'strict-dynamic' *", Rule::CspStrictDynamicAlone, "'strict-dynamic'"),
            ("script-src 'unsafe-inline'", Rule::CspScriptsInline, "'unsafe-inline'"),
            ("default-src 'unsafe-inline'", Rule::CspScriptsInline, "'unsafe-inline'"),
            ("script-src *", Rule::CspScriptsOfAnybody, "*"),
            ("script-src HTTPS:", Rule::CspScriptsOfAnybody, "HTTPS:"),
            ("script-src 'self' ws:", Rule::CspScriptsOfAnybody, "ws:"),
            ("default-src 'self' wss:", Rule::CspScriptsOfAnybody, "wss:"),
            ("script-src https://*", Rule::CspScriptsOfAnybody, "https://*"),
            ("script-src *:443", Rule::CspScriptsOfAnybody, "*:443"),
            ("default-src *:*/lib/", Rule::CspScriptsOfAnybody, "*:*/lib/"),
        ] {
            let found = csp_rules(text);
            let expected = (rule, value.to_owned());
            assert!(found.contains(&expected), "{text}: {found:?}");
        }
        assert_eq!(csp_rules("script-src * 'unsafe-inline'").len(), 2);
    }

    #[test]
    fn no_source_can_end_its_directive() {
        for text in ["a.example; script-src *", "a.example\r\nx: y", "a b", "a, b", "", "'self'"] {
            for source in
                [Source::Host(text), Source::Scheme(text), Source::Hash(text), Source::Word(text)]
            {
                let directives = [Directive(Name::ImgSrc, &[source])];
                let spec = HeadersSpec { csp: Some(&directives), ..HeadersSpec::NOTHING };
                let found = rules(spec);
                assert!(!found.is_empty(), "{source:?}");
            }
        }
    }

    #[test]
    fn frames_are_named_once_and_by_their_origins() {
        let csp = Some(&[Directive(Name::FrameAncestors, &[Source::None])][..]);
        let nothing = HeadersSpec::NOTHING;
        let listed = |origins| Some(Frame::Listed(origins));
        for (csp, frame, rule) in [
            (csp, Some(Frame::Nobody), Some(Rule::FrameTwice)),
            (csp, listed(&["https://a.example"]), Some(Rule::FrameTwice)),
            (csp, None, None),
            (None, listed(&[]), Some(Rule::FrameEmpty)),
            (None, listed(&["https://a.example/"]), Some(Rule::OriginPath)),
            (None, listed(&["https://a.example", "https://*.b.example"]), None),
            (None, listed(&["app://shop", "http://localhost:*"]), None),
            (None, listed(&["https://shop-*-acme.vercel.app"]), Some(Rule::CspSourceInvalid)),
            (None, listed(&["https://[::1]:8443"]), Some(Rule::CspSourceInvalid)),
        ] {
            let found = HeadersSpec { csp, frame, ..nothing }.first_error();
            assert_eq!(found.map(|found| found.rule), rule, "{frame:?}");
        }
    }

    #[test]
    fn values_must_be_defined_by_a_standard() {
        let nothing = HeadersSpec::NOTHING;
        for value in REFERRER {
            let found = HeadersSpec { referrer: Some(value), ..nothing }.first_error();
            assert_eq!(found, None, "{value}");
        }
        for value in ["", "never", "Origin", "origin, no-referrer"] {
            let spec = HeadersSpec {
                referrer: Some(value),
                coop: Some(value),
                coep: Some(value),
                corp: Some(value),
                route: SCRIPT,
                ..nothing
            };
            let found: Vec<_> = spec.violations().map(|found| found.rule).collect();
            assert_eq!(
                found,
                [Rule::ReferrerUnknown, Rule::CoopUnknown, Rule::CoepUnknown, Rule::CorpUnknown]
            );
        }
    }

    #[test]
    fn corp_must_not_block_scripts_of_jsonp() {
        for (corp, has_jsonp, rule) in [
            ("same-origin", true, Some(Rule::CorpOfShared)),
            ("same-site", true, Some(Rule::CorpOfShared)),
            ("cross-origin", true, None),
            ("same-origin", false, None),
        ] {
            let route = RouteFacts { has_jsonp, ..RouteFacts::UNKNOWN };
            let spec = HeadersSpec { corp: Some(corp), route, ..HeadersSpec::NOTHING };
            assert_eq!(spec.first_error().map(|found| found.rule), rule, "{corp} {has_jsonp}");
        }
    }

    #[test]
    fn promises_about_transport_are_whole() {
        for (hsts, include_subdomains, preload, expected) in [
            (Some(0), false, false, &[][..]),
            (Some(YEAR), true, true, &[]),
            (Some(-1), false, false, &[Rule::HstsOutOfBounds]),
            (Some(1 << 31), false, false, &[Rule::HstsOutOfBounds]),
            (None, true, false, &[]),
            (None, true, true, &[]),
            (None, false, true, &[Rule::HstsPreload]),
            (Some(YEAR), false, true, &[Rule::HstsPreload]),
            (Some(YEAR - 1), true, true, &[Rule::HstsPreload]),
        ] {
            let spec = HeadersSpec { hsts, include_subdomains, preload, ..HeadersSpec::NOTHING };
            let found: Vec<_> = spec.violations().map(|found| found.rule).collect();
            assert_eq!(found, expected, "{hsts:?}");
        }
    }
}
