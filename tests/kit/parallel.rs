//! One browser with many concurrent loads.

use policy_server::testing::*;

use super::{logged_in, net};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn loads_do_not_wait_for_each_other() {
    let net = net();
    let page = logged_in(&net, Profile::CHROMIUM).await.open("https://app.shop.example");
    let loads: Vec<_> = (0..64)
        .map(|_| {
            let (net, page) = (net.clone(), page.clone());
            let me = Fetch::get("https://api.shop.example/me").credentials(Include);
            tokio::spawn(async move { page.fetch(&net, me).await.status() })
        })
        .collect();
    for load in loads {
        assert_eq!(load.await.expect("no panic"), 200);
    }
    assert_eq!(net.requests().len(), 66);
}
