//! axe, which checks the accessibility of a page.

use std::{env, fs, path::Path};

use serde_json::{Value, json};

use super::{
    bidi::Bidi,
    peers::installed,
    webdriver::{Browser, Failure},
};

/// A browser that shows a page in any size.
pub trait Viewer {
    fn resize(&mut self, width: u32, height: u32) -> Result<(), Failure>;

    /// Calls an `async` function of the page with one argument.
    fn call(&mut self, function: &str, input: &Value) -> Result<Value, Failure>;

    fn screenshot(&mut self, to: &Path) -> Result<(), Failure>;
}

/// Runs axe on the page, in both themes and at the size of a phone. With `POLICY_SCREENSHOT`, the
/// folder of that name gets a picture of each, for a manual look.
pub fn judge(browser: &mut impl Viewer, view: &str) -> Result<(), Failure> {
    const IS_THERE: &str = "async () => 'axe' in window";
    const JUDGE: &str = "async (theme) => {
        document.documentElement.style.colorScheme = theme;
        for (const animation of document.getAnimations()) animation.finish();
        const { violations } = await axe.run();
        const wide = document.documentElement.scrollWidth > innerWidth ? ['it scrolls sideways'] : [];
        return [...wide, ...violations.flatMap(({ id, nodes }) =>
            nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`))];
    }";
    if browser.call(IS_THERE, &Value::Null)? == json!(false) {
        let axe = fs::read_to_string(installed("node/node_modules/axe-core/axe.min.js"))?;
        browser.call(&format!("async () => {{\n{axe}\n}}"), &Value::Null)?;
    }
    for (width, theme) in [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")] {
        browser.resize(width, 900)?;
        let found = browser.call(JUDGE, &json!(theme))?;
        if let Some(folder) = env::var_os("POLICY_SCREENSHOT") {
            fs::create_dir_all(&folder)?;
            let name = format!("{view}-{width}-{theme}.png");
            browser.screenshot(&Path::new(&folder).join(name))?;
        }
        assert_eq!(found, json!([]), "{view}, {width} wide, {theme}");
    }
    Ok(())
}

impl Viewer for Bidi {
    fn resize(&mut self, width: u32, height: u32) -> Result<(), Failure> {
        Self::resize(self, width, height)
    }

    fn call(&mut self, function: &str, input: &Value) -> Result<Value, Failure> {
        self.run(function, input)
    }

    fn screenshot(&mut self, to: &Path) -> Result<(), Failure> {
        Self::screenshot(self, to)
    }
}

impl Viewer for &Browser {
    fn resize(&mut self, width: u32, height: u32) -> Result<(), Failure> {
        Browser::resize(self, width, height)
    }

    fn call(&mut self, function: &str, input: &Value) -> Result<Value, Failure> {
        self.run(&format!("return ({function})(input);"), input)
    }

    fn screenshot(&mut self, to: &Path) -> Result<(), Failure> {
        Browser::screenshot(self, to)
    }
}
