//! Parameters of the path as arguments.

use super::*;

#[get("/orders/{id}")]
#[auth(public)]
async fn order(id: u64) -> String {
    id.to_string()
}

#[get("/names/{name}")]
#[auth(public)]
async fn name(name: String) -> String {
    name
}

#[get("/files/{owner}/{*rest}")]
#[auth(public)]
async fn file(rest: String, owner: char, State(db): State<Db>) -> String {
    format!("{owner}:{rest}:{}", db.name)
}

#[tokio::test]
async fn parameters_are_typed_arguments() {
    let client = client(routes![order, name, file]);
    for (path, text) in [
        ("/orders/7", "7"),
        ("/names/b%C3%B6b", "böb"),
        ("/names/a%2Bb%3a", "a+b:"),
        ("/names/a%2525", "a%25"),
        ("/names/a+b", "a+b"),
        ("/files/x/a/b.txt", "x:a/b.txt:lamps"),
    ] {
        let response = client.get(path).send().await;
        assert_eq!(response.text(), text, "{path}");
    }
}

#[tokio::test]
async fn a_parameter_accepts_encoded_slashes_only_if_it_opts_in() {
    #[get("/projects/{name:slashes}/plan")]
    #[auth(public)]
    async fn plan(name: String) -> String {
        name
    }

    let client = client(routes![name, file, plan]);
    for path in ["/names/a%2Fb", "/names/a%5cb", "/files/x/a%2Fb", "/files/%2f/a"] {
        let response = client.get(path).send().await;
        let expected = (400, "wire.path-encoded-slash".to_owned());
        assert_eq!(refusal(&response), expected, "{path}");
    }
    assert_eq!(client.get("/projects/a%2Fb%5cc/plan").send().await.text(), "a/b\\c");
}

#[tokio::test]
async fn a_parameter_that_does_not_parse_is_named() {
    let client = client(routes![order, name, file]);
    for (path, name) in [("/orders/seven", "id"), ("/orders/-1", "id"), ("/files/xy/a", "owner")] {
        let response = client.get(path).send().await;
        assert_eq!(refusal(&response), (400, "request.parameter-invalid".to_owned()));
        let problem: serde_json::Value = response.json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with(&format!("`{name}`: ")), "{detail}");
    }
}
