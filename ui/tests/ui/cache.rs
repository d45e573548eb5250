//! What `#[cache]` refuses: words that are none, and policies that contradict themselves, their
//! method or their callers.
use policy_server::prelude::*;

const LISTS: policy_server::CachePolicy =
    policy_server::CachePolicy::public().max_age(60).build();
const MINUTE: u32 = 60;

#[get("/words")]
#[cache(forever, maxage = 60, public = true, max_age, private, private, "an hour", 1 + 1)]
#[auth(public)]
async fn words() {}

#[get("/values")]
#[cache(max_age = "1m", s_maxage = MINUTE, vary = "accept", stale_if_error = 1, stale_if_error = 2)]
#[auth(public)]
async fn values() {}

#[get("/names")]
#[cache(public, vary = [LANGUAGE])]
#[auth(public)]
async fn names() {}

#[get("/whole")]
#[cache(LISTS, max_age = 60)]
#[auth(public)]
async fn whole() {}

#[get("/nothing")]
#[cache()]
#[auth(public)]
async fn nothing() {}

#[get("/alone")]
#[cache(no_store, private, max_age = 60)]
#[auth(public)]
async fn alone() {}

#[get("/twofold")]
#[cache(public, private)]
#[auth(public)]
async fn twofold() {}

#[get("/public")]
#[cache(public, max_age = 60)]
#[auth(session)]
async fn of_session(_me: Principal) {}

#[get("/shared-age")]
#[cache(s_maxage = 60)]
#[auth(token, optional)]
async fn shared_age() {}

#[get("/revalidated")]
#[cache(max_age = 60, must_revalidate, no_cache)]
#[auth(public)]
async fn revalidated(_session: Session) {}

#[get("/both-ages")]
#[cache(private, max_age = 60, s_maxage = 600)]
#[auth(public)]
async fn both_ages() {}

#[get("/immutable")]
#[cache(public, immutable)]
#[auth(public)]
async fn immutable() {}

#[get("/immutable-at-once")]
#[cache(public, immutable, max_age = 0)]
#[auth(public)]
async fn immutable_at_once() {}

#[get("/immutable-asked")]
#[cache(public, immutable, no_cache, max_age = 60)]
#[auth(public)]
async fn immutable_asked() {}

#[get("/stale")]
#[cache(public, stale_while_revalidate = 60, stale_if_error = 60)]
#[auth(public)]
async fn stale() {}

#[get("/never-stale")]
#[cache(public, max_age = 60, must_revalidate, stale_if_error = 60)]
#[auth(public)]
async fn never_stale() {}

#[get("/ages")]
#[cache(public, max_age = -1, s_maxage = 2147483648, stale_if_error = 99999999999999999999)]
#[auth(public)]
async fn ages() {}

#[get("/vary")]
#[cache(public, vary = ["*", "accept", "accept language", ""])]
#[auth(public)]
async fn vary() {}

#[delete("/orders")]
#[cache(private, max_age = 60)]
#[auth(public)]
async fn delete() {}

#[route(GET, PUT, PURGE, "/orders")]
#[cache(public)]
#[auth(public)]
async fn several() {}

#[query("/orders")]
#[cache(private, max_age = 60)]
#[auth(public)]
async fn asked() {}

#[post("/orders")]
#[cache(private)]
#[auth(public)]
async fn post() {}

fn main() {
    let _ = App::new(()).routes(routes![
        words,
        values,
        names,
        whole,
        nothing,
        alone,
        twofold,
        of_session,
        shared_age,
        revalidated,
        both_ages,
        immutable,
        immutable_at_once,
        immutable_asked,
        stale,
        never_stale,
        ages,
        vary,
        delete,
        several,
        asked,
        post,
    ]);
}
