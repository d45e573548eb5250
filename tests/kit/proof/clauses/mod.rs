//! Each clause of each law, and an app that breaks it: mostly by one layer.

mod caching;
mod callers;
mod cookies;
mod isolation;
mod lists;
mod objects;
mod origins;
mod outcomes;
mod preflights;
mod reading;
mod recipients;
mod requests;
mod responses;
mod writing;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use policy_core::{
    time::Timestamp,
    token::{Key, KeyRing, NewClaims, RingKey},
};
use policy_server::{
    Request, Response, SharedService,
    codegen::{Law, prove},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue, request::Parts},
    prelude::*,
    tokens::SecretKey,
};
use tower::{ServiceExt as _, layer::layer_fn, service_fn, util::MapRequestLayer};

const OWN: &str = "https://api.shop.example";

/// An app at this address.
fn app() -> App<()> {
    App::new(()).public_origin(OWN)
}

fn with_sessions() -> App<()> {
    app().sessions(Sessions::memory())
}

fn with_tokens() -> App<()> {
    app().tokens(Tokens::hs256([("k1", secret())]).expect("a key"))
}

fn secret() -> SecretKey {
    SecretKey::from_bytes(*b"\x8f0123456789abcdef0123456789abcde")
}

/// A token of such an app, at the time of all proofs.
fn token_of(user: &str) -> HeaderValue {
    let key = Key::hs256("k1", &secret()).expect("a key");
    let keys = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
    let now = Timestamp::from_seconds(1_800_000_000);
    let token = keys.sign(&NewClaims::new(OWN, OWN, user, "id", now), now).expect("a token");
    HeaderValue::try_from(format!("Bearer {token}")).expect("a value")
}

#[get("/orders")]
#[auth(session)]
async fn orders() {}

#[get("/reports")]
#[auth(token)]
async fn reports() {}

#[post("/login")]
#[auth(public)]
async fn login(_sessions: Sessions) {}

/// A change of a response, by the request as well.
type Edit = fn(&Parts, &mut Response);

/// The app in a layer that changes responses.
fn responding(
    app: App<()>,
    edit: impl Fn(&Parts, &mut Response) + Copy + Send + Sync + 'static,
) -> App<()> {
    app.layer(layer_fn(move |inner: SharedService| {
        service_fn(move |request: Request| {
            let inner = inner.clone();
            async move {
                let (head, body) = request.into_parts();
                let sent = head.clone();
                let mut response = inner.oneshot(Request::from_parts(head, body)).await?;
                edit(&sent, &mut response);
                Ok::<_, Infallible>(response)
            }
        })
    }))
}

/// The app in a layer that changes requests.
fn requesting(app: App<()>, edit: fn(&mut Request)) -> App<()> {
    app.layer(MapRequestLayer::new(move |mut request: Request| {
        edit(&mut request);
        request
    }))
}

/// The app in a layer that responds to some requests in its place.
fn short_circuit(
    app: App<()>,
    is_answered: impl Fn(&Request) -> bool + Copy + Send + Sync + 'static,
) -> App<()> {
    app.layer(layer_fn(move |inner: SharedService| {
        service_fn(move |request: Request| {
            let (inner, is_answered) = (inner.clone(), is_answered(&request));
            async move {
                match is_answered {
                    true => Ok(Response::new(policy_server::Body::from("kept"))),
                    false => inner.oneshot(request).await,
                }
            }
        })
    }))
}

