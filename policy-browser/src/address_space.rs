//! Local Network Access: a page may reach the computer and the network of its user only if the user
//! allows it.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use url::{Host, Url};

use crate::{
    Mode, Page, Reason, State,
    request::Request,
    site::{is_loopback, is_trustworthy},
};

/// The address space of a host (Local Network Access, 2.1): from where it can be reached. A later
/// one is more private.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AddressSpace {
    /// The internet.
    #[default]
    Public,
    /// The network of the user: private and link-local addresses, those of IPv6 for documentation,
    /// and names that end with `.local`.
    Local,
    /// The computer of the user: `localhost`, `127.0.0.1`, `::1`, `0.0.0.0` and `::`, and files.
    Loopback,
}

/// The permission for public pages to reach hosts in a more private [address space](AddressSpace).
/// Pages of the local network reach the computer of the user without it, in Chromium and in Firefox.
///
/// The browser asks its user once for each site, and no field of a response helps: those of Private
/// Network Access (`Access-Control-Allow-Private-Network`) are gone. A navigation of a window needs
/// no permission; all other loads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LocalNetwork {
    /// The engine requires no permission: WebKit.
    Open,
    /// Nobody has decided yet: the engine shows a prompt, and the load waits until the user has
    /// answered. In the model such a load is blocked. The initial state of Chromium (from 142 on;
    /// measured in 156) and of Firefox (measured in ESR 153).
    Prompt,
    /// The user has allowed it.
    Granted,
    /// The user has refused it, as a browser without a window does.
    Denied,
}

/// As in the console of a browser.
impl fmt::Display for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Local => "local",
            Self::Loopback => "loopback",
        })
    }
}

impl AddressSpace {
    /// The address space of a URL, judged by the URL alone.
    fn from_url(url: &Url) -> Self {
        match url.host() {
            // Chromium, `CalculateClientAddressSpace`; Firefox restricts pages of the network only.
            _ if is_loopback(url) || url.scheme() == "file" => Self::Loopback,
            Some(Host::Ipv4(address)) => Self::from_ip(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Self::from_ip(IpAddr::V6(address)),
            Some(Host::Domain(name)) if is_local_name(name) => Self::Local,
            _ => Self::Public,
        }
    }

    /// Whether a page of this space needs the permission to reach a host of the other one.
    fn has_to_ask_for(self, host: Self) -> bool {
        self == Self::Public && host != Self::Public
    }

    fn from_ip(address: IpAddr) -> Self {
        let is_local = match address.to_canonical() {
            // A server that listens at `0.0.0.0` is reached by this address, too.
            address if address.is_loopback() || address.is_unspecified() => return Self::Loopback,
            IpAddr::V4(address) => {
                // Shared address space (RFC 6598).
                let [first, second, ..] = address.octets();
                let is_shared = first == 100 && (64..128).contains(&second);
                first == 0 || address.is_private() || address.is_link_local() || is_shared
            }
            IpAddr::V6(address) => {
                let [first, second, ..] = address.segments();
                // Documentation (RFC 3849, RFC 9637), and the former site-local addresses (RFC 3879).
                let is_of_documentation =
                    (first, second) == (0x2001, 0x0db8) || (first == 0x3fff && second < 0x1000);
                let is_site_local = first & 0xffc0 == 0xfec0;
                address.is_unique_local()
                    || address.is_unicast_link_local()
                    || is_of_documentation
                    || is_site_local
            }
        };
        if is_local { Self::Local } else { Self::Public }
    }
}

/// A name of multicast DNS (RFC 6762).
fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(_, last)| last == "local")
}

/// The names that resolve to an address space other than the one that they show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<String, AddressSpace>);

impl Names {
    pub(crate) fn insert(&mut self, host: &str, space: AddressSpace) {
        self.0.insert(host.to_ascii_lowercase(), space);
    }

    fn space(&self, url: &Url) -> AddressSpace {
        let named = url.host_str().and_then(|host| self.0.get(host));
        named.copied().unwrap_or_else(|| AddressSpace::from_url(url))
    }
}

