//! The guide as `cargo xtask long guide` builds it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use policy_tests::{
    axe,
    webdriver::{Browser, Failure},
};
use serde_json::{Value, json};

/// Pages that are no chapters: mdBook's own, and the documentation of the API.
const OTHERS: [&str; 4] = ["404.html", "api", "print.html", "toc.html"];

/// The pages of chapters in a folder of the built guide.
fn chapters(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if OTHERS.iter().any(|other| path.ends_with(other)) {
            continue;
        }
        if path.is_dir() {
            found.extend(chapters(&path)?);
        } else if path.extension().is_some_and(|end| end == "html") {
            found.push(path);
        }
    }
    Ok(found)
}

#[test]
#[ignore = "needs the built guide, Chromium and axe: `cargo xtask long guide` runs it"]
fn chapters_are_accessible_and_their_code_fits() -> Result<(), Failure> {
    const CUT: &str = "
        const code = [...document.querySelectorAll('pre > code')];
        const cut = code.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
        return cut.map((code) => code.textContent);";
    let test = env::current_exe()?;
    let guide = test.ancestors().nth(3).ok_or("no target folder")?.join("guide");
    let browser = Browser::start()?;
    let index = format!("file://{}", guide.join("index.html").display());
    browser.resize(1280, 900)?;
    browser.goto(&index)?;
    axe::judge(&mut &browser, "guide")?;
    let chapters = chapters(&guide)?;
    assert!(chapters.len() > 40, "only {} chapters were found", chapters.len());
    for chapter in chapters {
        let name = chapter.strip_prefix(&guide)?.to_string_lossy().replace(['/', '.'], "-");
        let address = format!("file://{}", chapter.display());
        // With the contents beside it.
        browser.resize(1280, 900)?;
        browser.goto(&address)?;
        assert_eq!(browser.run(CUT, &Value::Null)?, json!([]), "{name}");
        // Without them, as on a phone.
        browser.resize(390, 900)?;
        browser.goto(&address)?;
        axe::judge(&mut &browser, &name)?;
    }
    Ok(())
}
