//! Lists, and objects by keys of bodies.

use super::*;

#[tokio::test]
async fn a_list_has_what_each_object_would_allow() {
    let (server, orders) = serving().await;
    for caller in [
        None,
        Some(""),
        Some("ada"),
        Some("eve"),
        Some("rita"),
        Some("bob;company=acme"),
        Some("bob;company=acme;role=lead"),
        Some(";company=globex"),
    ] {
        let (mut viewed, mut edited) = (Vec::new(), Vec::new());
        for id in orders.orders.keys() {
            let maybe = send(&server, &format!("GET /maybe/{id}"), caller, &[]).await;
            viewed.extend((maybe.status == 200).then(|| id.to_string()));
            let mut fields = vec!["content-type: application/json".to_owned()];
            fields.extend(caller.map(|caller| format!("x-caller: {caller}")));
            let fields: Vec<_> = fields.iter().map(|it| &**it).collect();
            let change = with_body(&format!("PUT /orders/{id}"), &fields, "\"x\"");
            edited.extend((server.response(change).await.status == 200).then(|| id.to_string()));
        }
        let list = send(&server, "GET /orders", caller, &[]).await;
        assert_eq!(list.text(), viewed.join(" "), "{caller:?}");
        if caller.is_some() {
            let editable = send(&server, "GET /editable", caller, &[]).await;
            assert_eq!(editable.text(), edited.join(" "), "{caller:?}");
        }
    }
    let ada = send(&server, "GET /orders", Some("ada"), &[]).await;
    assert_eq!(ada.text(), "1 2 3");
    let nobody = send(&server, "GET /orders", None, &[]).await;
    assert_eq!(nobody.text(), "2");
}

/// A key in a body is checked as one in the path, and a refusal reveals as little.
#[tokio::test]
async fn keys_of_bodies_are_checked() {
    let (server, _) = serving().await;
    let mut unseen = Vec::new();
    for (caller, id, status) in
        [("ada", 1, 200), ("rita", 1, 403), ("eve", 1, 404), ("eve", 99, 404), ("ada", 99, 404)]
    {
        let caller = format!("x-caller: {caller}");
        let fields = ["content-type: application/json", &caller];
        let copied = server.response(with_body("POST /copies", &fields, &id.to_string())).await;
        assert_eq!(copied.status, status, "{caller} {id} {copied:?}");
        if status == 404 {
            unseen.push((copied.line.clone(), copied.lines(), copied.body));
        }
    }
    assert!(unseen.windows(2).all(|two| two[0] == two[1]), "{unseen:?}");
}