/// Whether the page may reach the host of this URL (Local Network Access, 3.2).
pub(crate) fn check(state: &State, request: &Request) -> Result<(), Reason> {
    let profile = &state.profile;
    let Some(page) = initiator(request) else { return Ok(()) };
    let is_exempt = request.fetch.mode == Mode::WebSocket && !profile.local_network_has_sockets;
    let space = state.names.space(&request.url);
    if is_exempt || !state.names.space(&page.url).has_to_ask_for(space) {
        return Ok(());
    }
    match profile.local_network {
        LocalNetwork::Open => Ok(()),
        _ if !is_secure(page) => Err(Reason::InsecureLocalNetwork(space)),
        LocalNetwork::Granted => Ok(()),
        LocalNetwork::Prompt | LocalNetwork::Denied => Err(Reason::LocalNetwork(space)),
    }
}

/// Whether the URL alone shows that the page has to ask for the permission to reach its host, instead
/// of loading mixed content.
pub(crate) fn is_local_by_url(request: &Request) -> bool {
    initiator(request).is_some_and(|page| {
        let space = AddressSpace::from_url(&request.url);
        is_secure(page) && AddressSpace::from_url(&page.url).has_to_ask_for(space)
    })
}

/// The page that needs the permission.
fn initiator(request: &Request) -> Option<&Page> {
    request.page.as_ref().filter(|_| !request.is_top_level_navigation())
}

