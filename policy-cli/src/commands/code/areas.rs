//! The areas of the catalogue: what they are about, and which attribute or gate they belong to.

use std::fmt;

use policy_core::Entry;

/// An area of the catalogue: the first word of codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    name: &'static str,
    about: &'static str,
    /// The gates that refuse requests for it, by the names of their files.
    gates: &'static [(u8, &'static str)],
}

impl Area {
    /// The area of an entry.
    pub(super) fn find(entry: Entry) -> Option<Self> {
        AREAS.iter().copied().find(|area| area.name == entry.area())
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about)?;
        let last = self.gates.len().saturating_sub(1);
        for (index, (number, name)) in self.gates.iter().enumerate() {
            let before = match index {
                0 if last == 0 => "; gate",
                0 => "; gates",
                index if index == last => " and",
                _ => ",",
            };
            write!(f, "{before} {number} (`{name}`)")?;
        }
        Ok(())
    }
}

const fn area(name: &'static str, about: &'static str) -> Area {
    Area { name, about, gates: &[] }
}

const fn with_gate(
    name: &'static str,
    about: &'static str,
    gates: &'static [(u8, &'static str)],
) -> Area {
    Area { name, about, gates }
}

const AREAS: &[Area] = &[
    area("app", "`App`: the app as a whole"),
    with_gate("auth", "`#[auth]`: who may call", &[(7, "authenticate"), (9, "authorize")]),
    area("cache", "`#[cache]`: which caches may keep responses"),
    area("candidate", "`App::report_only`: a candidate policy, compared with the current one"),
    area("cookie", "`Sessions`: the cookies of requests"),
    with_gate("cors", "`#[cors]`: which pages may read responses", &[(4, "cors")]),
    with_gate("csrf", "`#[csrf]`: requests that other pages forge", &[(8, "csrf")]),
    area("handler", "handlers: their arguments and how they end"),
    area("headers", "`#[headers]`: security headers of responses"),
    with_gate(
        "isolation",
        "`#[isolation]`: which pages may load a response",
        &[(5, "fetch_metadata")],
    ),
    area("jsonp", "`#[jsonp]`: public data as scripts"),
    with_gate(
        "limit",
        "`#[limit]`: sizes, times, rates and concurrency",
        &[(6, "address_rate"), (10, "limits"), (11, "body")],
    ),
    area("lint", "`cargo policy lint` and `policy_tests!`: oddities of the policy of an app"),
    with_gate("origin", "`App::public_origin`: the host of a request", &[(2, "own_origin")]),
    area("proxies", "`App::behind`: trusted proxies in front of the app"),
    area("proxy", "`App::proxy`: upstreams that receive requests"),
    with_gate("request", "extractors: parameters, bodies, conditions", &[(11, "body")]),
    with_gate("route", "`#[get]`, `#[post]` and the others: paths and methods", &[(3, "route")]),
    area("server", "the server: listening and shutdown"),
    area("session", "`Sessions`: sessions and their store"),
    area("syntax", "attributes: how they are written"),
    area("tls", "`App::tls`: certificates and keys of the server"),
    area("token", "`Tokens`: access and refresh tokens, and their keys"),
    area("tunnel", "`App::tunnel`: CONNECT"),
    with_gate("wire", "the syntax of requests, before they are routed", &[(1, "wire")]),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_area_is_one_of_the_catalogue_and_in_order() {
        assert!(AREAS.is_sorted_by(|a, b| a.name < b.name));
        for area in AREAS {
            assert!(Entry::all().any(|entry| entry.area() == area.name), "{}", area.name);
        }
    }

    #[test]
    fn every_gate_has_the_number_that_its_file_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        // What waits is in the server.
        let folders = ["policy-core/src/gates", "policy-server/src/pipeline/gates"];
        for (number, name) in AREAS.iter().flat_map(|area| area.gates) {
            let files = folders.map(|folder| root.join(folder).join(format!("{name}.rs")));
            let file = files.iter().find(|file| file.exists()).unwrap();
            let text = std::fs::read_to_string(file).unwrap();
            let first = text.lines().next().unwrap();
            assert!(first.contains("Gate") && first.contains(&number.to_string()), "{first}");
        }
    }
}
