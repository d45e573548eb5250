//! Tokens that a handler issues, and every way to revoke them.

use super::*;
use policy_tests::handlers::{cut_off_all, revoke, token};

#[post("/issue")]
#[auth(public)]
async fn issue(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada").scopes(["a", "b"]))?.access_token)
}

#[post("/cut-off/{user}")]
#[auth(public)]
async fn cut_off(user: String, tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke_user(&user).await.map(drop)
}

fn all() -> Vec<Route<All>> {
    routes![issue, token, revoke, cut_off, cut_off_all]
}

impl Scenario {
    async fn issue(&self) -> String {
        let response = self.client.post("/issue").send().await;
        assert_eq!(response.header("cache-control"), Some("no-store"));
        response.text()
    }

    async fn status(&self, token: &str) -> u16 {
        let request = self.client.get("/token").header("authorization", bearer(token));
        request.send().await.status().as_u16()
    }
}

#[tokio::test]
async fn a_token_ends_by_its_name_its_user_and_with_all_others() {
    let scenario = Scenario::new(all()).await;
    let (one, other) = (scenario.issue().await, scenario.issue().await);
    assert_eq!((scenario.status(&one).await, scenario.status(&other).await), (200, 200));
    let revoked =
        scenario.client.post("/revoke").header("authorization", bearer(&one)).send().await;
    assert_eq!(revoked.text(), "true");
    assert_eq!((scenario.status(&one).await, scenario.status(&other).await), (401, 200));
    // A revoked token cannot revoke anything.
    let again = scenario.client.post("/revoke").header("authorization", bearer(&one)).send().await;
    assert_problem(&again, 401, "auth.token-invalid");

    for path in ["/cut-off/ada", "/cut-off-all"] {
        let before = scenario.issue().await;
        assert_eq!(scenario.client.post(path).send().await.status(), 200);
        assert_eq!(scenario.status(&before).await, 401);
        // A login after the revocation is valid, even in the same second.
        let after = scenario.issue().await;
        assert_eq!(scenario.status(&after).await, 200);
        scenario.advance(2);
        assert_eq!((scenario.status(&before).await, scenario.status(&after).await), (401, 200));
    }
    assert_eq!(scenario.client.post("/cut-off/eve").send().await.status(), 200);
    assert_eq!(scenario.status(&scenario.issue().await).await, 200);
}

/// Otherwise a thief of a session could lock its user out of tokens for long.
#[tokio::test]
async fn a_token_is_valid_at_once_after_many_cut_offs_in_one_second() {
    for path in ["/cut-off/ada", "/cut-off-all"] {
        let scenario = Scenario::new(all()).await;
        for _ in 0..100 {
            let before = scenario.issue().await;
            assert_eq!(scenario.client.post(path).send().await.status(), 200);
            assert_eq!(scenario.status(&before).await, 401, "{path}");
        }
        assert_eq!(scenario.status(&scenario.issue().await).await, 200, "{path}");
    }
}

#[tokio::test]
async fn a_change_of_any_character_of_a_token_is_refused() {
    let scenario = Scenario::new(all()).await;
    let token = scenario.issue().await;
    let mut changed = 0;
    for (index, _) in token.char_indices() {
        for sign in ["A", "z", "-", ".", ""] {
            let mut other = token.clone();
            other.replace_range(index..=index, sign);
            if other == token {
                continue;
            }
            assert_eq!(scenario.status(&other).await, 401, "{other}");
            changed += 1;
        }
    }
    assert!(changed > 1000, "{changed}");
    assert_eq!(scenario.status(&token).await, 200);
    for other in [format!("{token}="), format!("{token}A"), format!("{token}.a")] {
        assert_eq!(scenario.status(&other).await, 401);
    }
}
