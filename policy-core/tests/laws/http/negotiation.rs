//! Content negotiation (RFC 9110 12.5.1).

use http::{HeaderMap, header::ACCEPT};
use policy_core::negotiate::accept;
use policy_core_tests::law::{Precondition, holds};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::http::append;

/// A parameter, and its written form.
type Parameter = (&'static str, &'static str);

/// The values from which a member was generated; `None` for a malformed one.
#[derive(Clone, Debug)]
struct Range {
    kind: &'static str,
    subtype: &'static str,
    parameters: Vec<Parameter>,
    /// Thousandths, and their written form.
    weight: Option<(u16, &'static str)>,
}

#[derive(Clone, Debug)]
enum Member {
    Range(Range),
    Junk(&'static str),
}

const TYPES: [(&str, &str); 4] =
    [("text", "html"), ("text", "plain"), ("application", "json"), ("image", "png")];

fn parameters() -> impl Strategy<Value = Vec<Parameter>> + Clone {
    let one = select(vec![("level", "1"), ("level", "2"), ("charset", "utf-8")]);
    prop_oneof![3 => Just(vec![]), 1 => vec(one, 1..3)]
}

fn member() -> impl Strategy<Value = Member> {
    let name = prop_oneof![
        6 => select(TYPES.to_vec()),
        2 => select(vec![("text", "*"), ("image", "*")]),
        2 => Just(("*", "*")),
    ];
    let weight = option::of(select(vec![
        (0, "0"),
        (0, "0.000"),
        (1, "0.001"),
        (500, "0.5"),
        (500, "0.50"),
        (800, "0.8"),
        (1000, "1"),
        (1000, "1."),
    ]));
    let range = (name, parameters(), weight).prop_map(|((kind, subtype), parameters, weight)| {
        Member::Range(Range { kind, subtype, parameters, weight })
    });
    let junk = select(vec!["", "text", "*/html", "text/html;q=2", "text/html;q", "a b/c", "*"]);
    prop_oneof![9 => range, 1 => junk.prop_map(Member::Junk)]
}

impl Member {
    fn text(&self, style: usize) -> String {
        let Range { kind, subtype, parameters, weight } = match self {
            Self::Junk(text) => return (*text).to_owned(),
            Self::Range(range) => range,
        };
        let mut parts = vec![format!("{kind}/{subtype}")];
        let value = |value: &str| match style {
            0 => value.to_owned(),
            1 => format!("\"{value}\""),
            _ => format!("\"\\{}\"", value.to_ascii_uppercase()),
        };
        parts.extend(parameters.iter().map(|(name, text)| format!("{name}={}", value(text))));
        if let Some((_, text)) = weight {
            // Recipients accept the weight at any position.
            parts.insert(1 + style.min(parts.len() - 1), format!("q={text}"));
        }
        let text = parts.join(if style == 0 { ";" } else { " ; " });
        if style == 2 { text.to_ascii_uppercase() } else { text }
    }
}

/// How specific a member is for an offer, numbered as in RFC 9110 12.5.1.
fn precision(range: &Range, offer: &(&str, &str, Vec<Parameter>)) -> Option<usize> {
    let (kind, subtype, offered) = offer;
    if !range.parameters.iter().all(|parameter| offered.contains(parameter)) {
        return None;
    }
    match (range.kind, range.subtype) {
        ("*", "*") => Some(range.parameters.len()),
        (name, "*") if name == *kind => Some(100 + range.parameters.len()),
        (name, sub) if (name, sub) == (*kind, *subtype) => Some(200 + range.parameters.len()),
        _ => None,
    }
}

fn oracle(ranges: &[&Range], offers: &[(&str, &str, Vec<Parameter>)]) -> Option<usize> {
    if ranges.is_empty() {
        return (!offers.is_empty()).then_some(0);
    }
    let weights = offers.iter().map(|offer| {
        let named = ranges.iter().filter_map(|range| Some((precision(range, offer)?, range)));
        let most = named.clone().map(|(precision, _)| precision).max();
        let best = named.filter(|(precision, _)| Some(*precision) == most);
        best.map(|(_, range)| range.weight.map_or(1000, |(weight, _)| weight)).max().unwrap_or(0)
    });
    let weights: Vec<u16> = weights.collect();
    let best = weights.iter().copied().max().filter(|weight| *weight > 0)?;
    weights.iter().position(|weight| *weight == best)
}

/// The chosen offer is the best by RFC 9110 12.5.1.
#[test]
fn the_choice_follows_the_standard() {
    let offer =
        (select(TYPES.to_vec()), parameters()).prop_map(|((kind, sub), all)| (kind, sub, all));
    let lines = vec(vec(member(), 0..5), 0..3);
    let cases = (lines, vec(offer, 0..5), 0..3_usize);
    holds("negotiation", 20, cases, |(lines, offers, style)| {
        let mut headers = HeaderMap::new();
        for members in &lines {
            let texts: Vec<_> = members.iter().map(|member| member.text(style)).collect();
            append(&mut headers, &ACCEPT, &texts.join(if style == 0 { "," } else { " , " }));
        }
        let names: Vec<String> = offers
            .iter()
            .map(|(kind, subtype, parameters)| {
                let parameters = parameters.iter().map(|(name, value)| format!(";{name}={value}"));
                format!("{kind}/{subtype}{}", parameters.collect::<String>())
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ranges: Vec<&Range> = lines
            .iter()
            .flatten()
            .filter_map(|member| match member {
                Member::Range(range) => Some(range),
                Member::Junk(_) => None,
            })
            .collect();
        let choice = accept(&headers, &names);
        prop_assert_eq!(choice, oracle(&ranges, &offers), "{:?}", headers);
        Ok(Precondition::met_if(choice != Some(0) && !offers.is_empty()))
    });
}
