//! RFC 6265bis, 5.1, 5.6 and 5.7.

use std::collections::BTreeMap;

use policy_browser::{Fetch, Profile};
use policy_core_tests::law::{Precondition, holds};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{browser, cookies_sent, load, response};

/// Names as lists of labels, the last first, and how many of these form the public suffix.
const HOSTS: [(&[&str], usize); 8] = [
    (&["example", "shop"], 1),
    (&["example", "shop", "app"], 1),
    (&["example", "shop", "app", "x"], 1),
    (&["example", "pshop"], 1),
    (&["uk", "co", "shop"], 2),
    (&["uk", "co"], 2),
    (&["io", "github", "alice"], 2),
    (&["io", "github"], 2),
];

fn name(labels: &[&str]) -> String {
    labels.iter().rev().copied().collect::<Vec<_>>().join(".")
}

/// One cookie and two requests, the first of which sets it.
#[derive(Clone, Debug)]
struct Case {
    set_by: (&'static [&'static str], usize),
    set_at: Vec<&'static str>,
    /// How many of the first labels of which host.
    domain: Option<(&'static [&'static str], usize)>,
    path: Option<Vec<&'static str>>,
    is_secure: bool,
    schemes: [&'static str; 2],
    sent_by: &'static [&'static str],
    sent_at: Vec<&'static str>,
}

fn cases() -> impl Strategy<Value = Case> {
    let segments = || vec(select(vec!["a", "a", "b", ""]), 0..3);
    // Mostly near relations: hosts that are not related never share cookies.
    let host = || prop_oneof![6 => select(HOSTS[..2].to_vec()), 1 => select(HOSTS.to_vec())];
    let scheme = || prop_oneof![9 => Just("https"), 1 => Just("http")];
    (
        host(),
        segments(),
        option::of((host(), 1..5_usize)),
        option::of(segments()),
        any::<bool>(),
        [scheme(), scheme()],
        host(),
        segments(),
    )
        .prop_map(|(set_by, set_at, domain, path, is_secure, schemes, sent_by, sent_at)| {
            Case {
                set_by,
                set_at,
                domain: domain.map(|((host, _), length)| (host, length.min(host.len()))),
                path,
                is_secure,
                schemes,
                sent_by: sent_by.0,
                sent_at,
            }
        })
}

impl Case {
    fn line(&self) -> String {
        let mut line = "a=1".to_owned();
        if let Some((host, length)) = self.domain {
            line += &format!("; Domain={}", name(&host[..length]));
        }
        if let Some(path) = &self.path {
            line += &format!("; Path=/{}", path.join("/"));
        }
        if self.is_secure {
            line += "; Secure";
        }
        line
    }

    fn address(scheme: &str, host: &[&str], path: &[&str]) -> String {
        format!("{scheme}://{}/{}", name(host), path.join("/"))
    }

    /// Whether it is stored and sent with the second request.
    fn is_sent(&self) -> bool {
        let (setter, _) = self.set_by;
        let is_for_host = match self.domain {
            None => self.sent_by == setter,
            Some((host, length)) => {
                let domain = &host[..length];
                let is_unregistrable = HOSTS.iter().any(|(labels, suffix)| {
                    labels.len() >= length && labels[..length] == *domain && length <= *suffix
                });
                if is_unregistrable {
                    setter == domain && self.sent_by == setter
                } else {
                    setter.starts_with(domain) && self.sent_by.starts_with(domain)
                }
            }
        };
        let is_by_tls = !self.is_secure || self.schemes == ["https"; 2];
        is_for_host && is_by_tls && self.is_for_path()
    }

    /// A path matches if it is equal, or a prefix that ends at a slash.
    fn is_for_path(&self) -> bool {
        // The directory of the request, if the cookie names no path.
        let own = match &self.path {
            Some(path) => path.as_slice(),
            None => &self.set_at[..self.set_at.len().saturating_sub(1)],
        };
        match own.split_last() {
            None | Some((&"", [])) => true,
            // "/a/" matches what is below it, and not "/a".
            Some((&"", within)) => {
                self.sent_at.len() > within.len() && self.sent_at.starts_with(within)
            }
            Some(_) => self.sent_at.starts_with(own),
        }
    }
}

