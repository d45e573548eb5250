//! Fields of bodies and queries that name unchecked objects, as a lint finds them.

use policy_core::Lint;
use policy_manifest::{Date, lint};
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Copy {
    order_id: u64,
    #[serde(rename = "folderIds")]
    folders: Vec<u64>,
    title: String,
}

impl Copy {
    fn text(&self) -> String {
        format!("{} as {} in {:?}", self.order_id, self.title, self.folders)
    }
}

#[post("/unchecked")]
#[auth(scheme = CallerScheme)]
async fn unchecked(Json(copy): Json<Copy>) -> String {
    copy.text()
}

#[get("/searched")]
#[auth(scheme = CallerScheme, optional)]
async fn searched(Query(copy): Query<Copy>) -> String {
    copy.text()
}

/// The object of the path is checked, and not the one of the body.
#[put("/orders/{id}/copies")]
#[auth(scheme = CallerScheme)]
async fn beside_an_object(_order: Allowed<Order>, Json(copy): Json<Copy>) -> String {
    copy.text()
}

#[post("/looked-up")]
#[auth(scheme = CallerScheme)]
async fn looked_up(orders: Lookup<Order>, Json(copy): Json<Copy>) -> Result<String, Problem> {
    Ok(orders.get(&copy.order_id).await?.note.clone())
}

#[post("/exempt/{id}")]
#[auth(scheme = CallerScheme)]
#[object(none = "ids are only stored")]
async fn exempt(id: u64, Json(copy): Json<Copy>) -> String {
    format!("{id} {}", copy.text())
}

#[post("/exempt")]
#[auth(scheme = CallerScheme)]
#[object(none = "ids are only stored")]
async fn exempt_body(Json(copy): Json<Copy>) -> String {
    copy.text()
}

/// A list whose rejection the handler answers itself.
#[post("/answered")]
#[auth(scheme = CallerScheme)]
async fn answered(
    orders: Result<Scope<Order>, policy_server::extract::ContextRejection>,
    Json(copy): Json<Copy>,
) -> Result<String, Problem> {
    orders.map(|_| copy.text()).map_err(Into::into)
}

#[post("/public")]
#[auth(public)]
async fn public(Json(copy): Json<Copy>) -> String {
    copy.text()
}

#[derive(Deserialize)]
struct Note {
    title: String,
}

#[post("/notes")]
#[auth(scheme = CallerScheme)]
async fn without_ids(Json(note): Json<Note>) -> String {
    note.title
}

#[test]
fn a_field_like_an_id_that_nothing_checks_is_found_in_the_manifest() {
    let app = App::new(Orders::sample()).scheme(CallerScheme).routes(routes![
        unchecked,
        searched,
        beside_an_object,
        looked_up,
        exempt,
        exempt_body,
        answered,
        public,
        without_ids,
    ]);
    let linted = lint(&app.manifest(), &[], Date::today());
    let of_fields = linted.findings.iter().filter(|it| it.lint == Lint::ObjectFieldUnchecked);
    let mut found: Vec<_> = of_fields
        .flat_map(|it| it.routes.iter().map(|route| (route.as_str(), it.about.as_str())))
        .collect();
    found.sort_unstable();
    let fields = "`folderIds`, `order_id`";
    let routes = ["GET /searched", "POST /unchecked", "PUT /orders/{id}/copies"];
    assert_eq!(found, routes.map(|route| (route, fields)));
}
