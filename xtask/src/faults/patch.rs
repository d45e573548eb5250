//! One patch file: what it breaks, and which test must notice.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Failure, Outcome};

/// A fault as its file describes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) path: PathBuf,
    pub(super) file: String,
    pub(super) what: String,
    /// Arguments of `cargo test`.
    pub(super) killed_by: String,
    pub(super) short: bool,
}

impl Fault {
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let text = fs::read_to_string(path).map_err(Failure::with_path("read", path))?;
        Self::parse(path, &text)
            .map_err(|missing| Failure::new(format!("{} has no line `{missing}`", path.display())))
    }

    fn parse(path: &Path, text: &str) -> Result<Self, &'static str> {
        let head: Vec<&str> = text
            .lines()
            .take_while(|line| !line.starts_with("--- ") && !line.starts_with("diff "))
            .filter_map(|line| line.strip_prefix('#'))
            .map(str::trim)
            .collect();
        let field = |key: &str| {
            let value = head.iter().find_map(|line| line.strip_prefix(key))?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        Ok(Self {
            path: path.to_owned(),
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            what: field("fault:").ok_or("# fault: <what is broken>")?,
            killed_by: field("killed by:").ok_or("# killed by: <arguments of cargo test>")?,
            short: head.contains(&"short"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_patch_names_fault_and_test() {
        let text = "# killed by: -p policy-core --lib origin::\n# fault: no dot\n# short\n\
                    --- a/x\n+++ b/x\n@@ -1 +1 @@\n-# fault: not this\n+b\n";
        let fault = Fault::parse(Path::new("faults/dot.patch"), text).unwrap();
        assert_eq!(fault.what, "no dot");
        assert_eq!(fault.killed_by, "-p policy-core --lib origin::");
        assert_eq!(fault.file, "dot.patch");
        assert!(fault.short);
    }

    #[test]
    fn a_patch_that_names_no_test_is_refused() {
        let text = "# fault: no dot\n--- a/x\n";
        let refusal = Fault::parse(Path::new("dot.patch"), text).unwrap_err();
        assert_eq!(refusal, "# killed by: <arguments of cargo test>");
    }
}
