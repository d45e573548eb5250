//! Laws of the trace context, whatever a client sends. The oracle parses nothing: it knows the fields from
//! which a header was generated.

use http::{HeaderMap, HeaderValue};
use policy_core::trace::{TRACEPARENT, TRACESTATE, TraceContext, recorded_query};
use policy_core_tests::law::{Precondition, holds};
use proptest::{collection::vec, prelude::*, sample::select};

fn read(parent: &[u8], states: &[Vec<u8>]) -> Option<TraceContext> {
    let mut headers = HeaderMap::new();
    headers.append(TRACEPARENT, HeaderValue::from_bytes(parent).ok()?);
    for state in states {
        headers.append(TRACESTATE, HeaderValue::from_bytes(state).ok()?);
    }
    TraceContext::read(&headers)
}

/// Ids of which some are zero.
fn id<const N: usize>() -> impl Strategy<Value = [u8; N]> {
    prop_oneof![9 => any::<[u8; N]>(), 1 => Just([0; N])]
}

/// A header is read if and only if its version is known or has the form of later ones, and no id is
/// zero; text after the fields of a later version is ignored.
#[test]
fn traceparent_is_read_by_its_version() {
    let version = prop_oneof![Just(0), Just(0xff), any::<u8>()];
    let rest = prop_oneof![4 => Just(""), 1 => select(vec!["-", "-x", "-01", ".x", "0", " "])];
    let cases = (version, id::<16>(), id::<8>(), any::<u8>(), rest);
    holds("traceparent", 60, cases, |(version, trace, span, flags, rest)| {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let sent = format!("{version:02x}-{}-{}-{flags:02x}{rest}", hex(&trace), hex(&span));
        let is_valid = version != 0xff
            && trace.iter().any(|byte| *byte != 0)
            && span.iter().any(|byte| *byte != 0)
            && (rest.is_empty() || (version != 0 && rest.starts_with('-')));
        let read = read(sent.as_bytes(), &[]);
        let fields = read.as_ref().map(|it| (it.trace_id(), it.span_id(), it.flags()));
        prop_assert_eq!(fields, is_valid.then_some((trace, span, flags & 3)), "{}", sent);
        Ok(Precondition::met_if(is_valid))
    });
}

/// Every accepted header is written in one form, which is read as the same. Headers with different
/// ids are never read alike.
#[test]
fn any_bytes_are_read_as_what_they_say_or_not_at_all() {
    let byte = || {
        prop_oneof![
            9 => select(b"0123456789abcdefAF-=,@/* \t".to_vec()),
            1 => (0x20..=0xff_u8).prop_filter("no control character", |byte| *byte != 0x7f),
        ]
    };
    let valid = "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-x)?";
    let change = prop::option::weighted(0.5, (any::<prop::sample::Index>(), byte()));
    let member = prop_oneof!["[a-z0-9][a-z0-9_*/@-]{0,5}= ?[!-+.-<>-~]{1,5}", ".{0,4}"];
    let states = vec(vec(member, 0..20).prop_map(|all| all.join(" ,").into_bytes()), 0..3);
    holds("any trace", 40, (valid, change, states), |(parent, change, states)| {
        let mut parent = parent.into_bytes();
        if let Some((at, byte)) = change {
            let at = at.index(parent.len());
            parent[at] = byte;
        }
        let Some(context) = read(&parent, &states) else { return Ok(Precondition::Unmet) };
        let mut written = HeaderMap::new();
        context.write(&mut written);
        prop_assert_eq!(TraceContext::read(&written), Some(context.clone()));
        let text = written[TRACEPARENT].as_bytes();
        prop_assert_eq!(&text[3..52], &parent[3..52]);
        let members: Vec<_> = context.state().split(',').collect();
        prop_assert!(members.len() <= 32);
        let sent = states.concat();
        for member in members {
            prop_assert!(
                sent.windows(member.len().max(1)).any(|part| part == member.as_bytes())
                    || member.is_empty()
            );
        }
        Ok(Precondition::Met)
    });
}

/// The recorded part of a query consists of whole parameters with the names that the app states.
#[test]
fn a_recorded_query_has_named_parameters_alone() {
    let parameter = "(page|sort|Page|page2|ticket|)(=[a-z=?%]{0,4})?";
    holds("recorded query", 40, vec(parameter, 0..6), |parameters| {
        let is_named = |one: &&String| matches!(one.split('=').next(), Some("page" | "sort"));
        let named: Vec<_> = parameters.iter().filter(is_named).map(String::as_str).collect();
        let recorded = recorded_query(&parameters.join("&"), &["page", "sort"]);
        prop_assert_eq!(recorded.unwrap_or_default(), named.join("&"));
        Ok(Precondition::met_if(!named.is_empty()))
    });
}
