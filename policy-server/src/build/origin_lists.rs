//! Lists of origins from files and environment variables.

use std::env;

use policy_core::{
    Rule,
    cors::{OriginLists, SharedOrigins},
};

#[cfg(feature = "config_file")]
use super::config_file::ConfigFile;
use crate::{
    app::origin_list::{OriginList, OriginSource, Texts},
    base::error::StartProblem,
    store::stored_origins::StoredOrigins,
};

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
        sources: Vec<(String, OriginList)>,
        problems: &mut Vec<StartProblem>,
    ) -> Self {
        let mut this = Self {
            lists: OriginLists::new(),
            contents: Vec::new(),
            stored: Vec::new(),
            is_complete: true,
        };
        for (name, OriginList { source, bound }) in sources {
            match bound.map(|bound| read(bound, "OriginList::within_env")) {
                None => (),
                Some(Ok(patterns)) => this.lists.set_bound(name.clone(), patterns),
                Some(Err(problem)) => {
                    this.is_complete = false;
                    problems.push(problem);
                }
            }
            match source {
                OriginSource::Shared(shared) => this.lists.insert(name, shared),
                OriginSource::Stored(stored) => {
                    this.lists.insert(name.clone(), stored.list().clone());
                    this.stored.push((name, stored));
                }
                OriginSource::Texts(texts) => {
                    let source = match &texts {
                        Texts::Fixed(_) => String::new(),
                        Texts::Env(variable) => format!(" from the variable {variable}"),
                    };
                    let origins = read(texts, "OriginList::env").unwrap_or_else(|problem| {
                        problems.push(problem);
                        Vec::new()
                    });
                    this.add(name, &source, origins);
                }
                #[cfg(feature = "config_file")]
                OriginSource::File(path) => match ConfigFile::read(&path) {
                    Ok(ConfigFile { origins, bounds }) => {
                        let source = format!(" in {name}");
                        for (name, origins) in origins {
                            this.add(name, &source, origins);
                        }
                        for (name, bound) in bounds {
                            this.lists.set_bound(name, bound);
                        }
                    }
                    Err(problem) => {
                        this.is_complete = false;
                        problems.push(problem);
                    }
                },
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

fn read(texts: Texts, reader: &str) -> Result<Vec<String>, StartProblem> {
    let variable = match texts {
        Texts::Fixed(texts) => return Ok(texts),
        Texts::Env(variable) => variable,
    };
    let unset = |_not_set| StartProblem::new(Rule::VariableUnset, reader, &variable);
    let text = env::var(&variable).map_err(unset)?;
    let words = text.split(|char: char| char == ',' || char.is_ascii_whitespace());
    Ok(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
}
