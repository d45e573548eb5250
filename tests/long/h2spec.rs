//! h2spec (<https://github.com/summerwind/h2spec>), which sends what RFC 9113 and RFC 7541 forbid, over
//! TLS and with prior knowledge. `POLICY_H2SPEC` names the program.

use std::{env, fs, path::PathBuf, process::Command};

use bytes::Bytes;
use policy_server::{Tls, prelude::*};
use policy_tests::http::Running;

/// Reads the body, since some cases test incomplete bodies, and responds with content, without
/// which others are skipped.
#[get("/echo")]
#[post("/echo")]
#[auth(public)]
async fn echo(_body: Bytes) -> &'static str {
    "hello"
}

/// The cases that do not pass, by section and number. An invalid preface is no HTTP/2 at all where
/// the first bytes choose the protocol: it is answered with 400 over HTTP/1.1.
const WITH_PRIOR_KNOWLEDGE: &[&str] = &["http2/3.5 2"];

/// How many cases there are.
const CASES: usize = 147;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs h2spec"]
async fn h2spec_finds_nothing_else() {
    let _machine = crate::alone().await;
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("h2spec");
    fs::create_dir_all(&folder).expect("a folder");
    for (is_tls, allowed) in [(true, &[][..]), (false, WITH_PRIOR_KNOWLEDGE)] {
        let app = App::new(()).routes(routes![echo]);
        let app = if is_tls { app.tls(Tls::development(&folder)) } else { app };
        let server = Running::start(app).await;
        let (port, report) = (server.address.port(), folder.join("report.xml"));
        let tested = tokio::task::spawn_blocking(move || {
            let program = env::var_os("POLICY_H2SPEC").expect("the variable POLICY_H2SPEC");
            let mut command = Command::new(program);
            command.args(["--strict", "--path", "/echo", "--timeout", "5"]);
            command.args(["--port", &port.to_string(), "--junit-report"]).arg(&report);
            if is_tls {
                command.args(["--tls", "--insecure"]);
            }
            command.output().expect("h2spec");
            fs::read_to_string(&report).expect("its report")
        });
        let cases = cases(&tested.await.expect("a thread"));
        let failed: Vec<&str> =
            cases.iter().filter(|case| !case.passes).map(|case| &*case.number).collect();
        let over = if is_tls { "over TLS" } else { "with prior knowledge" };
        println!("{over}: {} of {} cases pass", cases.len() - failed.len(), cases.len());
        for section in sections(&cases) {
            println!("  {section}");
        }
        assert_eq!((cases.len(), failed), (CASES, allowed.to_vec()), "{over}");
        assert_eq!(server.panics(), 0);
    }
}

struct Case {
    section: String,
    /// The section and the number within it.
    number: String,
    passes: bool,
}

/// The cases of a report in the format of JUnit.
fn cases(report: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for text in report.split("<testcase ").skip(1) {
        let (_, rest) = text.split_once("package=\"").expect("a section");
        let section = rest.split('"').next().expect("a section").to_owned();
        let count = cases.iter().filter(|case| case.section == section).count();
        let passes =
            !text.contains("<failure") && !text.contains("<error") && !text.contains("<skipped");
        cases.push(Case { number: format!("{section} {}", count + 1), section, passes });
    }
    cases
}

/// One line for each section.
fn sections(cases: &[Case]) -> Vec<String> {
    let mut names: Vec<&str> = cases.iter().map(|case| &*case.section).collect();
    names.dedup();
    names
        .iter()
        .map(|name| {
            let of_section = || cases.iter().filter(|case| case.section == **name);
            format!(
                "{name}: {} of {}",
                of_section().filter(|case| case.passes).count(),
                of_section().count()
            )
        })
        .collect()
}
