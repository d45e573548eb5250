//! What the pages of the examples share: their style, a bar with the mark, their own code with its
//! attributes, the last items of a list, and the ports. Nothing of it is Policy.

mod code;
mod recent;

use std::{
    env, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

pub use recent::Recent;

/// The style of all pages.
pub const STYLE: &str = include_str!("look.css");

/// The mark as an icon, the same as in a service that `cargo policy new` makes.
const ICON: &str = include_str!("../../../templates/spa/web/icon.svg");

/// An example, as its page presents it.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its name.
    pub name: &'static str,
    /// The file with its attributes, from the root of the repository.
    pub file: &'static str,
    /// The text of that file.
    pub code: &'static str,
    /// The command that runs the next example.
    pub next: &'static str,
}

impl Example {
    /// A page, in which `{{look}}` is the style, `{{icon}}` the address of the mark, `{{bar}}` the mark
    /// and the name, `{{handlers}}` the attributes of each handler for scripts to show, and `{{source}}`
    /// the code. Nothing in the code is taken for a placeholder.
    #[must_use]
    pub fn page(&self, html: &str) -> String {
        let mut parts = html.split("{{");
        let mut page = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, text) = part.split_once("}}").unwrap_or_default();
            match name {
                "look" => page += STYLE,
                "icon" => page += &icon(),
                "bar" => page += &self.bar(),
                "handlers" => page += &code::handlers(self.code),
                "source" => page += &self.source(),
                _ => {
                    page = page + "{{" + part;
                    continue;
                }
            }
            page += text;
        }
        page
    }

    fn bar(&self) -> String {
        let Self { name, next, .. } = self;
        format!(
            "<div class=\"bar\" role=\"region\" aria-label=\"This example\"><span class=\"mark\" aria-hidden=\"true\">#[ ]</span> \
             <strong>Policy</strong> <span class=\"soft\">example: {name}</span> \
             <span class=\"next\"><a href=\"#source\">source</a> \
             <span class=\"soft\">next: <code>{next}</code></span></span></div>"
        )
    }

    fn source(&self) -> String {
        let (file, code) = (self.file, code::highlighted(self.code));
        format!(
            "<details id=\"source\"><summary>The source: <code>{file}</code></summary>\
             <pre class=\"code\" tabindex=\"0\">{code}</pre></details>"
        )
    }
}

/// A `data:` URL, so that no page needs a route for it; its policy permits images of `data:`.
fn icon() -> String {
    let coded = ICON.trim().replace('%', "%25").replace('#', "%23").replace('"', "'");
    format!("data:image/svg+xml,{coded}")
}

/// The ports in a variable, separated by commas; the usual one in place of each that it does not name.
#[must_use]
pub fn ports<const N: usize>(variable: &str, usual: [u16; N]) -> [u16; N] {
    let wanted = env::var(variable).unwrap_or_default();
    let mut wanted = wanted.split(',').map(|port| port.trim().parse().ok());
    usual.map(|usual| wanted.next().flatten().unwrap_or(usual))
}

/// The loopback address with this port, or with any free one if it is taken.
///
/// # Errors
///
/// The port cannot be used for another reason.
#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
pub fn free(port: u16) -> io::Result<String> {
    let mut address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            println!("port {port} is taken: using a free one");
            address.set_port(0);
        }
        other => drop(other?),
    }
    Ok(address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: Example = Example {
        name: "a",
        file: "a.rs",
        code: "/// Says hello.\n#[get(\"/hi\")]\n#[auth(public)]\nasync fn hi() {}\n",
        next: "cargo run -p b",
    };

    #[test]
    fn a_page_has_its_code_and_the_attributes_of_each_handler() {
        let page =
            EXAMPLE.page("<link href=\"{{icon}}\">{{bar}}<main></main>{{handlers}}{{source}}");
        assert!(page.starts_with("<link href=\"data:image/svg+xml,<svg xmlns='"), "{page}");
        assert!(page.contains("example: a") && page.contains("cargo run -p b"), "{page}");
        let handler = "<template data-handler=\"hi\" data-route=\"GET /hi\"><pre class=\"code\">#[<b>get</b>(\
                       <i>&quot;/hi&quot;</i>)]\n#[<b>auth</b>(public)]</pre></template>";
        assert!(page.contains(handler), "{page}");
        assert!(page.contains("<s>/// Says hello.</s>") && !page.contains("{{"), "{page}");
    }

    #[test]
    fn only_placeholders_of_the_page_are_filled_in() {
        let code = "#[get(\"/{{source}}\")]\nasync fn hi() {}\n";
        let page = Example { code, ..EXAMPLE }.page("{{handlers}} {{other}} {{");
        assert!(page.contains("/{{source}}"), "{page}");
        assert!(page.ends_with("</template> {{other}} {{"), "{page}");
    }

    #[test]
    fn a_port_that_is_taken_is_any_free_one() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(free(port).unwrap(), "127.0.0.1:0");
        drop(taken);
    }
}
