//! The page, in Chromium and Firefox, as two people use it; and its accessibility.

use std::io;

use policy_tests::{axe, bidi::Bidi, example::Example, folder::Folder, webdriver::Failure};
use serde_json::{Value, json};

/// Starts the example.
pub(crate) fn start(folder: &Folder) -> io::Result<Example> {
    let mut command = Example::command(env!("CARGO_BIN_EXE_tasks"));
    command.env("POLICY_TASKS_PORTS", "0,0").env("POLICY_TASKS_FOLDER", folder.path());
    command.env_remove("DATABASE_URL");
    Example::start(&mut command, &["service", "page"])
}

/// Waits until an expression is true, and the page has done what it was told.
fn until(browser: &mut Bidi, expression: &str) -> Result<(), Failure> {
    let wait = format!(
        "async () => {{
            const is = () => document.body.getAttribute('aria-busy') === 'false' && ({expression});
            for (let left = 3000; !is(); left -= 1) {{
                if (left === 0) return document.body.innerText;
                await new Promise((resolve) => setTimeout(resolve, 20));
            }}
            return null;
        }}"
    );
    match browser.run(&wait, &Value::Null)? {
        Value::Null => Ok(()),
        text => Err(format!("waited for `{expression}`, and the page shows {text}").into()),
    }
}

/// Fills in a form, sends it, and waits for the result.
fn send(browser: &mut Bidi, form: &str, fields: &Value) -> Result<(), Failure> {
    const SEND: &str = "async ({ form, fields }) => {
        const { elements } = document.getElementById(form);
        for (const [name, value] of Object.entries(fields)) elements[name].value = value;
        document.getElementById(form).requestSubmit();
    }";
    browser.run(SEND, &json!({ "form": form, "fields": fields }))?;
    until(browser, "true")
}

fn click(browser: &mut Bidi, selector: &str) -> Result<(), Failure> {
    browser.run("async (input) => document.querySelector(input).click()", &json!(selector))?;
    until(browser, "true")
}

fn text(browser: &mut Bidi, selector: &str) -> Result<String, Failure> {
    let text = "async (input) => document.querySelector(input).innerText";
    Ok(browser.run(text, &json!(selector))?.as_str().unwrap_or_default().to_owned())
}

fn sign_up(browser: &mut Bidi, login: &str, name: &str, team: &str) -> Result<(), Failure> {
    let password = "correct horse";
    let fields = json!({ "login": login, "name": name, "password": password, "team": team });
    send(browser, "signup", &fields)?;
    let is_live = "document.body.dataset.live === 'true'";
    until(browser, &format!("document.body.dataset.me === '{name}' && {is_live}"))
}

fn invite(browser: &mut Bidi) -> Result<String, Failure> {
    click(browser, "nav a[href='#/people']")?;
    send(browser, "invite", &json!({ "role": "member" }))?;
    let link = browser.run("async () => document.getElementById('link').value", &Value::Null)?;
    Ok(link.as_str().ok_or("no link")?.to_owned())
}

