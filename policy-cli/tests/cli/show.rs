//! `cargo policy show`.

use std::{fs, path::PathBuf};

use policy_manifest::{Acceptance, Lock, Manifest};

use crate::{
    fixtures,
    run::{Ran, compare, folder, package, run, run_at, run_in, without_style_and_script},
};

/// A package whose tests were run, or that has only its lock file.
fn shop(name: &str, is_tested: bool) -> PathBuf {
    let mut lock = Lock::new(fixtures::hello());
    lock.accepted.push(Acceptance {
        route: "GET /hello/{name}".to_owned(),
        policy: "0".to_owned(),
        who: "ada@shop.example".to_owned(),
        why: "a greeting".to_owned(),
    });
    let lock = [("policy.lock", &*lock.to_json())];
    let folder = package(name, &fixtures::shop(), &fixtures::shop_sources(), &lock);
    if !is_tested {
        fs::remove_dir_all(folder.join("target")).unwrap();
    }
    folder
}

#[test]
fn the_routes_fit_the_width() {
    let folder = shop("widths", true);
    for width in ["40", "60", "80", "120", "160", "220"] {
        let Ran { code, out, err } = run_in(&folder, &["policy", "show", "--width", width], "");
        assert_eq!((code, &*err), (0, ""));
        let widest = out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.parse().unwrap(), "{out}");
        compare(&format!("shop-{width}.txt"), &out);
    }
    compare("hello.txt", &run("show --from hello.json").out);
}

#[test]
fn every_format_says_the_same() {
    let folder = shop("formats", true);
    let of = |format: &str| {
        let Ran { code, out, err } = run_in(&folder, &["show", "--format", format], "");
        assert_eq!((code, &*err), (0, ""));
        out
    };
    compare("shop.md", &of("markdown"));
    compare("shop.html", &without_style_and_script(&of("html")));
    assert_eq!(of("json"), fixtures::shop().to_json());
}

#[test]
fn json_is_a_manifest_of_the_routes_that_are_shown() {
    let all = run("show --from shop.json --format json").out;
    assert_eq!(all, fixtures::shop().to_json());
    for (filter, paths) in [
        ("--anonymous", &["/files", "/healthz", "/hello", "/prices", "/products/{id}"][..]),
        ("--scope orders:read --path /o*/*", &["/orders/{id}"]),
        ("--scope orders:write --path /o*/*", &[]),
        ("--role staff --path /admin/**", &["/admin/refunds/{id}"]),
        ("--role guest --path /admin/**", &[]),
        ("--method put", &["*", "/admin/refunds/{id}"]),
        ("--origin https://app.shop.example --method POST", &["/orders"]),
        ("--origin https://shop.example", &["/prices", "/products/{id}"]),
        ("--origin https://api.shop.example --method DELETE", &["*", "/admin/refunds/{id}"]),
    ] {
        let some = run(&format!("show --from shop.json --format json {filter}")).out;
        let some = Manifest::parse(&some).unwrap();
        let actual_paths: Vec<_> = some.routes.iter().map(|route| &*route.path).collect();
        assert_eq!(actual_paths, paths, "{filter}");
    }
}

#[test]
fn filters_select_by_page_or_caller() {
    let folder = shop("filters", true);
    for (name, line) in [
        ("page", "--origin https://app.shop.example"),
        ("partner", "--origin https://a.partner.example"),
        ("anonymous", "--anonymous"),
        ("staff", "--role staff --path /admin/** --path /h*"),
    ] {
        let Ran { code, out, .. } = run_at(&folder, &format!("show {line}"));
        assert_eq!(code, 0);
        compare(&format!("shop-{name}.txt"), &out);
    }
    // The bound of a list is known without its entries.
    for (name, origin) in
        [("within", "https://b.partner.example"), ("outside", "https://b.example")]
    {
        let Ran { out, .. } = run(&format!("show --from shop.json --origin {origin}"));
        compare(&format!("shop-{name}.txt"), &out);
    }
}

#[test]
fn the_last_test_run_is_shown_or_else_the_lock_file() {
    let tested = run_in(&shop("tested", true), &["show"], "");
    assert!(tested.out.contains("shop: 10 routes") && tested.out.contains("src/orders.rs:24"));
    let untested = shop("untested", false);
    let locked = run_in(&untested, &["show"], "");
    assert!(locked.out.starts_with("shop: 1 route\n"), "{}", locked.out);
    assert!(locked.err.contains("`cargo test -p shop`"), "{}", locked.err);
    let below = untested.join("src");
    assert_eq!(run_in(&below, &["show"], "").out, locked.out);
    let manifest = untested.join("Cargo.toml");
    let by_path = ["show", "--manifest-path", manifest.to_str().unwrap()];
    assert_eq!(run_in(&std::env::temp_dir(), &by_path, "").out, locked.out);
    assert_eq!(run_in(&untested, &["show", "-p", "shop"], "").out, locked.out);
}

#[test]
fn a_manifest_comes_from_a_file_or_standard_input() {
    let named = run("show --from hello.json").out;
    let manifests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/manifests");
    let text = fs::read_to_string(manifests.join("hello.json")).unwrap();
    let piped = run_in(&manifests, &["show", "--from", "-"], &text).out;
    assert_eq!(
        piped.lines().skip(1).collect::<Vec<_>>(),
        named.lines().skip(1).collect::<Vec<_>>()
    );
}

#[test]
fn an_empty_selection_is_noted() {
    let Ran { code, out, err } = run("show --from hello.json --path /nothing");
    assert_eq!(code, 0);
    assert!(out.starts_with("hello.json: 0 of 1 routes\n"), "{out}");
    assert!(err.contains("no route matches"), "{err}");
}

#[test]
fn colours_are_for_terminals() {
    assert!(!run("show --from shop.json").out.contains('\u{1b}'));
    assert!(run("show --from shop.json --color always").out.contains("\u{1b}[1m"));
}

#[test]
fn a_thousand_routes_have_a_thousand_entries() {
    let manifest = fixtures::large(1000).to_json();
    let folder = folder("large", &[("large.json", &manifest)]);
    for (arguments, entry) in [
        ("--width 60", "\n  Who may call  "),
        ("--format markdown", "\n| "),
        ("--format html", "\n<tr role=\"row\" data-marks="),
        ("--format json", "\n      \"path\": "),
    ] {
        let ran = run_at(&folder, &format!("show --from large.json {arguments}"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        let heads = if arguments.contains("markdown") { 2 } else { 0 };
        assert_eq!(ran.out.matches(entry).count(), 1000 + heads, "{arguments}");
    }
}
