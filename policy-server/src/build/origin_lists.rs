//! Lists of origins from files and environment variables.

use std::{collections::BTreeMap, env, fs, path::Path};

use axum_core::BoxError;
use policy_core::{
    Rule,
    cors::{OriginLists, SharedOrigins},
};
use serde::Deserialize;

use crate::{app::OriginsFrom, base::error::StartProblem, store::stored_origins::StoredOrigins};

/// The tables of a configuration file; unknown ones are errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    origins: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    bounds: BTreeMap<String, Vec<String>>,
}

/// The lists of an app. They are created empty by name and filled once all routes have registered
/// their bounds, so that all problems of a list are found together.
pub(crate) struct NamedLists {
    pub(crate) lists: OriginLists,
    /// The contents of the lists, and where each came from.
    contents: Vec<(String, SharedOrigins, Vec<String>)>,
    /// The lists that are read from a store when it is open.
    pub(crate) stored: Vec<(String, StoredOrigins)>,
    /// Whether all sources could be read; otherwise lists may be missing for that reason.
    pub(crate) is_complete: bool,
}

impl NamedLists {
    /// Reads all sources; problems are added to `problems`.
    pub(crate) fn read(
        sources: Vec<(String, OriginsFrom)>,
        file: Option<&Path>,
        problems: &mut Vec<StartProblem>,
    ) -> Self {
        let mut this = Self {
            lists: OriginLists::new(),
            contents: Vec::new(),
            stored: Vec::new(),
            is_complete: true,
        };
        for (name, source) in sources {
            match source {
                OriginsFrom::Handle(shared) => this.lists.insert(name, shared),
                OriginsFrom::Stored(stored) => {
                    this.lists.insert(name.clone(), stored.list().clone());
                    this.stored.push((name, stored));
                }
                OriginsFrom::Code(origins) => this.add(name, "", origins),
                OriginsFrom::Environment(variable) => {
                    let origins = read_variable("App::origins_from_env", &variable);
                    let origins = origins.unwrap_or_else(|problem| {
                        problems.push(problem);
                        Vec::new()
                    });
                    this.add(name, &format!(" from the variable {variable}"), origins);
                }
                OriginsFrom::Bound(patterns) => this.lists.set_bound(name, patterns),
                OriginsFrom::BoundInEnvironment(variable) => {
                    match read_variable("App::origin_bound_from_env", &variable) {
                        Ok(patterns) => this.lists.set_bound(name, patterns),
                        Err(problem) => {
                            this.is_complete = false;
                            problems.push(problem);
                        }
                    }
                }
            }
        }
        match file.map(|path| (path, read_file(path))) {
            None => (),
            Some((path, Ok(ConfigFile { origins, bounds }))) => {
                let source = format!(" in {}", path.display());
                origins.into_iter().for_each(|(name, origins)| this.add(name, &source, origins));
                bounds.into_iter().for_each(|(name, bound)| this.lists.set_bound(name, bound));
            }
            Some((_, Err(problem))) => {
                this.is_complete = false;
                problems.push(problem);
            }
        }
        this
    }

    fn add(&mut self, name: String, source: &str, origins: Vec<String>) {
        let shared = SharedOrigins::new();
        self.contents.push((format!("list `{name}`{source}"), shared.clone(), origins));
        self.lists.insert(name, shared);
    }

    /// Fills the lists, and reports entries that break a rule or a bound of a route.
    pub(crate) fn fill(&self) -> impl Iterator<Item = StartProblem> {
        self.contents.iter().flat_map(|(location, shared, origins)| {
            let errors = shared.replace(origins).err().into_iter().flatten();
            errors.map(|error| StartProblem::from(error.or_location(location)))
        })
    }
}

fn read_file(path: &Path) -> Result<ConfigFile, StartProblem> {
    let unreadable = |cause: BoxError| {
        let path = path.display().to_string();
        StartProblem::new(Rule::ConfigFile, "App::config_file", path).caused_by(cause)
    };
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.into()))?;
    // Editors of Windows begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.lines().count().max(1);
        unreadable(format!("line {line}: {}", error.message()).into())
    })
}

fn read_variable(reader: &str, variable: &str) -> Result<Vec<String>, StartProblem> {
    let unset = |_not_set| StartProblem::new(Rule::VariableUnset, reader, variable);
    let text = env::var(variable).map_err(unset)?;
    let words = text.split(|char: char| char == ',' || char.is_ascii_whitespace());
    Ok(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
}