/// What two people do, each in a browser of their own.
fn a_team_works_together(mut browser: Bidi) -> Result<(), Failure> {
    const LOOKING: &str = "document.querySelector('.looking')?.innerText";
    let folder = Folder::new()?;
    let tasks = start(&folder)?;
    let browser = &mut browser;
    let ada = browser.open_beside()?;
    browser.goto(tasks.printed("page"))?;
    until(browser, "!document.getElementById('outside').hidden")?;
    sign_up(browser, "ada", "Ada Lovelace", "Compilers")?;
    let link = invite(browser)?;
    click(browser, "nav a[href='#/tasks']")?;

    let grace = browser.open_beside()?;
    browser.goto(&link)?;
    until(browser, "!document.getElementById('invited').hidden")?;
    sign_up(browser, "grace", "Grace Hopper", "")?;
    assert_eq!(text(browser, "#team")?, "Compilers");
    until(browser, "document.querySelectorAll('#here li').length === 2")?;

    // What one adds, the other sees and hears.
    browser.drive(&ada)?;
    until(browser, "document.querySelectorAll('#here li').length === 2")?;
    send(browser, "add", &json!({ "title": "Write a compiler" }))?;
    browser.drive(&grace)?;
    until(browser, "document.querySelector('#list .title')?.innerText === 'Write a compiler'")?;
    until(browser, "document.getElementById('status').innerText.includes('Ada Lovelace added')")?;

    // The people who look at a task, and a file that is added.
    click(browser, "#list .title")?;
    until(browser, "document.getElementById('task').open")?;
    let upload = "async () => {
        const files = new DataTransfer();
        files.items.add(new File(['moth'], 'bug.txt', { type: 'text/plain' }));
        const input = document.getElementById('file');
        input.files = files.files;
        input.dispatchEvent(new Event('change', { bubbles: true }));
    }";
    browser.run(upload, &Value::Null)?;
    until(browser, "document.querySelector('#files a')?.innerText === 'bug.txt'")?;
    browser.drive(&ada)?;
    until(browser, &format!("{LOOKING} === 'Grace Hopper is looking'"))?;
    until(browser, "document.querySelector('#list .facts').innerText.includes('1 file')")?;

    // Of two changes of one version, the second is asked about.
    browser.drive(&grace)?;
    let write = "async () => { document.getElementById('edit').elements.note.value = 'in COBOL'; }";
    browser.run(write, &Value::Null)?;
    browser.drive(&ada)?;
    click(browser, "#list input[type=checkbox]")?;
    until(browser, "document.querySelectorAll('#list li').length === 0")?;
    browser.drive(&grace)?;
    until(browser, "!document.getElementById('conflict').hidden")?;
    send(browser, "edit", &json!({}))?;
    until(browser, "document.activeElement.id === 'theirs'")?;
    click(browser, "#mine")?;
    send(browser, "edit", &json!({}))?;
    until(browser, "!document.getElementById('task').open")?;
    assert_eq!(text(browser, "#status")?, "Saved.");

    // What ends with the session.
    click(browser, "#logout")?;
    until(browser, "document.body.dataset.me === '' && document.activeElement.name === 'login'")?;
    browser.drive(&ada)?;
    until(browser, "document.querySelectorAll('#here li').length === 1")?;
    until(browser, "document.querySelectorAll('.looking').length === 0")
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_team_works_together_in_chromium() -> Result<(), Failure> {
    a_team_works_together(Bidi::chromium(&[], &json!({}))?)
}

#[test]
#[ignore = "needs Firefox: `cargo xtask test` runs it"]
fn a_team_works_together_in_firefox() -> Result<(), Failure> {
    a_team_works_together(Bidi::firefox(&[])?)
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn axe_finds_nothing_on_any_view_in_light_and_dark() -> Result<(), Failure> {
    let folder = Folder::new()?;
    let tasks = start(&folder)?;
    let browser = &mut Bidi::chromium(&[], &json!({}))?;
    browser.goto(&format!("{}/#invitation=0", tasks.printed("page")))?;
    until(browser, "!document.getElementById('invited').hidden")?;
    axe::judge(browser, "invited")?;
    browser.goto(tasks.printed("page"))?;
    until(browser, "!document.getElementById('uninvited').hidden")?;
    send(browser, "login", &json!({ "login": "nobody", "password": "a wrong one" }))?;
    axe::judge(browser, "outside")?;

    sign_up(browser, "ada", "Ada Lovelace", "Compilers")?;
    axe::judge(browser, "empty")?;
    for title in ["Write a compiler", "Find the moth", "Publish the notes on the engine"] {
        send(browser, "add", &json!({ "title": title }))?;
    }
    click(browser, "#filter [value=all]")?;
    click(browser, "#list li:last-child input")?;
    let edit = "async () => {
        const { assignee } = document.getElementById('edit').elements;
        assignee.value = assignee.options[1].value;
    }";
    click(browser, "#list li:nth-child(2) .title")?;
    browser.run(edit, &Value::Null)?;
    send(browser, "edit", &json!({ "note": "It is in relay 70 of panel F." }))?;
    axe::judge(browser, "tasks")?;
    click(browser, "#list li:nth-child(2) .title")?;
    axe::judge(browser, "task")?;
    browser
        .run("async () => { document.getElementById('conflict').hidden = false; }", &Value::Null)?;
    axe::judge(browser, "conflict")?;
    click(browser, "#close")?;

    invite(browser)?;
    send(browser, "machine", &json!({ "name": "nightly" }))?;
    until(browser, "document.querySelectorAll('#machines li').length === 1")?;
    axe::judge(browser, "team")
}
