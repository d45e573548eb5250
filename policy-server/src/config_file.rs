//! Lists of origins from outside of the program.

use std::{collections::BTreeMap, env, fs, path::Path};

use policy_core::cors::{OriginLists, SharedOrigins};
use serde::Deserialize;

use crate::{app::OriginsFrom, error::StartProblem};

/// The tables of a configuration file; an unknown one is a mistake.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    origins: BTreeMap<String, Vec<String>>,
}

/// Collects the lists from all sources; problems are added to `problems`.
pub(crate) fn read_lists(
    sources: Vec<(String, OriginsFrom)>,
    file: Option<&Path>,
    problems: &mut Vec<StartProblem>,
) -> OriginLists {
    let mut lists = OriginLists::new();
    let from_file =
        file.and_then(|path| read_file(path).map_err(|problem| problems.push(problem)).ok());
    let from_file = from_file.into_iter().flatten();
    let from_file = from_file.map(|(name, origins)| (name, OriginsFrom::Code(origins)));
    for (name, source) in sources.into_iter().chain(from_file) {
        let origins = match source {
            OriginsFrom::Handle(shared) => {
                lists.insert(name, shared);
                continue;
            }
            OriginsFrom::Code(origins) => Ok(origins),
            OriginsFrom::Environment(variable) => read_variable(&variable),
        };
        let shared = SharedOrigins::new();
        match origins {
            Ok(origins) => {
                if let Err(errors) = shared.replace(&origins) {
                    problems.extend(errors.into_iter().map(StartProblem::Policy));
                }
            }
            Err(problem) => problems.push(problem),
        }
        // Also a list with problems has its name, so that routes do not miss it a second time.
        lists.insert(name, shared);
    }
    lists
}

fn read_file(path: &Path) -> Result<BTreeMap<String, Vec<String>>, StartProblem> {
    let unreadable =
        |reason: String| StartProblem::Source { source: path.display().to_string(), reason };
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let file: ConfigFile = toml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    Ok(file.origins)
}

fn read_variable(variable: &str) -> Result<Vec<String>, StartProblem> {
    let text = env::var(variable).map_err(|error| StartProblem::Source {
        source: format!("${variable}"),
        reason: error.to_string(),
    })?;
    let words = text.split(|char: char| char == ',' || char.is_ascii_whitespace());
    Ok(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
}
