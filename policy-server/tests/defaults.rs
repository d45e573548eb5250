//! Each default of another crate that this one replaces is listed, with the reason, in
//! `docs/decisions/defaults.md`.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The methods that replace another crate's default limit, check or time-out.
const METHODS: &str = "adaptive_window connect_timeout danger_accept_invalid_certs dangerous \
    datagram_receive_buffer_size datagram_send_buffer_size disable disable_recursion_limit \
    enable_connect_protocol half_close header_read_timeout ignore_multi_range_requests \
    incoming_buffer_size incoming_buffer_size_total initial_connection_window_size \
    initial_stream_window_size keep_alive keep_alive_interval keep_alive_timeout keepalives \
    keepalives_idle max_buf_size max_concurrent_bidi_streams max_concurrent_streams \
    max_concurrent_uni_streams max_field_section_size max_frame_size max_header_list_size \
    max_headers max_idle_timeout max_incoming max_local_error_reset_streams \
    max_pending_accept_reset_streams max_send_buf_size migration receive_window send_grease \
    send_window set_durability set_tcp_keepalive ssl_mode stream_receive_window tcp_user_timeout \
    with_client_cert_verifier with_custom_certificate_verifier with_no_client_auth \
    with_protocol_versions with_root_certificates";

/// The same for fields.
const FIELDS: &str = "alpn_protocols enable_secret_extraction key_log max_early_data_size \
    max_fragment_size recycling_method require_ems send_half_rtt_data session_storage ticketer";

/// The same for associated functions.
const FUNCTIONS: [&str; 3] =
    ["DefaultBodyLimit::max", "DefaultBodyLimit::disable", "DefaultBodyLimit::new"];

#[test]
fn every_replaced_default_is_listed() {
    let missing: Vec<_> = replaced_defaults().difference(&listed_defaults()).cloned().collect();
    assert!(missing.is_empty(), "not in docs/decisions/defaults.md: {missing:?}");
}

#[test]
fn no_listed_default_is_gone() {
    let gone: Vec<_> = listed_defaults().difference(&replaced_defaults()).cloned().collect();
    assert!(gone.is_empty(), "only in docs/decisions/defaults.md: {gone:?}");
    assert!(listed_defaults().len() > 40, "only {} were seen", listed_defaults().len());
}

/// The last cell names tests, which `decisions.rs` looks for, or is `the same` as in the row above.
#[test]
fn every_row_names_a_test() {
    let text = fs::read_to_string(root().join("../docs/decisions/defaults.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let is_test =
        |cell: &str| cell == "the same" || (cell.contains(".rs`, `") && cell.ends_with('`'));
    let without: Vec<_> = rows
        .filter(|row| !row.trim_end_matches(" |").rsplit(" | ").next().is_some_and(is_test))
        .collect();
    assert!(without.is_empty(), "without a test: {without:#?}");
}

#[test]
fn settings_are_found_in_code_only() {
    let code = "// .max_headers(1)\n builder.max_headers (2);\n  config.ticketer = none;\n\
        x.ticketer == y; ManagerConfig { recycling_method: Fast } fn disable(self) {}\n\
        DefaultBodyLimit::disable().apply(&mut request); settings.keep_alive\n\
        #[cfg(test)]\nmod tests { builder.max_buf_size(1); }";
    let found: Vec<_> = settings(code).into_iter().collect();
    assert_eq!(found, ["DefaultBodyLimit::disable", "max_headers", "recycling_method", "ticketer"]);
}

/// The settings in a file outside of its test module.
fn settings(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code: Vec<_> = code.lines().filter(is_code).collect();
    let code: String = code.join("\n").split(' ').collect::<Vec<_>>().join("");
    let methods = METHODS.split_whitespace().filter(|name| code.contains(&format!(".{name}(")));
    let fields = FIELDS.split_whitespace().filter(|name| {
        let is_set = |(at, _): (usize, &str)| {
            let rest = code.get(at + name.len()..).unwrap_or_default();
            let before = code.get(..at).unwrap_or_default().chars().next_back();
            let is_whole = before.is_none_or(|before| !before.is_alphanumeric() && before != '_');
            is_whole
                && ((rest.starts_with('=') && !rest.starts_with("=="))
                    || (rest.starts_with(':') && !rest.starts_with("::")))
        };
        code.match_indices(name).any(is_set)
    });
    let functions = FUNCTIONS.into_iter().filter(|name| code.contains(&format!("{name}(")));
    methods.chain(fields).chain(functions).map(str::to_owned).collect()
}

/// The file and setting of each replaced default.
fn replaced_defaults() -> BTreeSet<(String, String)> {
    let src = root().join("src");
    let mut found = BTreeSet::new();
    for file in files(&src) {
        let name = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        // Test clients and tests are not part of a running server.
        let is_test = name.starts_with("testing/") || name.contains("tests/");
        if is_test || name.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        found.extend(settings(&text).into_iter().map(|setting| (name.clone(), setting)));
    }
    found
}

/// The first two cells of each row of the table.
fn listed_defaults() -> BTreeSet<(String, String)> {
    let text = fs::read_to_string(root().join("../docs/decisions/defaults.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| {
        let mut cells = row.split('`');
        Some((cells.next()?.to_owned(), cells.nth(1)?.to_owned()))
    })
    .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            files.extend(self::files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