/// Whether a page is a secure context, which may ask for permissions.
fn is_secure(page: &Page) -> bool {
    is_trustworthy(&page.url) && is_trustworthy(&page.top_level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Blocked, Fetch, Outcome, Profile, run,
        trial::{engine, page, response},
    };

    const APP: &str = "https://app.example/";
    const LOCAL: &str = "http://localhost:8080/";

    /// A load from a server that grants all that a response can grant.
    fn load(profile: Profile, from: &str, fetch: Fetch) -> Outcome {
        load_with(engine(profile), from, fetch)
    }

    fn load_with(state: State, from: &str, fetch: Fetch) -> Outcome {
        let is_socket = fetch.mode == Mode::WebSocket;
        let granted = response(
            if is_socket { 101 } else { 200 },
            &[
                ("access-control-allow-origin", "*"),
                ("access-control-allow-methods", "*"),
                ("access-control-allow-private-network", "true"),
                ("content-type", "text/javascript"),
            ],
        );
        run(state, Some(&page(from)), fetch, |_| granted.clone()).1
    }

    fn reason(outcome: &Outcome) -> Option<&Reason> {
        outcome.blocked().map(|Blocked { reason, .. }| reason)
    }

    #[test]
    fn a_url_shows_its_address_space() {
        for (host, space) in [
            ("localhost:3000", AddressSpace::Loopback),
            ("app.localhost", AddressSpace::Loopback),
            ("127.9.9.9", AddressSpace::Loopback),
            ("[::1]", AddressSpace::Loopback),
            ("[::ffff:127.0.0.1]", AddressSpace::Loopback),
            ("0.0.0.0:3000", AddressSpace::Loopback),
            ("[::]:3000", AddressSpace::Loopback),
            ("0.1.2.3", AddressSpace::Local),
            ("[2001:db8::1]", AddressSpace::Local),
            ("[3fff:fff::1]", AddressSpace::Local),
            ("[fec0::1]", AddressSpace::Local),
            ("[feff::1]", AddressSpace::Local),
            ("10.0.0.1", AddressSpace::Local),
            ("172.31.0.1", AddressSpace::Local),
            ("192.168.1.1", AddressSpace::Local),
            ("169.254.1.1", AddressSpace::Local),
            ("100.64.0.1", AddressSpace::Local),
            ("[fd00::1]", AddressSpace::Local),
            ("[fe80::1]", AddressSpace::Local),
            ("printer.local", AddressSpace::Local),
            ("printer.local.", AddressSpace::Local),
            ("172.32.0.1", AddressSpace::Public),
            ("100.128.0.1", AddressSpace::Public),
            ("1.0.0.0", AddressSpace::Public),
            ("[2001:db9::1]", AddressSpace::Public),
            ("[3fff:1000::1]", AddressSpace::Public),
            ("local", AddressSpace::Public),
            ("local.example", AddressSpace::Public),
        ] {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            assert_eq!(AddressSpace::from_url(&url), space, "{host}");
        }
    }

    #[test]
    fn a_public_page_reaches_this_computer_only_if_its_user_says_so() {
        let loads = || {
            [Fetch::get(LOCAL), Fetch::put(LOCAL), Fetch::image(LOCAL), Fetch::script(LOCAL)]
                .into_iter()
                .chain([Fetch::frame(LOCAL), Fetch::websocket("ws://localhost:8080/")])
        };
        let denied = Reason::LocalNetwork(AddressSpace::Loopback);
        for fetch in loads() {
            let outcome =
                |permission| load(Profile::CHROMIUM.local_network(permission), APP, fetch.clone());
            assert_eq!(reason(&load(Profile::CHROMIUM, APP, fetch.clone())), Some(&denied));
            assert_eq!(reason(&outcome(LocalNetwork::Denied)), Some(&denied), "{fetch:?}");
            assert_eq!(reason(&outcome(LocalNetwork::Granted)), None, "{fetch:?}");
            let in_firefox = reason(&load(Profile::FIREFOX, APP, fetch.clone())).is_some();
            assert_eq!(in_firefox, fetch.mode != Mode::WebSocket, "{fetch:?}");
            assert_eq!(reason(&load(Profile::STANDARD, APP, fetch.clone())), None, "{fetch:?}");
        }
        assert_eq!(reason(&load(Profile::CHROMIUM, APP, Fetch::navigate(LOCAL))), None);
    }

    #[test]
    fn a_page_that_is_not_public_reaches_all_addresses() {
        for profile in [Profile::CHROMIUM, Profile::FIREFOX] {
            let is_free =
                |from: &str, to: &str| reason(&load(profile, from, Fetch::get(to))).is_none();
            assert!(is_free("http://localhost:3000/", LOCAL));
            assert!(is_free("http://localhost:3000/", "http://192.168.1.1/"));
            assert!(is_free("http://192.168.1.2/", "http://192.168.1.1/"));
            assert!(is_free("https://192.168.1.2/", APP));
            assert!(is_free("https://192.168.1.2/", LOCAL));
            assert!(is_free("file:///home/ada/page.html", LOCAL));
            assert!(!is_free(APP, LOCAL));
        }
    }

    #[test]
    fn a_page_without_tls_cannot_even_ask() {
        let allowed = Profile::CHROMIUM.local_network(LocalNetwork::Granted);
        let outcome = load(allowed, "http://app.example/", Fetch::get(LOCAL));
        let refused = Reason::InsecureLocalNetwork(AddressSpace::Loopback);
        assert_eq!(reason(&outcome), Some(&refused));
    }

    #[test]
    fn the_permission_replaces_tls_for_urls_with_a_local_address() {
        let printer = || Fetch::get("http://printer.local/");
        let name = || Fetch::get("http://printer.example/");
        let outcome = |profile: Profile, fetch| {
            let mut state = engine(profile);
            state.resolve("printer.example", AddressSpace::Local);
            load_with(state, APP, fetch)
        };
        let allowed = Profile::CHROMIUM.local_network(LocalNetwork::Granted);
        assert!(outcome(allowed, printer()).is_readable());
        assert_eq!(reason(&outcome(allowed, name())), Some(&Reason::MixedContent));
        let expected = Reason::LocalNetwork(AddressSpace::Local);
        assert_eq!(reason(&outcome(Profile::CHROMIUM, printer())), Some(&expected));
        assert_eq!(reason(&outcome(Profile::FIREFOX, printer())), Some(&Reason::MixedContent));
    }

    #[test]
    fn names_are_public_unless_the_network_resolves_them_locally() {
        let intranet = Fetch::get("https://wiki.corp.example/");
        let mut state = engine(Profile::CHROMIUM);
        assert!(load_with(state.clone(), APP, intranet.clone()).is_readable());
        state.resolve("Wiki.corp.example", AddressSpace::Local);
        let outcome = load_with(state.clone(), APP, intranet.clone());
        assert_eq!(reason(&outcome), Some(&Reason::LocalNetwork(AddressSpace::Local)));
        state.resolve("app.example", AddressSpace::Local);
        assert!(load_with(state, APP, intranet).is_readable());
    }

    #[test]
    fn a_redirect_leads_to_this_computer_no_more_than_a_link() {
        let state = engine(Profile::CHROMIUM);
        let away = response(302, &[("location", LOCAL)]);
        let outcome = run(state, Some(&page(APP)), Fetch::image("/a"), |_| away.clone()).1;
        assert_eq!(reason(&outcome), Some(&Reason::LocalNetwork(AddressSpace::Loopback)));
    }
}
