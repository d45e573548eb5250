//! Gives the builds of trybuild their flags.

/// The flags that trybuild states, with the width of diagnostics that it adds for the files under test alone.
/// Cargo builds every dependency again where flags differ.
const FLAGS: [&str; 6] =
    ["--cfg", "trybuild", "--verbose", "-A", "dead_code", "--diagnostic-width=140"];

fn main() {
    println!("cargo::rustc-env=CARGO_ENCODED_RUSTFLAGS={}", FLAGS.join("\x1f"));
    println!("cargo::rerun-if-changed=build.rs");
}
