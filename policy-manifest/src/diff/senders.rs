//! The senders of requests, divided into the classes that two policies can treat differently.

use std::collections::BTreeSet;

use super::probe::{HeaderOrigin, REPEATED, Sender};
use crate::{
    RouteCors,
    algebra::{OriginRegion, WitnessKind},
    severity::Gainer,
};

/// The senders of requests: programs, and pages by their origins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Senders {
    /// Programs: their requests have none of the headers by which browsers state a page.
    pub programs: bool,
    /// Pages of the app itself.
    pub own_pages: bool,
    /// Pages of other origins that state their origin, as scripts and forms do.
    pub pages: OriginRegion,
    /// Links on pages of other sites: browsers show the response to the user.
    pub links: bool,
    /// Images, scripts, frames and forms without a stated origin on pages of other sites.
    pub embeds: bool,
    /// The requests open a WebSocket.
    pub web_socket: bool,
    /// The requests name a host other than the app's, such as its address.
    pub other_host: bool,
    /// The headers of the requests contradict each other, or the requests may be replays.
    pub odd: bool,
}

/// Disjoint sets of origins: each policy treats all members of a set alike.
#[derive(Debug)]
pub(super) struct Atoms(Vec<Atom>);

#[derive(Debug)]
struct Atom {
    region: OriginRegion,
    origin: String,
    is_of_anybody: bool,
}

impl Atoms {
    /// Divides all origins, except the apps' own, into the sets that these policies distinguish.
    pub(super) fn new<'a>(policies: impl Iterator<Item = &'a RouteCors>, own: [&str; 2]) -> Self {
        let mut regions: Vec<OriginRegion> = Vec::new();
        for region in policies.map(RouteCors::region) {
            if !regions.contains(&region) {
                regions.push(region);
            }
        }
        let mut all = OriginRegion::all().difference(&OriginRegion::null());
        for origin in own {
            if let Ok(own) = origin.parse::<OriginRegion>() {
                all = all.difference(&own);
            }
        }
        let mut atoms = vec![all];
        for region in &regions {
            let split = atoms
                .iter()
                .flat_map(|atom| [atom.intersection(region), atom.difference(region)].into_iter());
            atoms = split.filter(|atom| !atom.is_empty()).collect();
        }
        let mut atoms: Vec<Atom> = atoms.into_iter().filter_map(Atom::from_region).collect();
        // The order is the same if the two policies change places.
        atoms.sort_by(|one, other| one.origin.cmp(&other.origin));
        let null =
            Atom { region: OriginRegion::null(), origin: "null".to_owned(), is_of_anybody: true };
        atoms.push(null);
        Self(atoms)
    }

    /// The values of the `Origin` header: one for each set, and those of no set.
    pub(super) fn origin_values(&self) -> Vec<HeaderOrigin> {
        let atoms = self.0.iter().enumerate();
        let others = atoms.map(|(number, atom)| HeaderOrigin::Other(atom.origin.clone(), number));
        let first = [HeaderOrigin::Absent, HeaderOrigin::Own].into_iter();
        first.chain(others).chain([HeaderOrigin::Malformed, HeaderOrigin::Repeated]).collect()
    }

    /// One sender of each class that a policy can treat differently.
    pub(super) fn senders(&self) -> Vec<Sender> {
        let mut senders = Vec::new();
        for origin in self.origin_values() {
            for (site, is_link) in SITES {
                let plain = Sender { origin: origin.clone(), site, is_link, ..Sender::default() };
                let is_null = matches!(&origin, HeaderOrigin::Other(text, _) if text == "null");
                if is_null && !is_link {
                    senders.push(Sender { is_cors: true, ..plain.clone() });
                }
                if origin == HeaderOrigin::Absent && site.is_none() {
                    for referer in [HeaderOrigin::Own, HeaderOrigin::Malformed] {
                        senders.push(Sender { referer, ..plain.clone() });
                    }
                }
                senders.push(plain);
            }
        }
        let modified = [(false, true), (true, false), (true, true)];
        let modified = modified.into_iter().flat_map(|(is_upgrade, is_early)| {
            let senders = senders.iter();
            senders.map(move |sender| Sender { is_upgrade, is_early, ..sender.clone() })
        });
        let modified: Vec<_> = modified.collect();
        senders.sort_by_key(|sender| !sender.is_program());
        senders.extend(modified);
        senders
    }

    /// The class of people who gain if a request of this sender is allowed.
    pub(super) fn gainer(&self, sender: &Sender) -> Gainer {
        let is_odd = sender.contradicts();
        match &sender.origin {
            HeaderOrigin::Own => Gainer::OwnPages,
            HeaderOrigin::Other(..) if sender.is_own_form() => Gainer::OwnPages,
            HeaderOrigin::Other(_, number) => match self.0.get(*number) {
                Some(atom) if !atom.is_of_anybody => Gainer::NamedSites,
                _ => Gainer::AnySite,
            },
            HeaderOrigin::Absent
                if !is_odd && sender.site.is_some_and(|site| site == "same-origin") =>
            {
                Gainer::OwnPages
            }
            HeaderOrigin::Absent if !is_odd && sender.site.is_some() => Gainer::AnySite,
            _ => Gainer::Anybody,
        }
    }

    /// Describes the senders of requests. Requests that only a hand-written client sends, for which
    /// `is_odd` holds, are left out if pages or programs are among the senders.
    pub(super) fn describe<'a>(
        &self,
        senders: impl IntoIterator<Item = &'a Sender>,
        is_odd: impl Fn(&Sender) -> bool,
    ) -> Senders {
        let senders: Vec<&Sender> = senders.into_iter().collect();
        let direct: Vec<&Sender> =
            senders.iter().filter(|sender| !sender.is_misdirected).copied().collect();
        let other_host = direct.is_empty();
        let senders = if other_host { senders } else { direct };
        let usual = senders.iter().filter(|sender| !is_odd(sender)).copied();
        let usual: Vec<&Sender> = usual.collect();
        let plain: Vec<&Sender> =
            usual.iter().filter(|sender| !sender.is_upgrade).copied().collect();
        let found = match (plain.is_empty(), usual.is_empty()) {
            (false, _) => self.summarize(&plain),
            (true, false) => Senders { web_socket: true, ..self.summarize(&usual) },
            (true, true) => Senders { odd: true, ..self.summarize(&senders) },
        };
        Senders { other_host, ..found }
    }

    fn summarize(&self, senders: &[&Sender]) -> Senders {
        let mut found = Senders::default();
        let mut numbers = BTreeSet::new();
        for sender in senders {
            match (&sender.origin, sender.site) {
                (HeaderOrigin::Other(..), _) if sender.is_own_form() => found.own_pages = true,
                (HeaderOrigin::Other(_, number), _) => {
                    numbers.insert(*number);
                }
                (HeaderOrigin::Own, _) | (HeaderOrigin::Absent, Some("same-origin")) => {
                    found.own_pages = true;
                }
                (HeaderOrigin::Absent, None) if sender.referer == HeaderOrigin::Absent => {
                    found.programs = true;
                }
                (HeaderOrigin::Absent, None) if sender.referer == HeaderOrigin::Own => {
                    found.own_pages = true;
                }
                (HeaderOrigin::Absent, Some(_)) if sender.is_link => found.links = true,
                (HeaderOrigin::Absent, _) => found.embeds = true,
                (HeaderOrigin::Malformed | HeaderOrigin::Repeated, _) => (),
            }
        }
        let regions = numbers.iter().filter_map(|number| self.0.get(*number));
        found.pages = regions.map(|atom| atom.region.clone()).collect();
        found
    }
}

