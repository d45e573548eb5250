//! The response that a client gets for a refusal.

use policy_core::Refusal;

/// The response, without the parts that differ between requests. An app that has set
/// `App::problem_types` states the address of the page in `type`.
pub(super) fn render(refusal: Refusal) -> String {
    let status = refusal.status();
    let reason = http::StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason());
    let mut text = format!("HTTP/1.1 {status} {}\n", reason.unwrap_or_default());
    text += "content-type: application/problem+json\n";
    if let Some(seconds) = refusal.retry_after() {
        text += &format!("retry-after: {seconds}\n");
    }
    if refusal.is_uncacheable() {
        text += "cache-control: no-store\n";
    }
    let (title, code) = (refusal.title(), refusal.code());
    text + &format!(
        "\n{{\"type\":\"about:blank\",\"title\":\"{title}\",\"status\":{status},\"code\":\"{code}\"}}\n"
    )
}
