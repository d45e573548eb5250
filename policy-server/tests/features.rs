//! `docs/features.md`, which the crate's documentation and the guide include, lists the features of the manifest.

const MANIFEST: &str = include_str!("../Cargo.toml");
const TABLE: &str = include_str!("../docs/features.md");

#[test]
fn every_feature_has_one_row() {
    let section = MANIFEST.lines().skip_while(|line| *line != "[features]").skip(1);
    let section = section.take_while(|line| !line.starts_with('['));
    let mut features: Vec<_> = section
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .collect();
    let mut rows: Vec<_> = TABLE
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    features.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, features);
    assert!(features.len() > 15, "only {} features were seen", features.len());
}
