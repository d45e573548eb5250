//! The review of a pull request that widens a policy by mistake, replayed: docs/review.md tells it.
//!
//! Run `cargo run -p review`. It needs git, and works in a folder of its own.

mod replay;

use std::{env, fs, io, panic, path::Path, process::ExitCode};

use policy_server::codegen::{LockSubject, prove};
use replay::Repository;

const DIFF: &str = "cargo policy diff origin/main";
const REQUEST: &str =
    "cargo policy explain PUT /cart/1 -H 'origin: https://evil.shop.example' --session --csrf";

#[expect(clippy::print_stderr, reason = "it speaks to the person who started it")]
fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["policy", ..] => return policy_cli::main(),
        ["test", app, folder] => test(app, folder),
        _ => review(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The review, from the first test of the author to the lock file that is merged.
#[expect(clippy::print_stdout, reason = "it speaks to the person who started it")]
fn review() -> io::Result<()> {
    let mut shop = Repository::new()?;
    let step = |shop: &Repository, line: &str| {
        let printed = shop.replay(line)?;
        println!("$ {line}\n{printed}");
        io::Result::Ok(printed)
    };
    shop.edit("in_pull_request");
    step(&shop, "cargo test")?;
    step(&shop, "POLICY_LOCK=update cargo test")?;
    step(&shop, DIFF)?;
    step(&shop, &format!("{DIFF} --no-new-access --format markdown"))?;
    step(&shop, &format!("{DIFF} --format sarif"))?;
    step(&shop, "cargo policy lint")?;
    step(&shop, &format!("{REQUEST} --from origin/main"))?;
    step(&shop, REQUEST)?;
    shop.edit("after_review");
    let printed = step(&shop, "POLICY_LOCK=update cargo test")?;
    shop.accept(&printed, "ada", "the pages of the sale fill the cart")?;
    step(&shop, "POLICY_LOCK=update cargo test")?;
    step(&shop, "cargo test")?;
    step(&shop, "git diff -U0 origin/main -- policy.lock")?;
    step(&shop, DIFF)?;
    Ok(())
}

/// The test of the lock file, which an app has by `policy_tests!`. It writes what it knows of the
/// app for `cargo policy`.
#[expect(clippy::print_stderr, reason = "a test fails so")]
fn test(app: &str, folder: &str) -> io::Result<()> {
    panic::set_hook(Box::new(|panic| {
        eprintln!("{}", panic.payload().downcast_ref::<String>().map_or("", String::as_str));
    }));
    let app = match app {
        "on_main" => review::on_main(),
        "in_pull_request" => review::in_pull_request(),
        _ => review::after_review(),
    };
    let known = Path::new(folder).join("target/policy/shop");
    fs::create_dir_all(&known)?;
    fs::write(known.join("manifest.json"), app.manifest().to_json())?;
    fs::write(known.join("sources.json"), serde_json::to_string(&app.sources())?)?;
    let folder = Box::leak(Box::<str>::from(folder));
    // Without a name, so that the file is policy.lock.
    prove(app).check_lock(LockSubject { folder, package: "shop", name: "policy_laws" });
    Ok(())
}