/// The app in a layer that sends some requests with the extensions of another one, which has the
/// credentials that the other client sent.
fn replaying(
    app: App<()>,
    is_kept: fn(&Parts, StatusCode) -> bool,
    is_replaced: fn(&Parts) -> bool,
) -> App<()> {
    let kept: Arc<Mutex<Option<Extensions>>> = Arc::default();
    app.layer(layer_fn(move |inner: SharedService| {
        let kept = Arc::clone(&kept);
        service_fn(move |request: Request| {
            let (inner, kept) = (inner.clone(), Arc::clone(&kept));
            async move {
                let (mut head, body) = request.into_parts();
                let other = kept.lock().expect("no panic").clone();
                head.extensions = other.filter(|_| is_replaced(&head)).unwrap_or(head.extensions);
                let sent = head.clone();
                let response = inner.oneshot(Request::from_parts(head, body)).await?;
                if is_kept(&sent, response.status()) {
                    kept.lock().expect("no panic").get_or_insert(sent.extensions);
                }
                Ok::<_, Infallible>(response)
            }
        })
    }))
}

/// Asserts which laws an app breaks, and that the text of the first contains these words.
#[track_caller]
fn breaks(app: App<()>, laws: &[Law], words: &str) {
    breaks_in("one app", app, laws, words);
}

/// The same for each row of a table: its name, what a layer does to responses, and the words.
#[track_caller]
fn each_breaks(app: fn() -> App<()>, laws: &[Law], rows: &[(&str, Edit, &str)]) {
    for (row, edit, words) in rows {
        breaks_in(row, responding(app(), *edit), laws, words);
    }
}

#[track_caller]
fn breaks_in(row: &str, app: App<()>, laws: &[Law], words: &str) {
    let (broken, texts) = super::refutations(app);
    assert_eq!(broken, laws, "{row}: {}", texts.join("\n\n"));
    let first = texts.first().map_or("", String::as_str);
    assert!(first.contains(words), "{row}: `{words}` in\n{first}");
}

/// Asserts that this law is the first that an app breaks, and that all others refer to it.
#[track_caller]
fn breaks_first(app: App<()>, law: Law, words: &str) {
    let (broken, texts) = super::refutations(app);
    assert_eq!(broken.first(), Some(&law), "{}", texts.join("\n\n"));
    assert!(texts[0].contains(words), "`{words}` in\n{}", texts[0]);
    for text in &texts[1..] {
        assert!(text.contains("` first: this may follow from it"), "{text}");
    }
}

/// Asserts that an app breaks no law.
#[track_caller]
fn breaks_none(app: App<()>) {
    breaks(app, &[], "");
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    let value = HeaderValue::from_str(value).expect("a value");
    headers.insert(HeaderName::from_static(name), value);
}

fn is_preflight(sent: &Parts) -> bool {
    sent.headers.contains_key("access-control-request-method")
}

const ALLOW_ORIGIN: &str = "access-control-allow-origin";
const EXPOSE: &str = "access-control-expose-headers";

/// An object `Order` that states these rules, and decides by others.
macro_rules! lying_object {
    ($says_view:literal, $says_edit:literal; $view:literal, $edit:literal; $is_flag:expr) => {
        struct Order {
            draft: bool,
        }

        impl Object for Order {
            type Key = u64;
            type Parent = ();
            const NAME: &'static str = "Order";
            const KEY: &'static str = "id";
            const FIELDS: &'static [Field] = &[Field {
                name: "draft",
                kind: FieldKind::Flag,
                column: "draft",
                is_number: false,
                is_optional: false,
                relation: None,
            }];
            const RULES: &'static [(&'static str, &'static str)] =
                &[("view", $says_view), ("edit", $says_edit)];

            fn names(&self, _: &str, _: &str) -> bool {
                false
            }

            fn flag(&self, _: &str) -> bool {
                let flag: fn(bool) -> bool = $is_flag;
                flag(self.draft)
            }

            fn decide(&self, _: &str, _: &Principal) -> bool {
                false
            }

            fn sample(sample: Sample<'_>) -> Option<Self> {
                Some(Self { draft: (sample.flag)("draft") })
            }
        }

        impl Permits<View> for Order {
            fn condition() -> &'static Condition {
                Box::leak(Box::new($view.parse().expect("a condition")))
            }
        }

        impl Permits<Edit> for Order {
            fn condition() -> &'static Condition {
                Box::leak(Box::new($edit.parse().expect("a condition")))
            }
        }
    };
}
use lying_object;
