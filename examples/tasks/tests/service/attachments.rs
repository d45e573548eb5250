//! Files of tasks.

use policy_server::testing::{Fetched, TestPage};
use serde_json::Value;

use crate::site::{Site, add, path, refusal, with};

async fn upload(page: &TestPage, task: &Value, name: &str, content: Vec<u8>) -> Fetched {
    let to = format!("{}/attachments?name={name}", path("tasks", task));
    page.post(&to).body(content).send().await
}

pub(crate) async fn a_file_comes_back_as_it_was_and_never_as_a_page(site: &Site) {
    let lead = site.lead("karla").await;
    let task = add(&lead, "with a file").await;
    let content = b"<script>\x00\xff</script>".to_vec();
    let sent = upload(&lead, &task, "a%20p%C3%A4ge.html", content.clone()).await;
    assert_eq!(sent.status(), 201, "{}", sent.text());
    let list = format!("{}/attachments", path("tasks", &task));
    let files: Value = lead.get(&list).send().await.json();
    assert_eq!((&files[0]["name"], &files[0]["size"]), (&"a päge.html".into(), &19.into()));
    let task: Value = lead.get(&path("tasks", &task)).send().await.json();
    assert_eq!((&task["attachments"], &task["version"]), (&1.into(), &2.into()));

    // As a program sees it, with all headers.
    let file = lead.get(&path("attachments", &files[0])).send().await;
    assert_eq!(file.response().body, content);
    assert_eq!(file.header("content-type"), Some("application/octet-stream"));
}

pub(crate) async fn a_file_that_is_too_large_or_one_too_many_is_refused(site: &Site) {
    let lead = site.lead("lena").await;
    let task = add(&lead, "with files").await;
    let large = upload(&lead, &task, "large", vec![0; 1024 * 1024 + 1]).await;
    assert_eq!(refusal(&large).0, 413);
    assert_eq!(upload(&lead, &task, "fits", vec![0; 1024 * 1024]).await.status(), 201);
    for name in ["", "..%2Fpasswd", "a%5Cb", "a%0Ab"] {
        assert_eq!(upload(&lead, &task, name, vec![1]).await.status(), 422, "{name}");
    }
    assert_eq!(upload(&lead, &task, "empty", Vec::new()).await.status(), 422);
    for number in 1..20 {
        let sent = upload(&lead, &task, &format!("file{number}"), vec![1]).await;
        assert_eq!(sent.status(), 201, "{number}");
    }
    let more = upload(&lead, &task, "more", vec![1]).await;
    assert_eq!(refusal(&more), with(409, "attachments.too-many"));
}

pub(crate) async fn a_stranger_neither_reads_nor_adds_a_file(site: &Site) {
    let lead = site.lead("mona").await;
    let task = add(&lead, "with a secret").await;
    let file: Value = upload(&lead, &task, "secret", b"secret".to_vec()).await.json();
    let stranger = site.lead("max").await;
    let read = stranger.get(&path("attachments", &file)).send().await;
    assert_eq!(read.status(), 404);
    assert!(!read.text().contains("secret"));
    let list = format!("{}/attachments", path("tasks", &task));
    assert_eq!(stranger.get(&list).send().await.status(), 404);
    assert_eq!(upload(&stranger, &task, "x", vec![1]).await.status(), 404);
}
