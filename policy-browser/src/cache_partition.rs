//! The partitions of the caches (Fetch, "determine the network partition key").

use url::Url;

use crate::{
    Page, PageOrigin, Profile,
    profile::CacheKey,
    site::{is_of_domain, is_same_site, site},
};

/// A partition of the HTTP cache, so that no page can find out what pages of another site have
/// loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    top_level: String,
    /// The other parts of the key.
    within: String,
    /// Whether it holds only responses that scripts fetch from other sites, which no unsafe request
    /// drops.
    is_foreign_fetch: bool,
    /// Whether the cache is not used at all.
    pub(crate) is_transient: bool,
}

/// The kind of a load, which decides its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadKind {
    /// The document of the window.
    Window,
    /// The document of a frame.
    Frame,
    /// `fetch()` and `XMLHttpRequest` of a page.
    Fetch,
    /// Another subresource of the page that loads it.
    Subresource,
}

impl Partition {
    /// The partition for a load of this URL by `page`.
    pub(crate) fn for_load(
        profile: &Profile,
        page: Option<&Page>,
        kind: LoadKind,
        url: &Url,
        has_credentials: bool,
    ) -> Self {
        let opener = page.filter(|_| kind == LoadKind::Window);
        let page = page.filter(|_| kind != LoadKind::Window);
        let top_level = page.map_or(url, |page| &page.top_level);
        let within = match (profile.cache_key, page) {
            (CacheKey::Window, _) => String::new(),
            (CacheKey::Frame, None) => {
                let is_led = opener.is_some_and(|opener| !is_same_site(&opener.origin, url));
                format!("{}{}", if is_led { "led to " } else { "" }, site(url))
            }
            (CacheKey::Frame, Some(_)) if kind == LoadKind::Frame => format!("frame {}", site(url)),
            (CacheKey::Frame, Some(page)) => site(&page.url),
            (CacheKey::Foreign, page) => {
                let is_own = page.is_none_or(|page| page.has_same_site_ancestors);
                let is_foreign = !is_own || site(url) != site(top_level);
                format!("foreign {is_foreign}, credentials {has_credentials}")
            }
        };
        let is_transient = profile.cache_key == CacheKey::Frame
            && matches!(kind, LoadKind::Subresource | LoadKind::Fetch)
            && page.is_some_and(|page| page.origin == PageOrigin::Opaque);
        let is_foreign_fetch = profile.cache_key == CacheKey::Foreign
            && kind == LoadKind::Fetch
            && page.is_some_and(|page| {
                !page.has_same_site_ancestors || !is_of_domain(&page.origin, url)
            });
        Self { top_level: site(top_level), within, is_foreign_fetch, is_transient }
    }

    /// The partition of responses that are not loaded by scripts.
    pub(crate) fn for_elements(&self) -> Self {
        Self { is_foreign_fetch: false, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{page, url};

    /// Whether two loads of these pages share a partition.
    fn share(profile: &Profile, loads: [(&Page, LoadKind, &str, bool); 2]) -> bool {
        let [one, other] = loads.map(|(page, kind, url, has_credentials)| {
            Partition::for_load(profile, Some(page), kind, &self::url(url), has_credentials)
        });
        one == other
    }

    const PROFILES: [Profile; 4] =
        [Profile::STANDARD, Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT];

    /// A page in a frame, in a window of another page.
    fn framed(url: &str, top_level: &str) -> Page {
        let has_same_site_ancestors = site(&page(url).url) == site(&page(top_level).url);
        Page { top_level: page(top_level).url, has_same_site_ancestors, ..page(url) }
    }

    const APP: &str = "https://app.shop.example/";
    const OTHER: &str = "https://other.example/";
    const WIDGET: &str = "https://widget.test/x";

    #[test]
    fn each_site_of_a_window_has_its_own() {
        let (app, admin, other) = (page(APP), page("https://admin.shop.example/"), page(OTHER));
        for profile in &PROFILES {
            let share = |one, other| {
                let load = |page| (page, LoadKind::Subresource, WIDGET, true);
                share(profile, [load(one), load(other)])
            };
            assert!(share(&app, &admin), "one site");
            assert!(!share(&app, &other));
            assert!(!share(&app, &framed(APP, OTHER)));
        }
    }

    #[test]
    fn frames_part_it_in_chromium_and_foreign_ones_in_firefox() {
        let (app, other) = (page(APP), framed(OTHER, APP));
        let share = |url| {
            let load = |page| (page, LoadKind::Subresource, url, true);
            PROFILES.map(|profile| share(&profile, [load(&app), load(&other)]))
        };
        assert_eq!(share(WIDGET), [true, false, true, true], "foreign in both");
        assert_eq!(share(APP), [true, false, false, true], "foreign in one");
    }

    #[test]
    fn firefox_caches_cross_site_fetches_separately() {
        let app = page(APP);
        let share = |url| {
            let load = |kind| (&app, kind, url, true);
            let loads = [load(LoadKind::Fetch), load(LoadKind::Subresource)];
            PROFILES.map(|profile| share(&profile, loads))
        };
        assert_eq!(share(WIDGET), [true, true, false, true]);
        assert_eq!(share(APP), [true; 4]);
    }

    #[test]
    fn credentials_part_it_in_firefox() {
        let app = page(APP);
        let load = |has_credentials| (&app, LoadKind::Subresource, WIDGET, has_credentials);
        let shared = PROFILES.map(|profile| share(&profile, [load(true), load(false)]));
        assert_eq!(shared, [true, true, false, true]);
    }

    #[test]
    fn documents_of_frames_are_apart_in_chromium() {
        let (app, widget) = (page(APP), framed(WIDGET, APP));
        let share = |profile| {
            let frame = (&app, LoadKind::Frame, WIDGET, true);
            share(profile, [frame, (&widget, LoadKind::Subresource, WIDGET, true)])
        };
        assert_eq!(PROFILES.each_ref().map(share), [true, false, true, true]);
    }

    #[test]
    fn a_document_belongs_to_its_own_window() {
        let (app, other) = (page(APP), page(OTHER));
        let share = |profile, from| {
            let document = (from, LoadKind::Window, APP, true);
            share(profile, [document, (&app, LoadKind::Subresource, APP, true)])
        };
        assert_eq!(PROFILES.each_ref().map(|profile| share(profile, &app)), [true; 4]);
        assert_eq!(
            PROFILES.each_ref().map(|profile| share(profile, &other)),
            [true, false, true, true],
            "another site led to it",
        );
    }
}
