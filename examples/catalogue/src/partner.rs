//! A partner of the catalogue: a page of another site, `http://127.0.0.1:8081`, which loads it in
//! every way that a page can.

use std::sync::{Arc, OnceLock};

use example_look::{free, ports};
use policy_server::prelude::*;

use crate::EXAMPLE;

/// The origin of the catalogue, known once it listens.
type Catalogue = Arc<OnceLock<String>>;

/// Serves the catalogue and the partner's page until ctrl-c.
pub(crate) async fn serve_beside<S>(catalogue: App<S>) -> Result<(), Error>
where
    S: Send + Sync + 'static,
{
    let [catalogue_port, partner_port] = ports("POLICY_CATALOGUE_PORTS", [8080, 8081]);
    let known = Catalogue::default();
    let catalogue = catalogue.bind(free(catalogue_port)?).await?;
    let partner = App::new(Arc::clone(&known)).routes(routes![page]);
    let partner = partner.bind(free(partner_port)?).await?;
    let origin = format!("http://localhost:{}", catalogue.local_addr().port());
    introduce(known.get_or_init(|| origin), &format!("http://{}", partner.local_addr()));
    tokio::try_join!(catalogue.run(), partner.run())?;
    Ok(())
}

/// Prints the addresses and what to try.
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(catalogue: &str, partner: &str) {
    println!(
        "
catalogue: {catalogue}
partner:   {partner}

Open the catalogue: its page shows which of its requests go to the network. The partner's page
shows what another site gets. Or ask as a client does that has version 1 already (304), one that
wants the end of a file (206), and one that changes what it has not seen (428):

  curl -i {catalogue}/products/1 -H 'If-None-Match: \"1\"'
  curl -i {catalogue}/price-list.csv -H 'Range: bytes=-20'
  curl -i -X PUT {catalogue}/products/1 -H 'Content-Type: application/json' \\
       -d '{{\"name\": \"Desk lamp\", \"price\": 4500}}'

Then change an attribute in examples/catalogue/src/main.rs and start again. Ctrl-C ends it.
"
    );
}

#[get("/")]
#[headers(csp = "default-src http://localhost:*; script-src 'nonce' http://localhost:*; style-src 'nonce'; img-src data: http://localhost:*", frame = none)]
#[cache(no_store)]
#[auth(public)]
async fn page(nonce: CspNonce, State(catalogue): State<Catalogue>) -> impl IntoResponse {
    let catalogue = catalogue.get().map_or("", String::as_str);
    let html = include_str!("partner.html").replace("{{nonce}}", nonce.as_str());
    let html = html.replace("{{catalogue}}", catalogue);
    ([("content-type", "text/html; charset=utf-8")], EXAMPLE.page(&html))
}