impl Atom {
    fn from_region(region: OriginRegion) -> Option<Self> {
        let witness = region.witness()?;
        let is_of_anybody =
            region.is_cofinite() || witness.kinds().contains(&WitnessKind::AttackerDomain);
        Some(Self { origin: witness.origin().to_owned(), region, is_of_anybody })
    }
}

/// The values of `Sec-Fetch-Site`, each with whether a link sends the request.
const SITES: [(Option<&str>, bool); 8] = [
    (None, false),
    (Some("same-origin"), false),
    (Some("same-site"), false),
    (Some("same-site"), true),
    (Some("cross-site"), false),
    (Some("cross-site"), true),
    (Some("malformed"), false),
    (Some(REPEATED), false),
];

impl Sender {
    fn is_program(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it is a form of an own page without a referrer, which has the origin `null`.
    fn is_own_form(&self) -> bool {
        let is_null = matches!(&self.origin, HeaderOrigin::Other(text, _) if text == "null");
        is_null && self.site == Some("same-origin") && !self.is_cors
    }

    /// Whether no browser sends this with a method, or whether it may be a replay.
    pub(super) fn is_odd(&self, method: &str) -> bool {
        (self.is_upgrade && method != "GET") || self.is_early || self.contradicts()
    }

    fn contradicts(&self) -> bool {
        match (&self.origin, self.site) {
            (HeaderOrigin::Malformed | HeaderOrigin::Repeated, _)
            | (_, Some("malformed" | REPEATED)) => true,
            (HeaderOrigin::Own, Some("same-site" | "cross-site")) => true,
            (HeaderOrigin::Other(text, _), Some("same-origin")) => text != "null",
            _ => false,
        }
    }

    /// Whether a browser sends this for a link, an image, a frame or a form of another site, to which no
    /// page can add a header.
    pub(super) fn is_without_script(&self) -> bool {
        self.origin == HeaderOrigin::Absent && matches!(self.site, Some("same-site" | "cross-site"))
    }

    /// Whether a page of another origin sends this: CORS decides whether it can read the response.
    pub(super) fn is_other_page(&self) -> bool {
        matches!(self.origin, HeaderOrigin::Other(..) | HeaderOrigin::Malformed)
    }
}

impl Senders {
    /// Whether these are all senders: programs and pages of any origin.
    fn is_everybody(&self) -> bool {
        self.programs && self.own_pages && self.embeds && self.pages.is_cofinite()
    }

    /// The senders, in words.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        if self.is_everybody() {
            words.push("everybody".to_owned());
        } else {
            for (is, who) in [(self.programs, "programs"), (self.own_pages, "pages of the app")] {
                words.extend(is.then(|| who.to_owned()));
            }
            if !self.pages.is_empty() {
                words.push(match self.pages.is_cofinite() {
                    true => "pages of any origin".to_owned(),
                    false => format!("pages of `{}`", self.pages),
                });
            }
            let loads = [
                (self.embeds, "images, frames and forms of other sites"),
                (self.links, "links of other sites"),
            ];
            words.extend(loads.iter().filter(|(is, _)| *is).map(|(_, who)| (*who).to_owned()));
        }
        let mut words = words.join(", ");
        if words.is_empty() {
            words = "clients that state no valid page".to_owned();
        }
        for (is, how) in [
            (self.web_socket, ", by a WebSocket"),
            (self.odd && !self.web_socket, ", by a request that no page sends"),
            (self.other_host, ", under another host name"),
        ] {
            words.push_str(if is { how } else { "" });
        }
        words
    }
}