/// A cookie is sent where its host, path and scheme match, and nowhere else.
#[test]
fn a_cookie_is_sent_to_matching_hosts() {
    holds("where cookies go", 21, cases(), |case| {
        let [first, second] = case.schemes;
        let setter = Case::address(first, case.set_by.0, &case.set_at);
        let set = response(204, &[("set-cookie", case.line())]);
        let (state, _) = load(browser(Profile::STANDARD), None, Fetch::navigate(setter), &set);
        let sent = cookies_sent(state, &Case::address(second, case.sent_by, &case.sent_at));
        prop_assert_eq!(sent.is_some(), case.is_sent(), "{}", case.line());
        Ok(Precondition::met_if(sent.is_some()))
    });
}

/// Whatever a server sends, a browser stores a bounded number of cookies of bounded size.
#[test]
fn the_jar_is_bounded() {
    let byte = prop_oneof![
        9 => select(b"ab=; \"\t,./__Host-Secure-Domain=Path=".to_vec()),
        1 => (0x20..=0xff_u8).prop_filter("no control character", |byte| *byte != 0x7f),
    ];
    let bytes = vec(byte, 0..60);
    let many = (0..400_u32, any::<bool>()).prop_map(|(number, is_wide)| {
        let domain = if is_wide { "; Domain=shop.example" } else { "" };
        format!("a{number}=1{domain}").into_bytes()
    });
    let line = prop_oneof![1 => bytes, 4 => many];
    let host = select(vec!["shop.example", "app.shop.example", "other.example"]);
    let exchanges = vec((host, vec(line, 0..90)), 1..5);
    let profile = select(vec![Profile::CHROMIUM, Profile::FIREFOX, Profile::STANDARD]);
    holds("bounded jar", 12, (exchanges, profile), |(exchanges, profile)| {
        let mut state = browser(profile);
        let mut received = 0;
        for (host, lines) in &exchanges {
            received += lines.len();
            let mut set = response(204, &[]);
            for line in lines {
                let value = http::HeaderValue::from_bytes(line).expect("a field value");
                set.headers.append("set-cookie", value);
            }
            (state, _) = load(state, None, Fetch::navigate(format!("https://{host}/")), &set);
        }
        let mut owners: BTreeMap<bool, usize> = BTreeMap::new();
        for cookie in state.cookies().iter() {
            *owners.entry(cookie.domain().ends_with("shop.example")).or_default() += 1;
        }
        prop_assert!(owners.values().all(|number| *number <= 180), "{:?}", owners);
        for host in ["shop.example", "app.shop.example", "other.example"] {
            let _sent = cookies_sent(state.clone(), &format!("https://{host}/"));
        }
        Ok(Precondition::met_if(received > 180))
    });
}

/// The browser sends what it stored: the last value of each name, the oldest name first.
#[test]
fn the_last_value_of_a_name_is_sent() {
    let pairs = vec((0..6_u8, 0..100_u8), 0..12);
    holds("last value", 63, pairs, |pairs| {
        let ask = "https://shop.example/";
        let mut set = response(204, &[]);
        let mut expected: Vec<(u8, u8)> = Vec::new();
        for (name, value) in &pairs {
            let line = http::HeaderValue::from_str(&format!("n{name}={value}")).expect("a value");
            set.headers.append("set-cookie", line);
            match expected.iter_mut().find(|(old, _)| old == name) {
                Some(old) => old.1 = *value,
                None => expected.push((*name, *value)),
            }
        }
        let (state, _) = load(browser(Profile::STANDARD), None, Fetch::navigate(ask), &set);
        let expected: Vec<String> =
            expected.iter().map(|(name, value)| format!("n{name}={value}")).collect();
        let was_replaced = expected.len() < pairs.len();
        prop_assert_eq!(cookies_sent(state, ask).unwrap_or_default(), expected.join("; "));
        Ok(Precondition::met_if(was_replaced))
    });
}
