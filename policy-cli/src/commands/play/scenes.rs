//! Classic mistakes: what somebody gains by each, and no longer gains once it is fixed.

use serde::Serialize;

#[cfg(test)]
use super::decide::Question;
use super::world::SameSite;

/// A mistake.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Scene {
    /// Its name in links.
    pub(crate) name: &'static str,
    title: &'static str,
    /// What happens to apps that make it.
    story: &'static str,
    same_site: SameSite,
    attacker: &'static str,
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
    /// The actor that shows it.
    pub(crate) shows: &'static str,
    /// The code of the compiler's error; `None` if it compiles.
    pub(crate) refused: Option<&'static str>,
}

/// The public origin of all scenes.
pub(crate) const ORIGIN: &str = "https://api.shop.example";

impl Scene {
    /// The question of the page about the mistake or its remedy.
    #[cfg(test)]
    pub(super) fn question(&self, source: &str) -> Question {
        Question {
            source: source.to_owned(),
            origin: ORIGIN.to_owned(),
            same_site: self.same_site,
            attacker: self.attacker.to_owned(),
            route: 0,
        }
    }
}

/// All of them, in the order of the page.
pub(crate) const ALL: [Scene; 10] = [
    Scene {
        name: "forgotten",
        title: "The route that nobody protected",
        story: "A new route is added in a hurry, and nobody says who may call it. In most frameworks that \
                means: everybody. Here it does not compile.",
        same_site: SameSite::Lax,
        attacker: "https://evil.test",
        before: r#"#[get("/customers")]
async fn customers() -> Json<Vec<Customer>> {
    // every customer, with address
}
"#,
        after: r#"#[get("/customers")]
#[auth(session, roles = ["support"])]
async fn customers() -> Json<Vec<Customer>> {
    // every customer, with address
}
"#,
        shows: "program",
        refused: Some("auth.callers-missing"),
    },
    Scene {
        name: "subdomain",
        title: "Any subdomain is trusted",
        story: "Every subdomain may read with credentials. One of them still points to a hosting service that \
                the shop has left, and anybody can rent it: SameSite does not help, since it is the same site.",
        same_site: SameSite::Lax,
        attacker: "https://old-campaign.shop.example",
        before: r#"#[get("/account")]
#[cors(origins = ["https://*.shop.example"], credentials)]
#[auth(session)]
async fn account(user: Principal) -> Json<Account> {
    // name, address, last four digits
}
"#,
        after: r#"#[get("/account")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn account(user: Principal) -> Json<Account> {
    // name, address, last four digits
}
"#,
        shows: "attacker",
        refused: None,
    },
    Scene {
        name: "star",
        title: "A star, with credentials",
        story: "Browsers refuse a star with credentials, so a middleware reflects whatever origin asks: then \
                every page reads the account of its visitor. Here the attribute does not compile.",
        same_site: SameSite::None,
        attacker: "https://evil.test",
        before: r#"#[get("/account")]
#[cors(origins = ["*"], credentials)]
#[auth(session)]
async fn account(user: Principal) -> Json<Account> {
    // name, address, last four digits
}
"#,
        after: r#"#[get("/account")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn account(user: Principal) -> Json<Account> {
    // name, address, last four digits
}
"#,
        shows: "attacker",
        refused: Some("cors.any-origin-with-credentials"),
    },
    Scene {
        name: "null",
        title: "The origin null",
        story: "A test page of the disk has the origin null, so null is allowed. It is also the origin of every \
                sandboxed frame, and any page can make one.",
        same_site: SameSite::None,
        attacker: "null",
        before: r#"#[get("/messages")]
#[cors(origins = ["https://app.shop.example", "null"], credentials)]
#[auth(session)]
async fn messages(user: Principal) -> Json<Vec<Message>> {}
"#,
        after: r#"#[get("/messages")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn messages(user: Principal) -> Json<Vec<Message>> {}
"#,
        shows: "attacker",
        refused: Some("cors.null-origin"),
    },
    Scene {
        name: "http",
        title: "A page without HTTPS is trusted",
        story: "The old page of the shop has no HTTPS. Anyone in the same café network can write into that page, \
                and it then reads the accounts of everybody there.",
        same_site: SameSite::None,
        attacker: "http://www.shop.example",
        before: r#"#[get("/account")]
#[cors(origins = ["http://www.shop.example"], credentials, dangerous_insecure_origins)]
#[auth(session)]
async fn account(user: Principal) -> Json<Account> {}
"#,
        after: r#"#[get("/account")]
#[cors(origins = ["https://www.shop.example"], credentials)]
#[auth(session)]
async fn account(user: Principal) -> Json<Account> {}
"#,
        shows: "attacker",
        refused: None,
    },
    Scene {
        name: "csrf",
        title: "A form on another page transfers money",
        story: "The cookie is sent with every request, as a partner's frame needs it, and the route is exempt \
                from CSRF protection. A form that nobody sees is enough.",
        same_site: SameSite::None,
        attacker: "https://evil.test",
        before: r#"#[post("/transfers")]
#[auth(session)]
#[csrf(exempt = "the form of the partner has no token")]
async fn transfer(user: Principal, order: Form<Transfer>) {}
"#,
        after: r#"#[post("/transfers")]
#[auth(session)]
#[csrf(token)]
async fn transfer(user: Principal, order: Form<Transfer>) {}
"#,
        shows: "attacker",
        refused: None,
    },
    Scene {
        name: "jsonp",
        title: "Private data as a script",
        story: "A script is readable by the page that loads it, with the cookies of its visitor. JSONP on private \
                data gives them to everybody. Here it is for public data only.",
        same_site: SameSite::None,
        attacker: "https://evil.test",
        before: r#"#[get("/contacts")]
#[jsonp(callback = "callback")]
#[auth(session)]
async fn contacts(user: Principal) -> Json<Vec<Contact>> {}
"#,
        after: r#"#[get("/contacts")]
#[auth(session)]
async fn contacts(user: Principal) -> Json<Vec<Contact>> {}
"#,
        shows: "attacker",
        refused: Some("jsonp.not-public"),
    },
    Scene {
        name: "cdn",
        title: "The CDN keeps the page of one user",
        story: "Caching makes the site fast, and the CDN gives the invoice of one user to the next one. Here a \
                response to a caller cannot be public.",
        same_site: SameSite::Lax,
        attacker: "https://evil.test",
        before: r#"#[get("/invoices/{id}")]
#[auth(session)]
#[cache(public, max_age = 600)]
async fn invoice(invoice: Allowed<Invoice>) -> Json<Invoice> {}
"#,
        after: r#"#[get("/invoices/{id}")]
#[auth(session)]
#[cache(private, max_age = 600)]
async fn invoice(invoice: Allowed<Invoice>) -> Json<Invoice> {}
"#,
        shows: "cache",
        refused: Some("cache.personal-and-shared"),
    },
    Scene {
        name: "optional",
        title: "The login that is optional",
        story: "The page works for visitors, too, so the login is made optional for the whole file. The export \
                below it now works for everybody.",
        same_site: SameSite::Lax,
        attacker: "https://evil.test",
        before: r#"#[get("/export")]
#[auth(token, optional, scopes = ["orders:read"])]
async fn export(caller: Option<Principal>) -> String {
    // every order, as CSV
}
"#,
        after: r#"#[get("/export")]
#[auth(token, scopes = ["orders:read"])]
async fn export(caller: Principal) -> String {
    // every order, as CSV
}
"#,
        shows: "program",
        refused: None,
    },
    Scene {
        name: "role",
        title: "Logged in is not enough",
        story: "The button is shown to administrators only. The route behind it asks for a login, and every user \
                has one.",
        same_site: SameSite::Lax,
        attacker: "https://evil.test",
        before: r#"#[delete("/users/{id}")]
#[auth(session)]
#[object(none = "only administrators see the button")]
async fn remove_user(id: u64) {}
"#,
        after: r#"#[delete("/users/{id}")]
#[auth(session, roles = ["admin"], fresh = "10m")]
#[object(none = "administrators remove every user")]
async fn remove_user(id: u64) {}
"#,
        shows: "program",
        refused: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::play::{
        cast::Gets,
        decide::{Kind, decide},
    };

    #[test]
    fn somebody_gets_something_before_and_nothing_after() {
        let mut mended = Vec::new();
        for scene in ALL {
            let before = decide(&scene.question(scene.before));
            assert_eq!(before.problems.len(), 0, "{}: {:?}", scene.name, before.problems);
            let errors = before.reports.iter().filter(|report| report.kind != Kind::Lint);
            let errors: Vec<_> = errors.filter_map(|report| report.code).collect();
            assert_eq!(
                errors,
                Vec::from_iter(scene.refused),
                "{}: {:?}",
                scene.name,
                before.reports
            );
            let after = decide(&scene.question(scene.after));
            assert!(
                after.reports.iter().all(|report| report.kind == Kind::Lint),
                "{}: {:?}",
                scene.name,
                after.reports
            );
            let of = |answer: &crate::commands::play::decide::PlayResult| {
                let actor = answer.cast.iter().find(|actor| actor.who == scene.shows);
                actor.map(|actor| (actor.gets, actor.says.clone()))
            };
            let (gets, says) = of(&after).expect("an actor");
            assert_eq!(gets, Gets::Nothing, "{} after: {says}", scene.name);
            match scene.refused {
                Some(_) => assert_eq!(of(&before), None, "{}", scene.name),
                None => {
                    let (gets, says) = of(&before).expect("an actor");
                    assert!(
                        gets > Gets::Served,
                        "{} before: {says}: {:#?}",
                        scene.name,
                        before.cast
                    );
                    mended.push(scene.name);
                }
            }
            // Your own page is still served.
            let own = after.cast.iter().find(|actor| actor.who == "own").expect("an actor");
            assert_eq!(own.gets, Gets::Served, "{}: {}", scene.name, own.says);
        }
        assert_eq!(mended.len(), 5);
    }

    #[test]
    fn the_names_of_scenes_differ() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|scene| scene.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
