//! Signing up, logging in, invitations, and pages that are not ours.

use serde_json::{Value, json};

use crate::site::{PASSWORD, Site, add, invitation, refusal, sign_up, with};

pub(crate) async fn a_lead_signs_up_logs_out_and_logs_in_again(site: &Site) {
    let ada = site.lead("ada").await;
    let me: Value = ada.get("/me").send().await.json();
    assert_eq!((&me["name"], &me["role"]), (&json!("ADA"), &json!("lead")));
    assert_eq!(me["team_name"], "team of ada");
    assert_eq!(ada.post("/logout").send().await.status(), 204);
    assert_eq!(ada.get("/me").send().await.status(), 401);
    for (login, password) in [("ada", "a wrong one"), ("nobody", PASSWORD)] {
        let credentials = json!({ "login": login, "password": password });
        let wrong = ada.post("/login").json(&credentials).send().await;
        assert_eq!(refusal(&wrong), with(403, "users.wrong"), "{login}");
    }
    let right = json!({ "login": "ada", "password": PASSWORD });
    assert_eq!(ada.post("/login").json(&right).send().await.status(), 200);
    assert_eq!(ada.get("/me").send().await.json::<Value>(), me);
}

pub(crate) async fn invalid_sign_ups_are_refused(site: &Site) {
    site.lead("babbage").await;
    let page = site.page();
    let again = sign_up(&page, "babbage", json!({ "team": "another" })).await;
    assert_eq!(refusal(&again), with(409, "users.login-taken"));
    for (login, place) in [
        ("Babbage", json!({ "team": "a team" })),
        ("b", json!({ "team": "a team" })),
        ("new", json!({ "team": " " })),
        ("new", json!({ "team": "a team", "password": "short" })),
        ("new", json!({})),
    ] {
        let refused = sign_up(&page, login, place.clone()).await;
        assert_eq!(refused.status(), 422, "{login} {place}");
        assert_eq!(page.get("/me").send().await.status(), 401, "a refusal lets nobody in");
    }
}

pub(crate) async fn an_invitation_lets_one_person_into_the_team(site: &Site) {
    let lead = site.lead("clara").await;
    let code = invitation(&lead, "member").await;
    // A login that is taken uses nothing up.
    let taken = sign_up(&site.page(), "clara", json!({ "invitation": code })).await;
    assert_eq!(refusal(&taken), with(409, "users.login-taken"));
    let member = site.page();
    assert_eq!(sign_up(&member, "carl", json!({ "invitation": code })).await.status(), 201);
    let me: Value = member.get("/me").send().await.json();
    assert_eq!((&me["role"], &me["team_name"]), (&json!("member"), &json!("team of clara")));
    let people: Value = member.get("/members").send().await.json();
    assert_eq!(people.as_array().map(Vec::len), Some(2));

    for code in [&*code, "0123456789abcdef0123456789abcdef", ""] {
        let late = sign_up(&site.page(), "cora", json!({ "invitation": code })).await;
        assert_eq!(refusal(&late), with(403, "invitations.invalid"), "`{code}`");
    }
    let invites = member.post("/invitations").json(&json!({ "role": "lead" })).send().await;
    assert_eq!(refusal(&invites), with(403, "auth.rights-missing"));
}

/// In the browser of a user who is logged in.
pub(crate) async fn a_page_of_a_foreign_origin_reads_nothing_and_changes_nothing(site: &Site) {
    let client = site.client.another_browser();
    let page = client.page(crate::site::PAGE);
    assert_eq!(sign_up(&page, "dora", json!({ "team": "d" })).await.status(), 201);
    add(&page, "stays").await;
    for origin in ["http://localhost:8082", "https://evil.example"] {
        let evil = client.page(origin);
        assert!(evil.get("/tasks").send().await.is_blocked(), "{origin}");
        // With a preflight, and as a form would be sent.
        assert!(evil.post("/tasks").json(&json!({ "title": "forged" })).send().await.is_blocked());
        assert!(evil.post("/logout").send().await.is_blocked());
    }
    let tasks: Value = page.get("/tasks").send().await.json();
    assert_eq!(tasks["tasks"].as_array().map(Vec::len), Some(1), "logged in, and with one task");
}
