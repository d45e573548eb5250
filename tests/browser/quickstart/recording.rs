//! The recording of the quickstart at the top of the README: pictures of both pages while they fill
//! themselves.

use std::{path::Path, process::Command};

use policy_tests::{
    folder::Folder,
    webdriver::{Browser, Failure},
};
use serde_json::json;

use super::example::Quickstart;

/// The calls of a page.
const ROWS: usize = 6;

/// How long a picture is shown, and the last one of each page, in milliseconds.
const SHOWN: [&str; 2] = ["1300", "3000"];

#[test]
#[ignore = "writes docs/quickstart.webp: `cargo xtask long recording` runs it"]
fn the_quickstart_is_recorded() -> Result<(), Failure> {
    let quickstart = Quickstart::on_its_ports()?;
    let browser = Browser::with(&["--hide-scrollbars".to_owned()], &json!({}))?;
    let folder = Folder::new()?;
    browser.resize(1100, 720)?;
    // Slow enough for a picture of each row.
    browser.slow_down(300)?;
    let mut join = Command::new("img2webp");
    join.args(["-loop", "0", "-lossless"]);
    for (page, address) in [quickstart.granted_page(), quickstart.refused_page()].iter().enumerate()
    {
        browser.goto(address)?;
        for row in 1..=ROWS {
            browser.wait_for(&format!("document.querySelector('#rows tr:nth-child({row})')"))?;
            let follow = "document.querySelector('#rows tr:last-child').scrollIntoView(input);";
            browser.run(follow, &json!({ "block": "end" }))?;
            let picture = folder.path().join(format!("{page}-{row}.png"));
            browser.screenshot(&picture)?;
            join.args(["-d", SHOWN[usize::from(row == ROWS)]]).arg(picture);
        }
    }
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/quickstart.webp");
    assert!(join.arg("-o").arg(recording).status()?.success());
    quickstart.stop()
}
