//! Whether pages of the granted origins can send a `SameSite` cookie.

use super::{
    compiled::{Audience, Cors},
    errors::{PolicyError, PolicyErrors},
    shared::{in_list, is_withheld},
    spec::CorsPart,
};
use crate::{catalogue::Rule, origin::Site};

impl Cors {
    /// Checks that every origin that may send credentials is same-site with `own`, except for
    /// [`OriginKind::Development`](crate::origin::OriginKind::Development). It is for a route whose
    /// callers need a session cookie with `SameSite=Lax` or `Strict`, which browsers withhold from
    /// pages of other sites. A list that can change is checked now, and whenever it is replaced.
    ///
    /// ```
    /// use policy_core::{Rule, cors::{Cors, CorsPolicy, OriginLists}, origin::{OriginPattern, Site}};
    ///
    /// const PAGES: &[&str] = &["https://app.shop.example", "https://*.partner.example"];
    ///
    /// let policy = CorsPolicy::origins(PAGES).credentials().build();
    /// let cors = Cors::new("GET /me", &policy, &OriginLists::new())?;
    /// let own = Site::from_origin(&OriginPattern::parse("https://api.shop.example").unwrap());
    /// let errors = cors.require_site("GET /me", &own).unwrap_err();
    /// assert_eq!(errors.errors()[0].rule(), Rule::SessionSameSite);
    /// assert_eq!(errors.errors()[0].value(), "https://*.partner.example");
    /// # Ok::<(), policy_core::cors::PolicyErrors>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Rule::SessionSameSite`] for each origin of another site, and for a bound that contains no
    /// origin of this one.
    pub fn require_site(&self, location: &str, own: &Site) -> Result<(), PolicyErrors> {
        if !self.credentials {
            return Ok(());
        }
        let broken =
            |part, value: &str| PolicyError::new(location, Rule::SessionSameSite, part, value);
        match (&self.audience, &self.run_time) {
            (Audience::Any, _) => Ok(()),
            (Audience::Listed(set), _) => {
                let withheld = set.patterns().filter(|pattern| is_withheld(own, pattern));
                withheld
                    .map(|pattern| broken(CorsPart::Origins, &pattern.to_string()))
                    .collect::<PolicyErrors>()
                    .into_result()
            }
            (Audience::Shared(list), run_time) => {
                let name = run_time.as_ref().map_or("", |it| it.name.as_str());
                let within = run_time.as_ref().and_then(|it| it.within.as_ref());
                if let Some(within) = within
                    && within
                        .patterns()
                        .all(|pattern| !own.meets(&pattern) && !pattern.is_development())
                {
                    let bound: Vec<_> = within.patterns().map(|it| it.to_string()).collect();
                    return Err(PolicyErrors::from_iter([broken(
                        CorsPart::Within,
                        &bound.join(" "),
                    )]));
                }
                list.add_site(in_list(location, name), own)
            }
        }
    }

    /// The origins that may send credentials, and whose pages are of other sites than `own`. For a
    /// named list, of its current entries.
    pub fn cross_site_origins(&self, own: &Site) -> Vec<String> {
        let others = |set: &crate::origin::OriginSet| -> Vec<String> {
            let others = set.patterns().filter(|pattern| !own.includes(pattern));
            others.map(|pattern| pattern.to_string()).collect()
        };
        match &self.audience {
            Audience::Listed(set) if self.credentials => others(set),
            Audience::Shared(list) if self.credentials => {
                list.sets().iter().flat_map(|set| others(set)).collect()
            }
            _ => Vec::new(),
        }
    }
}
